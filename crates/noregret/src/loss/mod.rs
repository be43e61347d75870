//! Losses: one file each. Every (sub)gradient in `w` is `slope(z, y) * x`, so a loss is one number
//! and its derivative.

use crate::error::UsageError;
use crate::parameter::{Parameter, Parameters};

mod absolute;
mod hinge;
mod huber;
mod linear;
mod logistic;
mod perceptron;
mod poisson;
mod quantile;
mod square;
mod squared_hinge;

pub(crate) use logistic::ln_1p;

/// Every loss. A new one is a file in this folder, its `mod` line and its line here.
pub static ENTRIES: &[&Entry] = &[
    &square::ENTRY,
    &absolute::ENTRY,
    &hinge::ENTRY,
    &logistic::ENTRY,
    &perceptron::ENTRY,
    &linear::ENTRY,
    &squared_hinge::ENTRY,
    &huber::ENTRY,
    &quantile::ENTRY,
    &poisson::ENTRY,
];

/// The entry of that name.
pub fn find(name: &str) -> Result<&'static Entry, UsageError> {
    ENTRIES.iter().find(|entry| entry.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
        UsageError(format!("no loss is called `{name}`; there are {}", names.join(", ")))
    })
}

/// The loss of that name with these parameters, given as text; the others take their defaults.
///
/// ```
/// let hinge = noregret::loss::build("hinge", [])?;
/// assert_eq!(hinge.value(0.25, 1.0), 0.75);
/// let huber = noregret::loss::build("huber", [("huber-delta", "2")])?;
/// assert_eq!(huber.lipschitz(), Some(2.0));
/// # Ok::<(), noregret::error::UsageError>(())
/// ```
pub fn build<'a>(
    name: &str,
    given: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Box<dyn Loss>, UsageError> {
    let entry = find(name)?;
    let parameters = Parameters::check(entry.name, entry.parameters, given)?;
    (entry.build)(&parameters)
}

/// What labels a loss speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Labels -1 and +1.
    Binary,
    /// Labels are numbers.
    Real,
}

/// A convex loss of a prediction `z` against a label `y`.
pub trait Loss: Send + Sync {
    /// The loss itself.
    fn value(&self, z: f64, y: f64) -> f64;
    /// A subgradient in `z`, sign as it is.
    fn slope(&self, z: f64, y: f64) -> f64;
    /// Value, slope and floor at once: a round asks for all three, and they may share their work. The
    /// numbers are those of the single functions.
    fn told(&self, z: f64, y: f64) -> Told {
        Told { value: self.value(z, y), slope: self.slope(z, y) }
    }
    /// The same with the slope as it is, and of the value what [`Loss::settle`] makes the value of later: the step that waits
    /// for the slope need not wait for the rest. It is no more than 1.5 times the value, and where it is less the value is at
    /// most 1 and twice the slope times the prediction more.
    fn begun(&self, z: f64, y: f64) -> Told {
        self.told(z, y)
    }
    /// Turns what [`Loss::begun`] left of values into values, for several rounds.
    fn settle(&self, _z: &[f64], _y: &[f64], _values: &mut [f64]) {}
    /// Whether `y` is a label this loss can take.
    fn accepts(&self, y: f64) -> bool;
    /// `inf` over `z` of the loss; minus infinity where there is none.
    fn floor(&self, y: f64) -> f64;
    /// Whether the floor is another number than 0 for some label.
    fn floored(&self) -> bool {
        true
    }
    /// The largest `|slope|`, where there is one.
    fn lipschitz(&self) -> Option<f64>;
    /// `sup_z (a z - value(z, y))`; `None` where it is infinite.
    fn conjugate(&self, a: f64, y: f64) -> Option<f64>;
    /// An interval that holds the loss whenever `|z| <= z_max` and `|y| <= y_max`.
    fn interval(&self, z_max: f64, y_max: f64) -> (f64, f64);
    /// The derivative of the slope, where the slope is continuous; `None` for a loss with a kink. Where
    /// the slope itself has a kink, the value on either side.
    fn curvature(&self, _z: f64, _y: f64) -> Option<f64> {
        None
    }
    /// The one kink of a loss that is made of two straight lines; `None` for any other.
    fn kink(&self, _y: f64) -> Option<Kink> {
        None
    }
    /// The registry entry this loss was made from.
    fn entry(&self) -> &'static Entry;
}

/// What a loss says of one prediction: two numbers, which are returned in registers. A third would send all of them
/// through memory, where the next step of the learner would wait for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// [`Loss::value`].
    pub value: f64,
    /// [`Loss::slope`].
    pub slope: f64,
}

/// A loss of two straight lines: `max(left (z - at), right (z - at))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kink {
    /// Where the lines meet, at the value 0.
    pub at: f64,
    /// The slope below, not above 0.
    pub left: f64,
    /// The slope above, not below 0.
    pub right: f64,
}

