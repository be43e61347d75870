//! Claims about several classes: certificates that no comparator beats, late labels, saving and resuming.

use noregret::engine::Config;
use noregret::example::names::NameTable;
use noregret::example::{Block, Classes, LabelMap, Rows};
use noregret::learner;
use noregret::loss;
use noregret::model::{AnyModel, Model, Reading};
use noregret::multiclass::{Multiclass, Pupil};
use noregret::parameter::Parameters;
use noregret::regret::bound::most_multiclass_mistakes;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Rows whose classes are numbered as they appear; class 2 comes late. With `weighted` some rows count
/// more, some not at all.
fn stream(seed: u64, n: usize, classes: usize, scale: f32, weighted: bool) -> Block<f32> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut block = Block::new();
    let mut places: Vec<usize> = Vec::new();
    for t in 0..n {
        let x: Vec<f32> = (0..4).map(|_| random.random_range(-1.0..1.0)).collect();
        let most = if t < n / 3 { 2 } else { classes };
        let mut label = (0..most).max_by(|a, b| x[a % 4].total_cmp(&x[b % 4]).then(b.cmp(a))).unwrap();
        if random.random_range(0.0..1.0) < 0.15 {
            label = random.random_range(0..most);
        }
        let place = places.iter().position(|p| *p == label).unwrap_or_else(|| {
            places.push(label);
            places.len() - 1
        });
        let weight = match t % 5 {
            1 if weighted => 2.5,
            3 if weighted => 0.0,
            _ => 1.0,
        };
        let pairs =
            x.iter().enumerate().filter(|(i, _)| (i + t) % 5 != 0).map(|(i, v)| (i as u32, scale * v));
        block.push(place as f64, weight, pairs);
    }
    block
}

fn count(block: &Block<f32>) -> usize {
    block.labels.iter().fold(0, |m, y| m.max(*y as usize + 1))
}

/// Class vectors over the features and the bias.
type Matrix = Vec<[f64; 5]>;

fn scores(w: &Matrix, rows: &Rows<'_, f32>, t: usize) -> Vec<f64> {
    let dot = |w: &[f64; 5]| w[4] + rows.row(t).x.iter().map(|(i, v)| w[i] * v).sum::<f64>();
    w.iter().map(dot).collect()
}

fn norm(w: &Matrix) -> f64 {
    w.iter().flatten().map(|v| v * v).sum::<f64>().sqrt()
}

/// A loss of all scores, and its gradient.
type Loss<'a> = &'a dyn Fn(&[f64], usize) -> (f64, Vec<f64>);

/// The average loss of class vectors; with `open`, of a row among the classes seen up to then.
fn average(w: &Matrix, block: &Block<f32>, loss: Loss<'_>, open: bool) -> (f64, Matrix) {
    let rows = block.rows();
    let (mut total, mut weight, mut seen) = (0.0, 0.0, 0);
    let mut gradient = vec![[0.0; 5]; w.len()];
    for t in 0..rows.len() {
        let row = rows.row(t);
        let y = row.y as usize;
        seen = seen.max(y + 1);
        let known = if open { seen } else { w.len() };
        let (f, slopes) = loss(&scores(w, &rows, t)[..known], y);
        total += row.weight * f;
        weight += row.weight;
        for (g, a) in gradient.iter_mut().zip(slopes) {
            for (i, v) in row.x.iter() {
                g[i] += row.weight * a * v;
            }
            g[4] += row.weight * a;
        }
    }
    for g in gradient.iter_mut().flatten() {
        *g /= weight;
    }
    (total / weight, gradient)
}

fn softmax(z: &[f64], y: usize) -> (f64, Vec<f64>) {
    let top = z.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = z.iter().map(|z| (z - top).exp()).sum();
    let slopes = z.iter().enumerate().map(|(k, z)| (z - top).exp() / sum - f64::from(u8::from(k == y)));
    (sum.ln() + top - z[y], slopes.collect())
}

