//! Requests that were answered under an idempotency key, so that they can be sent again.

use crate::command::Key;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};

/// How many are remembered. A constant, because what is forgotten is part of what a log means.
const MOST: usize = 10_000;

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

/// Answers by key.
#[derive(Default)]
pub(crate) struct Keys {
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
        if self.answers.insert(key.name.clone(), answered).is_some() {
            self.order.retain(|name| *name != key.name);
        }
        self.order.push_back(key.name.clone());
        while self.order.len() > MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.answers.remove(&oldest);
            }
        }
    }

    /// In the order in which they came.
    pub(crate) fn list(&self) -> Vec<&Answered> {
        self.order.iter().filter_map(|name| self.answers.get(name)).collect()
    }

    pub(crate) fn from_list(list: Vec<Answered>) -> Self {
        let order = list.iter().map(|a| a.name.clone()).collect();
        Self { order, answers: list.into_iter().map(|a| (a.name.clone(), a)).collect() }
    }
}
