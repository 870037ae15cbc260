//! The order in which a correlation reads: blocks of sources, and who has a turn in which.
//!
//! Apart from where survivors read, because this knows nothing of convolutions: only who reads
//! which source, and what the nearest cache has room for.

use crate::kernels::stretches::{KINDS, ONE, first_kind};
use crate::kernels::taps::{Group, Round, SHARERS, Tap, Turn};
use std::ops::Range;

/// Bytes of a source that should stay in the nearest cache while all targets read it.
const NEAR: usize = 32 * 1024;

/// Taps of one target that are worth a turn of loading and storing its sums.
const WORTH: usize = 48;

/// The same where no targets share what they read: a piece of rows reads little of a source, and
/// each target has turns of its own.
const NEAR_ALONE: usize = 48 * 1024;
const WORTH_ALONE: usize = 20;

/// One product of a correlation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    pub(crate) source: usize,
    pub(crate) target: usize,
    /// Number of its column and row shift.
    pub(crate) shift: usize,
    pub(crate) tap: Tap,
}

/// How the reads of a correlation are sorted.
pub(crate) struct List {
    pub(crate) sources: usize,
    pub(crate) targets: usize,
    /// The targets that are computed. Blocks do not depend on which these are, so the order of
    /// their sums does not, either.
    pub(crate) kept: Range<usize>,
    /// Neighbouring targets of which, in a whole layer, all read the same.
    pub(crate) alike: usize,
    /// Pairs of column and row shifts.
    pub(crate) shifts: usize,
    /// Whether taps that read side by side are taken together.
    pub(crate) stretches: bool,
    /// Bytes that one position reads of one source channel.
    pub(crate) per_source: usize,
    pub(crate) dense: bool,
}

/// The reads of a correlation in the order in which they are done.
pub(crate) struct Sorted {
    /// Sharers are represented by the first of them.
    pub(crate) taps: Vec<Tap>,
    /// Where each list of taps begins.
    pub(crate) starts: Vec<u32>,
    pub(crate) groups: Vec<Group>,
    pub(crate) blocks: usize,
    pub(crate) rounds: Vec<Round>,
}

impl List {
    /// Sorts `reads` by block of sources, group of targets, kind of stretches and shift.
    pub(crate) fn sorted(&self, mut reads: Vec<Read>) -> Sorted {
        // Few taps are not worth many blocks: each costs a turn of loading and storing sums.
        let near = (self.near() / self.per_source).clamp(1, self.sources);
        let worth = reads.len() / (self.targets * WORTH);
        let blocks = match self.dense {
            true => self.sources.div_ceil(near).min(worth).max(1),
            false => self.sources.div_ceil(near),
        };
        let near = self.sources.div_ceil(blocks);
        let blocks = self.sources.div_ceil(near);
        let turns = self.turns(&reads, near, blocks);
        let block = |read: &Read| turns[read.target][read.source / near];
        let groups = self.groups();
        let mut group_of = vec![None; self.kept.len()];
        for (index, group) in groups.iter().enumerate() {
            group_of[group.first as usize] = Some(index);
        }
        // Block and group; and shift.
        let place = |read: &Read| {
            let group = group_of[read.target - self.kept.start]?;
            Some((block(read) * groups.len() + group, read.shift))
        };
        reads.retain(|read| self.kept.contains(&read.target) && place(read).is_some());
        reads.sort_by_cached_key(|read| (place(read), read.tap.offset));
        let mut listed = Vec::with_capacity(reads.len());
        for reads in reads.chunk_by(|one, next| place(one) == place(next)) {
            let Some((group, shift)) = place(&reads[0]) else { continue };
            let mut taps: Vec<Tap> = reads.iter().map(|read| read.tap).collect();
            while !taps.is_empty() {
                let kind = if self.stretches { first_kind(&taps) } else { ONE };
                let list = (group * KINDS.len() + kind) * self.shifts + shift;
                listed.extend(taps.drain(..KINDS[kind].len()).map(|tap| (list, tap)));
            }
        }
        listed.sort_by_key(|&(list, _)| list);
        let lists = blocks * groups.len() * KINDS.len() * self.shifts;
        let start = |list: usize| listed.partition_point(|&(it, _)| it < list) as u32;
        let starts = (0..=lists).map(start).collect();
        let taps = listed.iter().map(|&(_, tap)| tap).collect();
        let turn = |block: usize, (index, group): (usize, &Group)| {
            let turns = &turns[self.kept.start + group.first as usize];
            let turn = Turn::new(index, turns[0] == block, turns[blocks - 1] == block);
            turns.contains(&block).then_some(turn)
        };
        let round = |(block, shared): (usize, bool)| {
            let own = groups.iter().enumerate().filter(|(_, group)| group.shared == shared);
            let turns: Vec<Turn> = own.filter_map(|it| turn(block, it)).collect();
            (!turns.is_empty()).then_some(Round { block, shared, turns })
        };
        let rounds = (0..blocks).flat_map(|block| [(block, true), (block, false)]);
        let rounds = rounds.filter_map(round).collect();
        Sorted { taps, starts, groups, blocks, rounds }
    }

    /// Who shares what is read: as many as can, then those that are left over.
    fn groups(&self) -> Vec<Group> {
        let mut groups = vec![];
        let mut target = self.kept.start;
        while target < self.kept.end {
            let end = (target + 1).next_multiple_of(self.alike).min(self.kept.end);
            let shared = self.dense && target + SHARERS <= end;
            groups.push(Group { first: (target - self.kept.start) as u32, shared });
            target += if shared { SHARERS } else { 1 };
        }
        groups.sort_by_key(|group| !group.shared);
        groups
    }

    /// For each target and block of `near` sources: the block in whose turn it reads them. Few
    /// reads are not worth a turn of loading and storing sums, so they wait for more.
    fn turns(&self, reads: &[Read], near: usize, blocks: usize) -> Vec<Vec<usize>> {
        let mut counts = vec![vec![0; blocks]; self.targets];
        for read in reads {
            counts[read.target][read.source / near] += 1;
        }
        let turns = |counts: Vec<usize>| {
            let mut turns: Vec<usize> = (0..blocks).collect();
            let (mut waiting, mut sum, mut before) = (0, 0, None);
            for block in 0..blocks {
                sum += counts[block];
                if sum >= self.worth() || block + 1 == blocks {
                    // What is left at the end joins the turn before.
                    let turn = before.filter(|_| sum < self.worth()).unwrap_or(block);
                    turns[waiting..=block].fill(turn);
                    (waiting, sum, before) = (block + 1, 0, Some(turn));
                }
            }
            turns
        };
        counts.into_iter().map(turns).collect()
    }

    /// Reads of one target that are worth a turn: each list of them costs something.
    fn worth(&self) -> usize {
        if self.dense { 1 } else { WORTH_ALONE + self.shifts }
    }

    fn near(&self) -> usize {
        if self.dense { NEAR } else { NEAR_ALONE }
    }
}
