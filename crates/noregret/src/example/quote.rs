//! Pieces of an input, in messages.

/// How many characters of a piece are shown.
const SHOWN: usize = 40;

/// The piece between backquotes, shortened, with what cannot be printed escaped.
pub(crate) fn quote(piece: &[u8]) -> String {
    let start = &piece[..piece.len().min(4 * SHOWN)];
    let mut shown = String::from("`");
    let mut count = 0;
    for part in start.utf8_chunks() {
        for char in part.valid().chars() {
            if count < SHOWN {
                if char.is_control() { shown.extend(char.escape_default()) } else { shown.push(char) }
            }
            count += 1;
        }
        for byte in part.invalid() {
            if count < SHOWN {
                shown.extend(std::ascii::escape_default(*byte).map(char::from));
            }
            count += 1;
        }
    }
    if count > SHOWN || start.len() < piece.len() {
        shown.push('…');
    }
    shown.push('`');
    shown
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn pieces_are_shortened_and_made_printable() {
        assert_eq!(quote(b"abc"), "`abc`");
        assert_eq!(quote("é\x01".as_bytes()), "`é\\u{1}`");
        assert_eq!(quote(b"\xff"), "`\\xff`");
        assert_eq!(quote(&[b'7'; 10_000]), format!("`{}…`", "7".repeat(40)));
    }
}
