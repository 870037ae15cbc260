//! Curves as they were measured, with their laws: what claims and findings start from.
//!
//! Apart from the scaling curves that are drawn, which tell where each cell stands: here
//! all cells are decided, and their steps are spans between checks.

use crate::law::Law;
use crate::measured::{CONFIDENCE, Estimate, Reading, Span};
use crate::regions::{Region, Regions};
use crate::student::reach;
use parsity_study::{Optimizer, Sparsity};
use serde::Serialize;

/// The readings of one sparsity, with the law that was fitted to them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedCurve {
    /// The sparsity.
    pub sparsity: Sparsity,
    /// Its readings, by ascending batch size.
    pub readings: Vec<Reading>,
    /// The law, if at least three of the readings have steps.
    pub law: Option<Law>,
}

/// The curves of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyCurves {
    /// The name of the study.
    pub study: String,
    /// Its optimizer.
    pub optimizer: Optimizer,
    /// A curve per sparsity, from the lowest to the highest.
    pub curves: Vec<FittedCurve>,
}

impl FittedCurve {
    /// The curve of `readings`, in whatever order they come.
    pub fn new(sparsity: Sparsity, mut readings: Vec<Reading>) -> Self {
        readings.sort_by(|a, b| a.batch_size.total_cmp(&b.batch_size));
        let law = Law::of(&readings);
        FittedCurve { sparsity, readings, law }
    }

    /// The slope of log steps by log batch size over the readings in `region` alone;
    /// `None` if fewer than two of them have steps.
    ///
    /// The law has the slopes −1 and 0 built in, so whether a curve does have such regions
    /// has to be seen without it. Only how much a reading scatters is taken from the whole
    /// curve, since two or three readings do not tell.
    pub fn slope_in(&self, region: Region) -> Option<Estimate> {
        let law = self.law.as_ref()?;
        let regions = Regions::of(law);
        let spans: Vec<(f64, Span)> = self
            .readings
            .iter()
            .filter(|reading| regions.region(reading.batch_size) == region)
            .map(|reading| (reading.batch_size.ln(), reading.steps.span()))
            .filter(|(_, span)| span.is_bounded())
            .collect();
        if spans.len() < 2 {
            return None;
        }
        let n = spans.len() as f64;
        let x = spans.iter().map(|(at, _)| at).sum::<f64>() / n;
        let spread = spans.iter().map(|(at, _)| (at - x).powi(2)).sum::<f64>();
        let value = spans.iter().map(|(at, span)| (at - x) * span.middle()).sum::<f64>() / spread;
        // Each reading is off by its scatter, and by where between two checks it lies.
        let rounding = spans.iter().map(|(_, span)| (span.high - span.low).powi(2) / 12.0);
        let (scatter, degrees) = self.scatter(law);
        let variance = scatter * scatter + rounding.sum::<f64>() / n;
        let room = reach(CONFIDENCE, degrees) * (variance / spread).sqrt();
        Some(Estimate { value, low: value - room, high: value + room })
    }

    /// How much a reading scatters, with the degrees of freedom of that number: about the
    /// law, or about the line between its neighbours. Each holds what its curve misses of
    /// the true one, besides the scatter, so the smaller one is nearer to it.
    fn scatter(&self, law: &Law) -> (f64, usize) {
        let about_law = (law.fit().scatter, law.fit().bounded - 2);
        let places = self.readings.iter().map(|it| (it.batch_size.ln(), it.steps.span()));
        let places: Vec<(f64, Span)> = places.filter(|(_, span)| span.is_bounded()).collect();
        let squares = places.windows(3).map(|three| {
            let [(x0, y0), (x1, y1), (x2, y2)] =
                [0, 1, 2].map(|i| (three[i].0, three[i].1.middle()));
            let share = (x1 - x0) / (x2 - x0);
            let distance = y1 - (1.0 - share) * y0 - share * y2;
            distance * distance / (1.0 + share * share + (1.0 - share).powi(2))
        });
        let count = places.len() - 2;
        let about_neighbours = (squares.sum::<f64>() / count as f64).sqrt();
        // Distances share their readings, which is worth about half of them.
        let degrees = count / 2;
        if degrees > 0 && about_neighbours < about_law.0 {
            (about_neighbours, degrees)
        } else {
            about_law
        }
    }
}

impl StudyCurves {
    /// The study of `curves`, in whatever order they come.
    pub fn new(study: String, optimizer: Optimizer, mut curves: Vec<FittedCurve>) -> Self {
        curves.sort_by_key(|curve| curve.sparsity);
        StudyCurves { study, optimizer, curves }
    }

    /// The curve of a sparsity.
    pub fn curve(&self, sparsity: Sparsity) -> Option<&FittedCurve> {
        self.curves.iter().find(|curve| curve.sparsity == sparsity)
    }

    /// The curves of pruned networks.
    pub fn sparse(&self) -> impl Iterator<Item = &FittedCurve> {
        self.curves.iter().filter(|curve| curve.sparsity != Sparsity::DENSE)
    }

    /// The curve of sparsity `share`, or of the highest that there is.
    pub(crate) fn curve_or_sparsest(&self, share: f64) -> Option<&FittedCurve> {
        let wanted = Sparsity::new(share).and_then(|sparsity| self.curve(sparsity));
        wanted.or_else(|| self.sparse().last())
    }
}