fn hinge(z: &[f64], y: usize) -> (f64, Vec<f64>) {
    let mut slopes = vec![0.0; z.len()];
    let rival = (0..z.len()).filter(|k| *k != y).max_by(|a, b| z[*a].total_cmp(&z[*b]));
    let f = rival.map_or(0.0, |r| 1.0 + z[r] - z[y]);
    if let Some(r) = rival.filter(|_| f > 0.0) {
        (slopes[r], slopes[y]) = (1.0, -1.0);
    }
    (f.max(0.0), slopes)
}

/// Shrinks to a norm, each class by itself or all together.
fn shrink(w: &mut Matrix, radii: &[f64]) {
    match radii {
        [radius] => {
            let factor = (radius / norm(w)).min(1.0);
            for v in w.iter_mut().flatten() {
                *v *= factor;
            }
        }
        radii => {
            for (row, radius) in w.iter_mut().zip(radii) {
                let factor = (radius / row.iter().map(|v| v * v).sum::<f64>().sqrt()).min(1.0);
                for v in row {
                    *v *= factor;
                }
            }
        }
    }
}

/// The least average loss found among random models and by descent inside the balls.
fn least(block: &Block<f32>, loss: Loss<'_>, open: bool, radii: &[f64], seed: u64) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let k = count(block);
    let mut best = f64::INFINITY;
    for trial in 0..30 {
        let mut w: Matrix = (0..k).map(|_| [0; 5].map(|_| random.random_range(-1.0..1.0))).collect();
        let size = if trial % 2 == 0 { 1e6 } else { random.random_range(0.0..3.0) };
        for v in w.iter_mut().flatten() {
            *v *= size;
        }
        shrink(&mut w, radii);
        best = best.min(average(&w, block, loss, open).0);
    }
    let longest = block.rows().iter().map(|r| r.x.norm_squared() + 1.0).fold(0.0, f64::max);
    let mut w: Matrix = vec![[0.0; 5]; k];
    for step in 1..400 {
        let (f, g) = average(&w, block, loss, open);
        best = best.min(f);
        let length = norm(&g).max(1e-12);
        let reach = radii.iter().copied().fold(0.0, f64::max);
        // Both a small step for smooth losses and a normalised one for those with kinks.
        let rate = if step % 2 == 0 { 1.0 / longest } else { reach / length / f64::from(step).sqrt() };
        for (w, g) in w.iter_mut().flatten().zip(g.iter().flatten()) {
            *w -= rate * g;
        }
        shrink(&mut w, radii);
    }
    best
}

fn config(learner: &str, loss: &str, radius: Option<f64>) -> Config {
    Config { radius, ..Config::new(learner, loss) }
}

fn learned(scheme: &str, config: Config, closed: bool, block: &Block<f32>) -> Multiclass {
    let mut model = Multiclass::new(scheme, config, closed.then(|| count(block))).unwrap();
    model.learn(block.rows()).unwrap();
    model
}

#[test]
fn no_model_of_one_versus_rest_beats_its_certificate() {
    let mut tight = 0.0_f64;
    for (case, learner) in ["projected-ogd", "ftrl", "adagrad", "auto", "ogd"].into_iter().enumerate() {
        for (k, name) in ["logistic", "hinge", "squared-hinge", "square"].into_iter().enumerate() {
            let seed = (10 * case + k) as u64;
            let block = stream(seed, 90, 4, 1.0, seed.is_multiple_of(2));
            let radius = if seed.is_multiple_of(3) && learner == "adagrad" { None } else { Some(1.5) };
            let model = learned("ovr", config(learner, name, radius), false, &block);
            let binary = loss::build(name, []).unwrap();
            let sum = |z: &[f64], y: usize| {
                let sign = |j: usize| if j == y { 1.0 } else { -1.0 };
                let f = z.iter().enumerate().map(|(j, z)| binary.value(*z, sign(j))).sum();
                (f, z.iter().enumerate().map(|(j, z)| binary.slope(*z, sign(j))).collect())
            };
            let radii: Vec<f64> =
                (0..model.classes()).map(|j| radius.unwrap_or_else(|| model.weights(j).norm())).collect();
            let found = least(&block, &sum, false, &radii, seed);
            let certificate = model.certificate().unwrap();
            let average = model.average_loss().unwrap();
            assert!(certificate.best_at_least <= found, "{learner} {name}: {certificate:?} {found}");
            assert!((average - certificate.regret_at_most - certificate.best_at_least).abs() < 1e-9);
            tight = tight.max(certificate.best_at_least / found);
        }
    }
    assert!(tight > 0.5, "the certificates say nothing: {tight}");
}

