//! Recent parts of the stream, each with a certificate of its own, so that a change of regime is seen.

use super::Engine;
use crate::regret::Book;
use crate::regret::blocks::{LARGEST_DIMENSION, Since, UNIT};
use crate::round::Vector;
use serde::Serialize;
use std::borrow::Cow;

/// The examples since one of them, to the last of the first pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// The first of them, counted from 1.
    pub from: u64,
    /// How many there are.
    pub examples: u64,
    /// `L/n` of these alone.
    pub average_loss: f64,
    /// No comparator's average loss on these is below this.
    pub best_at_least: f64,
    /// The average regret on these is at most this.
    pub regret_at_most: f64,
}

impl Engine {
    /// The whole stream, then its recent parts from the longest to the shortest, against the class in
    /// force. With the parts' own examples alone each says what its best fixed model loses at least.
    pub fn windows(&self) -> Vec<Window> {
        let (comparator, _) = self.comparator();
        let told = |after: u64, book: &Book, best: Option<f64>| {
            let best_at_least = best?;
            Some(Window {
                from: after + 1,
                examples: book.examples,
                average_loss: book.average_loss()?,
                best_at_least,
                regret_at_most: book.regret_at_most(&comparator, best_at_least)?,
            })
        };
        let whole = told(0, &self.whole_book(), self.best_at_least(&comparator));
        let (blocks, s) = match &self.first {
            None if !self.blocks.remembers() => return whole.into_iter().collect(),
            None => (&self.blocks, Cow::Owned(self.machine.s())),
            Some(first) => (&first.blocks.0, Cow::Borrowed(&first.blocks.1)),
        };
        let before = self.base.as_ref().map_or(0, |base| base.book.examples);
        let recent = blocks.since(&s).filter_map(|Since { after, ledger }| {
            told(before + after, &ledger.book, ledger.best_at_least(&comparator))
        });
        whole.into_iter().chain(recent).collect()
    }

    /// Says whether recent parts are to be told from now on, however many features there are.
    pub fn set_windows(&mut self, told: bool) {
        self.config.windows = Some(told);
        if !told {
            self.blocks.forget();
        } else if !self.blocks.remembers() && self.examples() > 0 {
            self.blocks.begin(self.remembered());
        }
    }

    /// The learner's `S`, where recent parts are told.
    pub(super) fn remembered(&self) -> Option<Vector> {
        self.remembers().then(|| self.machine.s())
    }

    fn remembers(&self) -> bool {
        self.config.windows.unwrap_or_else(|| self.dimension() <= LARGEST_DIMENSION)
    }

    /// Ends the ledger's open block, if it is time, in the first pass.
    pub(super) fn end_block(&mut self) {
        if self.first.is_some() || self.blocks.until_due() < UNIT {
            return;
        }
        if !self.remembers() {
            self.blocks.forget();
        }
        if self.blocks.is_due(self.dimension()) {
            self.blocks.begin(self.remembered());
        }
    }
}
