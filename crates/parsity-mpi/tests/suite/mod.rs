//! What every wire must do, whatever it is made of.

use parsity_engine::comm::{Comm, agree};

/// Puts a wire to the test; all ends call it at the same time.
pub(crate) fn examine(comm: &mut dyn Comm) {
    what_is_sent_arrives_bit_by_bit_and_in_order(comm);
    long_messages_travel_around_the_ring(comm);
    what_is_posted_arrives_whoever_waits_for_whom(comm);
    the_first_one_gives_to_all(comm);
    whole_numbers_add_up_exactly(comm);
    everybody_learns_whether_all_agree(comm);
    bytes_are_counted_where_they_are_sent(comm);
}

fn what_is_sent_arrives_bit_by_bit_and_in_order(comm: &mut dyn Comm) {
    // Zeros of both signs, numbers beyond all others, and a NaN with a message.
    let odd = [0.0, -0.0, f32::MIN_POSITIVE / 2.0, f32::INFINITY, f32::from_bits(0x7fa1_2345)];
    let (rank, size) = (comm.rank(), comm.size());
    if rank == 0 {
        for to in 1..size {
            comm.send(to, &odd);
            comm.send(to, &[to as f32]);
            comm.send(to, &[]);
        }
    } else {
        let (mut numbers, mut own) = ([1.0; 5], [0.0]);
        comm.receive(0, &mut numbers);
        comm.receive(0, &mut own);
        comm.receive(0, &mut []);
        assert_eq!(numbers.map(f32::to_bits), odd.map(f32::to_bits));
        assert_eq!(own, [rank as f32]);
    }
}

fn long_messages_travel_around_the_ring(comm: &mut dyn Comm) {
    const LENGTH: usize = 300_000;
    let (rank, size) = (comm.rank(), comm.size());
    if size == 1 {
        return;
    }
    let mut numbers = vec![0.0; LENGTH];
    if rank == 0 {
        comm.send(1, &(0..LENGTH).map(|place| place as f32).collect::<Vec<_>>());
        comm.receive(size - 1, &mut numbers);
    } else {
        comm.receive(rank - 1, &mut numbers);
        comm.send((rank + 1) % size, &numbers);
    }
    assert!(numbers.iter().enumerate().all(|(place, &number)| number == place as f32));
}

fn what_is_posted_arrives_whoever_waits_for_whom(comm: &mut dyn Comm) {
    let (rank, size) = (comm.rank(), comm.size());
    // To all, itself included, long and short, before anybody has taken anything.
    for to in 0..size {
        comm.post(to, vec![rank as f32; 200_000]);
        comm.post(to, vec![-1.0]);
        comm.post(to, vec![]);
    }
    let mut lengths = vec![Vec::new(); size];
    while lengths.iter().map(Vec::len).sum::<usize>() < 3 * size {
        if let Some((from, numbers)) = comm.poll() {
            let expected = if numbers.len() == 1 { -1.0 } else { from as f32 };
            assert!(numbers.iter().all(|&number| number == expected));
            lengths[from].push(numbers.len());
        }
    }
    assert!(lengths.iter().all(|lengths| *lengths == [200_000, 1, 0]), "{lengths:?}");
    assert!(comm.poll().is_none());
}

fn the_first_one_gives_to_all(comm: &mut dyn Comm) {
    let mut numbers: Vec<f32> = (0..1000).map(|place| (place * (comm.rank() + 1)) as f32).collect();
    comm.broadcast(&mut numbers);
    assert!(numbers.iter().enumerate().all(|(place, &number)| number == place as f32));
}

fn whole_numbers_add_up_exactly(comm: &mut dyn Comm) {
    let mut numbers: Vec<f32> = (0..1000).map(|place| (place + comm.rank()) as f32).collect();
    comm.sum(&mut numbers);
    let (size, others) = (comm.size(), comm.size() * (comm.size() - 1) / 2);
    assert!(numbers.iter().enumerate().all(|(at, &it)| it == (at * size + others) as f32));
}

fn everybody_learns_whether_all_agree(comm: &mut dyn Comm) {
    assert!(agree(comm, &[1, u32::MAX, 3]));
    let last = comm.rank() + 1 == comm.size();
    let alone = comm.size() == 1;
    assert_eq!(agree(comm, &[1, u32::from(last && !alone)]), alone);
}

fn bytes_are_counted_where_they_are_sent(comm: &mut dyn Comm) {
    let before = comm.bytes_sent();
    if comm.rank() == 0 {
        (1..comm.size()).for_each(|to| comm.send(to, &[1.0; 25]));
    } else {
        comm.receive(0, &mut [0.0; 25]);
    }
    let sent = if comm.rank() == 0 { 100 * (comm.size() as u64 - 1) } else { 0 };
    assert_eq!(comm.bytes_sent() - before, sent);
}
