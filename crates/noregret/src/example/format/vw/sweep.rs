//! Usual features of VW text, ` name:0.123`, many at once.
//!
//! First the places are listed where words may end, 64 bytes at a time ([`Lanes::stops`]). Then each feature is taken out of the text between
//! these, unseen: the bytes of its name, and those of its value, which it is taken to have. Whether they are what they should be is asked
//! when many have gathered, together with hashes and numbers ([`Lanes::hashes`], [`Lanes::numbers`]).
//!
//! Whatever is unusual ends the sweep, and is left to those who read anything.

// A call per feature would cost more than what is called.
#![allow(clippy::inline_always)]

use super::audit_name;
use crate::example::hash::vw_name;
use crate::example::lanes::{self, BLOCK, GROUP, Lanes, Width, Words, Work};
use crate::example::number::Number;
use crate::example::text::Row;

/// How many features gather.
const FEATURES: usize = 128;

/// How many blocks are looked at before their features are read: first, because a namespace may be short, and later.
const FEW: usize = 2;
const MANY: usize = 32;

/// How much text is looked at from a feature's space on: it ends within a block, and of its name and its value sixteen bytes are taken.
const WINDOW: usize = BLOCK + 16;

/// How much text is looked at where all features are taken to have a value.
const REACH: usize = (MANY + 1) * BLOCK;

/// For how many sweeps it is not taken that all features have a value after one that met a feature without.
const MIXED: u32 = 64;

/// What stands for the value of a feature that has none, from its colon on.
const ONE: [u8; 16] = *b":1              ";

/// Where a length says that there is none.
const NONE: u32 = 1 << 16;

/// How many features are read one by one where one could not be read with others; and the most, where that happens time and again.
pub(super) const PATIENCE: u32 = 16;
const MOST_PATIENCE: u32 = 1 << 12;

/// Features on their way from text to a row.
#[derive(Debug)]
pub(in crate::example) struct Batch {
    /// The names, and what follows them in the text.
    names: [[u8; 16]; FEATURES],
    /// The values from their colons on, and what follows them.
    values: [[u8; 16]; FEATURES],
    /// The lengths of both, as [`Lanes`] takes them, with [`NONE`] where there is no value in the text; and room to write a whole group
    /// wherever one begins.
    lengths: [u32; FEATURES + GROUP],
    /// What comes of them.
    hashes: [Words; FEATURES / GROUP],
    numbers: [Words; FEATURES / GROUP],
    /// For how many sweeps some features may have no value: see [`MIXED`].
    mixed: u32,
    /// How many blocks the last sweep passed.
    passed: usize,
    /// How many features are to be read one by one before the next sweep, because in the last one the first was unusual; and how
    /// many after another such.
    pub(super) wait: u32,
    patience: u32,
    /// Where words of the text may end.
    stops: [u16; (MANY + 1) * BLOCK],
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            names: [[0; 16]; FEATURES],
            values: [ONE; FEATURES],
            lengths: [0; FEATURES + GROUP],
            hashes: [Words::default(); FEATURES / GROUP],
            numbers: [Words::default(); FEATURES / GROUP],
            mixed: 0,
            passed: 0,
            wait: 0,
            patience: PATIENCE,
            stops: [0; (MANY + 1) * BLOCK],
        }
    }
}

/// How a sweep of features ended.
enum Ended {
    /// What is known of the text ends, or the batch is full.
    Short,
    /// The line ends, or something unusual follows.
    Here,
}

/// Reads features of a namespace from the space at `from` on into a row, as long as they are usual.
pub(super) struct Sweep<'a, 'r, V> {
    pub(super) text: &'a [u8],
    pub(super) from: usize,
    /// Where the line ends, or somewhat earlier.
    pub(super) length: usize,
    pub(super) space: &'a [u8],
    pub(super) seed: u32,
    pub(super) mask: u32,
    pub(super) row: &'a mut Row<'r, V>,
}

impl<V: Number> Sweep<'_, '_, V> {
    /// Says where the first feature of another kind begins, or the line ends.
    #[inline]
    pub(super) fn read(self) -> usize {
        // There is one, unless a sweep did not end well.
        let Some(batch) = self.row.batch.take() else { return self.from };
        // For a few features wider lanes take longer to set up than they save.
        let widest = if batch.passed > FEW { Width::Avx512 } else { Width::Avx2 };
        lanes::run_within(widest, Reading { sweep: self, batch })
    }
}

struct Reading<'a, 'r, V> {
    sweep: Sweep<'a, 'r, V>,
    batch: &'r mut Batch,
}

