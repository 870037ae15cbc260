//! Who reads what: the lists that a correlation follows.
//!
//! Made once, when a network meets its pattern; apart from the loops over them, which know
//! nothing of channels, kernels, padding or pruning. Construction is checked, the inner
//! loops are not: `Correlation::checked` proves that no tap reads outside of its source and
//! no target lies outside of its value.

use super::steps::Steps;
use super::stretches::{KINDS, ONE};
use std::ops::Range;

/// How many targets share the reading, where they can.
pub(crate) const SHARERS: usize = 4;
/// No bias.
pub(crate) const NONE: u32 = u32::MAX;

/// One weight of a target (of the first target, where several share).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tap {
    /// What it reads, relative to the position's origin in the source.
    pub(crate) offset: u32,
    /// Where its weight stands in the vector of values.
    pub(crate) weight: u32,
}

/// Targets that read the same: `SHARERS` of them, or one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) first: u32,
    pub(crate) shared: bool,
}

impl Group {
    pub(super) fn targets(&self) -> usize {
        if self.shared { SHARERS } else { 1 }
    }
}

/// A group that reads something of a block, and whether its sums begin and end with that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) group: u32,
    pub(crate) begins: bool,
    pub(crate) ends: bool,
    pub(super) noted: Noted,
}

/// The turns of one block of sources, of groups of one kind; those of groups that share come first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) block: usize,
    /// Whether the targets of a group share what they read.
    pub(crate) shared: bool,
    pub(crate) turns: Vec<Turn>,
}

/// What `Correlation::checked` notes beside a turn, so that no tile has to look it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Noted {
    /// Where its taps stand, those of all shifts.
    taps: (u32, u32),
    /// The first of its steps, and how many there are of each kind, if it reads alone.
    pub(super) step: u32,
    pub(super) counts: [u32; KINDS.len()],
    /// Its first target, and where that stands.
    pub(super) target: u32,
    pub(super) place: u32,
    /// Where the bias of that stands, if its sums begin with this turn.
    pub(super) bias: u32,
}

impl Turn {
    pub(crate) fn new(group: usize, begins: bool, ends: bool) -> Self {
        Turn { group: group as u32, begins, ends, noted: Noted::default() }
    }

    /// Where its taps stand, those of all shifts.
    #[inline(always)]
    pub(super) fn taps(&self) -> Range<usize> {
        self.noted.taps.0 as usize..self.noted.taps.1 as usize
    }
}

/// Where a correlation is evaluated; all distances in positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Distance of two rows of the source, and of the target.
    pub(crate) source_row: usize,
    pub(crate) target_row: usize,
    /// Rows that the target has room for.
    pub(crate) strip: usize,
}

impl Grid {
    /// The row that is the target's first one while it holds `rows`.
    pub(super) fn first(&self, rows: &Range<usize>) -> usize {
        if self.strip == self.height { 0 } else { rows.start }
    }
}

/// Where what decides over each target's sums stands: they are kept where it is positive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mask {
    /// Of each target's first position.
    pub(crate) places: Vec<u32>,
    /// Distance of two rows.
    pub(crate) row: usize,
    pub(crate) len: usize,
}

impl Mask {
    /// The number that decides over the first one of a target's row.
    #[inline(always)]
    pub(super) fn place(&self, target: usize, row: usize, lanes: u32) -> usize {
        (self.places[target] as usize + row * self.row) << lanes
    }
}

/// Who reads what, and where the sums go.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Correlation {
    pub(crate) grid: Grid,
    /// Length of the source and of the target value.
    pub(crate) source_len: usize,
    pub(crate) target_len: usize,
    pub(crate) taps: Vec<Tap>,
    /// The same with their weights, if any target reads alone.
    pub(crate) steps: Steps,
    /// Lists of taps, those of (block, group, kind of stretches, column shift, row shift):
    /// `starts[i]..starts[i + 1]`, in this order. A *block* is as many source channels as the
    /// nearest cache has room for.
    pub(crate) starts: Vec<u32>,
    pub(crate) groups: Vec<Group>,
    /// Blocks of sources.
    pub(crate) blocks: usize,
    /// The groups that have a turn in each block, in order.
    pub(crate) rounds: Vec<Round>,
    /// Position `y` of the grid reads row `y + shift` of the source, which is zero outside of
    /// `0..source_rows`; shifts ascend. The same for columns, where there is but one shift
    /// if taps are not told apart by it.
    pub(crate) row_shifts: Vec<isize>,
    pub(crate) source_rows: usize,
    pub(crate) column_shifts: Vec<isize>,
    pub(crate) source_columns: usize,
    /// Distance of the weights of two sharers.
    pub(crate) step: usize,
    /// Where each target's first position stands.
    pub(crate) targets: Vec<u32>,
    /// Where each target's bias stands in the vector of values, or `NONE`; or empty.
    pub(crate) biases: Vec<u32>,
    pub(crate) mask: Option<Mask>,
}

