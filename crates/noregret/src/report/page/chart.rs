//! A chart as lines and words on a plane; written as SVG here, painted as PNG elsewhere.

use std::fmt::Write;

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// Whether equal ratios, not equal differences, are equally far apart.
    pub log: bool,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend; none for a line that the legend leaves out.
    pub name: String,
    /// Its points; those that the axes cannot show are left out.
    pub points: Vec<(f64, f64)>,
    /// Index into the palette; none is grey.
    pub colour: Option<usize>,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub dash: &'static [f32],
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// Below it.
    pub x: Axis,
    /// Left of it.
    pub y: Axis,
    /// What it shows.
    pub series: Vec<Series>,
}

/// What is drawn, in pixels from the top left corner.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    Line { points: Vec<(f64, f64)>, colour: &'static str, width: f64, dash: &'static [f32] },
    Words { at: (f64, f64), text: String, size: f64, anchor: Anchor, colour: &'static str, upright: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// One chart's size, legend aside.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 320.0;
const INK: &str = "#333333";
const RULE: &str = "#dddddd";
const GREY: &str = "#888888";
const PALETTE: [&str; 10] = [
    "#2f7ed8", "#d95f02", "#1b9e77", "#c2339b", "#8d6e00", "#6a51c7", "#d62728", "#17899b", "#5a8f29",
    "#7f7f7f",
];

/// From values to pixels.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    fn new(values: impl Iterator<Item = f64>, log: bool, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values {
            low = low.min(v);
            high = high.max(v);
        }
        if low > high {
            (low, high) = (1.0, 2.0);
        }
        if log {
            if high <= low * 1.01 {
                (low, high) = (low / 2.0, high * 2.0);
            }
        } else {
            let pad = if high > low { 0.05 * (high - low) } else { 0.5 * high.abs().max(1e-9) };
            (low, high) = (low - pad, high + pad);
        }
        Self { low, high, log, from, to }
    }

    fn at(&self, v: f64) -> f64 {
        let part = if self.log {
            (v / self.low).ln() / (self.high / self.low).ln()
        } else {
            (v - self.low) / (self.high - self.low)
        };
        self.from + part * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
            let decades = last - first;
            let steps: &[f64] = if decades <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let every = 1 + decades / 9;
            let all = (first..=last).filter(|e| (e - first) % every == 0);
            let all = all.flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e)));
            let round: Vec<f64> = all.filter(|v| *v >= self.low * 0.999 && *v <= self.high * 1.001).collect();
            // Within less than a doubling there may be none: then equal differences serve.
            if round.len() > 1 {
                return round;
            }
        }
        let raw = (self.high - self.low) / 6.0;
        let unit = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * unit).find(|s| *s >= raw).unwrap_or(raw);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|k| k as f64 * step).collect()
    }
}