#[test]
fn no_model_of_softmax_beats_its_certificate_and_no_certificate_its_theorem() {
    let mut tight = 0.0_f64;
    for seed in 0..14 {
        let scale = [1.0, 0.01, 30.0][seed as usize % 3];
        let block = stream(seed, 120, 3 + seed as usize % 3, scale, seed % 2 == 1);
        let radius = [1.0, 3.0, 0.2][seed as usize % 3];
        for closed in [false, true] {
            let model = learned("softmax", config("", "", Some(radius)), closed, &block);
            let certificate = model.certificate().unwrap();
            let found = least(&block, &softmax, !closed, &[radius], seed);
            assert!(certificate.best_at_least <= found, "{seed}: {certificate:?} {found}");
            // A comparator that must tell all classes apart from the start loses no less.
            assert!(found <= least(&block, &softmax, false, &[radius], seed) + 1e-9);
            let bound = model.bound().unwrap();
            assert!(bound.unmet.is_empty() && certificate.regret_at_most <= bound.regret_at_most.unwrap());
            assert!(model.norm() <= radius * (1.0 + 1e-9));
            tight = tight.max(certificate.best_at_least / found);
        }
    }
    assert!(tight > 0.5, "the certificates say nothing: {tight}");
}

#[test]
fn no_model_beats_the_certificate_of_the_multiclass_perceptron_nor_its_mistake_bound() {
    for seed in 0..14 {
        let block = stream(seed, 80, 3 + seed as usize % 3, 1.0, seed % 2 == 1);
        let closed = seed % 3 == 0;
        let radius = [None, Some(0.5), Some(4.0)][seed as usize % 3];
        let model = learned("perceptron", config("", "", radius), closed, &block);
        let own = radius.unwrap_or_else(|| model.norm());
        let found = least(&block, &hinge, !closed, &[own], seed);
        let certificate = model.certificate().unwrap();
        assert!(certificate.best_at_least <= found, "{seed}: {certificate:?} {found}");
        if seed % 2 == 0 {
            let n = block.len() as f64;
            let longest = block.rows().iter().map(|r| (r.x.norm_squared() + 1.0).sqrt()).fold(0.0, f64::max);
            let most = most_multiclass_mistakes(own, found * n, longest);
            assert!(model.tally().mistakes() as f64 <= most);
        }
    }
}

