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
