//! Stateful steps: windows of time, and alarms; see dataflows/support/states.py.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::items::Item;

/// What a stateful step holds for each key.
#[derive(Clone, Copy)]
pub enum Hold {
    /// Gathers items in windows of so much time; they go on when their window closes.
    Window(Duration),
    /// Passes items on; asks once, to be woken so much later.
    Alarm(Duration),
}

/// Tumbling windows by key that begin with the run; the one that is open is all there is.
pub struct Windows {
    length: Duration,
    closes: Instant,
    items: BTreeMap<u64, Vec<Item>>,
}

impl Windows {
    pub fn new(length: Duration) -> Windows {
        Windows { length, closes: Instant::now() + length, items: BTreeMap::new() }
    }

    pub fn got(&mut self, key: u64, item: Item) {
        self.items.entry(key).or_default().push(item);
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Time until the window closes; 0 if it is over.
    pub fn closes_in(&self) -> Duration {
        self.closes.saturating_duration_since(Instant::now())
    }

    /// Moves on to the window that is open now; returns what the one before held.
    pub fn close(&mut self) -> Vec<Item> {
        let now = Instant::now();
        while self.closes <= now {
            self.closes += self.length;
        }
        std::mem::take(&mut self.items).into_values().flatten().collect()
    }
}

/// A time to be woken at for each key, asked for once.
pub struct Alarms {
    after: Duration,
    times: BTreeMap<u64, Option<Instant>>,
}

impl Alarms {
    pub fn new(after: Duration) -> Alarms {
        Alarms { after, times: BTreeMap::new() }
    }

    /// The time after which to be woken, if this key has not asked before.
    pub fn asks(&mut self, key: u64) -> Option<Duration> {
        if self.times.contains_key(&key) {
            return None;
        }
        self.times.insert(key, Some(Instant::now() + self.after));
        Some(self.after)
    }

    /// Forgets the times that have come.
    pub fn woken(&mut self) {
        let now = Instant::now();
        for time in self.times.values_mut() {
            *time = time.filter(|at| *at > now);
        }
    }
}
