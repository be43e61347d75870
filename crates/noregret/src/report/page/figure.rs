//! The charts that runs and audits are drawn as.

use super::chart::{Axis, Chart, Series};
use serde_json::Value;

const DASHED: &[f32] = &[6.0, 4.0];
const DOTTED: &[f32] = &[2.0, 3.0];

fn axis(label: &str, log: bool) -> Axis {
    Axis { label: label.to_owned(), log }
}

/// A column of a run's history against the examples seen.
fn history(run: &Value, pick: impl Fn(&Value) -> Option<f64>) -> Vec<(f64, f64)> {
    let rows = run["history"].as_array().map_or(&[][..], Vec::as_slice);
    // The first examples would flatten all that follows: a thousandth of the stream is left out.
    let first = rows.last().and_then(|row| row["examples"].as_f64()).unwrap_or(0.0) / 1000.0;
    let all = rows.iter().filter_map(|row| Some((row["examples"].as_f64()?, pick(row)?)));
    all.filter(|(t, _)| *t >= first).collect()
}

fn name(run: &Value) -> String {
    run["name"].as_str().or(run["learner"].as_str()).unwrap_or("run").to_owned()
}

/// Runs beside each other: the average loss over time with what no comparator can be below, and the
/// total regret with its bound on logarithmic axes.
pub fn runs_figure(runs: &[Value]) -> Vec<Chart> {
    let (mut losses, mut regrets) = (Vec::new(), Vec::new());
    for (k, run) in runs.iter().enumerate() {
        let colour = Some(k);
        let name = name(run);
        // Against penalised comparators the run's own loss counts with its penalty.
        let ridge = run["certificate"]["comparator"] == "ridge";
        let key = if ridge { "penalised_loss" } else { "average_loss" };
        let points = history(run, |r| r[key].as_f64());
        let end = points.last().map_or(1.0, |p| p.0);
        let begin = points.first().map_or(1.0, |p| p.0);
        let shown = if ridge { format!("{name}, with its penalty") } else { name.clone() };
        losses.push(Series { name: shown, points, colour, dash: &[] });
        let points = history(run, |r| r["best_at_least"].as_f64());
        losses.push(Series { name: format!("{name}: best at least"), points, colour, dash: DASHED });
        if let Some(best) = run["audit"]["best"]["at_most"].as_f64() {
            let points = vec![(begin, best), (end, best)];
            losses.push(Series { name: format!("{name}: audited best"), points, colour, dash: DOTTED });
        }
        let total =
            |key: &'static str| history(run, move |r| Some(r[key].as_f64()? * r["examples"].as_f64()?));
        let points = total("regret_at_most");
        regrets.push(Series { name: format!("{name}: certified"), points, colour, dash: &[] });
        let points = total("bound");
        if !points.is_empty() {
            regrets.push(Series { name: format!("{name}: theorem"), points, colour, dash: DASHED });
        }
        if let Some(regret) = run["audit"]["regret"]["at_most"].as_f64() {
            let points = vec![(end * 0.8, regret * end), (end, regret * end)];
            regrets.push(Series { name: format!("{name}: audited"), points, colour, dash: DOTTED });
        }
    }
    let ends = regrets.iter().filter_map(|s| s.points.last().copied()).filter(|p| p.1 > 0.0 && p.0 > 2.0);
    if let Some((end, least)) = ends.min_by(|a, b| a.1.total_cmp(&b.1)) {
        let begin = (end / 1000.0).max(2.0);
        let grid: Vec<f64> = (0..=60).map(|k| begin * (end / begin).powf(f64::from(k) / 60.0)).collect();
        let slope = |name: &str, dash, f: fn(f64) -> f64| Series {
            name: name.to_owned(),
            points: grid.iter().map(|t| (*t, least * f(*t) / f(end))).collect(),
            colour: None,
            dash,
        };
        regrets.push(slope("slope \u{221a}T", DOTTED, f64::sqrt));
        regrets.push(slope("slope ln T", &[8.0, 3.0, 1.0, 3.0], f64::ln));
    }
    let chart = |title: &str, y: Axis, series| Chart {
        title: title.to_owned(),
        x: axis("examples", true),
        y,
        series,
    };
    let mut charts = vec![
        chart("Average loss over time", axis("average loss", false), losses),
        chart("Regret against its bound", axis("total regret", true), regrets),
    ];
    charts.retain(|c| c.series.iter().any(|s| !s.points.is_empty()));
    charts
}

/// An audit: the best loss against the radius, and what a run had certified of it in one pass.
pub fn audit_figure(audit: &Value, run: Option<&Value>) -> Vec<Chart> {
    let curve = audit["curve"].as_array().map_or(&[][..], Vec::as_slice);
    let points = |end: &str| -> Vec<(f64, f64)> {
        curve.iter().filter_map(|c| Some((c["radius"].as_f64()?, c["best"][end].as_f64()?))).collect()
    };
    let mut series = vec![
        Series { name: "best at most".to_owned(), points: points("at_most"), colour: Some(0), dash: &[] },
        Series {
            name: "best at least".to_owned(),
            points: points("at_least"),
            colour: Some(1),
            dash: DASHED,
        },
    ];
    if let Some(run) = run {
        let certified = run["certificate"]["curve"].as_array().map_or(&[][..], Vec::as_slice);
        let points =
            certified.iter().filter_map(|c| Some((c["radius"].as_f64()?, c["best_at_least"].as_f64()?)));
        let points = points.collect();
        series.push(Series {
            name: "certified in one pass".to_owned(),
            points,
            colour: Some(2),
            dash: DASHED,
        });
        let radii = series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
        let (low, high) = radii.fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), r| (a.min(r), b.max(r)));
        if let Some(lost) = run["average_loss"].as_f64() {
            let points = vec![(low, lost), (high, lost)];
            series.push(Series {
                name: format!("lost by {}", name(run)),
                points,
                colour: Some(3),
                dash: DOTTED,
            });
        }
    }
    let chart =
        |title: &str, y: Axis, series| Chart { title: title.to_owned(), x: axis("U", true), y, series };
    let mut charts = vec![chart("Best loss against U", axis("average loss", false), series)];
    let bounds = curve.iter().filter_map(|c| Some((c["radius"].as_f64()?, c["mistakes_at_most"].as_f64()?)));
    let bounds: Vec<(f64, f64)> = bounds.collect();
    if let (Some(first), Some(last), Some(run)) = (bounds.first(), bounds.last(), run) {
        // By weight, as the theorem has them.
        let seen = run["bound"]["constants"]["M"].as_f64().unwrap_or(f64::NAN);
        let seen = vec![(first.0, seen), (last.0, seen)];
        let series = vec![
            Series {
                name: "at most, by the theorem".to_owned(),
                points: bounds,
                colour: Some(0),
                dash: DASHED,
            },
            Series { name: "made".to_owned(), points: seen, colour: Some(3), dash: &[] },
        ];
        charts.push(chart("Mistakes against their bound", axis("mistakes", true), series));
    }
    charts
}
