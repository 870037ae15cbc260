//! Watched trainings in a store: written when one ends, read when figures are drawn.

use super::{Store, StoreError, json};
use parsity_study::{BatchSize, Optimizer, SmoothnessRun, Sparsity};
use rusqlite::named_params;

impl Store {
    /// Keeps a watched training that follows from `origin`, in the place of one of the same
    /// description.
    pub fn keep_smoothness(&mut self, origin: &str, run: &SmoothnessRun) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT OR REPLACE INTO smoothness (dataset, model, optimizer, metaparameters,
                     batch_size, sparsity, seed, origin, points, version)
                 VALUES (:dataset, :model, :optimizer, :metaparameters, :batch_size, :sparsity,
                     :seed, :origin, :points, :version)",
                named_params! {
                    ":dataset": run.dataset,
                    ":model": run.model,
                    ":optimizer": run.optimizer.name(),
                    ":metaparameters": json(&run.metaparameters),
                    ":batch_size": run.batch_size.0,
                    ":sparsity": run.sparsity.share(),
                    ":seed": run.seed as i64,
                    ":origin": origin,
                    ":points": json(&run.points),
                    ":version": env!("CARGO_PKG_VERSION"),
                },
            )
            .map_err(self.failed("writing to"))?;
        Ok(())
    }

    /// All watched trainings of `model` on `dataset`; those that differ in their sparsity
    /// only stand together, in its order.
    pub fn smoothness(&self, dataset: &str, model: &str) -> Result<Vec<SmoothnessRun>, StoreError> {
        self.watched("dataset = ? AND model = ?", [dataset, model])
    }

    /// The watched training that follows from `origin`, if it is there.
    pub fn smoothness_from(&self, origin: &str) -> Result<Option<SmoothnessRun>, StoreError> {
        Ok(self.watched("origin = ?", [origin])?.pop())
    }

    fn watched(
        &self,
        which: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<SmoothnessRun>, StoreError> {
        let sql = format!(
            "SELECT dataset, model, optimizer, metaparameters, points, batch_size, sparsity, seed
             FROM smoothness WHERE {which}
             ORDER BY optimizer, metaparameters, batch_size, seed, sparsity"
        );
        let rows = self.rows(&sql, parameters, |row| {
            let words = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
            Ok((words, row.get(5)?, row.get(6)?, row.get(7)?))
        })?;
        rows.into_iter().map(|row| self.read_watched(row)).collect()
    }

    fn read_watched(
        &self,
        (words, batch_size, share, seed): ([String; 5], u32, f64, i64),
    ) -> Result<SmoothnessRun, StoreError> {
        let [dataset, model, optimizer, metaparameters, points] = words;
        let of = format!("smoothness of {model} on {dataset}");
        let corrupt = |column, found, expected| StoreError::Corrupt {
            path: self.path.clone(),
            of: of.clone(),
            column,
            found,
            expected,
        };
        Ok(SmoothnessRun {
            optimizer: Optimizer::from_name(&optimizer)
                .ok_or_else(|| corrupt("optimizer", optimizer, "sgd, momentum or nesterov"))?,
            metaparameters: self.list(&of, "metaparameters", &metaparameters)?,
            batch_size: BatchSize(batch_size),
            sparsity: Sparsity::new(share)
                .ok_or_else(|| corrupt("sparsity", share.to_string(), "at least 0 and below 1"))?,
            seed: seed as u64,
            points: self.list(&of, "points", &points)?,
            dataset,
            model,
        })
    }
}
