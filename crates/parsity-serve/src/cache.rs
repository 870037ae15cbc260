//! What was worked out from the store, kept until the store says something else.
//!
//! An answer takes time to work out, and while a study runs it would be new every second. So it
//! is worked out again only if records have changed, and never more often than a small share of
//! the reader's time allows.

use crate::views;
use axum::body::Bytes;
use parsity_analysis::Answer;
use parsity_lab::{Edition, LabError, Store, StoredStudy, gather};
use parsity_report::{Exhibit, exhibits};
use parsity_study::Evidence;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

/// An answer may take one part in so many of the time.
const SHARE: u32 = 20;
/// Comparisons of several studies that are kept.
const COMPARISONS: usize = 8;

/// One study, or several that are compared, with all that follows from their records.
pub(crate) struct Told {
    /// What the store had when it was read, as text.
    pub(crate) edition: String,
    pub(crate) stored: Vec<StoredStudy>,
    pub(crate) evidence: Evidence,
    pub(crate) answer: Answer,
    exhibits: OnceCell<Vec<Exhibit>>,
    page: OnceCell<Bytes>,
}

impl Told {
    fn read(store: &Store, stored: Vec<StoredStudy>, edition: String) -> Result<Self, LabError> {
        let evidence = gather(store, &stored)?;
        let answer = Answer::of(&evidence.studies, &evidence.smoothness);
        let (exhibits, page) = (OnceCell::new(), OnceCell::new());
        Ok(Told { edition, stored, evidence, answer, exhibits, page })
    }

    /// All its figures.
    pub(crate) fn exhibits(&self) -> &[Exhibit] {
        let Evidence { studies, smoothness, survivors } = &self.evidence;
        self.exhibits.get_or_init(|| exhibits(&self.answer, studies, smoothness, survivors))
    }

    /// What the page shows, as JSON.
    pub(crate) fn page(&self) -> Bytes {
        self.page.get_or_init(|| views::page(self)).clone()
    }
}

struct Entry {
    told: Rc<Told>,
    /// When it may be worked out again.
    due: Instant,
    used: Instant,
}

/// All that is kept.
#[derive(Default)]
pub(crate) struct Shelf(HashMap<String, Entry>);

impl Shelf {
    /// What is told of one study or several, as fresh as it may be.
    pub(crate) fn told(
        &mut self,
        store: &Store,
        studies: Vec<StoredStudy>,
    ) -> Result<Rc<Told>, LabError> {
        let names: Vec<&str> = studies.iter().map(|it| it.facts.name.as_str()).collect();
        let name = names.join(",");
        let editions: Result<Vec<Edition>, _> =
            studies.iter().map(|it| store.edition(it)).collect();
        let edition = editions?.iter().map(ToString::to_string).collect::<Vec<_>>().join("-");
        let now = Instant::now();
        if let Some(entry) = self.0.get_mut(&name)
            && (entry.told.edition == edition || now < entry.due)
        {
            entry.used = now;
            return Ok(Rc::clone(&entry.told));
        }
        let told = Rc::new(Told::read(store, studies, edition)?);
        let took = now.elapsed();
        let entry = Entry { told: Rc::clone(&told), due: now + took * SHARE, used: now };
        self.0.insert(name, entry);
        self.tidy();
        Ok(told)
    }

    /// What was told of a study last, if it still holds or may not be worked out again yet.
    pub(crate) fn fresh(&self, name: &str, edition: &Edition) -> Option<Rc<Told>> {
        let entry = self.0.get(name)?;
        let is_fresh = entry.told.edition == edition.to_string() || Instant::now() < entry.due;
        is_fresh.then(|| Rc::clone(&entry.told))
    }

    /// What was told of a study last.
    pub(crate) fn last(&self, name: &str) -> Option<Rc<Told>> {
        self.0.get(name).map(|entry| Rc::clone(&entry.told))
    }

    /// Forgets comparisons that were not asked for of late.
    fn tidy(&mut self) {
        let mut comparisons: Vec<(Instant, String)> = self
            .0
            .iter()
            .filter(|(name, _)| name.contains(','))
            .map(|(name, entry)| (entry.used, name.clone()))
            .collect();
        comparisons.sort_by_key(|it| std::cmp::Reverse(it.0));
        for (_, name) in comparisons.iter().skip(COMPARISONS) {
            self.0.remove(name);
        }
    }

    /// Forgets all studies but these, and their comparisons.
    pub(crate) fn keep(&mut self, names: &[&str]) {
        self.0.retain(|name, _| name.split(',').all(|it| names.contains(&it)));
    }
}