/// A loss in the registry.
#[derive(serde::Serialize)]
pub struct Entry {
    /// The name after `--loss`.
    pub name: &'static str,
    /// The formula in plain text.
    pub formula: &'static str,
    /// One line: what it is for.
    pub summary: &'static str,
    /// What labels it takes.
    pub task: Task,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes it.
    #[serde(skip)]
    pub build: fn(&Parameters) -> Result<Box<dyn Loss>, UsageError>,
}

/// Whether `y` is one of the two labels of classification.
fn is_sign(y: f64) -> bool {
    y == 1.0 || y == -1.0
}

/// `[x]+`. A NaN stays one: `f64::max` would turn a diverged prediction into a loss of 0.
fn positive_part(x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { x }
}

/// `x ln x`, continued by 0 at 0.
fn x_ln_x(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * x.ln() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Every loss with its default, and those with a parameter with another value too.
    fn losses() -> Vec<Box<dyn Loss>> {
        let all = ENTRIES.iter().map(|entry| build(entry.name, []).unwrap());
        let more = [("huber", "huber-delta", "0.3"), ("quantile", "tau", "0.9")];
        all.chain(more.map(|(name, key, value)| build(name, [(key, value)]).unwrap())).collect()
    }

    /// Calls `check` with every loss and many (z, u, y) that it accepts; z at kinks among them.
    fn sweep(check: impl Fn(&dyn Loss, f64, f64, f64)) {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(7);
        for loss in losses() {
            for k in 0..4000 {
                let y = match (loss.entry().task, k % 10) {
                    (Task::Binary, _) => [-1.0, 1.0][k % 2],
                    (Task::Real, 0) => 0.0,
                    (Task::Real, _) => random.random_range(-3.0..3.0),
                };
                let y = if loss.accepts(y) { y } else { -y };
                let z = [y, 0.0, -y, random.random_range(-6.0..6.0)][(k % 7).min(3)];
                check(&*loss, z, random.random_range(-6.0..6.0), y);
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_registered() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/loss");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| Some(name.strip_suffix(".rs")?.replace('_', "-")))
            .filter(|name| name != "mod")
            .collect();
        let mut names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
        files.sort();
        names.sort_unstable();
        assert_eq!(files, names);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let message = build("hing", []).err().unwrap().to_string();
        assert!(message.contains("`hing`") && message.contains("squared-hinge"), "{message}");
        assert!(build("huber", [("huber-delta", "0")]).is_err());
        assert!(build("quantile", [("tau", "1")]).is_err());
        assert!(build("hinge", [("tau", "0.5")]).is_err());
    }

    #[test]
    fn the_slope_is_the_derivative_away_from_kinks() {
        sweep(|loss, _, z, y| {
            let h = 1e-6;
            let difference = (loss.value(z + h, y) - loss.value(z - h, y)) / (2.0 * h);
            let kink = loss.slope(z + 2.0 * h, y) - loss.slope(z - 2.0 * h, y);
            let smooth = kink.abs() < 1e-5 * (1.0 + z.exp());
            let error = (difference - loss.slope(z, y)).abs();
            assert!(!smooth || error < 1e-6 * (1.0 + z.exp()), "{} {z} {y}", loss.entry().name);
        });
    }

    #[test]
    fn the_curvature_is_the_derivative_of_the_slope() {
        sweep(|loss, _, z, y| {
            let Some(curvature) = loss.curvature(z, y) else {
                assert!(loss.kink(y).is_some() || loss.entry().name == "linear", "{}", loss.entry().name);
                return;
            };
            let h = 1e-5;
            let slopes = [z - h, z, z + h].map(|z| loss.slope(z, y));
            let (before, after) = ((slopes[1] - slopes[0]) / h, (slopes[2] - slopes[1]) / h);
            let slack = 1e-4 * (1.0 + z.exp());
            let (low, high) = (before.min(after) - slack, before.max(after) + slack);
            assert!(low <= curvature && curvature <= high, "{} {z} {y}", loss.entry().name);
        });
    }

    #[test]
    fn a_kink_is_the_whole_loss() {
        sweep(|loss, z, u, y| {
            let Some(kink) = loss.kink(y) else { return };
            for z in [z, u] {
                let value = (kink.left * (z - kink.at)).max(kink.right * (z - kink.at));
                assert!((loss.value(z, y) - value).abs() < 1e-12, "{} {z} {y}", loss.entry().name);
            }
        });
    }

    #[test]
    fn every_loss_lies_above_its_tangents_and_its_slope_ascends() {
        sweep(|loss, z, u, y| {
            let tangent = loss.value(z, y) + loss.slope(z, y) * (u - z);
            let slack = 1e-13 * (1.0 + tangent.abs() + loss.value(u, y).abs());
            assert!(loss.value(u, y) >= tangent - slack, "{} {z} {u} {y}", loss.entry().name);
            assert!((loss.slope(u, y) - loss.slope(z, y)) * (u - z) >= 0.0);
        });
    }

    #[test]
    fn fenchel_young_holds_and_is_tight_at_the_slope() {
        sweep(|loss, z, u, y| {
            let name = loss.entry().name;
            let a = loss.slope(z, y);
            let conjugate = loss.conjugate(a, y).expect(name);
            let gap = loss.value(z, y) - a * z + conjugate;
            assert!(gap.abs() < 1e-12 * (1.0 + (a * z).abs() + a * a), "{name} {z} {y}: {gap}");
            if let Some(other) = loss.conjugate(u, y) {
                let sum = loss.value(z, y) + other;
                assert!(sum - u * z >= -1e-12 * (1.0 + (u * z).abs()), "{name} {z} {u} {y}");
            }
        });
    }

    #[test]
    fn the_conjugate_is_infinite_outside_the_range_of_slopes() {
        let outside = [
            ("absolute", 1.01),
            ("hinge", 0.01),
            ("hinge", -1.01),
            ("logistic", 0.01),
            ("logistic", -1.01),
            ("perceptron", 0.01),
            ("linear", 0.99),
            ("squared-hinge", 0.01),
            ("huber", 1.01),
            ("quantile", -0.51),
            ("poisson", -1.01),
        ];
        for (name, a) in outside {
            assert_eq!(build(name, []).unwrap().conjugate(a, 1.0), None, "{name}");
        }
    }

    #[test]
    fn the_floor_is_below_every_value_and_approached() {
        sweep(|loss, z, _, y| {
            let floor = loss.floor(y);
            assert!(loss.floored() || floor == 0.0, "{}", loss.entry().name);
            assert!(loss.value(z, y) >= floor - 1e-14, "{} {z} {y}", loss.entry().name);
            // The least value lies at y, at ln y, or far out on one side.
            let at = [y, y.abs().ln().max(-745.0), 1e3, -1e3, 1e300, -1e300];
            let least = at.iter().map(|&z| loss.value(z, y)).fold(f64::INFINITY, f64::min);
            let reached = if floor.is_finite() { least <= floor + 1e-12 } else { least < -1e290 };
            assert!(reached, "{} {y}: {floor} {least}", loss.entry().name);
        });
    }

    #[test]
    fn the_interval_holds_every_value_and_the_lipschitz_constant_every_slope() {
        sweep(|loss, z, u, y| {
            let y_max = y.abs() * (1.0 + (u / 6.0).abs());
            for z_max in [z.abs(), 6.0, 7.5] {
                let (from, to) = loss.interval(z_max, y_max);
                let slack = 1e-13 * (1.0 + to.abs());
                let value = loss.value(z, y);
                assert!(from - slack <= value && value <= to + slack, "{}", loss.entry().name);
            }
            assert!(loss.lipschitz().is_none_or(|bound| loss.slope(z, y).abs() <= bound));
        });
    }

    #[test]
    fn hinge_loss_is_never_below_the_mistakes() {
        let hinge = build("hinge", []).unwrap();
        sweep(|_, z, u, _| {
            for (z, y) in [(z, 1.0), (u, -1.0), (0.0, 1.0)] {
                assert!(f64::from(u8::from(y * z <= 0.0)) <= hinge.value(z, y));
            }
        });
    }

    #[test]
    fn a_prediction_that_is_no_number_has_a_loss_that_is_no_number() {
        assert!(losses().iter().all(|loss| loss.value(f64::NAN, 1.0).is_nan()));
    }

    #[test]
    fn slopes_at_kinks_are_the_chosen_ones() {
        let slope = |name: &str, z: f64, y: f64| build(name, []).unwrap().slope(z, y);
        assert_eq!((slope("perceptron", 0.0, 1.0), slope("perceptron", 0.0, -1.0)), (-1.0, 1.0));
        assert_eq!((slope("hinge", 1.0, 1.0), slope("hinge", -1.0, -1.0)), (0.0, 0.0));
        assert_eq!((slope("absolute", 2.0, 2.0), slope("quantile", 2.0, 2.0)), (0.0, 0.0));
    }

    // One of the notes has e^(-y z) in the denominator: then the step would be largest where the
    // prediction is right.
    #[test]
    fn the_logistic_slope_vanishes_where_the_prediction_is_right() {
        let logistic = build("logistic", []).unwrap();
        assert!((logistic.slope(3.0, 1.0) + 1.0 / (1.0 + 3f64.exp())).abs() < 1e-16);
        assert!(logistic.slope(3.0, 1.0).abs() < 0.05 && logistic.slope(-3.0, 1.0) < -0.95);
    }

    #[test]
    fn logistic_loss_keeps_its_accuracy_in_both_tails() {
        let logistic = build("logistic", []).unwrap();
        let close = |a: f64, b: f64| ((a - b) / b).abs() < 1e-15;
        assert!(close(logistic.value(100.0, 1.0), (-100f64).exp()));
        assert!(close(logistic.slope(100.0, 1.0), -(-100f64).exp()));
        assert!(close(logistic.value(0.0, 1.0), std::f64::consts::LN_2));
        assert_eq!((logistic.value(-1e300, 1.0), logistic.slope(-1e300, 1.0)), (1e300, -1.0));
        assert_eq!((logistic.value(1e300, 1.0), logistic.slope(1e300, 1.0)), (0.0, 0.0));
    }
}