#[test]
fn softmax_does_what_the_paper_says() {
    let block = stream(3, 60, 4, 1.0, true);
    let (k, radius) = (count(&block), 2.0);
    let model = learned("softmax", config("", "", Some(radius)), true, &block);
    let rows = block.rows();
    let (mut s, mut squares, mut total, mut n) = (vec![[0.0; 5]; k], 0.0, 0.0, 0.0);
    let mut w: Matrix = vec![[0.0; 5]; k];
    for t in 0..rows.len() {
        let row = rows.row(t);
        let (f, slopes) = softmax(&scores(&w, &rows, t), row.y as usize);
        total += row.weight * f;
        n += row.weight;
        if row.weight == 0.0 {
            continue;
        }
        for (s, a) in s.iter_mut().zip(&slopes) {
            for (i, v) in row.x.iter() {
                s[i] += row.weight * a * v;
            }
            s[4] += row.weight * a;
        }
        let size = row.x.norm_squared() + 1.0;
        squares += slopes.iter().map(|a| (row.weight * a).powi(2)).sum::<f64>() * size;
        let strength = (1.0 + squares).sqrt() / radius;
        let factor = (1.0 / strength).min(radius / norm(&s));
        for (w, s) in w.iter_mut().flatten().zip(s.iter().flatten()) {
            *w = -factor * s;
        }
    }
    assert!((model.average_loss().unwrap() - total / n).abs() < 1e-12);
    for (j, w) in w.iter().enumerate() {
        for (a, b) in model.weights(j).iter().zip(w) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }
}

#[test]
fn a_label_that_comes_late_changes_nothing_in_one_versus_rest() {
    let mut tried = 0;
    for entry in learner::ENTRIES {
        let loss = match entry.losses {
            learner::Losses::All => "logistic",
            learner::Losses::Only(names) => names[0],
        };
        let mut config = config(entry.name, loss, entry.default_radius.map(|_| 2.0));
        config.l2 = entry.penalised.then_some(0.1);
        if entry.parameters.iter().any(|p| p.name == "horizon") {
            let given = [("horizon", "200")];
            config.parameters = Parameters::check(entry.name, entry.parameters, given).unwrap();
            config.row_bound = Some(4.0);
        }
        // Some learners are for losses that no class can be told apart by.
        if Multiclass::new("ovr", config.clone(), None).is_err() {
            continue;
        }
        tried += 1;
        for seed in [1, 2] {
            let block = stream(seed, 200, 5, 1.0, seed == 2);
            let late = learned("ovr", config.clone(), false, &block);
            let known = learned("ovr", config.clone(), true, &block);
            assert_eq!(late.average_loss(), known.average_loss(), "{}", entry.name);
            assert_eq!(late.certificate(), known.certificate(), "{}", entry.name);
            for k in 0..late.classes() {
                assert_eq!(late.weights(k), known.weights(k), "{}", entry.name);
            }
        }
    }
    assert!(tried >= 8, "{tried}");
}

#[test]
fn renaming_the_classes_renames_the_results() {
    let block = stream(5, 150, 4, 1.0, true);
    let turned = [2, 0, 3, 1];
    let mut other = block.clone();
    for y in &mut other.labels {
        *y = f64::from(turned[*y as usize]);
    }
    for (scheme, learner) in [("ovr", "projected-ogd"), ("ovr", "auto"), ("softmax", "")] {
        let [a, b] =
            [&block, &other].map(|b| learned(scheme, config(learner, "logistic", Some(2.0)), true, b));
        let close = |x: f64, y: f64| (x - y).abs() <= 1e-9 * (1.0 + x.abs());
        assert!(close(a.average_loss().unwrap(), b.average_loss().unwrap()));
        let [c, d] = [&a, &b].map(|m| m.certificate().unwrap().best_at_least);
        assert!(close(c, d), "{c} {d}");
        for (k, place) in turned.iter().enumerate() {
            let (v, w) = (a.weights(k), b.weights(*place as usize));
            assert!(v.iter().zip(w.iter()).all(|(v, w)| close(v, w)), "{scheme} {learner}");
            assert_eq!(a.tally().classes()[k].examples, b.tally().classes()[*place as usize].examples);
        }
    }
}

fn kept(model: Multiclass) -> AnyModel {
    let names = (0..model.classes()).map(|k| format!("c{k}"));
    let mut classes = Classes::closed(names).unwrap();
    if !model.is_closed() {
        let text = serde_json::to_string(&classes).unwrap().replace("true", "false");
        classes = serde_json::from_str(&text).unwrap();
    }
    let reading = Reading { format: "libsvm".into(), ..Reading::default() };
    let engine = Pupil::Many(Box::new(model));
    AnyModel { engine, reading, labels: LabelMap::Classes(classes), names: NameTable::new() }
}

