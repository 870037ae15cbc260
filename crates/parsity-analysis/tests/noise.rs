//! Whether a planted gradient noise scale is found again, from gradients that are made of
//! signal and noise.

mod support;

use parsity_analysis::noise::agree;
use parsity_analysis::random::Stream;
use parsity_analysis::{Estimate, NoiseScale, SquaredNorms, Verdict, noise_scale};
use support::{share, stream};

/// The squared length of the gradient of a batch: 50 parameters, a signal of length 1,
/// and examples whose gradients have a total variance of `scale`.
fn squared_norm(scale: f64, batch: f64, stream: &mut Stream) -> f64 {
    let deviation = (scale / 50.0 / batch).sqrt();
    let signal = 1.0 / 50f64.sqrt();
    (0..50).map(|_| (signal + deviation * stream.normal()).powi(2)).sum()
}

fn measure(scale: f64, measurements: usize, stream: &mut Stream) -> NoiseScale {
    let pair = |stream: &mut Stream| SquaredNorms {
        small: squared_norm(scale, 16.0, stream),
        big: squared_norm(scale, 256.0, stream),
    };
    let pairs: Vec<SquaredNorms> = (0..measurements).map(|_| pair(stream)).collect();
    noise_scale(16.0, 256.0, &pairs).expect("there are enough measurements")
}

#[test]
fn a_planted_noise_scale_is_recovered() {
    let found = measure(100.0, 2000, &mut stream(0));
    assert!((found.scale.value / 100.0 - 1.0).abs() < 0.03, "{found:?}");
    assert!((found.signal - 1.0).abs() < 0.02 && (found.noise / 100.0 - 1.0).abs() < 0.03);
}

#[test]
fn its_interval_holds_the_truth_in_nine_of_ten_cases() {
    for (scale, measurements) in [(30.0, 10), (100.0, 10), (100.0, 50), (500.0, 30)] {
        let covered = share(1000, |index| {
            measure(scale, measurements, &mut stream(index)).scale.holds(scale)
        });
        assert!(
            (0.85..=0.95).contains(&covered),
            "scale {scale}, {measurements} measurements: covered in {covered}"
        );
    }
}

#[test]
fn a_signal_that_drowns_in_noise_has_a_scale_without_an_upper_end() {
    let open = share(100, |index| {
        let found = measure(1e5, 10, &mut stream(index));
        found.scale.high == f64::INFINITY && found.scale.low > 0.0
    });
    assert!(open > 0.9, "open in {open}");
}

#[test]
fn a_noise_scale_disagrees_only_when_the_intervals_have_nothing_in_common() {
    let found = measure(100.0, 50, &mut stream(0));
    let critical = |low, high| Estimate { value: low, low, high };
    let verdict = |critical| agree(&found, &critical).verdict;
    assert_eq!(verdict(critical(80.0, 300.0)), Verdict::Holds);
    assert_eq!(verdict(critical(400.0, 900.0)), Verdict::DoesNotHold);
    assert_eq!(verdict(critical(400.0, f64::INFINITY)), Verdict::DoesNotHold);
    assert_eq!(verdict(critical(10.0, 20.0)), Verdict::DoesNotHold);
    assert_eq!(verdict(critical(80.0, f64::INFINITY)), Verdict::NotEnoughData);
    let names: Vec<&str> =
        agree(&found, &critical(80.0, 300.0)).evidence.iter().map(|it| it.name).collect();
    assert_eq!(names.len(), 3);
}

#[test]
fn too_few_or_impossible_measurements_give_nothing() {
    let pair = SquaredNorms { small: 2.0, big: 1.0 };
    assert_eq!(noise_scale(16.0, 256.0, &[pair; 2]), None);
    assert_eq!(noise_scale(256.0, 16.0, &[pair; 9]), None);
    assert_eq!(noise_scale(16.0, 16.0, &[pair; 9]), None);
}
