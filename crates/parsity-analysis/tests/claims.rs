//! Whether claims get the verdict that was planted, and seldom a wrong one.

mod support;

use parsity_analysis::claims::{examine, sparse_is_larger};
use parsity_analysis::random::Stream;
use parsity_analysis::{
    Claim, FittedCurve, Form, LipschitzAverage, LipschitzAverages, Ratios, Statement, StudyCurves,
    Verdict,
};
use parsity_study::{Optimizer, Sparsity};
use support::{Luck, Planted, Setup, share, stream};

fn sparsity(share: f64) -> Sparsity {
    Sparsity::new(share).expect("a share below 1")
}

/// A study of all batch sizes, with a curve per (sparsity, critical batch size, floor).
fn study(
    optimizer: Optimizer,
    noise: f64,
    curves: &[(f64, f64, f64)],
    stream: &mut Stream,
) -> StudyCurves {
    let setup = Setup { check_every: 4.0, ..Setup::centred(14, Luck::Minimum(noise)) };
    let curve = |&(share, critical, c2): &(f64, f64, f64)| {
        let truth = Planted { form: Form::Smooth, c2, critical };
        FittedCurve::new(sparsity(share), truth.measure(&setup, stream))
    };
    StudyCurves::new(optimizer.to_string(), optimizer, curves.iter().map(curve).collect())
}

fn claim(number: usize, studies: &[StudyCurves], lipschitz: &[LipschitzAverages]) -> Claim {
    let claims = examine(studies, lipschitz);
    claims[number - 1].clone()
}

const NOISE: f64 = 0.05;

#[test]
fn the_ratio_of_two_curves_and_its_trend_are_covered() {
    let setup = Setup { check_every: 4.0, ..Setup::centred(11, Luck::Lognormal(0.1)) };
    // A power law over a power law, so that the line is the truth: 3·(B/128)^−0.1.
    let measure = |index| {
        let mut stream = stream(index);
        let dense = setup.measure(|b| 1e5 / b, &mut stream);
        let sparse = setup.measure(|b| 3e5 / b * (b / 128.0).powf(-0.1), &mut stream);
        Ratios::of(&sparse, &dense).line.expect("eleven ratios have a line")
    };
    let mean = share(1000, |index| measure(index).mean.holds(3.0));
    let trend = share(1000, |index| measure(index).per_doubling.holds(2f64.powf(-0.1)));
    let end = share(1000, |index| measure(index).at_largest.holds(3.0 * 32f64.powf(-0.1)));
    for covered in [mean, trend, end] {
        assert!((0.85..=0.95).contains(&covered), "mean {mean}, trend {trend}, end {end}");
    }
}

#[test]
fn a_ratio_beyond_a_budget_is_a_bound_and_not_a_gap() {
    let setup =
        Setup { check_every: 4.0, budget: 2_000.0, ..Setup::centred(8, Luck::Lognormal(0.0)) };
    let mut stream = stream(0);
    let dense = setup.measure(|b| 6e4 / b, &mut stream);
    let sparse = setup.measure(|b| 12e4 / b, &mut stream);
    let ratios = Ratios::of(&sparse, &dense);
    assert_eq!(ratios.points.len(), 8);
    // Batch size 16: both are beyond the budget; 32: only the sparse one is.
    let [both, sparse_only, measured] = [0, 1, 2].map(|i| ratios.points[i]);
    assert_eq!((both.ratio, both.above, both.at_most), (None, 0.0, f64::INFINITY));
    assert_eq!((sparse_only.ratio, sparse_only.at_most), (None, f64::INFINITY));
    assert!((sparse_only.above - 2_000.0 / 1_876.0).abs() < 1e-9, "{sparse_only:?}");
    assert!(measured.above < 2.0 && 2.0 < measured.at_most);
    assert!(ratios.line.unwrap().mean.holds(2.0));
}

#[test]
fn three_regions_are_seen_where_they_are_and_not_elsewhere() {
    let verdict = |steps: &dyn Fn(f64) -> f64, index| {
        let setup = Setup { check_every: 4.0, ..Setup::centred(14, Luck::Minimum(NOISE)) };
        let readings = setup.measure(steps, &mut stream(index));
        let curve = FittedCurve::new(Sparsity::DENSE, readings);
        let study = StudyCurves::new("planted".to_owned(), Optimizer::Sgd, vec![curve]);
        claim(1, &[study], &[]).verdict
    };
    let law = |b: f64| 500.0 * (1.0 + 200.0 / b);
    assert!(share(200, |index| verdict(&law, index) == Verdict::Holds) > 0.9);
    assert!(share(200, |index| verdict(&law, index) == Verdict::DoesNotHold) < 0.02);
    // Steps that fall with the root of the batch size have neither region.
    let root = |b: f64| 2e4 / b.sqrt();
    assert!(share(200, |index| verdict(&root, index) == Verdict::DoesNotHold) > 0.9);
    // A curve that is linear to its end leaves the claim open.
    let linear = |b: f64| 1e7 / b;
    assert!(share(200, |index| verdict(&linear, index) == Verdict::NotEnoughData) > 0.9);
}

