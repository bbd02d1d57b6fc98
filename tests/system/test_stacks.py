"""Stacks of other processes: what the readers of them write, and what they really see."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import until
from waitbench.model.why import PYTHON, Frame
from waitbench.system import stacks, tasks
from waitbench.system.stacks import NotSeen

SAID = """
[New LWP 12]
Thread 2 (Thread 0x7f01 (LWP 12) "timely:work-0"):
#0  0x00007f in syscall () from /lib/x86_64-linux-gnu/libc.so.6
#1  0x00007f in <std::thread::Inner as core::Foo>::park::h0123456789abcdef () from /x/own.abi3.so
#2  0x00007f in timely::worker::Worker<A>::step_or_park () at src/worker.rs:233
#3  0x00007f in start_thread (...) from /lib/x86_64-linux-gnu/libc.so.6

Thread 1 (Thread 0x7f02 (LWP 11) "own"):
#0  0x00007f in ?? () from /x/own.abi3.so
#1  0x00007f in ?? () from /x/own.abi3.so

Thread 3 (LWP 13 "of a static program"):
#0  main.poll () at /x/src/main.go:4
"""


def test_the_words_of_gdb_are_read() -> None:
    found = dict(stacks._of_gdb(0, SAID))
    assert [(one.name, one.file, one.line) for one in found[12]] == [
        ("timely::worker::Worker::step_or_park", "src/worker.rs", 233),
        ("std::thread::Inner::park", "", 0),
    ]
    assert found[11] == (Frame("[own.abi3.so]"),)
    assert [one.name for one in found[13]] == ["main.poll"]


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("timely::Worker<A>::step_or_park::h0123456789abcdef", "timely::Worker::step_or_park"),
        ("<alloc::Box<F,A> as core::ops::FnOnce<Args>>::call_once", "alloc::Box::call_once"),
        ("a::b::{{closure}}", "a::b"),
        ("a::b::{closure#3}", "a::b"),
        ("poll_once.isra.0", "poll_once"),
        ("poll_once.part.2.cold", "poll_once"),
        ("operator<<", "operator<<"),
        ("operator->", "operator->"),
        ("main", "main"),
    ],
)  # fmt: skip
def test_names_are_without_what_compilers_add(name: str, readable: str) -> None:
    assert stacks._readable(name) == readable


def test_a_reader_that_is_missing_or_fails_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "find_python_unwinder", lambda: None)
    with pytest.raises(NotSeen, match="py-spy is not installed"):
        stacks.of_python(1)
    fake = tmp_path / "py-spy"
    fake.write_text("#!/bin/sh\necho 'Error: Permission Denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(stacks, "find_python_unwinder", lambda: str(fake))
    with pytest.raises(NotSeen, match=r"py-spy: Error: Permission Denied$"):
        stacks.of_python(1)
    fake.write_text("#!/bin/sh\necho nonsense\n")
    with pytest.raises(NotSeen, match="cannot be read"):
        stacks.of_python(1)


A, B, C = (Frame(name, PYTHON) for name in "abc")


def thread(*entries: bool) -> stacks.PythonThread:
    return stacks.PythonThread(ident=1, tid=2, name="", frames=(A, B, C), entries=entries)


def test_functions_of_python_are_put_where_the_interpreter_runs_them() -> None:
    interpreter = stacks.INTERPRETER
    lib, park = Frame("lib"), Frame("park")
    compiled = (interpreter, lib, interpreter, park)
    assert stacks.merged(thread(True, False, True), compiled) == (A, B, lib, C, park)
    assert stacks.merged(thread(True, True, False), compiled) == (A, lib, B, C, park)
    assert stacks.merged(thread(True, False, False), (interpreter, park)) == (A, B, C, park)
    # Of a function that only begins Python does not know yet.
    begins = (*compiled, interpreter)
    assert stacks.merged(thread(True, False, True), begins) == (A, B, lib, C, park)
    # What does not fit together is not put together.
    assert stacks.merged(thread(True, True, True), compiled) == (A, B, C)


@contextmanager
def python(code: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        until(lambda: tasks.call(process.pid, process.pid) not in (None, tasks.RUNNING))
        time.sleep(0.1)
        yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.mark.integration
def test_a_thread_of_python_is_seen_where_it_sleeps() -> None:
    code = (
        "import threading, time\ndef needle(): time.sleep(60)\n"
        "threading.Thread(target=needle, name='sleeper').start()\ntime.sleep(60)"
    )
    with python(code) as pid:
        until(lambda: len(tasks.threads(pid)) == 2)
        time.sleep(0.1)
        found = {thread.name: thread for thread in stacks.of_python_with_compiled(pid)}
    assert {"MainThread", "sleeper"} <= set(found)
    assert [one.name for one in found["sleeper"].frames if one.kind == PYTHON][-1] == "needle"


def test_threads_say_how_often_they_went_to_sleep() -> None:
    with python("import time\nwhile True: time.sleep(0.01)") as pid:
        before = tasks.used(pid, pid)
        assert before is not None
        until(lambda: (tasks.switches(pid, pid) or 0) >= before.wakeups + 5)
        after = tasks.used(pid, pid)
    assert after is not None
    assert after.cpu_ns > before.cpu_ns
    assert tasks.used(pid, pid) is None
    assert tasks.threads(pid) == []


LIBRARY = """
#include <unistd.h>
static __attribute__((noinline)) void hidden(void) { for (;;) pause(); }
__attribute__((noinline)) void needle(void) { hidden(); }
void other(void) { pause(); }
"""


@pytest.mark.integration
@pytest.mark.skipif(
    not all(map(shutil.which, ("gcc", "strip", "gdb"))), reason="needs gcc, strip and gdb"
)
@pytest.mark.parametrize("strips", [False, True])
def test_of_a_stripped_library_no_function_is_named(tmp_path: Path, strips: bool) -> None:
    source, library = tmp_path / "own.c", tmp_path / "libown.so"
    source.write_text(LIBRARY)
    words = ["gcc", "-shared", "-fPIC", "-O0", "-g", str(source), "-o", str(library)]
    subprocess.run(words, check=True)
    if strips:
        subprocess.run(["strip", str(library)], check=True)
    with python(f"import ctypes; ctypes.CDLL({str(library)!r}).needle()") as pid:
        until(lambda: str(library) in Path(f"/proc/{pid}/maps").read_text())
        time.sleep(0.1)
        frames = stacks.of_compiled(pid)[pid]
    # ``needle`` is exported, but so is ``other``: what is between them could be either's.
    own = [one.name for one in frames if one.name in {"[libown.so]", "needle", "hidden", "other"}]
    assert own == (["[libown.so]"] if strips else ["needle", "hidden"])
