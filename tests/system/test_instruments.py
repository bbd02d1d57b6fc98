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
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The event in a tracing file system as it would look, mounted."""
    entry = tmp_path / "tracing" / "events" / "raw_syscalls" / "sys_enter" / "id"
    entry.parent.mkdir(parents=True)
    entry.write_text("443\n")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"tracefs {tmp_path / 'tracing'} tracefs rw,nosuid 0 0\n")
    monkeypatch.setattr(instruments, "_MOUNTS", mounts)
    monkeypatch.setattr(instruments, "open_event", lambda *_event: os.open(entry, os.O_RDONLY))
    return entry


def test_a_counter_that_can_be_opened_is_taken(entry: Path) -> None:
    assert find_instruments() == Instruments(tracepoint=443)


@pytest.mark.parametrize("text", [None, "proc /proc proc rw 0 0\n"])
def test_a_tracing_file_system_that_is_not_mounted_can_be(text: str | None, entry: Path) -> None:
    if text is None:
        instruments._MOUNTS.unlink()
    else:
        instruments._MOUNTS.write_text(text)
    found = find_instruments()
    assert (found.tracepoint, "not mounted" in found.reason) == (None, True)
    assert found.remedy.startswith("sudo mount -t tracefs")


@pytest.mark.parametrize("text", [None, "garbage"])
def test_an_event_that_cannot_be_read_is_named(text: str | None, entry: Path) -> None:
    if text is None:
        entry.unlink()
    else:
        entry.write_text(text)
    found = find_instruments()
    assert (found.tracepoint, str(entry) in found.reason) == (None, True)
    assert found.remedy


def test_what_is_switched_off_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_INSTRUMENTS", "off")
    found = find_instruments()
    assert (found.tracepoint, found.reason) == (None, "BENCH_INSTRUMENTS is off")
    assert found.remedy == "unset BENCH_INSTRUMENTS"
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

    monkeypatch.setattr(instruments, "open_event", refuse)
    found = find_instruments()
    assert found.tracepoint is None
    assert found.reason.startswith("the kernel does not count for this user: ")
    assert os.strerror(refused) in found.reason
    assert remedy in found.remedy
