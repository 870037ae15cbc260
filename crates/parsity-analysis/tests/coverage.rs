//! Whether 90 % intervals hold the truth in nine of ten planted studies: not in fewer, as
//! that would be false confidence, and not in more, as that would be wasted data.

mod support;

use parsity_analysis::random::Stream;
use parsity_analysis::{Fit, Form, Law, Reading};
use support::{Luck, Planted, Setup, share, stream};

const SIMULATIONS: u64 = 1000;
const NOISES: [f64; 3] = [0.03, 0.1, 0.25];
const SIZES: [usize; 3] = [8, 11, 14];

/// A law whose critical batch size lies between two shares of the measured range.
fn plant(form: Form, setup: &Setup, [from, to]: [f64; 2], stream: &mut Stream) -> Planted {
    let octaves = (setup.sizes - 1) as f64;
    let critical = setup.smallest * 2f64.powf(octaves * (from + (to - from) * stream.uniform()));
    Planted { form, c2: 100.0 * 6f64.powf(stream.uniform()), critical }
}

/// The share of planted studies in which `holds` says so of readings and their truth.
fn covered(
    form: Form,
    setup: &Setup,
    place: [f64; 2],
    holds: impl Fn(&[Reading], &Planted) -> Option<bool>,
) -> f64 {
    share(SIMULATIONS, |index| {
        let mut stream = stream(index);
        let truth = plant(form, setup, place, &mut stream);
        holds(&truth.measure(setup, &mut stream), &truth) == Some(true)
    })
}

const INSIDE: [f64; 2] = [0.3, 0.7];

fn fit_covers_critical(form: Form, setup: &Setup) {
    let share = covered(form, setup, INSIDE, |readings, truth| {
        Some(Fit::new(form, readings)?.critical_batch_size.holds(truth.critical))
    });
    assert!((0.85..=0.95).contains(&share), "{form:?}, {setup:?}: covered in {share}");
}

fn fit_covers_critical_everywhere(form: Form, luck: fn(f64) -> Luck) {
    for noise in NOISES {
        for sizes in SIZES {
            fit_covers_critical(form, &Setup::centred(sizes, luck(noise)));
        }
    }
}

#[test]
fn the_smooth_critical_batch_size_is_covered_under_lognormal_luck() {
    fit_covers_critical_everywhere(Form::Smooth, Luck::Lognormal);
}

#[test]
fn the_smooth_critical_batch_size_is_covered_under_the_luck_of_a_minimum() {
    fit_covers_critical_everywhere(Form::Smooth, Luck::Minimum);
}

#[test]
fn the_knee_is_covered_under_the_luck_of_a_minimum() {
    fit_covers_critical_everywhere(Form::Knee, Luck::Minimum);
}

#[test]
fn c1_and_c2_are_covered() {
    // Lognormal luck has a median of 1, so that the law itself is the truth.
    let setup = Setup::centred(11, Luck::Lognormal(0.1));
    for form in [Form::Smooth, Form::Knee] {
        let c1 = covered(form, &setup, INSIDE, |readings, truth| {
            Some(Fit::new(form, readings)?.c1.holds(truth.c2 * truth.critical))
        });
        let c2 = covered(form, &setup, INSIDE, |readings, truth| {
            Some(Fit::new(form, readings)?.c2.holds(truth.c2))
        });
        for share in [c1, c2] {
            assert!((0.85..=0.95).contains(&share), "{form:?}: c1 in {c1}, c2 in {c2}");
        }
    }
}

#[test]
fn cells_above_the_budget_do_not_spoil_the_coverage() {
    let setup = Setup { budget: 5_000.0, ..Setup::centred(14, Luck::Minimum(0.1)) };
    let mut without_steps = 0;
    let share = covered(Form::Smooth, &setup, INSIDE, |readings, truth| {
        Some(Fit::new(Form::Smooth, readings)?.critical_batch_size.holds(truth.critical))
    });
    for index in 0..100 {
        let mut stream = stream(index);
        let truth = plant(Form::Smooth, &setup, INSIDE, &mut stream);
        let readings = truth.measure(&setup, &mut stream);
        let fit = Fit::new(Form::Smooth, &readings).unwrap();
        without_steps += readings.len() - fit.bounded;
    }
    assert!(without_steps > 200, "only {without_steps} cells of 100 studies were censored");
    assert!((0.85..=0.95).contains(&share), "covered in {share}");
}

#[test]
fn checks_that_are_coarse_against_the_floor_do_not_spoil_the_coverage() {
    // A floor of 100 to 600 steps, checked every 32: rounding is the larger error.
    let setup = Setup { check_every: 32.0, ..Setup::centred(11, Luck::Minimum(0.03)) };
    fit_covers_critical(Form::Smooth, &setup);
    fit_covers_critical(Form::Knee, &setup);
}

#[test]
fn the_critical_batch_size_of_a_law_is_covered_whichever_form_is_the_true_one() {
    // Near the upper end of the range the forms are hard to tell apart.
    for place in [INSIDE, [0.7, 1.0]] {
        for form in [Form::Smooth, Form::Knee] {
            for noise in [0.1, 0.25] {
                let setup = Setup::centred(11, Luck::Minimum(noise));
                let share = covered(form, &setup, place, |readings, truth| {
                    Some(Law::of(readings)?.critical_batch_size().holds(truth.critical))
                });
                assert!(
                    (0.85..=0.95).contains(&share),
                    "{form:?}, {noise}, {place:?}: covered in {share}"
                );
            }
        }
    }
}

#[test]
fn the_quotient_of_two_critical_batch_sizes_is_covered() {
    for noise in NOISES {
        let setup = Setup::centred(11, Luck::Minimum(noise));
        let covered = share(SIMULATIONS, |index| {
            let mut stream = stream(index);
            let [sparse, dense] =
                [(); 2].map(|()| plant(Form::Smooth, &setup, INSIDE, &mut stream));
            let [a, b] = [sparse, dense].map(|truth| Law::of(&truth.measure(&setup, &mut stream)));
            let quotient = a.unwrap().critical_batch_size_over(&b.unwrap());
            quotient.holds(sparse.critical / dense.critical)
        });
        assert!((0.85..=0.95).contains(&covered), "{noise}: covered in {covered}");
    }
}

#[test]
fn without_a_flat_region_the_interval_has_no_upper_end() {
    let setup = Setup::centred(11, Luck::Minimum(0.1));
    let open = share(SIMULATIONS, |index| {
        let readings = setup.measure(|batch_size| 4e6 / batch_size, &mut stream(index));
        Law::of(&readings).unwrap().critical_batch_size().high == f64::INFINITY
    });
    assert!(open >= 0.9, "open in {open}");
}
