//! A histogram of durations with a bounded relative error: see dataflows/support/histogram.py.

use std::collections::BTreeMap;

const BITS: u32 = 6;
/// Below it, every integer has a bucket; above, each power of two is divided into 64.
const LINEAR: u64 = 2 << BITS;

/// Counts of values.
#[derive(Default)]
pub struct Histogram {
    counts: BTreeMap<u64, u64>,
    pub maximum: u64,
}

impl Histogram {
    pub fn record(&mut self, value: u64) {
        *self.counts.entry(bucket(value)).or_default() += 1;
        self.maximum = self.maximum.max(value);
    }

    /// Counts all that another one has counted, too.
    pub fn add(&mut self, other: &Histogram) {
        for (index, count) in &other.counts {
            *self.counts.entry(*index).or_default() += count;
        }
        self.maximum = self.maximum.max(other.maximum);
    }

    /// The middle of each bucket in use, and its count, in order.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|(index, count)| (middle(*index), *count))
    }
}

fn bucket(value: u64) -> u64 {
    if value < LINEAR {
        return value;
    }
    let shift = (u64::BITS - value.leading_zeros()) - BITS - 1;
    (u64::from(shift) << BITS) + (value >> shift)
}

fn middle(index: u64) -> u64 {
    if index < LINEAR {
        return index;
    }
    let shift = (index >> BITS) - 1;
    let low = ((index & ((1 << BITS) - 1)) + (1 << BITS)) << shift;
    low + (1 << shift) / 2
}
