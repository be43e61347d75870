//! What a constant would have lost: the labels are counted, so the best constant is known exactly
//! at any time of the stream and for any loss.

use crate::loss::Loss;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// With more distinct labels than this they are no longer counted one by one.
pub const MOST_DISTINCT_LABELS: usize = 100_000;

/// Weighted statistics of the labels seen. A label of weight 0 leaves no trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelStats {
    /// The sum of weights.
    weight: f64,
    /// The weighted mean of the labels, and the sum of `c (y - mean)^2` (Welford, West 1979).
    mean: f64,
    deviations: f64,
    /// The weight of the label -1 and of the label +1, which are most of all labels and need no
    /// look-up.
    signs: [f64; 2],
    /// The weight of every other label, by its bits; `None` once there were too many.
    #[serde(with = "sorted")]
    others: Option<HashMap<u64, f64>>,
}

impl Default for LabelStats {
    fn default() -> Self {
        Self { weight: 0.0, mean: 0.0, deviations: 0.0, signs: [0.0; 2], others: Some(HashMap::new()) }
    }
}

impl LabelStats {
    /// No label yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a (finite) label.
    #[inline]
    pub fn enter(&mut self, y: f64, weight: f64) {
        if weight == 0.0 {
            return;
        }
        self.weight += weight;
        let before = y - self.mean;
        self.mean += before * (weight / self.weight);
        self.deviations += weight * before * (y - self.mean);
        if y.abs() == 1.0 {
            self.signs[usize::from(y > 0.0)] += weight;
        } else {
            self.enter_other(y, weight);
        }
    }

    /// Counts a label -1 or +1 of a classification, whose mean nobody asks for.
    #[inline]
    pub fn enter_sign(&mut self, y: f64, weight: f64) {
        self.weight += weight;
        self.signs[usize::from(y > 0.0)] += weight;
    }

    /// Counts labels of weight 1 of a classification, some of them +1, as one by one.
    pub(super) fn enter_signs(&mut self, count: u64, positive: u64) {
        const EXACT: f64 = (1_u64 << 52) as f64;
        let [negative_sum, positive_sum] = &mut self.signs;
        let sums = [&mut self.weight, negative_sum, positive_sum];
        for (sum, count) in sums.into_iter().zip([count, count - positive, positive]) {
            if sum.fract() == 0.0 && *sum < EXACT {
                *sum += count as f64;
            } else {
                (0..count).for_each(|_| *sum += 1.0);
            }
        }
    }

    /// Adds the labels counted elsewhere.
    pub fn merge(&mut self, other: &Self) {
        let weight = self.weight + other.weight;
        if other.weight > 0.0 {
            // Chan, Golub, LeVeque 1979.
            let apart = other.mean - self.mean;
            self.mean += apart * (other.weight / weight);
            self.deviations += other.deviations + apart * apart * (self.weight * other.weight / weight);
        }
        self.weight = weight;
        for (sum, more) in self.signs.iter_mut().zip(other.signs) {
            *sum += more;
        }
        match &other.others {
            None => self.others = None,
            Some(more) => {
                let mut more: Vec<(u64, f64)> = more.iter().map(|(&bits, &c)| (bits, c)).collect();
                more.sort_unstable_by_key(|(bits, _)| *bits);
                for (bits, c) in more {
                    self.enter_other(f64::from_bits(bits), c);
                }
            }
        }
    }

    fn enter_other(&mut self, y: f64, weight: f64) {
        let Some(others) = &mut self.others else {
            return;
        };
        // Adding 0 makes one label of -0 and +0.
        *others.entry((y + 0.0).to_bits()).or_insert(0.0) += weight;
        if others.len() > MOST_DISTINCT_LABELS {
            self.others = None;
        }
    }

    /// The sum of the weights.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The weighted mean of real labels; `None` before the first.
    pub fn mean(&self) -> Option<f64> {
        (self.weight > 0.0).then_some(self.mean)
    }

