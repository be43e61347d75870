//! A compensated sum.

use serde::{Deserialize, Serialize};

/// A running sum whose error does not grow with its length: the low part collects what each addition
/// loses, found without a branch (Knuth's two-sum).
///
/// ```
/// let mut sum = noregret::regret::Sum::default();
/// for x in [1.0, 1e100, 1.0, -1e100] {
///     sum.add(x);
/// }
/// assert_eq!(sum.value(), 2.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    /// Adds one number.
    #[inline]
    pub fn add(&mut self, x: f64) {
        let total = self.high + x;
        let added = total - self.high;
        self.low += (self.high - (total - added)) + (x - added);
        self.high = total;
    }

    /// Adds 1 so many times. A whole number stays exact, so this is one addition.
    pub(crate) fn add_ones(&mut self, count: u64) {
        const EXACT: f64 = (1u64 << 53) as f64;
        let total = self.high + count as f64;
        if self.high.fract() == 0.0 && self.high.abs() < EXACT && total.abs() < EXACT {
            self.high = total;
            self.low += 0.0;
        } else {
            (0..count).for_each(|_| self.add(1.0));
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Sum) {
        self.add(other.high);
        self.low += other.low;
    }

    /// The sum.
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        let mut sum = Sum::default();
        // From inside, a chain of iterators is two plain loops.
        numbers.into_iter().for_each(|x| sum.add(x));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_added_at_once_are_ones_added_singly() {
        let whole = (1u64 << 53) as f64;
        for start in [0.0, 7.0, -3.0, 0.1, 1e17, whole - 5.0, whole - 64.0, 5.0 - whole, 1e300] {
            let mut sum = Sum::default();
            sum.add(start);
            sum.add(1e-9);
            let mut singly = sum;
            sum.add_ones(64);
            (0..64).for_each(|_| singly.add(1.0));
            assert_eq!(
                (sum.high.to_bits(), sum.low.to_bits()),
                (singly.high.to_bits(), singly.low.to_bits())
            );
        }
    }
}
