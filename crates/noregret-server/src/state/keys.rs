//! Requests that were answered under an idempotency key, so that they can be sent again.

use crate::command::Key;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};

/// How many are remembered. A constant, because what is forgotten is part of what a log means.
const MOST: usize = 10_000;

/// How many bytes of them: an answer may tell the predictions of a large request.
const MOST_BYTES: usize = 64 << 20;

/// For how long: a day.
const MILLISECONDS: u64 = 24 * 60 * 60 * 1000;

/// An answered request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Answered {
    name: String,
    digest: u64,
    time: u64,
    answer: String,
}

impl Answered {
    fn bytes(&self) -> usize {
        2 * self.name.len() + self.answer.len()
    }
}

/// Answers by key.
#[derive(Default)]
pub(crate) struct Keys {
    bytes: usize,
    order: VecDeque<String>,
    answers: HashMap<String, Answered>,
}

/// What is known of a key.
pub(crate) enum Known<'a> {
    New,
    /// The same request was answered.
    Same(&'a str),
    /// The key was used for another request.
    Other,
}

impl Keys {
    pub(crate) fn look(&self, key: &Key, now: u64) -> Known<'_> {
        match self.answers.get(&key.name) {
            Some(a) if now.saturating_sub(a.time) > MILLISECONDS => Known::New,
            Some(a) if a.digest == key.digest => Known::Same(&a.answer),
            Some(_) => Known::Other,
            None => Known::New,
        }
    }

    pub(crate) fn remember(&mut self, key: &Key, time: u64, answer: &str) {
        let answered =
            Answered { name: key.name.clone(), digest: key.digest, time, answer: answer.to_owned() };
        self.bytes += answered.bytes();
        if let Some(before) = self.answers.insert(key.name.clone(), answered) {
            self.bytes -= before.bytes();
            self.order.retain(|name| *name != key.name);
        }
        self.order.push_back(key.name.clone());
        // The last one is always known.
        while self.order.len() > MOST || (self.bytes > MOST_BYTES && self.order.len() > 1) {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(forgotten) = self.answers.remove(&oldest) {
                self.bytes -= forgotten.bytes();
            }
        }
    }

    /// In the order in which they came.
    pub(crate) fn list(&self) -> Vec<&Answered> {
        self.order.iter().filter_map(|name| self.answers.get(name)).collect()
    }

    pub(crate) fn from_list(list: Vec<Answered>) -> Self {
        let order = list.iter().map(|a| a.name.clone()).collect();
        let bytes = list.iter().map(Answered::bytes).sum();
        Self { bytes, order, answers: list.into_iter().map(|a| (a.name.clone(), a)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_answers_are_forgotten_by_number_and_by_size() {
        let key = |k: usize| Key { name: k.to_string(), digest: 1 };
        let mut keys = Keys::default();
        for k in 0..MOST + 5 {
            keys.remember(&key(k), 0, "{}");
        }
        assert!(
            matches!(keys.look(&key(4), 0), Known::New) && matches!(keys.look(&key(5), 0), Known::Same("{}"))
        );
        let large = "x".repeat(MOST_BYTES / 2);
        for k in 0..3 {
            keys.remember(&key(k), 0, &large);
        }
        let list: Vec<Answered> = keys.list().into_iter().cloned().collect();
        assert_eq!(list.len(), 1, "two do not fit with their names");
        assert_eq!(Keys::from_list(list).bytes, keys.bytes);
        assert!(matches!(keys.look(&key(2), MILLISECONDS + 1), Known::New), "a day is over");
    }
}
