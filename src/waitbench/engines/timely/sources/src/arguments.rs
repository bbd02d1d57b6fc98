//! What the program is asked to run.

use std::str::FromStr;
use std::time::Duration;

use crate::holding::Hold;
use crate::schedule::{Reader, Schedule};

/// Workers that have a source at most, where each has its own; see dataflows/support/items.py.
const MOST_READING_WORKERS: usize = 16;

/// The command line, understood.
pub struct Arguments {
    pub plan: Plan,
    /// As timely parses them itself: an option that its version does not have is its own error.
    pub of_timely: Vec<String>,
}

/// A workload, told whole.
#[derive(Clone, Default)]
pub struct Plan {
    /// How many, if they are fixed; else every worker has a source.
    partitions: Option<u64>,
    items_per_source: u64,
    long_input: bool,
    heavy_map: bool,
    interval: f64,
    burst: u64,
    idle: f64,
    heaviness: usize,
    silent: u64,
    window: f64,
    alarm: f64,
    seed: u64,
}

impl Arguments {
    pub fn parse(given: &[String]) -> Result<Arguments, String> {
        let (workers, rest) = given.split_first().ok_or("the number of workers is missing")?;
        let workers: usize = value("WORKERS", workers)?;
        let mut of_timely: Vec<String> = vec!["--threads".into(), workers.to_string()];
        let mut plan = Plan { burst: 1, ..Plan::default() };
        for argument in rest {
            let (name, text) = argument
                .split_once('=')
                .ok_or_else(|| format!("{argument:?} is not NAME=VALUE"))?;
            match name {
                "partitions" => plan.partitions = Some(value(name, text)?),
                "items_per_partition" | "items_per_worker" => {
                    plan.items_per_source = value(name, text)?
                }
                "long_input" => plan.long_input = value(name, text)?,
                "heavy_map" => plan.heavy_map = value(name, text)?,
                // An operator is always told when to look again: there is no other way to wait.
                "scheduled" => drop(value::<bool>(name, text)?),
                "interval" => plan.interval = value(name, text)?,
                "burst" => plan.burst = value(name, text)?,
                "idle" => plan.idle = value(name, text)?,
                "heaviness" => plan.heaviness = value(name, text)?,
                "silent" => plan.silent = value(name, text)?,
                "window" => plan.window = value(name, text)?,
                "alarm" => plan.alarm = value(name, text)?,
                "seed" => plan.seed = value(name, text)?,
                "idle_spin" => of_timely.extend(["--idle-spin".into(), text.into()]),
                _ => return Err(format!("{name:?} is no parameter of a workload here")),
            }
        }
        if plan.window > 0.0 && plan.alarm > 0.0 {
            return Err("window and alarm: one of them must be 0".into());
        }
        Ok(Arguments { plan, of_timely })
    }
}

impl Plan {
    /// The sources of one of `peers` workers.
    pub fn readers(&self, index: usize, peers: usize) -> Vec<Reader> {
        let interval = if self.long_input { self.interval } else { 0.0 };
        let count = self.items_per_source;
        let Some(partitions) = self.partitions else {
            if index >= MOST_READING_WORKERS {
                return vec![Reader::new(0, 0, Schedule::default(), self.seed)];
            }
            let schedule = Schedule::new(interval, self.burst, self.idle);
            return vec![Reader::new(index as u64 * count, count, schedule, self.seed)];
        };
        let idle = if self.silent > 0 { 0.0 } else { self.idle };
        let build_reader = |number: u64| {
            if number + self.silent >= partitions {
                return Reader::new(0, 0, Schedule::new(0.0, 1, self.idle), self.seed);
            }
            let schedule = Schedule::new(interval, self.burst, idle);
            Reader::new(number * count, count, schedule, self.seed)
        };
        (0..partitions).skip(index).step_by(peers).map(build_reader).collect()
    }

    /// What holds items, or a timer, for each source, if anything does.
    pub fn hold(&self) -> Option<Hold> {
        if self.window > 0.0 {
            return Some(Hold::Window(Duration::from_secs_f64(self.window)));
        }
        (self.alarm > 0.0).then(|| Hold::Alarm(Duration::from_secs_f64(self.alarm)))
    }

    /// The key of an item's state: its source.
    pub fn key(&self, ident: u64) -> u64 {
        ident / self.items_per_source
    }

    /// The length of the list that is sorted for each item, if one is.
    pub fn heaviness(&self) -> Option<usize> {
        self.heavy_map.then_some(self.heaviness)
    }
}

fn value<T: FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name}={text} is not understood"))
}
