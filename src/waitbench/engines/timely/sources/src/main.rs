//! The workloads of waitbench on timely dataflow.
//!
//!     waitbench-timely [WORKERS NAME=VALUE...]
//!
//! Without arguments it says what it is built with. NAMEs are the parameters of the scenarios, see
//! `get_flow` in dataflows/partitioned.py and dataflows/dynamic.py; and `idle_spin`, which goes to
//! timely itself.

mod arguments;
mod counting;
mod flow;
mod histogram;
mod holding;
mod items;
mod probe;
mod reading;
mod schedule;

use std::process::ExitCode;

use arguments::Arguments;
use probe::{Counts, Probe};

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if given.is_empty() {
        println!("timely {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    match Arguments::parse(&given).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a workload to its end, and reports on it.
fn run(arguments: &Arguments) -> Result<(), String> {
    let probe = Probe::start();
    let (plan, observing) = (arguments.plan.clone(), probe.clone());
    let guards = timely::execute_from_args(arguments.of_timely.iter().cloned(), move |worker| {
        flow::carry(worker, &plan, &observing)
    })?;
    let mut all = Counts::default();
    for result in guards.join() {
        all.add(&result?);
    }
    probe.write(&all).map_err(|error| format!("the report cannot be written: {error}"))
}
