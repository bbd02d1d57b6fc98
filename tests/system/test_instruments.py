"""Which instruments can be used here, and what would mend it."""

import errno
import os
from pathlib import Path

import pytest

from waitbench.model.errors import UsageError
from waitbench.model.metrics import Instruments
from waitbench.system import machine
from waitbench.system.machine import find_instruments


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The event in a tracing file system as it would look, mounted."""
    entry = tmp_path / "tracing" / "events" / "raw_syscalls" / "sys_enter" / "id"
    entry.parent.mkdir(parents=True)
    entry.write_text("443\n")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"tracefs {tmp_path / 'tracing'} tracefs rw,nosuid 0 0\n")
    monkeypatch.setattr(machine, "_MOUNTS", mounts)
    monkeypatch.setattr(machine, "open_event", lambda *_event: os.open(entry, os.O_RDONLY))
    return entry


def test_a_counter_that_can_be_opened_is_taken(entry: Path) -> None:
    assert find_instruments() == Instruments(tracepoint=443)


@pytest.mark.parametrize("text", [None, "proc /proc proc rw 0 0\n"])
@pytest.mark.parametrize(
    ("name", "reason", "remedy"),
    [
        ("mounts", "not mounted", "sudo mount -t tracefs"),
        ("id", "sys_enter/id cannot be read", "sudo chmod o+rx"),
    ],
)
def test_a_file_that_is_missing_or_says_something_else_is_named_with_what_mends_it(
    name: str, reason: str, remedy: str, text: str | None, entry: Path, tmp_path: Path
) -> None:
    (path,) = tmp_path.rglob(name)
    path.unlink() if text is None else path.write_text(text)
    allowed = find_instruments()
    assert (allowed.tracepoint, reason in allowed.reason) == (None, True)
    assert allowed.remedy.startswith(remedy)


def test_what_is_switched_off_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_INSTRUMENTS", "off")
    allowed = find_instruments()
    assert (allowed.tracepoint, allowed.reason) == (None, "BENCH_INSTRUMENTS is off")
    assert allowed.remedy == "unset BENCH_INSTRUMENTS"
    monkeypatch.setenv("BENCH_INSTRUMENTS", "of")
    with pytest.raises(UsageError, match="BENCH_INSTRUMENTS=of: must be on or off"):
        find_instruments()


@pytest.mark.parametrize(
    ("refused", "remedy"),
    [
        (errno.EACCES, "sudo sysctl kernel.perf_event_paranoid=-1"),
        (errno.EPERM, "for this container"),
    ],
)
def test_a_refused_counter_names_what_refuses_it(
    refused: int, remedy: str, entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> int:
        raise OSError(refused, os.strerror(refused))

    monkeypatch.setattr(machine, "open_event", refuse)
    allowed = find_instruments()
    assert allowed.tracepoint is None
    assert allowed.reason.startswith("the kernel does not count for this user: ")
    assert os.strerror(refused) in allowed.reason
    assert remedy in allowed.remedy
