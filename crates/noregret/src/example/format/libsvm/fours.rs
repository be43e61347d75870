//! Four features in one step of 32 bytes, where they look alike and have no signs.

use super::Libsvm;
use super::run::{Run, Swept};
use crate::example::lanes::{self, FOUR, Lanes, Work};
use crate::example::number::Number;

/// Reads features that look like this, four at once, until one does not, or the row ends.
pub(super) struct Fours<'a, 't, V> {
    pub(super) libsvm: &'a Libsvm,
    pub(super) look: &'a lanes::Look,
    pub(super) rest: &'a mut &'t [u8],
    pub(super) lowest: &'a mut u64,
    pub(super) run: &'a mut Run<V>,
}

impl<V: Number> Work for Fours<'_, '_, V> {
    type Output = Swept;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Swept {
        let Self { libsvm, look, rest, lowest, run } = self;
        let look = *look;
        let length = look.length.min(16);
        let bound = |index: u64| i32::try_from(index).unwrap_or(i32::MAX);
        let (mut least, end) = (bound(*lowest), bound(libsvm.end));
        let (mut text, mut count) = (*rest, run.count);
        let mut swept = Swept::Run;
        while let Some((indices, values)) = run.room(count) {
            let Some(window) = text.first_chunk::<FOUR>() else {
                swept = Swept::Other;
                break;
            };
            let four = lanes.four(&look, window, least, end);
            *indices = four.indices;
            *values = V::all_millionths(four.millionths);
            if four.right == 0b1111 && window[4 * length] == b' ' {
                // A branch of its own: it is foreseen, and the next four need not wait for these.
                text = &text[4 * length..];
                count += 4;
                least = indices[3].cast_signed() + 1;
                continue;
            }
            swept = Swept::Other;
            let mut read = (!four.right).trailing_zeros().min(4) as usize;
            // Unless the last one is longer than it seemed to be.
            read -= usize::from(read > 0 && !matches!(window[read * length], b' ' | b'\n'));
            if read > 0 {
                least = indices[read - 1].cast_signed() + 1;
                count += read;
                text = &text[read * length..];
                if text[0] == b'\n' {
                    text = &text[1..];
                    swept = Swept::Row;
                }
            }
            break;
        }
        // The lowest may be beyond what four at once can have, and then none was read.
        if text.len() < rest.len() {
            *lowest = u64::from(least.cast_unsigned());
        }
        *rest = text;
        run.count = count;
        swept
    }
}
