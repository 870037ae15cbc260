//! How fast this machine trains and evaluates a network, measured fairly.
//!
//! A machine's speed swings while one looks at it. So all cases that are to be compared
//! take turns: each is timed for a moment, round after round, and the median of these
//! moments is its speed. The images are made up, so no data set is needed; the pruning is
//! SNIP's own, because where the survivors are decides how much work is left.

use parsity_engine::random::{Purpose, Stream};
use parsity_engine::{
    Batches, Examples, Material, Method, Network, Normalization, Optimizer, Order, Pass, Pattern,
    Program, Pruning, Role, Schedule, Session, Shape, Survey, Team, initialize, peak, profile,
    saliencies,
};
use parsity_study::{BatchSize, Sparsity};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Made-up images. More than the caches hold, as in a real data set.
const IMAGES: usize = 4096;
/// The first of them, over which SNIP sums its gradient.
const SNIP_IMAGES: usize = 1000;
/// The sides of the coarse grid that a made-up image shows.
const GRID: usize = 7;
/// How long a case is timed in each round, about.
const MOMENT: Duration = Duration::from_millis(80);
/// A case whose moments are longer than this is timed in few rounds only.
const LONG: Duration = Duration::from_millis(300);
const FEW_ROUNDS: usize = 3;
/// So small that thousands of timed steps leave the network as it was pruned.
const LEARNING_RATE: f64 = 1e-5;
/// Momentum is what most studies use, and costs what Nesterov costs.
const OPTIMIZER: Optimizer = Optimizer::Momentum { momentum: 0.9 };

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Whole training steps: gathering the batch, forward, backward, update.
    Train,
    /// The same, but with every product at every position, also those that a max-pool has ruled out.
    TrainEverywhere,
    /// Counting errors: forward only.
    Evaluate,
}

/// One thing to be timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// What is done.
    pub work: Work,
    /// Images per training step, or per evaluation.
    pub batch_size: BatchSize,
    /// The share of parameters that SNIP removes.
    pub sparsity: Sparsity,
    /// Threads that work together.
    pub threads: usize,
}

/// How fast a case is.
#[derive(Debug, Clone, PartialEq)]
pub struct Speed {
    /// What was timed.
    pub case: Case,
    /// The median.
    pub images_per_second: f64,
    /// Images per second in each round.
    pub turns: Vec<f64>,
    /// Floating-point operations per second; those of survivors count, no others.
    pub useful_flops: f64,
    /// Compared with the dense case that is otherwise the same, if that was timed too: the median
    /// over rounds, because what takes turns meets the machine in about the same state.
    pub speedup_over_dense: Option<f64>,
}

/// Floating-point operations per second that one core can do at best.
pub fn measure_peak() -> f64 {
    let sample = |_| {
        let begin = Instant::now();
        let operations = peak::multiply_and_add(2_000_000);
        operations as f64 / begin.elapsed().as_secs_f64()
    };
    (0..20).map(sample).fold(0.0, f64::max)
}

/// Floating-point operations that `work` needs per image with the survivors of `pattern`:
/// two per multiply-add forward, and as many for each of the two gradients, except that
/// nobody asks for the gradient of the image.
pub fn useful_flops_per_image(network: &Network, pattern: &Pattern, work: Work) -> usize {
    let survivors = pattern.survivors_per_tensor(network).into_iter();
    let tensors = network.tensors().iter().zip(survivors).enumerate();
    let weights = tensors.filter(|(_, (tensor, _))| tensor.role != Role::Bias);
    let forward: Vec<usize> =
        weights.map(|(index, (_, survivors))| 2 * survivors * network.positions(index)).collect();
    let all: usize = forward.iter().sum();
    match work {
        Work::Evaluate => all,
        Work::Train | Work::TrainEverywhere => 3 * all - forward.first().unwrap_or(&0),
    }
}