fn several(model: AnyModel) -> Multiclass {
    match model.engine {
        Pupil::Many(model) => *model,
        Pupil::One(_) => panic!("it has several classes"),
    }
}

#[test]
fn saving_and_resuming_equals_never_having_stopped() {
    let block = stream(8, 130, 5, 1.0, true);
    let rows = block.rows();
    for (scheme, learner) in [("ovr", "auto"), ("ovr", "ftrl"), ("softmax", ""), ("perceptron", "")] {
        for closed in [false, true] {
            let new = || {
                let classes = closed.then(|| count(&block));
                Multiclass::new(scheme, config(learner, "logistic", Some(2.0)), classes).unwrap()
            };
            let mut whole = new();
            whole.learn(rows).unwrap();
            let whole = kept(whole);
            for cut in [1, 2, 40, 43, 90, 129] {
                let mut part = new();
                part.learn(rows.slice(0, cut)).unwrap();
                let bytes = kept(part).to_bytes();
                assert!(Model::from_bytes(&bytes).is_err_and(|e| e.contains("several classes")));
                let mut resumed = several(AnyModel::from_bytes(&bytes).unwrap());
                resumed.learn(rows.slice(cut, rows.len())).unwrap();
                assert_eq!(resumed.certificate(), whole.engine.certificate());
                assert_eq!(kept(resumed).to_bytes(), whole.to_bytes(), "{scheme} {learner} {closed} {cut}");
            }
        }
    }
}

