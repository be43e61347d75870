//! The usual request, read in one go: plain names and values, no escapes. Whatever is of another shape, or wrong, is left
//! to the walk, which knows every shape and every mistake; what is read here is what the walk would have read.

use crate::command::Space;
use crate::parse::Maker;
use noregret::example::Label;
use noregret::example::number::parse_f64;

/// Reads a text: one example, or several where that is allowed. None if it is another's; then some rows may have been made.
pub(super) fn read(maker: &mut Maker<'_>, text: &[u8], several: bool) -> Option<()> {
    let mut cursor = Cursor { text: std::str::from_utf8(text).ok()?, at: 0 };
    // About as many features as there are in most texts, so that room is made once.
    maker.expect(text.len() / 20);
    let mut quick = Quick { maker, name: String::new() };
    let (mut single, mut examples) = (Parts::default(), false);
    cursor.object(|key, cursor| match key {
        "examples" if several && !examples => {
            examples = true;
            cursor.list(|cursor| {
                let mut parts = Parts::default();
                cursor.object(|key, cursor| quick.field(key, cursor, &mut parts))?;
                quick.end(parts)
            })
        }
        "predict" if several => {
            quick.maker.parsed.predict = cursor.truth()?;
            Some(())
        }
        "id" if several => {
            quick.maker.parsed.id = Some(cursor.truth()?);
            Some(())
        }
        key => quick.field(key, cursor, &mut single),
    })?;
    if !examples {
        quick.end(single)?;
    } else if single.any() {
        return None;
    }
    cursor.end()
}

/// The parts of one example.
#[derive(Default)]
struct Parts {
    features: bool,
    label: Option<Label>,
    weight: Option<f64>,
}

impl Parts {
    fn any(&self) -> bool {
        self.features || self.label.is_some() || self.weight.is_some()
    }
}

struct Quick<'q, 'a> {
    maker: &'q mut Maker<'a>,
    /// Room for the name of a text.
    name: String,
}

impl Quick<'_, '_> {
    #[inline]
    fn field(&mut self, key: &str, cursor: &mut Cursor<'_>, parts: &mut Parts) -> Option<()> {
        match key {
            "features" if !parts.features => {
                parts.features = true;
                cursor.object(|name, cursor| self.feature(name, cursor))
            }
            "label" if parts.label.is_none() => {
                parts.label = Some(match cursor.peek()? {
                    b'"' => Label::Name(cursor.string().filter(|name| !name.is_empty())?.into()),
                    b't' | b'f' => Label::Number(f64::from(u8::from(cursor.truth()?))),
                    _ => Label::Number(cursor.number()?),
                });
                Some(())
            }
            "weight" if parts.weight.is_none() => {
                parts.weight = Some(cursor.number()?);
                Some(())
            }
            _ => None,
        }
    }

    #[inline]
    fn feature(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Option<()> {
        match cursor.peek()? {
            b'"' => {
                let text = cursor.string()?;
                if text.is_empty() {
                    return Some(());
                }
                self.name.clear();
                self.name.push_str(name);
                self.name.push('=');
                self.name.push_str(text);
                self.maker.named(&self.name, 1.0).ok()
            }
            b't' | b'f' => {
                let value = f64::from(u8::from(cursor.truth()?));
                self.maker.named(name, value).ok()
            }
            b'n' => cursor.word("null"),
            _ => {
                let value = cursor.number()?;
                self.maker.named(name, value).ok()
            }
        }
    }

    fn end(&mut self, parts: Parts) -> Option<()> {
        let Parts { features: true, label, weight } = parts else { return None };
        self.maker.end(Space::Names, label.unwrap_or(Label::Missing), weight.unwrap_or(1.0)).ok()
    }
}

/// A place in a JSON text. Whatever it does not take is none.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// The next byte that is not white space.
    #[inline(always)]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.as_bytes().get(self.at)? {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    #[inline(always)]
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// What stands between two brackets, separated by commas.
    #[inline(always)]
    fn between(
        &mut self,
        [open, close]: [u8; 2],
        mut each: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.take(open)?;
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            each(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                byte if byte == close => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    #[inline(always)]
    fn list(&mut self, each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.between(*b"[]", each)
    }

    #[inline(always)]
    fn object(&mut self, mut each: impl FnMut(&'t str, &mut Self) -> Option<()>) -> Option<()> {
        self.between(*b"{}", |cursor| {
            let key = cursor.string()?;
            cursor.take(b':')?;
            each(key, cursor)
        })
    }

    /// A text without escapes.
    #[inline(always)]
    fn string(&mut self) -> Option<&'t str> {
        self.take(b'"')?;
        let from = self.at;
        let rest = &self.text.as_bytes()[from..];
        let mut length = 0;
        loop {
            let found = special(match rest[length..].first_chunk() {
                Some(eight) => u64::from_le_bytes(*eight),
                None => last(&rest[length..]),
            });
            if found != 0 {
                length += found.trailing_zeros() as usize / 8;
                break;
            }
            length += 8;
        }
        self.at = from + length + 1;
        if rest.get(length) == Some(&b'"') { self.text.get(from..from + length) } else { None }
    }

    /// A number, the nearest to its decimal.
    #[inline(always)]
    fn number(&mut self) -> Option<f64> {
        self.peek()?;
        let from = self.at;
        let bytes = self.text.as_bytes();
        let digits = |at: &mut usize, m: &mut u64| {
            let from = *at;
            while let Some(digit) = bytes.get(*at).map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10) {
                *m = m.wrapping_mul(10).wrapping_add(u64::from(digit));
                *at += 1;
            }
            *at - from
        };
        let mut at = from;
        let negative = bytes.get(at) == Some(&b'-');
        at += usize::from(negative);
        let mut m = 0;
        let leads = bytes.get(at) == Some(&b'0');
        let whole = digits(&mut at, &mut m);
        if whole == 0 || (leads && whole > 1) {
            return None;
        }
        let mut places = 0;
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            places = digits(&mut at, &mut m);
            if places == 0 {
                return None;
            }
        }
        if let Some(b'e' | b'E') = bytes.get(at) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            if digits(&mut at, &mut 0) == 0 {
                return None;
            }
        } else if whole + places <= 15 {
            // Both are exact, so that their quotient is rounded once.
            self.at = at;
            let value = m as f64 / TENS[places];
            return Some(if negative { -value } else { value });
        }
        self.at = at;
        parse_f64(&bytes[from..at]).filter(|value| value.is_finite())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.peek()?;
        self.text.as_bytes()[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn truth(&mut self) -> Option<bool> {
        match self.peek()? {
            b't' => self.word("true").map(|()| true),
            _ => self.word("false").map(|()| false),
        }
    }

    /// Nothing follows.
    fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }
}

const TENS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Of eight bytes of a string, where the first quote, backslash or control character is: its highest bit. Those above it
/// may be set without reason.
#[inline(always)]
fn special(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let below = |word: u64, n: u64| word.wrapping_sub(n * ONES) & !word;
    let is = |byte: u8| below(word ^ (u64::from(byte) * ONES), 1);
    (is(b'"') | is(b'\\') | below(word, 0x20)) & (0x80 * ONES)
}

/// Fewer than eight bytes and zeros, which end a string.
fn last(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}