    /// The weighted variance of real labels around their mean; `None` before the first.
    pub fn variance(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.deviations / self.weight)
    }

    /// The distinct labels with their weights, ascending; `None` when there were too many to count.
    pub fn counts(&self) -> Option<Vec<(f64, f64)>> {
        let others = self.others.as_ref()?.iter().map(|(&bits, &c)| (f64::from_bits(bits), c));
        let signs = [(-1.0, self.signs[0]), (1.0, self.signs[1])];
        let mut all: Vec<_> = others.chain(signs).filter(|(_, c)| *c > 0.0).collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Some(all)
    }

    /// The smallest average loss that a constant prediction could have had (its infimum, where only
    /// ever larger predictions approach it). `None` before the first label, for a loss without a
    /// lower bound, and where it needs counts of labels that were too many.
    pub fn best_constant(&self, loss: &dyn Loss) -> Option<f64> {
        match loss.entry().name {
            "square" => self.variance(),
            // m - m ln m, at z = ln m: the floor for the mean label m.
            "poisson" => self.mean().map(|m| loss.floor(m)),
            _ if self.weight > 0.0 => smallest(loss, &self.counts()?).map(|v| v / self.weight),
            _ => None,
        }
    }
}

/// The smallest sum of losses of one `z` over the labels: the slope ascends, so bisection finds where
/// it changes sign.
fn smallest(loss: &dyn Loss, counts: &[(f64, f64)]) -> Option<f64> {
    let slope = |z: f64| counts.iter().map(|(y, c)| c * loss.slope(z, *y)).sum::<f64>();
    let value = |z: f64| counts.iter().map(|(y, c)| c * loss.value(z, *y)).sum::<f64>();
    // A slope that only tends to 0 (logistic, one class) ends as 0 in floating point; one that does
    // not change sign by then belongs to a loss without a lower bound.
    let mut low: f64 = -1.0;
    while slope(low) > 0.0 {
        low *= 2.0;
        if low.is_infinite() {
            return None;
        }
    }
    let mut high: f64 = 1.0;
    while slope(high) < 0.0 {
        high *= 2.0;
        if high.is_infinite() {
            return None;
        }
    }
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    // Where the loss has a kink the least value lies on it, and kinks lie at labels or at 0.
    let kinks = counts.iter().map(|(y, _)| *y).filter(|y| (low..=high).contains(y));
    Some(kinks.chain([0.0, high]).map(value).fold(value(low), f64::min))
}

/// Counts as a list of (label, weight) that ascends, so that equal counts are equal bytes.
mod sorted {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::HashMap;