#[test]
fn later_passes_leave_what_is_said_of_the_first_and_a_resumed_model_stays_certified() {
    let block = stream(4, 100, 4, 1.0, false);
    let more = stream(5, 60, 4, 1.0, false);
    for (scheme, loss) in [("ovr", &softmax as Loss<'_>), ("softmax", &softmax), ("perceptron", &hinge)] {
        let mut model = learned(scheme, config("projected-ogd", "logistic", Some(1.0)), true, &block);
        let first = (model.average_loss(), model.certificate().unwrap(), model.tally().clone());
        for _ in 0..2 {
            model.next_pass();
            model.learn(block.rows()).unwrap();
        }
        let now = model.certificate().unwrap();
        assert_eq!((model.average_loss(), model.tally()), (first.0, &first.2));
        assert!(now.best_at_least >= first.1.best_at_least && model.pass_loss() < first.0, "{scheme}");
        let mut resumed = several(AnyModel::from_bytes(&kept(model).to_bytes()).unwrap());
        resumed.learn(more.rows()).unwrap();
        assert_eq!(resumed.examples(), 160);
        if scheme != "ovr" {
            let mut both = block.clone();
            for row in more.rows().iter() {
                both.push(row.y, row.weight, row.x.indices.iter().copied().zip(row.x.values.iter().copied()));
            }
            let found = least(&both, loss, false, &[1.0], 1);
            assert!(resumed.certificate().unwrap().best_at_least <= found);
            assert!(!resumed.bound().unwrap().unmet.is_empty());
        }
    }
}

#[test]
fn a_row_too_large_is_refused_and_the_rows_before_it_stay() {
    let mut huge = Block::<f64>::new();
    huge.push(1.0, 1.0, [(0, 1e150)]);
    for scheme in ["softmax", "perceptron"] {
        let mut model = learned(scheme, config("", "", Some(1.0)), false, &stream(1, 20, 3, 1.0, false));
        assert!(model.learn_f64(huge.rows()).is_err());
        assert_eq!((model.examples(), model.tally().rows(), model.is_whole()), (20, 20, true));
    }
    let mut model = learned("ovr", config("ogd", "square", None), false, &stream(1, 20, 3, 1.0, false));
    // Alone it is learned by no class; among others, by those classes that come before the one that refuses it.
    assert!(model.learn_f64(huge.rows()).is_err() && model.is_whole());
    assert_eq!((model.examples(), model.tally().rows()), (20, 20));
    huge.push(1.0, 1.0, [(0, 1.0)]);
    assert!(model.learn_f64(huge.rows()).is_err() && !model.is_whole());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |scheme: &str, config: Config, words: &str| {
        let message = Multiclass::new(scheme, config, None).err().unwrap().to_string();
        assert!(message.contains(words), "{message}");
    };
    refused("best", config("auto", "logistic", None), "expected one of ovr, softmax, perceptron");
    refused("ovr", config("auto", "linear", None), "choose one of");
    refused("ovr", config("auto", "poisson", None), "choose one of");
    refused("softmax", config("", "", Some(-1.0)), "greater than 0");
    refused("softmax", Config { average: true, ..config("", "", None) }, "--average");
    refused("perceptron", Config { l2: Some(1.0), ..config("", "", None) }, "--l2");
    let ridge = Config { comparator: Some("ridge".into()), ..config("", "", None) };
    refused("softmax", ridge, "--multiclass ovr");
    let mut model = Multiclass::new("softmax", config("", "", None), Some(2)).unwrap();
    assert!(model.learn(Block::<f32>::from_rows(&[(2.0, vec![])]).rows()).is_err());
    let mut model = Multiclass::new("softmax", config("", "", None), None).unwrap();
    for y in [3.0, -1.0, 0.5, f64::NAN, f64::INFINITY] {
        assert!(model.learn(Block::<f32>::from_rows(&[(y, vec![])]).rows()).is_err(), "{y}");
    }
}

#[test]
fn a_model_file_that_was_tampered_with_is_refused() {
    let block = stream(8, 60, 4, 1.0, false);
    for (scheme, learner) in [("ovr", "ftrl"), ("softmax", ""), ("perceptron", "")] {
        let model = kept(learned(scheme, config(learner, "logistic", Some(2.0)), false, &block));
        let bytes = model.to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let changes = [
            ("\"classes\":4", "\"classes\":3"),
            ("\"scheme\":\"", "\"scheme\":\"x"),
            ("\"rows\":60", "\"rows\":61"),
            ("\"name\":\"", "\"name\":\"z"),
            ("\"task\":\"classes\"", "\"task\":\"real\""),
            ("\"c1\"", "\"c0\""),
            ("\"closed\":false", "\"closed\":true"),
            ("\"previous\":", "\"previous\":9"),
            ("\"passes\":1", "\"passes\":-1"),
            ("\"config\":{", "\"config\":{\"x"),
        ];
        for (from, to) in changes {
            assert!(text.contains(from), "{scheme}: {from}");
            // Only one versus the rest has a learner that a closed list has not.
            if from.contains("closed") && scheme != "ovr" {
                continue;
            }
            let Some(bad) = forged(&bytes, from, to) else { panic!("{from}") };
            assert!(AnyModel::from_bytes(&bad).is_err(), "{scheme}: {from} -> {to}");
        }
    }
}

/// The file with a text of its header changed, and its lengths and checksum made to fit.
fn forged(bytes: &[u8], from: &str, to: &str) -> Option<Vec<u8>> {
    let length = usize::try_from(u64::from_le_bytes(bytes[16..24].try_into().ok()?)).ok()?;
    let header = std::str::from_utf8(&bytes[24..24 + length]).ok()?;
    // The last one: the classes' own headers come before what is said of all of them.
    let (before, after) = header.rsplit_once(from)?;
    let header = format!("{before}{to}{after}");
    let mut out = bytes[..16].to_vec();
    out.extend((header.len() as u64).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(&bytes[24 + length..bytes.len() - 8]);
    let checksum = xxhash_rust::xxh3::xxh3_64(&out);
    out.extend(checksum.to_le_bytes());
    Some(out)
}
