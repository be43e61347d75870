//! Passes over the stream after the first, and what of all passes a model file keeps.

use super::Engine;
use crate::learner::{Mixture, Theorem};
use crate::regret::blocks::Block;
use crate::regret::ledger::Extra;
use crate::regret::risk::Risk;
use crate::regret::{Blocks, Book, Ledger};
use crate::report::Tally;
use crate::round::{Saved, Vector};

/// The first pass, kept while later ones go on.
pub(super) struct FirstPass {
    pub(super) ledger: Ledger,
    pub(super) tally: Tally,
    pub(super) theorem: Theorem,
    pub(super) mixture: Option<Mixture>,
    pub(super) risk: Risk,
    /// The ledger of the last complete pass after it.
    pub(super) latest: Option<Ledger>,
    /// The largest lower bound of a whole later pass, for a class of fixed radius.
    pub(super) later_best: Option<f64>,
    /// Its blocks, and the learner's `S` at its end.
    pub(super) blocks: (Blocks, Vector),
}

impl Engine {
    /// Ends a pass over the stream and begins the next one over the same stream. The ledger starts
    /// anew; what is said of the run goes on speaking of the first pass.
    pub fn next_pass(&mut self) {
        let part = self.part();
        let book = part.book.clone();
        match &mut self.first {
            None => {
                let (theorem, mixture, risk) = (self.theorem(), self.mixture(), self.risk());
                self.first = Some(FirstPass {
                    ledger: part,
                    tally: self.tally.clone(),
                    theorem,
                    mixture,
                    risk,
                    latest: None,
                    later_best: None,
                    blocks: (std::mem::take(&mut self.blocks), self.machine.s()),
                });
            }
            Some(first) if part.book.examples == first.ledger.book.examples => {
                let fixed = self.fixed_comparator();
                // Of the whole stream, and so with what came before this engine's part of it.
                let whole = self.with_base(part.clone());
                let best = fixed.and_then(|c| {
                    whole.iter().filter_map(|ledger| ledger.best_at_least(&c)).reduce(f64::max)
                });
                if let Some(first) = &mut self.first {
                    first.later_best = first.later_best.into_iter().chain(best).reduce(f64::max);
                    first.latest = Some(part);
                }
            }
            Some(_) => {}
        }
        self.begin_part(&book);
        self.pass += 1;
    }

    /// From here on the ledger of the current part starts at nothing.
    fn begin_part(&mut self, book: &Book) {
        self.origin = Some((self.machine.s(), self.history(book)));
        self.blocks = Blocks::default();
        self.tally = self.tally.emptied();
    }

    /// What came before a part that begins now, after one with this book.
    fn history(&self, book: &Book) -> Extra {
        let mut before = self.origin.as_ref().map_or(Extra::default(), |(_, e)| *e);
        before.rounds += book.rounds as f64;
        before.reach += book.reach;
        before
    }

    /// What a model file keeps beside the learner's own state. After several passes that is the
    /// ledger and the counts of the first one, so that a resumed model goes on from there.
    pub(crate) fn snapshot(&self) -> Snapshot {
        match &self.first {
            None => Snapshot {
                blocks: Some(self.blocks.clone()),
                book: self.blocks.book(),
                tally: self.tally.clone(),
                base: self.base.clone(),
                latest: self.base_latest.clone(),
                origin: self.origin.clone(),
                passes: self.passes_before.max(1),
            },
            Some(first) => {
                let book = self.blocks.book();
                let whole = book.examples == first.ledger.book.examples;
                let latest = if whole { Some(self.part()) } else { first.latest.clone() };
                let kept = |ledger: Ledger| Ledger { own: Vec::new(), ..ledger };
                // `S` has gone on over later passes: what comes next is no part of the first one's blocks.
                let mut blocks = Blocks::default();
                blocks.begin(self.remembered());
                Snapshot {
                    blocks: Some(blocks),
                    book: Book::default(),
                    tally: first.tally.clone(),
                    base: Some(kept(Self::joined(self.base.as_ref(), first.ledger.clone()))),
                    latest: latest.map(|latest| kept(Self::joined(self.base.as_ref(), latest))),
                    origin: Some((self.machine.s(), self.history(&book))),
                    passes: self.pass,
                }
            }
        }
    }

    /// Takes back a snapshot, on an engine that has learned nothing.
    pub(crate) fn restore(&mut self, snapshot: Snapshot, saved: Saved) -> Result<(), String> {
        self.machine.restore(saved)?;
        if let Some(blocks) = snapshot.blocks {
            // No stream has so many.
            if blocks.iter().count() > 256 || blocks.book() != snapshot.book {
                return Err("the books of its blocks do not add up: the file is damaged".to_owned());
            }
            self.blocks = blocks;
        } else {
            // From before there were blocks: they begin here.
            let block = Block { book: snapshot.book, start: None };
            self.blocks = Blocks::from_list(vec![block]);
            self.blocks.begin(self.remembered());
        }
        self.tally = snapshot.tally;
        self.base = snapshot.base;
        self.base_latest = snapshot.latest;
        self.origin = snapshot.origin;
        self.passes_before = snapshot.passes;
        Ok(())
    }
}

/// See [`Engine::snapshot`].
pub(crate) struct Snapshot {
    /// The current part in blocks; a file written before there were any has none.
    pub(crate) blocks: Option<Blocks>,
    /// Their sum.
    pub(crate) book: Book,
    pub(crate) tally: Tally,
    pub(crate) base: Option<Ledger>,
    pub(crate) latest: Option<Ledger>,
    pub(crate) origin: Option<(Vector, Extra)>,
    pub(crate) passes: u32,
}

#[cfg(test)]
mod tests {
    use crate::engine::{Config, Engine};
    use crate::example::Block;

    /// The second part is harder than the first: what its later passes prove of it is no bound for both.
    #[test]
    fn passes_over_a_second_part_prove_nothing_beyond_the_whole_stream() {
        let row = |k: i32| vec![(0, f64::from(k % 7) / 7.0 + 0.5), (1, f64::from(k % 3))];
        let sign = |k: i32| if k % 2 == 0 { 1.0 } else { -1.0 };
        let easy: Vec<_> =
            (0..200).map(|k| (sign(k), row(k).iter().map(|(i, v)| (*i, sign(k) * v)).collect())).collect();
        let hard: Vec<_> = (0..200).map(|k| (sign(k), row(k / 2))).collect();
        let (easy, hard) = (Block::<f64>::from_rows(&easy), Block::<f64>::from_rows(&hard));
        let mut config = Config::new("projected-ogd", "hinge");
        config.radius = Some(5.0);
        let mut engine = Engine::new(config).unwrap();
        engine.learn_f64(easy.rows()).unwrap();
        engine.next_pass();
        engine.learn_f64(easy.rows()).unwrap();
        let mut engine = engine.doubled().unwrap();
        for pass in 0..6 {
            if pass > 0 {
                engine.next_pass();
            }
            engine.learn_f64(hard.rows()).unwrap();
            let proved = engine.certificate().unwrap().best_at_least;
            // u = (2, 0) loses nothing on the easy rows; on the hard ones a row and its double have both labels.
            let lost: f64 = easy
                .rows()
                .iter()
                .chain(hard.rows().iter())
                .map(|r| (1.0 - r.y * 2.0 * r.x.iter().next().map_or(0.0, |(_, v)| v)).max(0.0))
                .sum();
            assert!(proved <= lost / 400.0, "pass {pass}: {proved} is above {}", lost / 400.0);
        }
        assert_eq!(engine.examples(), 400);
    }
}