impl Correlation {
    /// Checks everything that the loops over `1 << lanes` images rely on; `values` is the length of
    /// the vector of values.
    pub(crate) fn checked(mut self, lanes: u32, values: usize) -> Self {
        let Grid { height, width, source_row, target_row, strip } = self.grid;
        assert!(height > 0 && width > 0 && strip > 0, "a correlation has positions");
        assert!(self.row_shifts.is_sorted() && self.column_shifts.is_sorted());
        assert_eq!(self.starts.len(), self.blocks * self.lists_per_block() + 1);
        assert!(self.starts.is_sorted() && self.starts.last() == Some(&(self.taps.len() as u32)));
        let last = (height - 1) * source_row + width - 1;
        let inside = self.taps.iter().all(|tap| (tap.offset as usize + last) < self.source_len);
        assert!(inside, "a tap reads outside of its source");
        self.check_turns();
        for block in 0..self.blocks {
            for (index, group) in self.groups.iter().enumerate() {
                let reach = (group.targets() - 1) * self.step;
                let mut taps = self.all_taps(block, index).iter();
                assert!(taps.all(|tap| tap.weight as usize + reach < values), "no such weight");
            }
        }
        let last = (strip - 1) * target_row + width - 1;
        let inside = self.targets.iter().all(|&start| (start as usize + last) < self.target_len);
        assert!(inside, "a target lies outside of its value");
        let named = |group: &Group| group.first as usize + group.targets() <= self.targets.len();
        assert!(self.groups.iter().all(named), "a group has no target");
        if let Some(mask) = &self.mask {
            let last = (height - 1) * mask.row + width - 1;
            assert_eq!(mask.places.len(), self.targets.len());
            assert!(mask.places.iter().all(|&start| (start as usize + last) < mask.len));
        }
        assert!(self.biases.is_empty() || self.biases.len() == self.targets.len());
        assert!(self.biases.iter().all(|&place| place == NONE || (place as usize) < values));
        self.check_stretches();
        if self.groups.iter().any(|group| !group.shared) {
            let lists = (0..self.starts.len() - 1).map(|list| match self.group_of(list).shared {
                true => (ONE, &[][..]),
                false => (self.kind_of(list), self.list(list)),
            });
            self.steps = Steps::new(lists, lanes, values);
        }
        self.note();
        self
    }

    /// Notes beside every turn what its tiles ask for.
    fn note(&mut self) {
        let mut rounds = std::mem::take(&mut self.rounds);
        for &mut Round { block, ref mut turns, .. } in &mut rounds {
            for turn in turns {
                let group = turn.group as usize;
                let taps = self.tap_places(block, group);
                let target = self.groups[group].first;
                let bias = self.biases.get(target as usize).filter(|_| turn.begins);
                let steps: [_; KINDS.len()] = std::array::from_fn(|kind| {
                    let first = self.lists(block, group, kind, 0, &(0..0)).start;
                    self.steps.of(first..first + self.column_shifts.len() * self.row_shifts.len())
                });
                turn.noted = Noted {
                    taps: (taps.start as u32, taps.end as u32),
                    step: steps[0].start as u32,
                    counts: steps.map(|it| it.len() as u32),
                    target,
                    place: self.targets[target as usize],
                    bias: bias.copied().unwrap_or(NONE),
                };
            }
        }
        self.rounds = rounds;
    }

    /// Lists are whole stretches of their kind.
    fn check_stretches(&self) {
        for list in 0..self.starts.len() - 1 {
            let (distances, taps) = (KINDS[self.kind_of(list)], self.list(list));
            let alone = distances.len() == 1 || !self.group_of(list).shared;
            assert!(alone || taps.is_empty(), "sharers read one by one");
            for stretch in taps.chunks(distances.len()) {
                let found = stretch.iter().map(|tap| tap.offset - stretch[0].offset);
                assert!(found.eq(distances.iter().copied()), "no such stretch");
            }
        }
    }