    // The signature is serde's.
    #[allow(clippy::ref_option)]
    pub(super) fn serialize<S: Serializer>(
        counts: &Option<HashMap<u64, f64>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let list = counts.as_ref().map(|counts| {
            let mut list: Vec<(f64, f64)> =
                counts.iter().map(|(&bits, &c)| (f64::from_bits(bits), c)).collect();
            list.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            list
        });
        list.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<HashMap<u64, f64>>, D::Error> {
        let list = Option::<Vec<(f64, f64)>>::deserialize(deserializer)?;
        Ok(list.map(|list| list.into_iter().map(|(y, c)| (y.to_bits(), c)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::build;

    fn fill(stats: &mut LabelStats, labels: &[(f64, f64)]) {
        for &(y, c) in labels {
            stats.enter(y, c);
        }
    }

    fn best(name: &str, labels: &[(f64, f64)]) -> Option<f64> {
        let mut stats = LabelStats::new();
        fill(&mut stats, labels);
        stats.best_constant(&*build(name, []).unwrap())
    }

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() <= 1e-14 * (1.0 + b.abs()))
    }

    #[test]
    fn with_logistic_loss_it_is_the_entropy() {
        let (p, q) = (0.3f64, 0.7f64);
        let labels = [(1.0, 3.0), (-1.0, 7.0)];
        assert!(close(best("logistic", &labels), -p * p.ln() - q * q.ln()));
        assert_eq!(best("logistic", &[(1.0, 4.0)]), Some(0.0));
        assert_eq!(best("logistic", &[(-1.0, 4.0)]), Some(0.0));
    }

    #[test]
    fn with_hinge_loss_it_is_twice_the_rarer_class() {
        assert_eq!(best("hinge", &[(1.0, 1.0), (-1.0, 3.0)]), Some(0.5));
        assert_eq!(best("hinge", &[(1.0, 3.0), (-1.0, 1.0)]), Some(0.5));
        assert_eq!(best("hinge", &[(1.0, 1.0), (-1.0, 1.0)]), Some(1.0));
        assert_eq!(best("hinge", &[(1.0, 1.0)]), Some(0.0));
    }

    // With squared hinge: p(1 - z)^2 + q(1 + z)^2 is least at z = p - q, where it is 4 p q.
    #[test]
    fn with_the_other_binary_losses_it_is_what_calculus_says() {
        assert!(close(best("squared-hinge", &[(1.0, 1.0), (-1.0, 3.0)]), 0.75));
        assert_eq!(best("perceptron", &[(1.0, 1.0), (-1.0, 3.0)]), Some(0.0));
    }

    // Labels 1, 2, 4, 8, 100: median 4, deviations 3 + 2 + 0 + 4 + 96.
    #[test]
    fn with_absolute_loss_it_is_the_deviation_from_the_median() {
        let labels = [1.0, 8.0, 4.0, 100.0, 2.0].map(|y| (y, 1.0));
        assert_eq!(best("absolute", &labels), Some(21.0));
        assert_eq!(best("quantile", &labels), Some(10.5));
        assert_eq!(best("absolute", &[(1.0, 1.0), (3.0, 2.5)]), Some(2.0 / 3.5));
    }

    // Labels 0 and 10, delta 1: anywhere in [1, 9] the loss is 10 - 1, half of it a row.
    #[test]
    fn with_huber_loss_a_flat_bottom_is_found() {
        assert_eq!(best("huber", &[(0.0, 1.0), (10.0, 1.0)]), Some(4.5));
    }

    #[test]
    fn with_square_loss_it_is_the_variance_even_far_from_zero() {
        let labels = [1.0, 2.0, 6.0].map(|y| (y + 1e9, 2.0));
        assert!(close(best("square", &labels), 14.0 / 3.0));
    }

    #[test]
    fn with_poisson_loss_it_comes_from_the_mean() {
        let labels = [0.0, 1.0, 5.0].map(|y| (y, 1.0));
        assert!(close(best("poisson", &labels), 2.0 - 2.0 * 2f64.ln()));
        assert_eq!(best("poisson", &[(0.0, 1.0)]), Some(0.0));
    }

    #[test]
    fn a_linear_loss_has_one_only_where_the_labels_cancel() {
        assert_eq!(best("linear", &[(1.0, 1.0), (2.0, 1.0)]), None);
        assert_eq!(best("linear", &[(1.0, 2.0), (-2.0, 1.0)]), Some(0.0));
    }

    #[test]
    fn nothing_is_said_of_no_labels() {
        for entry in crate::loss::ENTRIES {
            assert_eq!(best(entry.name, &[(1.0, 0.0)]), None, "{}", entry.name);
        }
    }

    #[test]
    fn too_many_labels_are_given_up_but_their_sums_are_kept() {
        let labels: Vec<_> = (0..=MOST_DISTINCT_LABELS + 2).map(|k| (k as f64, 1.0)).collect();
        assert_eq!(best("absolute", &labels), None);
        let n = labels.len() as f64;
        let variance = (n * n - 1.0) / 12.0;
        assert!(best("square", &labels).is_some_and(|v| (v / variance - 1.0).abs() < 1e-12));
    }

    #[test]
    fn what_is_stored_continues_bit_for_bit() {
        let labels: Vec<_> = (0..999).map(|k| (f64::from(k % 37) / 7.0, 0.1 + f64::from(k))).collect();
        let mut whole = LabelStats::new();
        fill(&mut whole, &labels);
        let mut part = LabelStats::new();
        fill(&mut part, &labels[..500]);
        let text = serde_json::to_string(&part).unwrap();
        let mut resumed: LabelStats = serde_json::from_str(&text).unwrap();
        fill(&mut resumed, &labels[500..]);
        assert_eq!(resumed, whole);
        assert_eq!(serde_json::to_string(&resumed).unwrap(), serde_json::to_string(&whole).unwrap());
    }
}
