"""Which instruments can be used here, and what would mend it."""

import errno
import os
from pathlib import Path

import pytest

from waitbench.model.errors import UsageError
from waitbench.model.metrics import Instruments
from waitbench.system import instruments
from waitbench.system.instruments import find_instruments


@pytest.fixture
def tracing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tracing file system as it would look, mounted."""
    folder = tmp_path / "tracing"
    entry = folder / "events" / "raw_syscalls" / "sys_enter" / "id"
    entry.parent.mkdir(parents=True)
    entry.write_text("443\n")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"proc /proc proc rw 0 0\ntracefs {folder} tracefs rw,nosuid 0 0\n")
    monkeypatch.setattr(instruments, "_MOUNTS", mounts)
    return folder


def test_a_counter_that_can_be_opened_is_taken(
    tracing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instruments, "open_event", lambda *_event: os.open(tracing, os.O_RDONLY))
    assert find_instruments() == Instruments(tracepoint=443)


def test_a_tracing_file_system_that_is_not_mounted_can_be(tracing: Path) -> None:
    instruments._MOUNTS.write_text("proc /proc proc rw 0 0\n")
    found = find_instruments()
    assert found.tracepoint is None
    assert "not mounted" in found.reason
    assert found.remedy.startswith("sudo mount -t tracefs")
    instruments._MOUNTS.unlink()
    assert "not mounted" in find_instruments().reason


@pytest.mark.parametrize("text", [None, "", "garbage"])
def test_an_event_that_cannot_be_read_is_named(text: str | None, tracing: Path) -> None:
    entry = tracing / "events" / "raw_syscalls" / "sys_enter" / "id"
    if text is None:
        entry.unlink()
    else:
        entry.write_text(text)
    found = find_instruments()
    assert found.tracepoint is None
    assert str(entry) in found.reason
    assert found.remedy


def test_what_is_switched_off_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_INSTRUMENTS", "off")
    found = find_instruments()
    assert (found.tracepoint, found.reason) == (None, "BENCH_INSTRUMENTS is off")
    assert found.remedy == "unset BENCH_INSTRUMENTS"
    monkeypatch.setenv("BENCH_INSTRUMENTS", "of")
    with pytest.raises(UsageError, match="BENCH_INSTRUMENTS=of: must be on or off"):
        find_instruments()


def test_this_machine_says_one_or_the_other() -> None:
    found = find_instruments()
    assert (found.tracepoint is None) == bool(found.reason) == bool(found.remedy)


@pytest.mark.parametrize(
    ("refused", "remedy"),
    [
        (errno.EACCES, "sudo sysctl kernel.perf_event_paranoid=-1"),
        (errno.EPERM, "for this container"),
    ],
)
def test_a_refused_counter_names_what_refuses_it(
    refused: int, remedy: str, tracing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> int:
        raise OSError(refused, os.strerror(refused))

    monkeypatch.setattr(instruments, "open_event", refuse)
    found = find_instruments()
    assert found.tracepoint is None
    assert found.reason.startswith("the kernel does not count for this user: ")
    assert os.strerror(refused) in found.reason
    assert remedy in found.remedy