    /// Every group begins once, ends once, and has a turn wherever it has taps.
    fn check_turns(&self) {
        let mut open: Vec<Option<bool>> = vec![None; self.groups.len()];
        for block in 0..self.blocks {
            let rounds = self.rounds.iter().filter(|round| round.block == block);
            let turns = rounds.flat_map(|it| it.turns.iter().map(|turn| (it.shared, turn)));
            assert!(turns.clone().is_sorted_by_key(|(_, turn)| turn.group));
            let mut turns = turns.peekable();
            for (group, open) in open.iter_mut().enumerate() {
                match turns.next_if(|(_, turn)| turn.group as usize == group) {
                    Some((shared, turn)) => {
                        assert_eq!(shared, self.groups[group].shared);
                        assert_eq!(*open, if turn.begins { None } else { Some(true) });
                        *open = Some(!turn.ends);
                    }
                    None => assert!(self.tap_places(block, group).is_empty()),
                }
            }
            assert!(turns.next().is_none(), "no such group");
        }
        assert!(self.rounds.iter().all(|round| round.block < self.blocks), "no such block");
        assert!(open.iter().all(|&open| open == Some(false)), "sums that do not begin, or not end");
    }

    fn lists_per_block(&self) -> usize {
        self.groups.len() * self.lists_per_group()
    }

    #[inline(always)]
    fn lists_per_group(&self) -> usize {
        self.column_shifts.len() * KINDS.len() * self.row_shifts.len()
    }

    /// The kind of a list's stretches.
    fn kind_of(&self, list: usize) -> usize {
        list / (self.column_shifts.len() * self.row_shifts.len()) % KINDS.len()
    }

    fn group_of(&self, list: usize) -> Group {
        self.groups[list / self.lists_per_group() % self.groups.len()]
    }

    fn list(&self, list: usize) -> &[Tap] {
        &self.taps[self.starts[list] as usize..self.starts[list + 1] as usize]
    }

    /// The taps of a group in a block.
    #[inline(always)]
    pub(crate) fn all_taps(&self, block: usize, group: usize) -> &[Tap] {
        &self.taps[self.tap_places(block, group)]
    }

    /// Where they stand.
    #[inline(always)]
    pub(super) fn tap_places(&self, block: usize, group: usize) -> Range<usize> {
        let lists = self.lists_per_group();
        let first = (block * self.groups.len() + group) * lists;
        self.starts[first] as usize..self.starts[first + lists] as usize
    }

    /// The lists of a group in a block with stretches of `kind`, column shift number `column` and row
    /// shifts number `rows`.
    #[inline(always)]
    fn lists(
        &self,
        block: usize,
        group: usize,
        kind: usize,
        column: usize,
        rows: &Range<usize>,
    ) -> Range<usize> {
        let kinds = (block * self.groups.len() + group) * KINDS.len() + kind;
        let first = (kinds * self.column_shifts.len() + column) * self.row_shifts.len();
        first + rows.start..first + rows.end
    }

    /// Where the taps of such lists stand, of sharers, who read one by one.
    #[inline(always)]
    pub(super) fn places(
        &self,
        block: usize,
        group: usize,
        column: usize,
        rows: &Range<usize>,
    ) -> Range<usize> {
        let lists = self.lists(block, group, ONE, column, rows);
        self.starts[lists.start] as usize..self.starts[lists.end] as usize
    }

    /// Where the steps of such lists stand, of a target that reads alone.
    #[inline(always)]
    pub(super) fn steps(
        &self,
        block: usize,
        group: usize,
        kind: usize,
        column: usize,
        rows: &Range<usize>,
    ) -> Range<usize> {
        self.steps.of(self.lists(block, group, kind, column, rows))
    }

    /// The row shifts that bring any of `rows` into the source.
    #[inline(always)]
    pub(super) fn shifts(&self, rows: &Range<usize>) -> Range<usize> {
        let (first, last) = (rows.start as isize, rows.end as isize - 1);
        let start = self.row_shifts.partition_point(|&shift| last + shift < 0);
        let rows = self.source_rows as isize;
        let end = self.row_shifts.partition_point(|&shift| first + shift < rows);
        start..end.max(start)
    }
}
