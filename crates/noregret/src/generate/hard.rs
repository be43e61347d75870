//! The data set on which the Perceptron makes exponentially many mistakes: `(4^n - 1)/3` before it
//! separates the `n` rows, where the optimistic method needs far fewer rounds.

use super::{Dimension, Entry, Request, Sink};
use std::io;

pub(super) static ENTRY: Entry = Entry {
    name: "hard",
    summary: "n separable rows in n features on which the Perceptron makes (4^n - 1)/3 mistakes",
    n: 10,
    d: Dimension::Rows,
    noise: None,
    classes: None,
    rows,
};

/// `x_i = (s, ..., s, -s, 0, ..., 0)`: `i - 1` times `s = (-1)^i`, then `-s` in place `i`;
/// `y_i = (-1)^(i + 1) = -s`.
fn rows(request: &Request, sink: Sink<'_>) -> io::Result<()> {
    let mut pairs = Vec::new();
    for i in 1..=request.d as u32 {
        let s = if i % 2 == 0 { 1.0 } else { -1.0 };
        pairs.clear();
        pairs.extend((0..i - 1).map(|k| (k, s)));
        pairs.push((i - 1, -s));
        sink(-f64::from(s), &pairs)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_first_rows_are_those_of_the_paper() {
        let mut text = Vec::new();
        super::super::write("hard", Some(4), None, None, 0, &mut text).unwrap();
        let expected = "1 1:1\n-1 1:1 2:-1\n1 1:-1 2:-1 3:1\n-1 1:1 2:1 3:1 4:-1\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    // The Perceptron itself, as a reader of the paper would write it.
    #[test]
    fn the_perceptron_makes_the_known_number_of_mistakes() {
        for (n, known) in [(2, 5), (3, 21), (5, 341)] {
            let block = super::ENTRY.block(&super::ENTRY.request(Some(n), None, None, 0).unwrap());
            let mut w = vec![0.0; n as usize];
            let (mut mistakes, mut before) = (0, u64::MAX);
            while mistakes != before {
                before = mistakes;
                for row in block.rows().iter() {
                    let z: f64 = row.x.iter().map(|(i, v)| w[i] * v).sum();
                    if row.y * z <= 0.0 {
                        mistakes += 1;
                        row.x.iter().for_each(|(i, v)| w[i] += row.y * v);
                    }
                }
            }
            assert_eq!(mistakes, known);
        }
    }
}