#[test]
fn sparse_networks_are_no_worse_if_only_the_curve_moves_up() {
    let verdict = |sparse: (f64, f64, f64), index| {
        let curves = [(0.0, 200.0, 500.0), sparse];
        claim(2, &[study(Optimizer::Sgd, NOISE, &curves, &mut stream(index))], &[]).verdict
    };
    assert!(share(200, |index| verdict((0.9, 200.0, 1_000.0), index) == Verdict::Holds) > 0.9);
    let worse = |index| verdict((0.9, 100.0, 1_000.0), index) == Verdict::DoesNotHold;
    assert!(share(200, worse) > 0.9);
    let faster = |index| verdict((0.9, 200.0, 400.0), index) == Verdict::DoesNotHold;
    assert!(share(200, faster) > 0.9);
}

#[test]
fn a_falling_ratio_and_a_larger_critical_batch_size_are_found_together() {
    let test = |critical: f64, index: u64| -> [Statement; 2] {
        let curves = [(0.0, 200.0, 500.0), (0.9, critical, 900.0)];
        let study = study(Optimizer::Momentum, NOISE, &curves, &mut stream(index));
        let falls = claim(3, std::slice::from_ref(&study), &[]).statements[1].clone();
        [falls, sparse_is_larger(&study).remove(0)]
    };
    for which in [0, 1] {
        let found =
            |critical, verdict| share(200, |index| test(critical, index)[which].verdict == verdict);
        assert!(found(400.0, Verdict::Holds) > 0.9, "statement {which}");
        assert!(found(200.0, Verdict::Holds) < 0.1, "statement {which}");
        assert!(found(100.0, Verdict::DoesNotHold) > 0.9, "statement {which}");
    }
}

#[test]
fn the_published_ratios_hold_or_not_by_their_size() {
    let verdict = |floor: f64, index| {
        // At small batch sizes the ratio is floor/500, at large ones two thirds of that.
        let curves = [(0.0, 200.0, 500.0), (0.9, 300.0, floor)];
        let study = study(Optimizer::Momentum, NOISE, &curves, &mut stream(index));
        claim(3, &[study], &[]).verdict
    };
    assert!(share(100, |index| verdict(1_000.0, index) == Verdict::Holds) > 0.9);
    assert!(share(100, |index| verdict(5_000.0, index) == Verdict::DoesNotHold) > 0.9);
    let sgd = study(Optimizer::Sgd, NOISE, &[(0.0, 200.0, 500.0)], &mut stream(0));
    assert_eq!(claim(3, &[sgd], &[]).verdict, Verdict::NotEnoughData);
}

#[test]
fn momentum_goes_further_only_if_it_does_at_every_sparsity() {
    let verdict = |momentum: &[(f64, f64, f64)], index| {
        let mut stream = stream(index);
        let plain = [(0.0, 200.0, 800.0), (0.9, 200.0, 1_600.0)];
        let plain = study(Optimizer::Sgd, NOISE, &plain, &mut stream);
        let momentum = study(Optimizer::Momentum, NOISE, momentum, &mut stream);
        claim(4, &[plain, momentum], &[]).verdict
    };
    let both = [(0.0, 800.0, 200.0), (0.9, 800.0, 400.0)];
    assert!(share(100, |index| verdict(&both, index) == Verdict::Holds) > 0.9);
    let dense_only = [(0.0, 800.0, 200.0), (0.9, 200.0, 1_600.0)];
    assert!(share(100, |index| verdict(&dense_only, index) == Verdict::DoesNotHold) > 0.9);
    let alone = study(Optimizer::Momentum, NOISE, &both, &mut stream(0));
    assert_eq!(claim(4, &[alone], &[]).verdict, Verdict::NotEnoughData);
}

#[test]
fn pruning_slows_training_down_if_both_steps_and_lipschitz_constants_rise() {
    let shares = [0.0, 0.5, 0.7, 0.9];
    let curves = [(0.0, 200.0, 500.0), (0.5, 200.0, 600.0), (0.7, 200.0, 700.0), (0.9, 200.0, 1e3)];
    let study = study(Optimizer::Sgd, NOISE, &curves, &mut stream(0));
    let set = |averages: &[f64]| -> LipschitzAverages {
        let pairs = shares.into_iter().zip(averages);
        let average = |(share, &average)| LipschitzAverage { sparsity: sparsity(share), average };
        LipschitzAverages { training: "sgd".to_owned(), averages: pairs.map(average).collect() }
    };
    let examined =
        |lipschitz: &[LipschitzAverages]| claim(5, std::slice::from_ref(&study), lipschitz);
    let verdict = |lipschitz: &[LipschitzAverages]| examined(lipschitz).verdict;
    let published = set(&[0.57, 0.72, 0.81, 1.76]);
    let falling = set(&[1.76, 0.81, 0.72, 0.57]);
    assert_eq!(verdict(std::slice::from_ref(&published)), Verdict::Holds);
    assert_eq!(verdict(std::slice::from_ref(&falling)), Verdict::DoesNotHold);
    assert_eq!(verdict(&[]), Verdict::NotEnoughData);
    // Each set is tested by itself; one of fewer sparsities says nothing beside a larger one.
    assert_eq!(verdict(&[published.clone(), falling]), Verdict::DoesNotHold);
    let both = examined(&[published.clone(), published.clone()]);
    assert_eq!((both.verdict, both.statements.len()), (Verdict::Holds, 5));
    assert_eq!(both.statements[0], both.statements[1]);
    assert_eq!(verdict(&[published, set(&[2.0, 1.0])]), Verdict::Holds);
}