/// How fast a kernel is at one sparsity.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSpeed {
    /// Layer and pass: `conv2, weight gradient`.
    pub kernel: String,
    /// The network's sparsity.
    pub sparsity: Sparsity,
    /// Seconds per image.
    pub seconds: f64,
    /// Useful floating-point operations per image.
    pub flops: usize,
}

/// A network to be timed: with images, and pruned to some sparsities.
#[derive(Debug)]
pub struct Specimen {
    material: Arc<Material>,
    parameters: Vec<f32>,
    programs: Vec<(Sparsity, Arc<Program>)>,
}

impl Specimen {
    /// `network`, pruned to each of `sparsities`; `None` if `go_on` said no on the way.
    pub fn new(
        network: &Arc<Network>,
        sparsities: &[Sparsity],
        threads: usize,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let examples = make_up_examples(network.input(), network.classes());
        let normalization = Normalization::of(&examples);
        let material = Arc::new(Material::new(examples, normalization));
        let parameters = initialize(network, 0);
        let snip = Pruning { method: Method::Snip, biases: true, seed: 0 };
        let split: Vec<u32> = (0..SNIP_IMAGES as u32).collect();
        let all_dense = sparsities.iter().all(|&sparsity| sparsity == Sparsity::DENSE);
        let scores = if all_dense {
            vec![0.0; parameters.len()]
        } else {
            let mut team = Team::new(threads);
            let mut survey = Survey { material: &material, split: &split, team: &mut team, go_on };
            saliencies(snip, network, &parameters, &mut survey)?
        };
        let program = |&sparsity: &Sparsity| {
            let pattern = Pattern::of_highest(&scores, sparsity.survivors(parameters.len()));
            (sparsity, Arc::new(Program::new(Arc::clone(network), Arc::new(pattern))))
        };
        let programs = sparsities.iter().map(program).collect();
        Some(Specimen { material, parameters, programs })
    }

    /// Bytes that a trial needs at each sparsity.
    pub fn trial_bytes(&self) -> impl Iterator<Item = (Sparsity, usize)> {
        let programs = self.programs.iter();
        programs.map(|(sparsity, it)| (*sparsity, it.trial_bytes(OPTIMIZER.has_velocity())))
    }

    /// Times every kernel alone, on one thread and blocks of `LANES` images, `rounds` times
    /// at each sparsity. Kernels of one name are added up.
    pub fn kernels(&self, rounds: usize) -> Vec<KernelSpeed> {
        let begin = Instant::now();
        let clock = || begin.elapsed().as_secs_f64();
        let mut speeds: Vec<KernelSpeed> = Vec::new();
        for (sparsity, program) in &self.programs {
            let (network, pattern) = (program.network(), program.pattern());
            let survivors = pattern.survivors_per_tensor(network);
            let values = pattern.gather(&self.parameters);
            for time in profile(program, &self.material, &values, rounds, &clock) {
                let flops = time.weight.map_or(0, |it| 2 * survivors[it] * network.positions(it));
                let pass = match time.pass {
                    Pass::Forward => "forward",
                    Pass::InputGradient => "input gradient",
                    Pass::WeightGradient => "weight gradient",
                };
                let kernel = format!("{}, {pass}", time.layer);
                let known =
                    speeds.iter_mut().find(|it| (&it.kernel, it.sparsity) == (&kernel, *sparsity));
                match known {
                    Some(known) => {
                        known.seconds += time.seconds;
                        known.flops += flops;
                    }
                    None => {
                        let (seconds, sparsity) = (time.seconds, *sparsity);
                        speeds.push(KernelSpeed { kernel, sparsity, seconds, flops });
                    }
                }
            }
        }
        speeds
    }

