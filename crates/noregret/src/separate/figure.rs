//! The paper's experiment: how many iterations the Perceptron and the Optimistic Perceptron need on
//! the hard set of `n` rows, and its picture.
//!
//! The rows `m_i = y_i x_i` of that set are `-1` in the places before `i` and `+1` in place `i`, so
//! with whole numbers `<w, m_i> = w_i - (w_1 + .. + w_{i-1})` needs one subtraction once the sum of
//! the places before is kept along the pass. The count of mistakes is the Perceptron's own.

use super::{Data, Normalize, Settings, Shape, find, separate};
use crate::error::UsageError;
use crate::generate;
use serde::Serialize;
use std::fmt::Write;

/// The largest `n` that is run: the Perceptron makes `(4^n - 1)/3` mistakes.
pub const LARGEST: u64 = 20;

/// One `n` of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Rows and features.
    pub n: u64,
    /// Passes in file order.
    pub perceptron: PerceptronRun,
    /// Rounds over all rows.
    pub optimistic: OptimisticRun,
}

/// What the Perceptron did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PerceptronRun {
    /// Updates.
    pub mistakes: u64,
    /// Passes, the last one without a mistake.
    pub passes: u64,
    /// Rows looked at and updates.
    pub iterations: u64,
    /// Their quotient.
    pub mistakes_per_pass: f64,
}

/// What the Optimistic Perceptron did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OptimisticRun {
    /// Rounds until the average separates.
    pub rounds: u64,
    /// `n` to start and `2n + 3` a round.
    pub iterations: u64,
    /// A margin that has been checked.
    pub margin_at_least: f64,
}

/// Runs both on the hard set of `n` rows.
pub fn point(n: u64) -> Result<Point, UsageError> {
    if !(1..=LARGEST).contains(&n) {
        return Err(UsageError(format!("n = {n}: expected 1 to {LARGEST}")));
    }
    let (mistakes, passes) = perceptron(n as usize);
    let entry = generate::find("hard")?;
    let mut data = Data::new(Shape { bias: false, normalize: Normalize::None });
    data.extend(entry.block(&entry.request(Some(n), None, None, 0)?).rows());
    let outcome = separate(&data, &Settings::new(find("optimistic")?), &mut |_| true);
    Ok(Point {
        n,
        perceptron: PerceptronRun {
            mistakes,
            passes,
            iterations: passes * n + mistakes,
            mistakes_per_pass: mistakes as f64 / passes as f64,
        },
        optimistic: OptimisticRun {
            rounds: outcome.counts.rounds,
            iterations: outcome.counts.iterations,
            margin_at_least: outcome.verified.at_least,
        },
    })
}

/// Mistakes and passes of the Perceptron on the hard set of `n` rows.
fn perceptron(n: usize) -> (u64, u64) {
    let mut w = [0_i64; LARGEST as usize];
    let (mut mistakes, mut passes) = (0, 0);
    loop {
        let at_first = mistakes;
        let mut sum = 0;
        for (i, before) in (0..n).zip(0_i64..) {
            if w[i] <= sum {
                mistakes += 1;
                w[i] += 1;
                w[..i].iter_mut().for_each(|w| *w -= 1);
                sum -= before;
            }
            sum += w[i];
        }
        passes += 1;
        if mistakes == at_first {
            return (mistakes, passes);
        }
    }
}

/// The head of [`line`].
pub const HEADING: &str = "          Perceptron                                        Optimistic Perceptron
 n        mistakes       passes     iterations  per pass       rounds     iterations";

/// One line of the table.
pub fn line(point: &Point) -> String {
    let Point { n, perceptron: p, optimistic: o } = point;
    format!(
        "{n:2}  {:14} {:12} {:14} {:9.4} {:12} {:14}",
        p.mistakes, p.passes, p.iterations, p.mistakes_per_pass, o.rounds, o.iterations
    )
}

