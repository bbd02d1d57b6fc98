//! What the process observes of itself, written to a side channel: dataflows/support/probe.py.
//!
//! Each worker counts for itself; the sums are taken once, at the end.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process;
use std::sync::{Arc, Mutex, OnceLock};

use crate::histogram::Histogram;
use crate::items::Item;
use crate::reading::{monotonic_ns, or_null, Reading};

const DIRECTORY: &str = "BENCH_PROBE_DIR";
const SPAWNED: &str = "BENCH_SPAWNED_NS";

/// What went into a worker's sources and came out of its output.
#[derive(Default)]
pub struct Counts {
    items_in: u64,
    items_out: u64,
    ident_sum_in: u64,
    ident_sum_out: u64,
    lateness: Histogram,
}

impl Counts {
    /// A source has given one more item.
    pub fn read(&mut self, item: &Item) {
        self.items_in += 1;
        self.ident_sum_in += item.0;
    }

    /// The output has one more item; it is late by the time since it was due.
    pub fn written(&mut self, ident: u64, due_ns: u64) {
        self.written_on_time(ident);
        self.lateness.record(monotonic_ns().saturating_sub(due_ns));
    }

    /// The output has one more item that a window held: it came when it had to.
    pub fn written_on_time(&mut self, ident: u64) {
        self.items_out += 1;
        self.ident_sum_out += ident;
    }

    pub fn add(&mut self, other: &Counts) {
        self.items_in += other.items_in;
        self.items_out += other.items_out;
        self.ident_sum_in += other.ident_sum_in;
        self.ident_sum_out += other.ident_sum_out;
        self.lateness.add(&other.lateness);
    }
}

/// What all workers of the process share.
#[derive(Clone)]
pub struct Probe(Arc<Shared>);

struct Shared {
    loaded: Reading,
    first_poll: OnceLock<Reading>,
    end_of_input: Mutex<Option<Reading>>,
}

impl Probe {
    /// From when on a worker waits that never has anything to poll.
    pub fn start() -> Probe {
        Probe(Arc::new(Shared {
            loaded: Reading::now(),
            first_poll: OnceLock::new(),
            end_of_input: Mutex::new(None),
        }))
    }

    /// Each source calls this before it is first read; the first call counts.
    pub fn first_poll(&self) {
        self.0.first_poll.get_or_init(Reading::now);
    }

    /// Each source calls this when its input ends; the last call counts.
    pub fn end_of_input(&self) {
        *self.0.end_of_input.lock().expect("no worker has panicked") = Some(Reading::now());
    }

    /// Leaves the report where the harness looks for it, if it asks for one.
    pub fn write(&self, counts: &Counts) -> io::Result<()> {
        let Some(directory) = env::var_os(DIRECTORY) else {
            return Ok(());
        };
        let path = Path::new(&directory).join(format!("process-{}.json", process::id()));
        let part = path.with_extension("json.part");
        fs::write(&part, self.report(counts))?;
        fs::rename(part, path)
    }

    fn report(&self, counts: &Counts) -> String {
        let end_of_input = self.0.end_of_input.lock().expect("no worker has panicked").clone();
        let lateness: Vec<String> = counts
            .lateness
            .values()
            .map(|(value, count)| format!("[{value}, {count}]"))
            .collect();
        let spawned: Option<u64> = env::var(SPAWNED).ok().and_then(|text| text.parse().ok());
        let fields = [
            ("pid", process::id().to_string()),
            // An operator is scheduled when something is due: it is never asked in vain.
            ("polls", "null".into()),
            ("items_in", counts.items_in.to_string()),
            ("items_out", counts.items_out.to_string()),
            ("ident_sum_in", counts.ident_sum_in.to_string()),
            ("ident_sum_out", counts.ident_sum_out.to_string()),
            ("spawned_ns", or_null(spawned)),
            ("loaded", self.0.loaded.to_json()),
            ("first_poll", or_null(self.0.first_poll.get().map(Reading::to_json))),
            ("end_of_input", or_null(end_of_input.map(|reading| reading.to_json()))),
            ("exit", Reading::now().to_json()),
            // It starts no programs.
            ("helpers", "{\"user_s\": 0.0, \"system_s\": 0.0}".into()),
            ("lateness_ns", format!("[{}]", lateness.join(", "))),
            ("lateness_max_ns", counts.lateness.maximum.to_string()),
            ("opened", "0".into()),
            ("samples", "[]".into()),
            ("totals", "{}".into()),
        ];
        let fields = fields.map(|(name, value)| format!("\"{name}\": {value}"));
        format!("{{{}}}", fields.join(", "))
    }
}
