//! Rounds that wait to be entered in the ledger and the counts together.

use super::Entered;

/// How many rounds are entered together.
pub(crate) const MOST: usize = 64;

/// Rounds in their order, each number of all of them side by side, so that loops over one number are loops over neighbours.
#[derive(Clone, Debug)]
pub struct Rounds {
    count: usize,
    z: [f64; MOST],
    y: [f64; MOST],
    weight: [f64; MOST],
    loss: [f64; MOST],
    slope: [f64; MOST],
    floor: [f64; MOST],
    norm_squared: [f64; MOST],
    model: [Option<f64>; MOST],
    /// Whether all have a model's length.
    modelled: bool,
}

impl Default for Rounds {
    fn default() -> Self {
        let none = [0.0; MOST];
        Self {
            count: 0,
            z: none,
            y: none,
            weight: none,
            loss: none,
            slope: none,
            floor: none,
            norm_squared: none,
            model: [None; MOST],
            modelled: true,
        }
    }
}

impl Rounds {
    /// Adds a round; whether it was the last one that there is room for.
    #[inline(always)]
    pub(crate) fn push(&mut self, round: Entered) -> bool {
        // Never more than there is room for, which the compiler cannot know.
        let k = self.count % MOST;
        self.z[k] = round.z;
        self.y[k] = round.y;
        self.weight[k] = round.weight;
        self.loss[k] = round.loss;
        self.slope[k] = round.slope;
        self.floor[k] = round.floor;
        self.norm_squared[k] = round.norm_squared;
        self.model[k] = round.model;
        self.modelled &= round.model.is_some();
        self.count = k + 1;
        self.count == MOST
    }

    /// None waits any more.
    pub(crate) fn clear(&mut self) {
        (self.count, self.modelled) = (0, true);
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.count.min(MOST)
    }

    /// The predictions.
    pub(crate) fn z(&self) -> &[f64] {
        &self.z[..self.len()]
    }

    /// The labels.
    pub(crate) fn y(&self) -> &[f64] {
        &self.y[..self.len()]
    }

    /// The weights.
    pub(crate) fn weight(&self) -> &[f64] {
        &self.weight[..self.len()]
    }

    /// The losses before the weight.
    pub(crate) fn loss(&self) -> &[f64] {
        &self.loss[..self.len()]
    }

    /// The slopes before the weight.
    pub(crate) fn slope(&self) -> &[f64] {
        &self.slope[..self.len()]
    }

    /// The floors before the weight.
    pub(crate) fn floor(&self) -> &[f64] {
        &self.floor[..self.len()]
    }

    /// The squared lengths of the rows, see [`Entered::norm_squared`].
    pub(crate) fn norm_squared(&self) -> &[f64] {
        &self.norm_squared[..self.len()]
    }

    /// The models' squared lengths, where they are known of all rounds.
    pub(crate) fn model(&self) -> Option<impl Iterator<Item = f64>> {
        self.modelled.then(|| self.model[..self.len()].iter().map(|model| model.unwrap_or(0.0)))
    }

    /// Predictions, labels, and losses that are to become what they will be.
    pub(crate) fn unsettled(&mut self) -> (&[f64], &[f64], &mut [f64]) {
        let n = self.len();
        (&self.z[..n], &self.y[..n], &mut self.loss[..n])
    }

    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entered> {
        (0..self.len()).map(|k| Entered {
            z: self.z[k],
            y: self.y[k],
            weight: self.weight[k],
            loss: self.loss[k],
            slope: self.slope[k],
            floor: self.floor[k],
            norm_squared: self.norm_squared[k],
            model: self.model[k],
        })
    }
}

#[cfg(test)]
impl FromIterator<Entered> for Rounds {
    fn from_iter<I: IntoIterator<Item = Entered>>(rounds: I) -> Self {
        let mut all = Self::default();
        rounds.into_iter().for_each(|round| assert!(!all.push(round) || all.len() == MOST));
        all
    }
}
