//! The points of the curves: what was known when, kept with the model.

use super::held::{examples, scores};
use noregret::multiclass::Pupil;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How many points are kept; when there are more, every second one is let go.
const MOST: usize = 2048;

/// At least this often, if anything is learned.
const MILLISECONDS: u64 = 60_000;

/// How long a point is good for, in milliseconds: making one goes through all weights, and more than a small part of the
/// time should not go there, however many there are.
pub(crate) fn pace(engine: &Pupil) -> u64 {
    (engine.dimension() * scores(engine).max(1)) as u64 / 256
}

/// What was known after some number of examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Point {
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// How many examples had been learned.
    pub examples: u64,
    /// Their average loss.
    pub average_loss: Option<f64>,
    /// No comparator's average loss is below this.
    pub best_at_least: Option<f64>,
    /// The average regret is at most this.
    pub regret_at_most: Option<f64>,
    /// What the learner's theorem promises at most, where it applies.
    pub bound: Option<f64>,
}

impl Point {
    /// What is known now. Goes through all weights.
    pub fn now(engine: &Pupil, time: u64) -> Self {
        let certificate = engine.certificate();
        Self {
            time,
            examples: examples(engine),
            average_loss: engine.average_loss(),
            best_at_least: certificate.as_ref().map(|c| c.best_at_least),
            regret_at_most: certificate.as_ref().map(|c| c.regret_at_most),
            bound: engine.bound().and_then(|b| b.regret_at_most),
        }
    }
}

/// Points, denser at the beginning of a stream: a new one when the number of examples has grown by a part in 64, or
/// a minute has gone by; in a model of many features they keep their distance.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct History {
    points: Vec<Point>,
    last: (u64, u64),
}

impl History {
    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }

    /// Takes note of the engine if it is time.
    pub(crate) fn note(&mut self, engine: &Pupil, time: u64) {
        let (examples, (seen, noted)) = (examples(engine), self.last);
        let grown = examples >= seen + 1 + seen / 64;
        let old = examples > seen && time >= noted + MILLISECONDS;
        // Where the clock was set back, the time of the last point is as good as any: points are in its order.
        let behind = time < noted;
        if !(grown || old) || (!behind && time < noted + pace(engine)) {
            return;
        }
        let time = time.max(noted);
        self.last = (examples, time);
        self.points.push(Point::now(engine, time));
        if self.points.len() > MOST {
            let mut k = 0;
            self.points.retain(|_| {
                k += 1;
                k % 2 == 1
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noregret::engine::{Config, Engine};
    use noregret::example::Block;

    #[test]
    fn a_clock_that_is_set_back_does_not_end_the_curves() {
        let mut pupil = Pupil::One(Box::new(Engine::new(Config::new("auto", "logistic")).unwrap()));
        let mut history = History::default();
        let day = 24 * 60 * 60 * 1000;
        for k in 0..40 {
            let Pupil::One(engine) = &mut pupil else { unreachable!() };
            engine.learn(Block::<f32>::from_rows(&[(1.0, vec![(200_000, 1.0)])]).rows()).unwrap();
            let set_back = if k < 20 { 0 } else { day };
            history.note(&pupil, 2 * day + 1000 * k - set_back);
        }
        assert_eq!(history.points().last().map(|p| p.examples), Some(40));
        assert!(history.points().is_sorted_by_key(|p| p.time));
    }
}
