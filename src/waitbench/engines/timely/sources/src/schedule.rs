//! When the items of a source are due; the same rules as in dataflows/support/items.py.

use std::time::Duration;

use crate::items::{random, Item};
use crate::reading::monotonic_ns;

/// When each item of a source is due, in ns after it is first asked.
///
/// An interval apart, `burst` at a time; for 0 all at once. `idle` is silence before the end.
#[derive(Clone, Default)]
pub struct Schedule {
    interval_ns: u64,
    burst: u64,
    idle_ns: u64,
}

impl Schedule {
    pub fn new(interval_s: f64, burst: u64, idle_s: f64) -> Schedule {
        let (interval_ns, idle_ns) = ((interval_s * 1e9) as u64, (idle_s * 1e9) as u64);
        Schedule { interval_ns, burst: burst.max(1), idle_ns }
    }

    fn due_ns(&self, number: u64) -> u64 {
        self.interval_ns * (number / self.burst.max(1) + 1)
    }
}

/// What a source has to say.
pub enum Next {
    Item(Item),
    /// There is nothing before so much time has gone.
    Wait(Duration),
    End,
}

/// `count` items with identities from `first_ident`, by a schedule that is fixed when it is first
/// asked: an item that is late does not delay those behind it.
pub struct Reader {
    first_ident: u64,
    count: u64,
    schedule: Schedule,
    random: u64,
    number: u64,
    start_ns: Option<u64>,
    due_ns: u64,
}

impl Reader {
    pub fn new(first_ident: u64, count: u64, schedule: Schedule, seed: u64) -> Reader {
        let random = seed.wrapping_mul(1_000_003).wrapping_add(first_ident);
        Reader { first_ident, count, schedule, random, number: 0, start_ns: None, due_ns: 0 }
    }

    pub fn is_begun(&self) -> bool {
        self.start_ns.is_some()
    }

    pub fn next(&mut self) -> Next {
        let now = monotonic_ns();
        if self.start_ns.is_none() {
            self.start_ns = Some(now);
            self.set_due(now);
        }
        let due_ns = self.due_ns;
        if now < due_ns {
            return Next::Wait(Duration::from_nanos(due_ns - now));
        }
        if self.number >= self.count {
            return Next::End;
        }
        let ident = self.first_ident + self.number;
        self.number += 1;
        self.set_due(self.start_ns.unwrap_or(now));
        self.random = random(self.random);
        Next::Item((ident, due_ns, (self.random >> 16) % 10))
    }

    /// Sets when the next item, or the end of the input, is due.
    fn set_due(&mut self, start_ns: u64) {
        let schedule = &self.schedule;
        if self.number < self.count {
            self.due_ns = start_ns + schedule.due_ns(self.number);
        } else if schedule.idle_ns > 0 {
            let last_ns = if self.count > 0 { schedule.due_ns(self.count - 1) } else { 0 };
            self.due_ns = start_ns + last_ns + schedule.idle_ns;
        }
    }
}
