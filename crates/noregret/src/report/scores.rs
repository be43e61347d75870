//! Predicted probabilities by class: how well they rank, and how well they are calibrated.

use serde::{Deserialize, Serialize};

/// One bin of the calibration: of the rows whose predicted probability fell in it, the average
/// prediction and the fraction that was positive. Calibrated predictions have both alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationBin {
    /// The smallest probability that belongs here.
    pub from: f64,
    /// The probability where the next bin begins.
    pub to: f64,
    /// The weight of the rows.
    pub weight: f64,
    /// The average predicted probability; `None` in an empty bin.
    pub prediction: Option<f64>,
    /// The fraction of positive labels; `None` in an empty bin.
    pub positive: Option<f64>,
}

impl CalibrationBin {
    fn new(k: u32, [weight, predictions, positives]: [f64; 3]) -> Self {
        let average = |sum: f64| (weight > 0.0).then(|| sum / weight);
        Self {
            from: f64::from(k) / 10.0,
            to: f64::from(k + 1) / 10.0,
            weight,
            prediction: average(predictions),
            positive: average(positives),
        }
    }
}

/// One bin for each sign, exponent and upper five bits of the mantissa of an f32.
const BINS: usize = 1 << 14;

/// Scores by class.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Scores {
    /// The weight of negative and of positive rows in each bin, by ascending score.
    #[serde(with = "sparse")]
    bins: Vec<[f64; 2]>,
    /// Weight, sum of predictions, sum of positives for each tenth.
    calibration: [[f64; 3]; 10],
}

impl Clone for Scores {
    fn clone(&self) -> Self {
        Self { bins: self.bins.clone(), calibration: self.calibration }
    }

    /// In the room that is there.
    fn clone_from(&mut self, other: &Self) {
        self.bins.clone_from(&other.bins);
        self.calibration = other.calibration;
    }
}

impl Default for Scores {
    fn default() -> Self {
        Self { bins: vec![[0.0; 2]; BINS], calibration: [[0.0; 3]; 10] }
    }
}

impl Scores {
    #[inline]
    pub(super) fn enter(&mut self, z: f64, y: f64, weight: f64, slope: f64) {
        let positive = y > 0.0;
        self.bins[bin(z)][usize::from(positive)] += weight;
        // The slope is p - 1 for a positive row and p for a negative one.
        let p = if positive { 1.0 + slope } else { slope };
        // A probability: a small number fits into 32 bits, for which the processor has an instruction.
        let sums = &mut self.calibration[((10.0 * p) as i32).clamp(0, 9) as usize];
        sums[0] += weight;
        sums[1] += weight * p;
        sums[2] += if positive { weight } else { 0.0 };
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            *bin = [bin[0] + more[0], bin[1] + more[1]];
        }
        for (sums, more) in self.calibration.iter_mut().zip(&other.calibration) {
            for (sum, more) in sums.iter_mut().zip(more) {
                *sum += more;
            }
        }
    }

    pub(super) fn calibration(&self) -> Vec<CalibrationBin> {
        let bins = (0..).zip(&self.calibration);
        bins.map(|(k, sums)| CalibrationBin::new(k, *sums)).collect()
    }

    pub(super) fn auc(&self) -> Option<(f64, f64)> {
        let (mut below, mut positives, mut won, mut tied) = (0.0, 0.0, 0.0, 0.0);
        for [negative, positive] in &self.bins {
            won += positive * below;
            tied += positive * negative;
            below += negative;
            positives += positive;
        }
        let pairs = positives * below;
        (pairs > 0.0).then(|| ((won + tied / 2.0) / pairs, tied / 2.0 / pairs))
    }
}

/// Ascends with `z`: the bits of an f32 order like the number once those of negative ones are
/// turned round. Adding 0 makes one score of -0 and +0.
#[inline]
fn bin(z: f64) -> usize {
    let bits = (z as f32 + 0.0).to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    (ordered >> 18) as usize
}

/// The bins that hold something, as (bin, negative, positive).
mod sparse {
    use super::BINS;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bins: &[[f64; 2]], serializer: S) -> Result<S::Ok, S::Error> {
        let held = (0u32..).zip(bins).filter(|(_, bin)| **bin != [0.0; 2]);
        serializer.collect_seq(held.map(|(k, [negative, positive])| (k, negative, positive)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<[f64; 2]>, D::Error> {
        let mut bins = vec![[0.0; 2]; BINS];
        for (k, negative, positive) in Vec::<(u32, f64, f64)>::deserialize(deserializer)? {
            *bins
                .get_mut(k as usize)
                .ok_or_else(|| D::Error::custom(format!("score bin {k}: there are {BINS}")))? =
                [negative, positive];
        }
        Ok(bins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_ascend_with_the_score() {
        let mut scores: Vec<f64> = (-3000..3000).map(|k| 1.01f64.powi(k)).collect();
        scores.extend(scores.clone().iter().map(|z| -z));
        scores.extend([0.0, f64::MIN, f64::MAX, f64::INFINITY, f64::NEG_INFINITY]);
        scores.sort_by(f64::total_cmp);
        assert!(scores.windows(2).all(|w| bin(w[0]) <= bin(w[1])));
        assert_eq!(bin(-0.0), bin(0.0));
        assert!(bin(1.0) < bin(1.04) && bin(-1.04) < bin(-1.0) && bin(f64::INFINITY) < BINS);
    }

    #[test]
    fn a_bin_that_does_not_exist_is_refused() {
        let mut scores = Scores::default();
        scores.enter(1.0, 1.0, 1.0, -0.25);
        let text = serde_json::to_string(&scores).unwrap();
        let bad = text.replace(&format!("[[{},", bin(1.0)), "[[16384,");
        assert!(bad != text && serde_json::from_str::<Scores>(&bad).is_err());
    }
}