impl<V: Number> Work for Reading<'_, '_, V> {
    type Output = usize;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> usize {
        let Self { mut sweep, batch } = self;
        let (mut at, mut begin) = (sweep.from, sweep.from);
        // A namespace is mostly as long as the last one.
        let (mut blocks, mut count) = (batch.passed.clamp(FEW, MANY), 0);
        loop {
            let ahead = sweep.text[at..].as_chunks::<BLOCK>().0;
            let line = sweep.length.saturating_sub(at);
            let ahead = &ahead[..ahead.len().min(line / BLOCK + 2).min(blocks)];
            let mut stops = 0;
            for (k, block) in ahead.iter().enumerate() {
                let Some(room) = batch.stops[stops..].first_chunk_mut() else { break };
                stops += lanes.stops(block, (k * BLOCK) as u16, room);
            }
            let text = &sweep.text[at..];
            let valued = text
                .first_chunk()
                .filter(|text| batch.mixed == 0 && text[usize::from(batch.stops[1]) % REACH] == b':');
            let (length, known, ended) = match valued {
                Some(text) => batch.gather_valued(text, stops, line, count),
                None => batch.gather(text, stops, line, count),
            };
            if valued.is_some() {
                batch.measure(lanes, count, known);
            }
            (at, count) = (at + length, known);
            let over = length == 0 || matches!(ended, Ended::Here);
            if over || count > FEATURES / 2 {
                let usual = sweep.enter(lanes, batch, count);
                if usual < count {
                    at = begin + batch.lengths[..usual].iter().map(|length| size(*length)).sum::<usize>();
                    let name = (batch.lengths[usual] & 0xff) as usize;
                    if sweep.text.get(at + 1 + name) != Some(&b':') {
                        batch.mixed = MIXED;
                    }
                    break;
                }
                (begin, count) = (at, 0);
            }
            if over {
                break;
            }
            blocks = MANY;
        }
        batch.passed = (at - sweep.from) / BLOCK + 2;
        batch.mixed = batch.mixed.saturating_sub(1);
        // Where nothing is usual, the next try comes later each time.
        if at > sweep.from {
            batch.patience = PATIENCE;
        } else {
            batch.wait = batch.patience;
            batch.patience = (2 * batch.patience).min(MOST_PATIENCE);
        }
        sweep.row.batch = Some(batch);
        at
    }
}

/// How many bytes of text a feature of these lengths has, the space before it included.
fn size(lengths: u32) -> usize {
    let (name, value) = (lengths & 0xff, lengths >> 8 & 0xff);
    1 + name as usize + if lengths & NONE == 0 { 1 + value as usize } else { 0 }
}

impl Batch {
    /// As [`Batch::gather`], but for the lengths, and quicker, if all features have a value; whether they do is asked with the rest.
    // By itself, so that the compiler has registers enough.
    #[inline(never)]
    fn gather_valued(
        &mut self,
        text: &[u8; REACH],
        mut stops: usize,
        line: usize,
        from: usize,
    ) -> (usize, usize, Ended) {
        while stops > 0 && usize::from(self.stops[stops - 1]) > line {
            stops -= 1;
        }
        let count = (stops.saturating_sub(1) / 2).min(FEATURES - from);
        let places = &self.stops[..=2 * count];
        let pairs = places.as_chunks::<2>().0;
        let sixteen = |at: usize| *text[at..].first_chunk().expect("what reaches that far");
        let room = self.names[from..].iter_mut().zip(&mut self.values[from..]);
        for (&[begin, end], (name, value)) in pairs.iter().zip(room) {
            *name = sixteen(usize::from(begin) % (MANY * BLOCK) + 1);
            *value = sixteen(usize::from(end) % (MANY * BLOCK));
        }
        let length = usize::from(places[2 * count]);
        let ended = if length >= line || count == 0 { Ended::Here } else { Ended::Short };
        (length, from + count, ended)
    }

    /// Notes how long names and values of features are that were gathered by [`Batch::gather_valued`].
    #[inline(always)]
    fn measure<L: Lanes>(&mut self, lanes: L, from: usize, to: usize) {
        // Whole groups: what is behind the last feature says nothing.
        let (groups, _) = self.lengths[from..].as_chunks_mut::<GROUP>();
        for (k, lengths) in groups.iter_mut().take((to - from).div_ceil(GROUP)).enumerate() {
            let Some(places) = self.stops[2 * GROUP * k..].first_chunk() else { break };
            *lengths = lanes.lengths(places);
        }
    }