/// The table for other programs.
pub fn csv(points: &[Point]) -> String {
    let mut text = String::from(
        "n,perceptron_mistakes,perceptron_passes,perceptron_iterations,perceptron_mistakes_per_pass,\
         optimistic_rounds,optimistic_iterations\n",
    );
    for Point { n, perceptron: p, optimistic: o } in points {
        let _ = writeln!(
            text,
            "{n},{},{},{},{},{},{}",
            p.mistakes, p.passes, p.iterations, p.mistakes_per_pass, o.rounds, o.iterations
        );
    }
    text
}

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 260.0;
const BLUE: &str = "#1f6fb4";
const RED: &str = "#c8442e";

/// A panel: where it stands, what its axes mean.
struct Panel {
    left: f64,
    from: f64,
    to: f64,
    last: f64,
}

impl Panel {
    fn x(&self, n: f64) -> f64 {
        self.left + (n - 1.0) / (self.last - 1.0).max(1.0) * WIDTH
    }

    fn y(&self, value: f64) -> f64 {
        50.0 + HEIGHT * (1.0 - (value - self.from) / (self.to - self.from))
    }

    fn frame(&self, out: &mut String, title: &str, what: &str, ticks: &[(f64, String)]) {
        let (left, bottom) = (self.left, 50.0 + HEIGHT);
        let _ = writeln!(
            out,
            r##"<text x="{}" y="34" text-anchor="middle" font-weight="bold">{title}</text>
<path d="M{left} 50V{bottom}H{}" fill="none" stroke="#444"/>
<text x="{}" y="{}" text-anchor="middle">n</text>
<text transform="translate({} {}) rotate(-90)" text-anchor="middle">{what}</text>"##,
            left + WIDTH / 2.0,
            left + WIDTH,
            left + WIDTH / 2.0,
            bottom + 36.0,
            left - 56.0,
            50.0 + HEIGHT / 2.0,
        );
        for (value, name) in ticks {
            let y = self.y(*value);
            let _ = writeln!(
                out,
                r##"<path d="M{left} {y:.1}h{WIDTH}" stroke="#ddd"/><text x="{}" y="{:.1}" text-anchor="end">{name}</text>"##,
                left - 6.0,
                y + 4.0,
            );
        }
        for n in (1..=self.last as u64).step_by(2) {
            let x = self.x(n as f64);
            let _ =
                writeln!(out, r#"<text x="{x:.1}" y="{}" text-anchor="middle">{n}</text>"#, bottom + 17.0);
        }
    }

    fn curve(&self, out: &mut String, color: &str, values: impl Iterator<Item = (f64, f64)>) {
        let points: Vec<(f64, f64)> = values.map(|(n, v)| (self.x(n), self.y(v))).collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            out,
            r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2"/>"#,
            path.join(" ")
        );
        for (x, y) in points {
            let _ = writeln!(out, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{color}"/>"#);
        }
    }
}

/// The picture: iterations on a linear and on a logarithmic axis, and the mistakes per pass.
pub fn svg(points: &[Point]) -> String {
    let last = points.last().map_or(1.0, |p| p.n as f64);
    let most = points.iter().map(|p| p.perceptron.iterations).max().unwrap_or(1) as f64;
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1180 400\" font-family=\"sans-serif\" \
         font-size=\"13\" fill=\"#222\">\n<rect width=\"1180\" height=\"400\" fill=\"white\"/>\n",
    );
    let perceptron = || points.iter().map(|p| (p.n as f64, p.perceptron.iterations as f64));
    let optimistic = || points.iter().map(|p| (p.n as f64, p.optimistic.iterations as f64));

    let step = 10_f64.powf(most.log10().floor());
    let step = if most / step < 3.0 { step / 2.0 } else { step };
    let panel = Panel { left: 80.0, from: 0.0, to: most * 1.02, last };
    let ticks: Vec<_> =
        (0..=(most / step) as u64).map(|k| (k as f64 * step, short(k as f64 * step))).collect();
    panel.frame(&mut out, "(a) iterations", "iterations", &ticks);
    panel.curve(&mut out, RED, perceptron());
    panel.curve(&mut out, BLUE, optimistic());