    /// Times `cases`, whose sparsities must be the specimen's, in turns, at least one round.
    /// `watch` hears how many of how many moments are over; `None` if it said no.
    pub fn time(
        &self,
        cases: &[Case],
        rounds: usize,
        watch: &dyn Fn(usize, usize) -> bool,
    ) -> Option<Vec<Speed>> {
        let rounds = rounds.max(1);
        let mut teams: BTreeMap<usize, Team> = BTreeMap::new();
        let mut contenders = Vec::new();
        for case in cases {
            let team = teams.entry(case.threads).or_insert_with(|| Team::new(case.threads));
            contenders.push(Contender::new(self, *case, rounds, team));
            if !watch(0, 1) {
                return None;
            }
        }
        let (mut done, all) = (0, contenders.iter().map(|it| it.rounds).sum());
        for round in 0..rounds {
            for contender in contenders.iter_mut().filter(|it| round < it.rounds) {
                if let Some(team) = teams.get_mut(&contender.case.threads) {
                    contender.take_turn(team);
                }
                done += 1;
                if !watch(done, all) {
                    return None;
                }
            }
        }
        Some(speeds(&mut contenders))
    }

    fn program(&self, sparsity: Sparsity) -> &Arc<Program> {
        let found = self.programs.iter().find(|(it, _)| *it == sparsity);
        &found.expect("the specimen was pruned to this sparsity").1
    }
}

/// A case with all that it needs to be timed.
struct Contender {
    case: Case,
    session: Session,
    /// What is evaluated.
    indices: Vec<u32>,
    /// Repetitions in each moment.
    repetitions: u32,
    rounds: usize,
    is_long: bool,
    seconds: Vec<f64>,
}

impl Contender {
    /// Warmed up, and with moments of the right length.
    fn new(specimen: &Specimen, case: Case, rounds: usize, team: &mut Team) -> Self {
        let batch_size = case.batch_size.0 as usize;
        let split: Arc<[u32]> = (0..IMAGES as u32).collect();
        let program = specimen.program(case.sparsity);
        let program = match case.work {
            Work::TrainEverywhere => {
                let (network, pattern) = (program.network(), program.pattern());
                Arc::new(Program::everywhere(Arc::clone(network), Arc::clone(pattern)))
            }
            _ => Arc::clone(program),
        };
        let session = Session::new(
            program,
            Arc::clone(&specimen.material),
            &specimen.parameters,
            OPTIMIZER,
            Schedule::Constant { rate: LEARNING_RATE },
            Batches::new(split, batch_size, Order::Shuffled { seed: 0 }),
        );
        let indices = (0..case.batch_size.0).map(|index| index % IMAGES as u32).collect();
        let seconds = Vec::with_capacity(rounds);
        let mut it =
            Contender { case, session, indices, repetitions: 0, rounds, is_long: false, seconds };
        it.work(team);
        let begin = Instant::now();
        while begin.elapsed() < MOMENT / 4 {
            it.work(team);
            it.repetitions += 1;
        }
        let one = begin.elapsed() / it.repetitions;
        it.repetitions = (MOMENT.as_secs_f64() / one.as_secs_f64()).max(1.0) as u32;
        it.is_long = one > LONG;
        if it.is_long {
            it.rounds = rounds.min(FEW_ROUNDS);
        }
        it
    }

    fn work(&mut self, team: &mut Team) {
        match self.case.work {
            Work::Train | Work::TrainEverywhere => {
                self.session.step(team);
            }
            Work::Evaluate => {
                self.session.count_errors(&mut self.indices, team);
            }
        }
    }

    fn take_turn(&mut self, team: &mut Team) {
        // The caches, and what the threads have prepared, still belong to the case before. In long
        // moments that does not count.
        if !self.is_long {
            self.work(team);
        }
        let begin = Instant::now();
        for _ in 0..self.repetitions {
            self.work(team);
        }
        self.seconds.push(begin.elapsed().as_secs_f64() / f64::from(self.repetitions));
    }
}

