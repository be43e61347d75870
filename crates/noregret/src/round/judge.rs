//! The learner-independent half of a round: what the loss says of the prediction, and its entry in the
//! ledger and the counts.

use super::{Entered, Refused, Rounds};
use crate::loss::{Loss, Told};
use crate::regret::Book;
use crate::report::Tally;

/// What a round may bring at most, so that sums and squares over a whole stream stay finite.
const LARGEST: f64 = 1e200;

/// Who judges predictions. One type, so that its work melts into the loop over the rows: a call costs more there
/// than its instructions, because the next row's weights are then asked for that much later. For the same reason
/// what nobody waits for, the sums and counts, is done for many rounds at once.
pub struct Judge<'a> {
    /// The loss.
    pub loss: &'a dyn Loss,
    /// Rounds that are not entered yet.
    pub waiting: &'a mut Rounds,
    /// The ledger's scalars.
    pub book: &'a mut Book,
    /// The counts.
    pub tally: &'a mut Tally,
    /// Where predictions are noted as they are made, if anywhere.
    pub noted: Option<&'a mut Vec<f64>>,
}

impl Judge<'_> {
    /// The floor of the loss for the label `y`.
    #[inline(always)]
    pub(super) fn floor(&self, floored: bool, y: f64) -> f64 {
        if floored { self.loss.floor(y) } else { 0.0 }
    }

    /// What the loss says of the prediction `z` for the label `y`, its value as far as [`Loss::begun`] goes.
    #[inline(always)]
    pub(super) fn begun(&self, z: f64, y: f64) -> Told {
        self.loss.begun(z, y)
    }

    /// Takes a round for the ledger and the counts, its loss as [`Judge::begun`] told it; or nothing of it, if a number leaves
    /// the range of f64. It is in them after [`Judge::finish`].
    #[inline(always)]
    pub(super) fn enter(&mut self, round: Entered) -> Result<(), Refused> {
        let Entered { z, weight, loss, slope, norm_squared, .. } = round;
        let alpha = weight * slope;
        let sizes = z.abs() + (weight * loss).abs() + (alpha * z).abs() + alpha * alpha * norm_squared;
        // A NaN is not below anything either.
        let fits = sizes <= LARGEST;
        if !fits {
            return Err(Refused::Diverged { z, loss: self.loss.value(z, round.y) });
        }
        self.wait(round);
        Ok(())
    }

    /// The same for a round in which nothing is lost and nothing learned, by a row that is not the longest.
    #[inline(always)]
    pub(super) fn enter_quiet(
        &mut self,
        z: f64,
        y: f64,
        weight: f64,
        model: Option<f64>,
    ) -> Result<(), Refused> {
        let (loss, slope, floor, norm_squared) = (0.0, 0.0, 0.0, 0.0);
        // A weight that is not finite makes a NaN of the loss.
        let fits = z.abs() + weight * loss <= LARGEST;
        if !fits {
            return Err(Refused::Diverged { z, loss });
        }
        self.wait(Entered { z, y, weight, loss, slope, floor, norm_squared, model });
        Ok(())
    }

    #[inline(always)]
    fn wait(&mut self, round: Entered) {
        if self.waiting.push(round) {
            self.finish();
        }
    }

    /// Enters the rounds that wait, in their order.
    #[inline(never)]
    pub(super) fn finish(&mut self) {
        let (z, y, losses) = self.waiting.unsettled();
        self.loss.settle(z, y, losses);
        self.tally.enter_all(self.waiting.z(), self.waiting.y(), self.waiting.weight(), self.waiting.slope());
        self.book.enter_all(self.waiting);
        if let Some(noted) = &mut self.noted {
            noted.extend(self.waiting.z());
        }
        self.waiting.clear();
    }
}
