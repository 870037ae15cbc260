//! Goal checks that end as soon as their verdict is certain.
//!
//! A goal allows so many errors on the validation split. A check looks at the hardest
//! images first and ends with the first error too many: the verdict is that of the whole
//! pass, for a fraction of the images. Only a pass that finds no such error is complete,
//! and then the error is exact.

use parsity_engine::{Session, Team};
use parsity_study::ErrorRate;

/// The validation split as one trial sees it, the hardest images first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoalCheck {
    /// All images of the split: first those that the trial has got wrong, the latest ones
    /// in front; then the others, those in front that were not looked at for longest.
    pub(crate) images: Vec<u32>,
    /// How many it has got wrong.
    pub(crate) hard: usize,
}

/// What a goal check has shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    /// Images that were looked at.
    pub(crate) seen: usize,
    /// The share of the split that is surely wrong.
    pub(crate) error: ErrorRate,
    /// Whether all images were looked at.
    pub(crate) exact: bool,
}

impl GoalCheck {
    /// No image is known to be hard yet.
    pub(crate) fn new(validation: &[u32]) -> Self {
        GoalCheck { images: validation.to_vec(), hard: 0 }
    }

    /// Checks until more images are wrong than `goal` allows; without a goal, to the end.
    pub(crate) fn check(
        &mut self,
        session: &mut Session,
        goal: Option<ErrorRate>,
        team: &mut Team,
    ) -> Verdict {
        let count = self.images.len();
        let most = goal.map_or(count, |goal| errors_allowed(goal, count));
        let look = session.look(&mut self.images, most, team);
        let (seen, errors) = (look.seen, look.found);
        if goal.is_some() {
            self.rearrange(seen, |place| look.has_found(place));
        }
        Verdict { seen, error: ErrorRate(errors as f64 / count as f64), exact: seen == count }
    }

    /// Moves the images that were wrong to the front, and those that never were and have
    /// just been looked at to the back.
    fn rearrange(&mut self, seen: usize, was_wrong: impl Fn(usize) -> bool) {
        let place = |&place: &usize| self.images[place];
        let (hard, all) = (self.hard, self.images.len());
        let wrong: Vec<usize> = (0..seen).filter(|&place| was_wrong(place)).collect();
        let was_right = |place: &usize| *place >= seen || !was_wrong(*place);
        let before = (0..hard).filter(was_right);
        let unseen = hard.max(seen)..all;
        let just_seen = (hard..seen).filter(was_right);
        let before: Vec<usize> = before.collect();
        self.hard = wrong.len() + before.len();
        let order = wrong.into_iter().chain(before).chain(unseen).chain(just_seen);
        self.images = order.map(|at| place(&at)).collect();
    }
}

/// The most errors among `count` images with which `goal` is reached.
fn errors_allowed(goal: ErrorRate, count: usize) -> usize {
    let reaches = |errors: usize| errors as f64 / count as f64 <= goal.0;
    let mut errors = (goal.0 * count as f64) as usize;
    // The product may be rounded to either side of a whole number.
    while reaches(errors + 1) {
        errors += 1;
    }
    while errors > 0 && !reaches(errors) {
        errors -= 1;
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowed_errors_are_the_most_that_reach_the_goal() {
        for count in [1, 7, 240, 5_000, 6_000] {
            for goal in [0.02, 0.1, 0.12, 0.14, 0.3, 0.4, 1.0 / 3.0, 0.999] {
                let allowed = errors_allowed(ErrorRate(goal), count);
                assert!(allowed as f64 / count as f64 <= goal || allowed == 0);
                assert!((allowed + 1) as f64 / count as f64 > goal, "{goal} of {count}");
            }
        }
    }

    #[test]
    fn hard_images_come_first_and_none_is_lost() {
        let mut check = GoalCheck::new(&[10, 11, 12, 13, 14, 15, 16, 17]);
        check.rearrange(4, |place| place == 1 || place == 3);
        // Wrong ones; nobody was hard before; not looked at; looked at and right.
        assert_eq!(check.images, [11, 13, 14, 15, 16, 17, 10, 12]);
        assert_eq!(check.hard, 2);
        check.rearrange(3, |place| place == 2);
        // 14 is wrong now; 11 and 13 were last time.
        assert_eq!(check.images, [14, 11, 13, 15, 16, 17, 10, 12]);
        assert_eq!(check.hard, 3);
        check.rearrange(8, |place| place == 2 || place == 7);
        assert_eq!(check.images, [13, 12, 14, 11, 15, 16, 17, 10]);
        assert_eq!(check.hard, 4);
    }
}
