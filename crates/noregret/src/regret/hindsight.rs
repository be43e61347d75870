//! The best fixed model in hindsight for data in memory: a bracket around the minimum over the ball.
//!
//! Accelerated projected gradient descent with restarts. Both ends are proofs: above, the loss of a
//! `u` in the ball; below, the ledger of the rounds in which that same `u` had predicted throughout.

use super::ledger::Entered;
use super::{Comparator, Ledger};
use crate::example::{Rows, Value};
use crate::loss::Loss;
use crate::round::Vector;

/// The minimum lies between these averages.
#[derive(Clone, Debug, PartialEq)]
pub struct Bracket {
    /// No model of the ball has a smaller average loss.
    pub at_least: f64,
    /// The average loss of `u`.
    pub at_most: f64,
    /// A model of the ball.
    pub u: Vector,
    /// How often the data were read.
    pub sweeps: usize,
}

/// Brackets the smallest average loss over `|u|_2 <= radius` until the bracket is narrower than
/// `tolerance` times its upper end, or `most_sweeps` reads of the data. The loss should be smooth; for
/// another the bracket is still true, only wide. None for an empty stream.
pub fn best_in_ball<V: Value>(
    rows: Rows<'_, V>,
    loss: &dyn Loss,
    radius: f64,
    bias: bool,
    tolerance: f64,
    most_sweeps: usize,
) -> Option<Bracket> {
    let d = rows.iter().map(|r| r.x.end()).max().unwrap_or(0);
    let zero = Vector { features: vec![0.0; d], bias: bias.then_some(0.0) };
    let class = Comparator::L2 { radius };
    let mut step = 1.0;
    let mut u = zero.clone();
    let mut ahead = zero;
    let mut momentum: f64 = 1.0;
    let mut best = Bracket { at_least: f64::NEG_INFINITY, at_most: f64::INFINITY, u: u.clone(), sweeps: 0 };
    let mut here = sweep(rows, loss, &ahead);
    best.sweeps = 1;
    best.keep(&here, &ahead, &class)?;
    while best.sweeps < most_sweeps && best.at_most - best.at_least > tolerance * best.at_most.abs() {
        let n = here.book.weight.value();
        // Backtracking: the quadratic model at `ahead` must lie above the loss at the new point.
        let (next, there) = loop {
            let mut next = ahead.clone();
            next.add(&here.s, -step / n);
            let norm = next.norm();
            if norm > radius {
                scale(&mut next, radius / norm);
            }
            let there = sweep(rows, loss, &next);
            best.sweeps += 1;
            best.keep(&there, &next, &class)?;
            let mut change = next.clone();
            change.add(&ahead, -1.0);
            let linear: f64 = here.s.iter().zip(change.iter()).map(|(g, c)| g * c).sum::<f64>() / n;
            let square = change.norm().powi(2) / (2.0 * step);
            let (now, then) = (here.book.average_loss()?, there.book.average_loss()?);
            if then <= now + linear + square + 1e-15 * now.abs() || best.sweeps >= most_sweeps {
                break (next, there);
            }
            step /= 2.0;
        };
        let uphill: f64 = {
            let mut moved = next.clone();
            moved.add(&u, -1.0);
            there.s.iter().zip(moved.iter()).map(|(g, m)| g * m).sum()
        };
        if uphill > 0.0 {
            momentum = 1.0;
        }
        let faster = f64::midpoint(1.0, (1.0 + 4.0 * momentum * momentum).sqrt());
        let carry = (momentum - 1.0) / faster;
        momentum = faster;
        ahead = next.clone();
        ahead.add(&next, carry);
        ahead.add(&u, -carry);
        u = next;
        here = if carry == 0.0 {
            there
        } else {
            best.sweeps += 1;
            sweep(rows, loss, &ahead)
        };
        step *= 1.1;
    }
    Some(best)
}

impl Bracket {
    fn keep(&mut self, ledger: &Ledger, u: &Vector, class: &Comparator) -> Option<()> {
        let (loss, bound) = (ledger.book.average_loss()?, ledger.best_at_least(class)?);
        if loss < self.at_most {
            self.at_most = loss;
            self.u = u.clone();
        }
        self.at_least = self.at_least.max(bound);
        Some(())
    }
}

fn scale(vector: &mut Vector, factor: f64) {
    for x in vector.features.iter_mut().chain(&mut vector.bias) {
        *x *= factor;
    }
}

/// The ledger of the rounds in which `u` predicts throughout: its `S` is the gradient of the total
/// loss at `u`.
pub fn sweep<V: Value>(rows: Rows<'_, V>, loss: &dyn Loss, u: &Vector) -> Ledger {
    let s = Vector { features: vec![0.0; u.features.len()], bias: u.bias.map(|_| 0.0) };
    let mut ledger = Ledger { s, ..Ledger::default() };
    for row in rows.iter().filter(|r| r.weight > 0.0) {
        let z = u.dot(row.x);
        let slope = loss.slope(z, row.y);
        ledger.book.enter(&Entered {
            z,
            y: row.y,
            weight: row.weight,
            loss: loss.value(z, row.y),
            slope,
            floor: loss.floor(row.y),
            norm_squared: row.x.norm_squared() + f64::from(u8::from(u.bias.is_some())),
            model: None,
        });
        let alpha = row.weight * slope;
        for (i, v) in row.x.iter() {
            ledger.s.features[i] += alpha * v;
        }
        if let Some(bias) = &mut ledger.s.bias {
            *bias += alpha;
        }
    }
    ledger
}
