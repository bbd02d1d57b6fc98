//! The monotonic clock, and what the process has used.

use std::mem::MaybeUninit;

use crate::counting::system_calls;

/// The clock that Python's `time.monotonic_ns` reads.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time into what it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What the whole process with its threads has used so far, and when.
///
/// CPU time in seconds, and the number of times that a thread gave up its CPU to wait. System calls
/// are those of all that the run has started, `None` where they cannot be counted.
#[derive(Clone)]
pub struct Reading {
    monotonic_ns: u64,
    user_s: f64,
    system_s: f64,
    switches_voluntary: i64,
    system_calls: Option<u64>,
}

impl Reading {
    pub fn now() -> Reading {
        let used = used();
        Reading {
            monotonic_ns: monotonic_ns(),
            user_s: seconds(used.ru_utime),
            system_s: seconds(used.ru_stime),
            switches_voluntary: used.ru_nvcsw.into(),
            system_calls: system_calls(),
        }
    }

    pub fn to_json(&self) -> String {
        format!(
            "{{\"monotonic_ns\": {}, \"user_s\": {:.6}, \"system_s\": {:.6}, \
             \"switches_voluntary\": {}, \"system_calls\": {}}}",
            self.monotonic_ns,
            self.user_s,
            self.system_s,
            self.switches_voluntary,
            or_null(self.system_calls),
        )
    }
}

/// A value as JSON has it, `null` for none.
pub fn or_null<T: ToString>(value: Option<T>) -> String {
    value.map_or("null".into(), |value| value.to_string())
}

fn used() -> libc::rusage {
    let mut usage = MaybeUninit::zeroed();
    // SAFETY: all zeros are a valid `rusage`, whether or not it is filled in.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}
