//! The stream on which following the leader fails. Labels are the coefficients of the linear loss.

use super::{Dimension, Entry, Request, Sink};
use std::io;

pub(super) static ENTRY: Entry = Entry {
    name: "leader-fails",
    summary: "one feature, linear loss: on [-1, 1] the leader loses n - 1, the constant 0 nothing",
    n: 1000,
    d: Dimension::Fixed(1),
    noise: None,
    classes: None,
    rows,
};

/// `f_1(w) = w/2`, then `-w` for even `t` and `w` for odd `t`.
fn rows(request: &Request, sink: Sink<'_>) -> io::Result<()> {
    for t in 1..=request.n {
        let y = match t {
            1 => 0.5,
            t if t % 2 == 0 => -1.0,
            _ => 1.0,
        };
        sink(y, &[(0, 1.0)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_first_rows_alternate_after_a_half() {
        let mut text = Vec::new();
        super::super::write("leader-fails", Some(4), None, None, 0, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "0.5 1:1\n-1 1:1\n1 1:1\n-1 1:1\n");
    }

    #[test]
    fn the_leader_loses_all_but_one_round() {
        let block = super::ENTRY.block(&super::ENTRY.request(Some(101), None, None, 0).unwrap());
        let (mut sum, mut loss) = (0.0, 0.0);
        for y in &block.labels {
            let leader = if sum == 0.0 { 0.0 } else { -f64::signum(sum) };
            loss += y * leader;
            sum += y;
        }
        assert_eq!(loss, 100.0);
    }
}