fn speeds(contenders: &mut [Contender]) -> Vec<Speed> {
    let mut speeds: Vec<Speed> = contenders
        .iter_mut()
        .map(|Contender { case, session, seconds, .. }| {
            let program = session.program();
            let flops = useful_flops_per_image(program.network(), program.pattern(), case.work);
            let batch = f64::from(case.batch_size.0);
            let turns = seconds.iter().map(|seconds| batch / seconds).collect();
            let images_per_second = batch / median(seconds);
            let useful_flops = flops as f64 * images_per_second;
            Speed { case: *case, images_per_second, turns, useful_flops, speedup_over_dense: None }
        })
        .collect();
    for index in 0..speeds.len() {
        let dense = Case { sparsity: Sparsity::DENSE, ..speeds[index].case };
        let dense = speeds.iter().find(|it| it.case == dense);
        let ratios = dense.map(|dense| {
            let turns = speeds[index].turns.iter().zip(&dense.turns);
            turns.map(|(its, dense)| its / dense).collect::<Vec<f64>>()
        });
        speeds[index].speedup_over_dense = ratios.map(|mut ratios| median(&mut ratios));
    }
    speeds
}

/// The middle of `numbers`, which it sorts; between the two middle ones of an even count.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let (below, above) = (numbers.len().saturating_sub(1) / 2, numbers.len() / 2);
    (numbers[below] + numbers[above]) / 2.0
}

/// Images of coarse grey patches, half of a patch its class's and half the image's own.
/// Neighbouring pixels belong together and classes can be told apart, as in photographs:
/// on these SNIP prunes each layer about as it does on the data sets, and on noise it
/// does not.
fn make_up_examples(shape: Shape, classes: usize) -> Examples {
    let mut stream = Stream::new(0, Purpose::Glyphs, 0);
    let mut grid = || -> Vec<u32> { (0..GRID * GRID).map(|_| stream.below(128)).collect() };
    let of_classes: Vec<Vec<u32>> = (0..classes).map(|_| grid()).collect();
    let mut images = Vec::with_capacity(IMAGES * shape.len());
    for image in 0..IMAGES {
        let (own, class) = (grid(), &of_classes[image % classes]);
        for pixel in 0..shape.len() {
            let (row, column) = (pixel / shape.width % shape.height, pixel % shape.width);
            let patch = row * GRID / shape.height * GRID + column * GRID / shape.width;
            images.push((own[patch] + class[patch]) as u8);
        }
    }
    let labels = (0..IMAGES).map(|image| (image % classes) as u8).collect();
    Examples::new(shape, images, labels).expect("the sizes agree")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{find_model, lower_model};
    use std::path::Path;

    fn network(name: &str) -> Network {
        lower_model(&find_model(name, Path::new(".")).unwrap()).unwrap()
    }

    #[test]
    fn the_dense_networks_need_their_nominal_operations() {
        let flops = |name: &str, work| {
            let network = network(name);
            useful_flops_per_image(&network, &Pattern::dense(network.parameters()), work)
        };
        assert_eq!(flops("simple-cnn", Work::Evaluate), 7_495_680);
        assert_eq!(flops("simple-cnn", Work::Train), 21_565_440);
        assert_eq!(flops("resnet-8", Work::Evaluate), 24_478_976);
        assert_eq!(flops("resnet-8", Work::Train), 72_552_192);
    }

    #[test]
    fn pruned_weights_and_all_biases_count_nothing() {
        let network = network("simple-cnn");
        let mut saliencies = vec![0.0; network.parameters()];
        saliencies[0] = 2.0; // A weight of the first convolution, with 24×24 positions ...
        saliencies[840] = 1.0; // ... one of the second, with 8×8, ...
        saliencies[800] = 1.0; // ... and a bias.
        let pattern = Pattern::of_highest(&saliencies, 3);
        let flops = |work| useful_flops_per_image(&network, &pattern, work);
        assert_eq!(flops(Work::Evaluate), 2 * (576 + 64));
        assert_eq!(flops(Work::Train), 4 * 576 + 6 * 64);
    }

    #[test]
    fn the_median_does_not_care_about_order_or_outliers() {
        assert_eq!(median(&mut [3.0, 1000.0, 1.0]), 3.0);
        assert_eq!(median(&mut [4.0, 1.0, 1000.0, 2.0]), 3.0);
        assert_eq!(median(&mut [7.0]), 7.0);
    }
}
