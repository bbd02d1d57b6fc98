//! Counts the system calls of the process in the kernel: see dataflows/support/counting.py.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;

const TYPE_TRACEPOINT: u32 = 2;
const INHERIT: u64 = 1 << 1;

/// The beginning of `struct perf_event_attr`; the kernel takes what follows for zeros.
#[repr(C)]
#[derive(Default)]
struct Attribute {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

/// A counter of this thread's system calls, and of those of all that it starts from now on.
pub struct Counter(File);

impl Counter {
    /// `None` where the kernel does not allow it.
    pub fn open(tracepoint: u64) -> Option<Counter> {
        let size = std::mem::size_of::<Attribute>() as u32;
        let attribute = Attribute {
            kind: TYPE_TRACEPOINT,
            size,
            config: tracepoint,
            flags: INHERIT,
            ..Attribute::default()
        };
        let descriptor = open_event(&attribute)?;
        // SAFETY: it was opened just now, and nobody else has it.
        Some(Counter(unsafe { File::from_raw_fd(descriptor) }))
    }

    /// The calls so far; reading is one of them.
    pub fn read(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        (&self.0).read_exact(&mut bytes).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }
}

/// The event's descriptor.
#[cfg(target_os = "linux")]
fn open_event(attribute: &Attribute) -> Option<i32> {
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    const THIS_THREAD: libc::pid_t = 0;
    const ANY_CPU: libc::c_int = -1;
    const NO_GROUP: libc::c_int = -1;
    // SAFETY: the kernel reads as many bytes as the attribute says that it has.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attribute as *const Attribute,
            THIS_THREAD,
            ANY_CPU,
            NO_GROUP,
            CLOSE_ON_EXEC,
        )
    };
    i32::try_from(descriptor).ok().filter(|one| *one >= 0)
}

/// No other kernel has such events.
#[cfg(not(target_os = "linux"))]
fn open_event(_attribute: &Attribute) -> Option<i32> {
    None
}
