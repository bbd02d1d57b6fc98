"""Stacks of other processes: what the readers of them write, and what they really see."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.running import python
from tests.waiting import until
from waitbench.features.why import stacks
from waitbench.features.why.samples import Frame
from waitbench.features.why.stacks import UnreadableStacks
from waitbench.system import proc


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("timely::Worker<A>::step_or_park::h0123456789abcdef", "timely::Worker::step_or_park"),
        ("<alloc::Box<F,A> as core::ops::FnOnce<Args>>::call_once", "alloc::Box::call_once"),
        ("_$LT$a..B$LT$F$C$A$GT$$u20$as$u20$c..Once$GT$::call::h0123456789abcdef", "a::B::call"),
        ("a::b::_$u7b$$u7b$closure$u7d$$u7d$::_$u7b$$u7b$closure$u7d$$u7d$", "a::b"),
        ("pysleep (inlined)", "pysleep"),
        ("a::b::{closure#3}", "a::b"),
        ("poll_once.part.2.cold", "poll_once"),
        ("operator<<", "operator<<"),
        ("uv::(anonymous namespace)::run(void*, int) const", "uv::(anonymous namespace)::run"),
        ("Loop::start()::{lambda(void*)#1}::_FUN(void*)", "Loop::start()::{lambda(void*)#1}::_FUN"),
        ("jni_invoke(JNIEnv_*, T<int>) [clone .constprop.1]", "jni_invoke"),
        ("runtime.usleep.abi0", "runtime.usleep"),
        ("main.(*Worker).poll", "main.(*Worker).poll"),
        ("main", "main"),
    ],
)  # fmt: skip
def test_names_are_without_what_compilers_add(name: str, readable: str) -> None:
    assert stacks._readable(name) == readable


def test_mangled_functions_of_rusts_library_are_plumbing() -> None:
    frames = [
        Frame(f"_RNvNtNtCsjrHSEGnQ3l9_{name}") for name in ("3std6thread5sleep", "4mine4poll")
    ]
    assert stacks._informative(iter(frames)) == (frames[1],)


def test_that_a_process_cannot_be_read_is_said_with_the_reason() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    with pytest.raises(UnreadableStacks, match=r"^its functions cannot be read \(.+\)$"):
        stacks.read(process.pid)


@contextmanager
def waiting(code: str) -> Iterator[int]:
    with python(code) as process:
        until(lambda: waits(process.pid, process.pid))
        time.sleep(0.1)
        yield process.pid


@pytest.mark.integration
def test_a_process_that_is_stopped_stays_so() -> None:
    with waiting("import time; time.sleep(60)") as pid:
        os.kill(pid, signal.SIGSTOP)
        until(lambda: proc.is_stopped(pid, pid))
        assert pid in stacks.read(pid)
        # The kernel wakes what it lets go, and stops it again; what went on would never be.
        until(lambda: proc.is_stopped(pid, pid))


def test_threads_say_how_often_they_went_to_sleep() -> None:
    with waiting("import time\nwhile True: time.sleep(0.01)") as pid:
        before = proc.thread_usage(pid, pid)
        assert before is not None
        until(lambda: (proc.sleeps(pid, pid) or 0) >= before.wakeups + 5)
        after = proc.thread_usage(pid, pid)
    assert after is not None
    assert after.cpu_ns > before.cpu_ns
    assert proc.thread_usage(pid, pid) is None
    assert proc.thread_ids(pid) == []


def waits(pid: int, thread: int) -> bool:
    """Whether a thread is within a system call, and so where it will stay."""
    return proc.system_call(pid, thread) not in (None, proc.RUNNING)


PROGRAM = """
#include <pthread.h>
#include <unistd.h>
static __attribute__((noinline)) void ask_broker(void) { for (;;) pause(); }
static __attribute__((noinline)) void *poller(void *unused) { ask_broker(); return unused; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, poller, 0);
  pthread_join(thread, 0);
}
"""


@pytest.mark.skipif(not all(map(shutil.which, ("gcc", "strip"))), reason="needs gcc and strip")
@pytest.mark.parametrize("strips", [False, True])
def test_a_program_without_python_has_its_functions_where_it_has_symbols(
    strips: bool, tmp_path: Path
) -> None:
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text(PROGRAM)
    # Without a frame pointer, as compilers leave it out.
    words = ["gcc", "-O1", "-fno-optimize-sibling-calls", "-pthread", str(source), "-o"]
    subprocess.run([*words, str(program)], check=True)
    if strips:
        subprocess.run(["strip", str(program)], check=True)
    with subprocess.Popen([str(program)]) as process:
        until(lambda: len(proc.thread_ids(process.pid)) == 2)
        main, poller = proc.thread_ids(process.pid)
        until(lambda: waits(process.pid, main) and waits(process.pid, poller))
        os.kill(process.pid, signal.SIGSTOP)
        until(lambda: proc.is_stopped(process.pid, main) and proc.is_stopped(process.pid, poller))
        names = {
            tid: [frame.name for frame in seen] for tid, seen in stacks.read(process.pid).items()
        }
        until(lambda: proc.is_stopped(process.pid, main) and proc.is_stopped(process.pid, poller))
        process.kill()
    if strips:
        assert names == {main: ["[own]"], poller: ["[own]"]}
    else:
        assert names == {main: ["main"], poller: ["poller", "ask_broker"]}


LIBRARY = """
#include <unistd.h>
static __attribute__((noinline)) void hidden(void) { for (;;) pause(); }
__attribute__((noinline)) void needle(void) { hidden(); }
void other(void) { pause(); }
"""
CALLS = """
import ctypes
def inner(_): ctypes.CDLL({!r}).needle()
def outer(): sorted([1], key=inner)
outer()
"""


@pytest.mark.integration
@pytest.mark.skipif(not all(map(shutil.which, ("gcc", "strip"))), reason="needs gcc and strip")
@pytest.mark.parametrize("strips", [False, True])
def test_of_a_stripped_library_no_function_gets_anothers_name(tmp_path: Path, strips: bool) -> None:
    source, library = tmp_path / "own.c", tmp_path / "libown.so"
    source.write_text(LIBRARY)
    words = ["gcc", "-shared", "-fPIC", "-O0", "-g", str(source), "-o", str(library)]
    subprocess.run(words, check=True)
    if strips:
        subprocess.run(["strip", str(library)], check=True)
    with waiting(CALLS.format(str(library))) as pid:
        until(lambda: str(library) in Path(f"/proc/{pid}/maps").read_text())
        time.sleep(0.1)
        frames = stacks.read(pid)[pid]
    # The exported ``needle`` keeps its name; what it calls is not taken for ``other``.
    names = [frame.name for frame in frames]
    assert names[-2:] == ["needle", "[libown.so]" if strips else "hidden"]
    # Functions of Python stand where the interpreter runs them, also behind one of C.
    assert [frame for frame in names if frame in ("outer", "inner", "needle")] == [
        "outer", "inner", "needle",
    ]  # fmt: skip