fn tick_text(v: f64) -> String {
    if v != 0.0 && (v.abs() >= 1e5 || v.abs() < 1e-3) {
        return format!("{v:.0e}");
    }
    let text = format!("{v:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The marks of a chart whose corner is at `left`, and how high it is with its legend.
fn marks(chart: &Chart, left: f64, out: &mut Vec<Mark>) -> f64 {
    let shown = |p: &&(f64, f64)| {
        p.0.is_finite() && p.1.is_finite() && (!chart.x.log || p.0 > 0.0) && (!chart.y.log || p.1 > 0.0)
    };
    let all = || chart.series.iter().flat_map(|s| s.points.iter().filter(shown));
    let (top, bottom) = (34.0, HEIGHT - 48.0);
    let x = Scale::new(all().map(|p| p.0), chart.x.log, left + 62.0, left + WIDTH - 14.0);
    let y = Scale::new(all().map(|p| p.1), chart.y.log, bottom, top);
    let mut words = |at: (f64, f64), text: String, size: f64, anchor: Anchor, upright: bool| {
        out.push(Mark::Words { at, text, size, anchor, colour: INK, upright });
    };
    words((left + WIDTH / 2.0, 20.0), chart.title.clone(), 15.0, Anchor::Middle, false);
    words((f64::midpoint(x.from, x.to), HEIGHT - 10.0), chart.x.label.clone(), 12.0, Anchor::Middle, false);
    words((left + 14.0, f64::midpoint(top, bottom)), chart.y.label.clone(), 12.0, Anchor::Middle, true);
    for v in x.ticks() {
        words((x.at(v), bottom + 16.0), tick_text(v), 11.0, Anchor::Middle, false);
    }
    for v in y.ticks() {
        words((x.from - 6.0, y.at(v) + 4.0), tick_text(v), 11.0, Anchor::End, false);
    }
    let mut line = |points: Vec<(f64, f64)>, colour, width, dash| {
        out.push(Mark::Line { points, colour, width, dash });
    };
    for v in x.ticks() {
        line(vec![(x.at(v), top), (x.at(v), bottom)], RULE, 1.0, &[]);
    }
    for v in y.ticks() {
        line(vec![(x.from, y.at(v)), (x.to, y.at(v))], RULE, 1.0, &[]);
    }
    line(vec![(x.from, top), (x.from, bottom), (x.to, bottom)], INK, 1.0, &[]);
    let colour = |s: &Series| s.colour.map_or(GREY, |k| PALETTE[k % PALETTE.len()]);
    for series in &chart.series {
        let points = series.points.iter().filter(shown).map(|p| (x.at(p.0), y.at(p.1))).collect();
        line(points, colour(series), if series.dash.is_empty() { 2.0 } else { 1.5 }, series.dash);
    }
    let mut row = HEIGHT + 6.0;
    for series in chart.series.iter().filter(|s| !s.name.is_empty()) {
        let at = left + 62.0;
        let points = vec![(at, row), (at + 26.0, row)];
        out.push(Mark::Line { points, colour: colour(series), width: 2.0, dash: series.dash });
        out.push(Mark::Words {
            at: (at + 34.0, row + 4.0),
            text: series.name.clone(),
            size: 12.0,
            anchor: Anchor::Start,
            colour: INK,
            upright: false,
        });
        row += 17.0;
    }
    row
}

/// Charts side by side: their marks, and the size of the picture.
pub(super) fn plane(charts: &[Chart]) -> (Vec<Mark>, f64, f64) {
    let mut out = Vec::new();
    let mut height = HEIGHT;
    for (k, chart) in charts.iter().enumerate() {
        height = height.max(marks(chart, k as f64 * WIDTH, &mut out));
    }
    (out, WIDTH * charts.len().max(1) as f64, height + 4.0)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Charts side by side as SVG.
pub fn svg(charts: &[Chart]) -> String {
    let (marks, width, height) = plane(charts);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for mark in marks {
        let written = match mark {
            Mark::Line { points, colour, width, dash } => {
                let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let dash: Vec<String> = dash.iter().map(ToString::to_string).collect();
                let dash = if dash.is_empty() {
                    String::new()
                } else {
                    format!(" stroke-dasharray=\"{}\"", dash.join(" "))
                };
                writeln!(
                    out,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dash}/>",
                    points.join(" ")
                )
            }
            Mark::Words { at: (x, y), text, size, anchor, colour, upright } => {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let turn =
                    if upright { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
                writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
                     fill=\"{colour}\"{turn}>{}</text>",
                    escaped(&text)
                )
            }
        };
        debug_assert!(written.is_ok(), "a string takes all that is written");
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_axis_cannot_show_is_left_out() {
        let series = Series {
            name: "a < b".to_owned(),
            points: vec![(1.0, -1.0), (10.0, 5.0), (100.0, f64::NAN), (1000.0, 50.0)],
            colour: Some(0),
            dash: &[],
        };
        let axis = |log| Axis { label: String::new(), log };
        let chart = Chart { title: "t".to_owned(), x: axis(true), y: axis(true), series: vec![series] };
        let text = svg(std::slice::from_ref(&chart));
        assert!(text.contains("a &lt; b") && !text.contains("NaN") && !text.contains("inf"));
        assert!(super::super::png(&[chart]).starts_with(b"\x89PNG"));
    }

    #[test]
    fn ticks_are_few_and_inside() {
        for (low, high, log) in [(0.1, 0.7, false), (1.0, 2e5, true), (3.0, 4.0, true), (-5.0, 1e6, false)] {
            let scale = Scale::new([low, high].into_iter(), log, 0.0, 1.0);
            let ticks = scale.ticks();
            assert!(!ticks.is_empty() && ticks.len() <= 10, "{low} {high}: {ticks:?}");
            assert!(ticks.iter().all(|t| (-0.001..=1.001).contains(&scale.at(*t))), "{ticks:?}");
        }
    }
}
