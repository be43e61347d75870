//! The table of recent parts of the stream: regret since.

use super::progress::decimal;
use crate::engine::Window;
use std::fmt::Write;

/// The table has no more rows than this; the summary has all of them.
const ROWS: usize = 10;

/// A table for people; nothing where there is the whole stream alone. What is claimed is rounded so that
/// it stays true.
pub fn table(windows: &[Window]) -> Option<String> {
    if windows.len() < 2 {
        return None;
    }
    let mut text = concat!(
        "regret since    examples     average  best in hindsight      regret\n",
        "     example                    loss           at least     at most\n",
    )
    .to_owned();
    for window in windows.iter().step_by(windows.len().div_ceil(ROWS)) {
        let _ = writeln!(
            text,
            "{:>12} {:>11} {:>11} {:>18} {:>11}",
            window.from,
            window.examples,
            decimal(window.average_loss, f64::round),
            decimal(window.best_at_least, f64::floor),
            decimal(window.regret_at_most, f64::ceil),
        );
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_shown_in_ten_rows_that_begin_with_the_whole() {
        let window = |k: u64| Window {
            from: 1 + k,
            examples: 100 - k,
            average_loss: 0.25,
            best_at_least: 0.123_456_789,
            regret_at_most: 0.126_543_211,
        };
        let all: Vec<Window> = (0..23).map(window).collect();
        let text = table(&all).unwrap();
        assert!(text.lines().count() <= 2 + ROWS, "{text}");
        assert!(text.lines().nth(2).unwrap().trim_start().starts_with("1 "), "{text}");
        assert!(text.contains("0.123456 ") && text.contains("0.126544\n"), "{text}");
        assert_eq!(text.lines().map(str::len).max(), text.lines().map(str::len).min());
        assert_eq!(table(&all[..1]), None);
    }
}