    /// Gathers what may be features from the beginning of a text whose line is so long, as far as its stops are known, behind `from` others.
    /// Says how long they are, and how many there are then.
    #[inline(never)]
    fn gather(&mut self, text: &[u8], stops: usize, line: usize, from: usize) -> (usize, usize, Ended) {
        let mut stops = &self.stops[..stops];
        let mut begin = 0;
        let room = self.names[from..].iter_mut().zip(&mut self.values[from..]).zip(&mut self.lengths[from..]);
        for (k, ((name, value), lengths)) in room.enumerate() {
            let short = (begin, from + k, Ended::Short);
            let &[_, name_end, end, ..] = stops else { return short };
            let Some(window) = text[begin..].first_chunk::<WINDOW>() else { return short };
            let (name_end, end) = (usize::from(name_end), usize::from(end));
            let here = (begin, from + k, Ended::Here);
            // What does not end within a block is unusual.
            if end - begin > BLOCK {
                return here;
            }
            let length = name_end - begin;
            let sixteen = |at: usize| *window[at..].first_chunk().expect("a window that long");
            *name = sixteen(1);
            match window[length % BLOCK] {
                b':' => {
                    *value = sixteen(length % BLOCK);
                    *lengths = (length - 1) as u32 | ((end - name_end - 1) as u32) << 8;
                    begin = end;
                    stops = &stops[2..];
                }
                b' ' | b'\n' => {
                    *value = ONE;
                    *lengths = (length - 1) as u32 | 1 << 8 | NONE;
                    begin = name_end;
                    stops = &stops[1..];
                }
                _ => return here,
            }
            if begin >= line {
                return (begin, from + k + 1, Ended::Here);
            }
        }
        (begin, FEATURES, Ended::Short)
    }
}

impl<V: Number> Sweep<'_, '_, V> {
    /// Enters the first `count` features of a batch into the row, or those before the first one that is unusual, and says how many.
    #[inline(always)]
    fn enter<L: Lanes>(&mut self, lanes: L, batch: &mut Batch, count: usize) -> usize {
        let names = batch.names.as_chunks::<GROUP>().0;
        let values = batch.values.as_chunks::<GROUP>().0;
        let lengths = batch.lengths.as_chunks::<GROUP>().0;
        // One after the other: short loops, of which a processor does several turns at once.
        let (groups, few) = (count.div_ceil(GROUP), count <= GROUP / 2);
        for (hashes, (names, lengths)) in batch.hashes[..groups].iter_mut().zip(names.iter().zip(lengths)) {
            *hashes = lanes.hashes(names, lengths, self.seed, few);
        }
        for (numbers, (values, lengths)) in batch.numbers[..groups].iter_mut().zip(values.iter().zip(lengths))
        {
            *numbers = lanes.numbers(values, lengths, few);
        }
        let mut left = count;
        let words = batch.hashes[..groups].iter().zip(&batch.numbers);
        for ((hashes, numbers), (names, lengths)) in words.zip(names.iter().zip(lengths)) {
            let (odd, unusual) = (hashes.odd | numbers.odd, hashes.unusual | numbers.unusual);
            // What an earlier batch left behind is none of this.
            let here = left.min(GROUP).min(unusual.trailing_zeros() as usize);
            if here == 0 {
                break;
            }
            let numbers = V::all_millionths(numbers.all);
            let mut indices = [0; GROUP];
            for (index, hash) in indices.iter_mut().zip(hashes.all) {
                *index = hash & self.mask;
            }
            if odd & u32::MAX >> (32 - here) != 0 {
                self.enter_each(&names[..here], lengths, &numbers);
            } else if here == GROUP {
                // Of a length that is known beforehand: a few moves and no call.
                self.row.extend(&indices, &numbers);
                if !indices.iter().all(|&index| self.row.knows(index)) {
                    self.note(names, lengths, &indices);
                }
            } else {
                self.row.extend(&indices[..here], &numbers[..here]);
                if !indices[..here].iter().all(|&index| self.row.knows(index)) {
                    self.note(&names[..here], lengths, &indices);
                }
            }
            left -= here;
            if here < GROUP {
                break;
            }
        }
        count - left
    }

    /// Takes note of the names of features that were entered.
    #[inline(never)]
    fn note(&mut self, names: &[[u8; 16]], lengths: &[u32; GROUP], indices: &[u32; GROUP]) {
        for ((name, &length), &index) in names.iter().zip(lengths).zip(indices) {
            let name = &name[..length as usize % 16];
            self.row.note(index, |text| {
                text.clear();
                audit_name(text, self.space, name, 0);
            });
        }
    }

    /// Enters features one by one: some may be 0, or have a number for a name.
    #[inline(never)]
    fn enter_each(&mut self, names: &[[u8; 16]], lengths: &[u32; GROUP], numbers: &[V; GROUP]) {
        for ((name, &length), &number) in names.iter().zip(lengths).zip(numbers) {
            let name = &name[..length as usize % 16];
            self.row.push(vw_name(name, self.seed) & self.mask, number, |text| {
                text.clear();
                audit_name(text, self.space, name, 0);
            });
        }
    }
}
