//! The wire: processes that train one network together, each with its part of every batch.
//!
//! A seam. The engine knows how parts are combined, and in which order; what carries them
//! is for others: MPI, or channels between threads ([`Link`]), which tests use. Whoever
//! carries them ends all processes if one is lost: there is no error to handle here.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};

/// One of several processes that work in step, and its wires to the others.
///
/// All of them make the same calls in the same order. What is sent from one to another
/// arrives in the order in which it was sent, bit by bit.
pub trait Comm: fmt::Debug + Send {
    /// Which one this is, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Sends numbers to another one.
    fn send(&mut self, to: usize, numbers: &[f32]);

    /// Waits for as many numbers from another one.
    fn receive(&mut self, from: usize, numbers: &mut [f32]);

    /// Sends numbers to another one, or to itself, and does not wait until they are taken. They
    /// are for `poll`, not for `receive`.
    fn post(&mut self, to: usize, numbers: Vec<f32>);

    /// Takes what somebody has posted, however long it is, with his rank; `None` if there is
    /// nothing yet.
    fn poll(&mut self) -> Option<(usize, Vec<f32>)>;

    /// Gives the numbers of rank 0 to all.
    fn broadcast(&mut self, numbers: &mut [f32]) {
        match self.rank() {
            0 => (1..self.size()).for_each(|rank| self.send(rank, numbers)),
            _ => self.receive(0, numbers),
        }
    }

    /// Adds up the numbers of all in an order of its own, so not to the same bits for every
    /// number of processes, but perhaps faster.
    fn sum(&mut self, numbers: &mut [f32]) {
        if self.rank() == 0 {
            let mut other = vec![0.0; numbers.len()];
            for rank in 1..self.size() {
                self.receive(rank, &mut other);
                numbers.iter_mut().zip(&other).for_each(|(sum, part)| *sum += part);
            }
        } else {
            self.send(0, numbers);
        }
        self.broadcast(numbers);
    }

    /// Bytes that this one has sent so far.
    fn bytes_sent(&self) -> u64;
}

/// Whether all have the same bits, so that all know.
pub fn agree(comm: &mut dyn Comm, bits: &[u32]) -> bool {
    let ours: Vec<f32> = bits.iter().map(|&bits| f32::from_bits(bits)).collect();
    let mut first = ours.clone();
    comm.broadcast(&mut first);
    let same = ours.iter().zip(&first).all(|(ours, first)| ours.to_bits() == first.to_bits());
    let mut different = [if same { 0.0 } else { 1.0 }];
    comm.sum(&mut different);
    different[0] == 0.0
}

/// One end of channels between threads of one process, each of which plays a process.
#[derive(Debug)]
pub struct Link {
    rank: usize,
    to: Vec<Sender<Vec<f32>>>,
    from: Vec<Receiver<Vec<f32>>>,
    posts: Vec<Sender<(usize, Vec<f32>)>>,
    posted: Receiver<(usize, Vec<f32>)>,
    bytes: u64,
}

impl Link {
    /// The ends for `size` threads.
    pub fn between(size: usize) -> Vec<Link> {
        let (posts, posted): (Vec<_>, Vec<_>) = (0..size).map(|_| channel()).unzip();
        let link = |(rank, posted)| {
            let (to, from) = (Vec::new(), Vec::new());
            Link { rank, to, from, posts: posts.clone(), posted, bytes: 0 }
        };
        let mut links: Vec<Link> = posted.into_iter().enumerate().map(link).collect();
        for from in 0..size {
            for to in 0..size {
                let (sender, receiver) = channel();
                links[from].to.push(sender);
                links[to].from.push(receiver);
            }
        }
        links
    }
}

impl Comm for Link {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn send(&mut self, to: usize, numbers: &[f32]) {
        self.bytes += size_of_val(numbers) as u64;
        self.to[to].send(numbers.to_vec()).expect("the other end is there");
    }

    fn receive(&mut self, from: usize, numbers: &mut [f32]) {
        let received = self.from[from].recv().expect("the other end is there");
        numbers.copy_from_slice(&received);
    }

    fn post(&mut self, to: usize, numbers: Vec<f32>) {
        self.bytes += size_of_val(&*numbers) as u64;
        self.posts[to].send((self.rank, numbers)).expect("the other end is there");
    }

    fn poll(&mut self) -> Option<(usize, Vec<f32>)> {
        self.posted.try_recv().ok()
    }

    fn bytes_sent(&self) -> u64 {
        self.bytes
    }
}
