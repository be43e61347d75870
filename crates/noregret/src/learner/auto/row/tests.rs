use super::super::super::{Learner, Outcome, Slot, Slots};
use super::super::rule::{Convex, Logistic, Rule};
use super::super::slot::{Averages, Beside, Nothing, Pool};
use super::super::{Auto, Width};
use crate::example::{Block, Row, Value};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A stream of rows of all lengths up to 23, with zeros, with values that make scales grow, and with features that come late.
fn rows<V: Value>(seed: u64, cast: impl Fn(f64) -> V, label: impl Fn(f64) -> f64) -> Block<V> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut block = Block::new();
    for t in 0..600 {
        let most = random.random_range(0..24);
        let mut row = Vec::new();
        let mut score = 0.0;
        for i in 0..(30 + t / 20) {
            if row.len() < most && random.random_range(0..3) == 0 {
                let kind = random.random_range(0..40);
                let size = [0.0, 1e30, 1e-30, 50.0].get(kind).copied().unwrap_or(1.0);
                let x: f64 = random.random_range(-1.0..1.0) * size * f64::from(1 + i % 5);
                score += x.clamp(-1.0, 1.0) * (f64::from(i % 7) - 3.0);
                row.push((i, cast(x)));
            }
        }
        let weight = if t % 11 == 0 { random.random_range(0.1..3.0) } else { 1.0 };
        block.push(label(score), weight, row);
    }
    block
}

fn round<R: Rule, B: Beside, V: Value>(
    learner: &mut Auto<R, B>,
    slots: &mut Slots<Pool<B>>,
    Row { x, y, weight }: Row<'_, V>,
    next: &[u32],
) -> u64 {
    let (z, norm_squared) = learner.foresee_and_norm(slots, x, next);
    assert_eq!(z.to_bits(), learner.predict(slots, x).to_bits());
    assert_eq!(norm_squared.to_bits(), x.norm_squared().to_bits());
    let slope = weight * learner.rule.slope(z, y);
    learner.update(slots, x, &Outcome { z, now: z, y, weight, slope, norm_squared });
    z.to_bits()
}

fn numbers<R: Rule, B: Beside>(learner: &Auto<R, B>, slots: &Slots<Pool<B>>) -> (String, Vec<u64>) {
    let cells = slots.iter().flat_map(|cell| {
        let state = Pool::<B>::FIELDS.iter().enumerate().map(|(k, _)| cell.state.get(k).to_bits());
        state.chain([cell.s.to_bits()]).collect::<Vec<_>>()
    });
    let slow = learner.slow_s.iter().map(|s| s.to_bits());
    (serde_json::to_string(learner).expect("scalars"), cells.chain(slow).collect())
}

/// Learns with the processor's registers and with plain ones.
fn compare<R: Rule, B: Beside, V: Value>(rule: impl Fn() -> R, bias: bool, block: &Block<V>) {
    let mut wide = (Auto::<R, B>::new(rule(), false), Slots::new(bias));
    let mut plain = (Auto::<R, B>::new(rule(), false), Slots::new(bias));
    plain.0.width = Width::plain();
    let rows = block.rows();
    for (t, row) in rows.iter().enumerate() {
        let next = if t + 1 < rows.len() { rows.row(t + 1).x.indices } else { &[] };
        let have = round(&mut wide.0, &mut wide.1, row, next);
        let want = round(&mut plain.0, &mut plain.1, row, next);
        assert_eq!(have, want, "row {t}");
    }
    assert_eq!(numbers(&wide.0, &wide.1), numbers(&plain.0, &plain.1));
}

#[test]
fn any_width_gives_the_same_bits() {
    let sign = |score: f64| if score > 0.5 { 1.0 } else { -1.0 };
    for seed in 0..4 {
        let (single, double) = (rows(seed, |x| x as f32, sign), rows(seed, |x| x, sign));
        compare::<_, Nothing, _>(|| Logistic, true, &single);
        compare::<_, Nothing, _>(|| Logistic, false, &double);
        compare::<_, Averages, _>(|| Logistic, true, &single);
        let hinge = || Convex::new(crate::loss::build("hinge", []).expect("it exists"), None);
        compare::<_, Nothing, _>(hinge, true, &double);
        compare::<_, Nothing, _>(Convex::default, true, &rows(seed, |x| x, |score| 3.0 * score));
    }
}
