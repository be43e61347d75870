//! Predictions that wait for their labels.

use crate::codec::{self, Damaged, Input};
use crate::command::Predicted;
use std::collections::{HashMap, VecDeque};

/// By id, and in the order in which they were made.
#[derive(Default)]
pub(crate) struct Pending {
    rows: HashMap<u64, Predicted>,
    order: VecDeque<u64>,
}

impl Pending {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds one; says how many older ones were given up to make room.
    pub(crate) fn add(&mut self, predicted: Predicted, most: u64) -> u64 {
        let id = predicted.id;
        if self.rows.insert(id, predicted).is_none() {
            self.order.push_back(id);
        }
        let mut dropped = 0;
        while self.rows.len() as u64 > most {
            let Some(oldest) = self.order.pop_front() else { break };
            dropped += u64::from(self.rows.remove(&oldest).is_some());
        }
        // Labelled ones leave their ids behind.
        if self.order.len() > 2 * self.rows.len() + 64 {
            self.order.retain(|id| self.rows.contains_key(id));
        }
        dropped
    }

    /// Gives up those whose time is over; says how many.
    pub(crate) fn expire(&mut self, now: u64) -> u64 {
        let mut expired = 0;
        while let Some(&oldest) = self.order.front() {
            match self.rows.get(&oldest) {
                Some(row) if row.deadline >= now => break,
                Some(_) => {
                    self.rows.remove(&oldest);
                    expired += 1;
                }
                None => {}
            }
            self.order.pop_front();
        }
        expired
    }

    pub(crate) fn get(&self, id: u64, now: u64) -> Option<&Predicted> {
        self.rows.get(&id).filter(|row| row.deadline >= now)
    }

    pub(crate) fn take(&mut self, id: u64) -> Option<Predicted> {
        self.rows.remove(&id)
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        codec::put_number(out, self.rows.len() as u64);
        for row in self.order.iter().filter_map(|id| self.rows.get(id)) {
            row.put(out);
        }
    }

    pub(crate) fn read(input: &mut Input<'_>) -> Result<Self, Damaged> {
        let mut pending = Self::default();
        for _ in 0..input.number()? {
            pending.add(Predicted::take(input)?, u64::MAX);
        }
        Ok(pending)
    }
}
