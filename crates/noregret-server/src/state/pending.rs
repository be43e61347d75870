//! Predictions that wait for their labels.

use crate::codec::{self, Damaged, Input};
use crate::command::Predicted;
use std::collections::{HashMap, VecDeque};

/// How much memory they may take. A constant, because what is given up is part of what a log means.
const MOST_BYTES: usize = 256 << 20;

/// By id, and in the order in which they were made.
#[derive(Default)]
pub(crate) struct Pending {
    bytes: usize,
    rows: HashMap<u64, Predicted>,
    order: VecDeque<u64>,
}

/// About how much memory one takes.
fn bytes(row: &Predicted) -> usize {
    128 + 12 * row.indices.len() + 8 * row.scores.len()
}

impl Pending {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds one; says how many older ones were given up to make room.
    pub(crate) fn add(&mut self, predicted: Predicted, most: u64) -> u64 {
        let id = predicted.id;
        self.bytes += bytes(&predicted);
        match self.rows.insert(id, predicted) {
            None => self.order.push_back(id),
            Some(before) => self.bytes -= bytes(&before),
        }
        let mut dropped = 0;
        while self.rows.len() as u64 > most || self.bytes > MOST_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            dropped += u64::from(self.take(oldest).is_some());
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
                    self.take(oldest);
                    expired += 1;
                }
                None => {}
            }
            self.order.pop_front();
        }
        expired
    }

    /// How many would be given up now.
    pub(crate) fn overdue(&self, now: u64) -> usize {
        let rows = self.order.iter().map(|id| self.rows.get(id));
        rows.take_while(|row| row.is_none_or(|row| row.deadline < now)).flatten().count()
    }

    pub(crate) fn get(&self, id: u64, now: u64) -> Option<&Predicted> {
        self.rows.get(&id).filter(|row| row.deadline >= now)
    }

    pub(crate) fn take(&mut self, id: u64) -> Option<Predicted> {
        let row = self.rows.remove(&id)?;
        self.bytes -= bytes(&row);
        Some(row)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Space;

    fn row(id: u64, features: usize) -> Predicted {
        let (indices, values) = ((0..features as u32).collect(), vec![1.0; features]);
        Predicted {
            id,
            deadline: id + 10,
            score: 0.0,
            scores: Vec::new(),
            space: Space::Numbers,
            indices,
            values,
        }
    }

    #[test]
    fn the_oldest_make_room_by_number_and_by_size() {
        let mut pending = Pending::default();
        assert_eq!((0..5).map(|id| pending.add(row(id, 3), 3)).sum::<u64>(), 2);
        assert!(pending.get(1, 0).is_none() && pending.get(2, 0).is_some());
        assert_eq!(pending.expire(13), 1, "that of id 2 was until 12");
        let mut pending = Pending::default();
        let features = MOST_BYTES / 12 / 4;
        let dropped: u64 = (0..10).map(|id| pending.add(row(id, features), u64::MAX)).sum();
        assert_eq!((dropped, pending.len()), (7, 3));
        for id in 0..10 {
            pending.take(id);
        }
        assert_eq!((pending.bytes, pending.len()), (0, 0));
    }
}