    let panel = Panel { left: 470.0, from: 0.0, to: most.log10() * 1.02, last };
    let ticks: Vec<_> = (0..=most.log10() as u64)
        .map(|k| (k as f64, format!("10<tspan dy=\"-5\" font-size=\"9\">{k}</tspan>")))
        .collect();
    panel.frame(&mut out, "(b) iterations, logarithmic", "iterations", &ticks);
    panel.curve(&mut out, RED, perceptron().map(|(n, v)| (n, v.log10())));
    panel.curve(&mut out, BLUE, optimistic().map(|(n, v)| (n, v.log10())));

    let panel = Panel { left: 860.0, from: 0.0, to: 3.0, last };
    let ticks: Vec<_> = (0..=3).map(|k| (f64::from(k), k.to_string())).collect();
    panel.frame(&mut out, "mistakes per pass", "Perceptron's mistakes per pass", &ticks);
    panel.curve(&mut out, RED, points.iter().map(|p| (p.n as f64, p.perceptron.mistakes_per_pass)));

    let _ = writeln!(
        out,
        r#"<circle cx="420" cy="380" r="4" fill="{RED}"/><text x="430" y="384">Perceptron</text>
<circle cx="540" cy="380" r="4" fill="{BLUE}"/><text x="550" y="384">Optimistic Perceptron</text>
</svg>"#
    );
    out
}

fn short(value: f64) -> String {
    if value >= 1e9 {
        format!("{}G", value / 1e9)
    } else if value >= 1e6 {
        format!("{}M", value / 1e6)
    } else if value >= 1e3 {
        format!("{}k", value / 1e3)
    } else {
        format!("{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_perceptron_in_whole_numbers_is_the_perceptron() {
        let entry = generate::find("hard").unwrap();
        for n in 1..=8 {
            let mut data = Data::new(Shape { bias: false, normalize: Normalize::None });
            data.extend(entry.block(&entry.request(Some(n), None, None, 0).unwrap()).rows());
            let outcome = separate(&data, &Settings::new(find("perceptron").unwrap()), &mut |_| true);
            let (mistakes, passes) = perceptron(n as usize);
            assert_eq!((outcome.counts.mistakes, outcome.counts.rounds), (Some(mistakes), passes));
            assert_eq!(mistakes, (4_u64.pow(n as u32) - 1) / 3);
        }
    }

    #[test]
    fn the_counts_are_those_worked_out_elsewhere() {
        for (n, mistakes, passes, iterations, rounds, optimistic) in [
            (2, 5, 4, 13, 2, 16),
            (3, 21, 12, 57, 7, 66),
            (5, 341, 172, 1201, 45, 590),
            (8, 21845, 10924, 109_237, 489, 9299),
            (10, 349_525, 174_764, 2_097_165, 2198, 50_564),
        ] {
            let Point { perceptron: p, optimistic: o, .. } = point(n).unwrap();
            assert_eq!((p.mistakes, p.passes, p.iterations), (mistakes, passes, iterations));
            // The last bits of a sum may decide one round earlier or later.
            assert!(o.rounds.abs_diff(rounds) <= 1, "{n}: {}", o.rounds);
            assert!(o.iterations.abs_diff(optimistic) <= 2 * n + 3);
        }
    }

    #[test]
    fn the_picture_is_whole() {
        let points: Vec<Point> = (1..=4).map(|n| point(n).unwrap()).collect();
        let picture = svg(&points);
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
        assert_eq!(picture.matches("<polyline").count(), 5);
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        assert_eq!(csv(&points).lines().count(), 5);
        assert!(point(0).is_err() && point(LARGEST + 1).is_err());
    }
}
