"""Counts and sampled stacks of threads, in a file with a line for each revision."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from waitbench.model.metrics import Cost, Count, Finite
from waitbench.store.formats import errors_explained
from waitbench.system import files

PYTHON, NATIVE, KERNEL = "python", "native", "kernel"
_SUFFIX = ".why.jsonl"


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """A function of a stack."""

    name: str
    kind: str = NATIVE
    file: str = ""
    """The last two parts of its path, such as ``redis/client.py``; empty if unknown."""
    line: Count = 0


class Stack(msgspec.Struct, frozen=True, rename={"samples": "looks"}):
    """A sampled stack: functions, the outermost first, then the system call of a sleep."""

    frames: tuple[Frame, ...]
    samples: Count


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """All threads of one name in one process."""

    process: str
    """The role of the process, such as ``worker 0`` or ``child celery``."""
    name: str
    wakeups_per_s: tuple[Finite, ...]
    """One value for each part of the counted time."""
    cpu_share: tuple[Finite, ...]
    """CPU in cores, one value for each part."""
    delayed: Finite = 0.0
    """The share of the time in which the thread waited for a CPU."""
    asleep: tuple[Stack, ...] = ()
    at_work: tuple[Stack, ...] = ()

    @property
    def cost(self) -> Cost:
        return Cost(
            wakeups_per_s=fmean(self.wakeups_per_s or [0.0]), cores=fmean(self.cpu_share or [0.0])
        )


class Samples(msgspec.Struct, frozen=True, kw_only=True, rename={"label": "revision"}):
    """The threads of one revision."""

    label: str
    counted_s: Finite
    """The time of counting wake-ups and CPU, without stops for samples."""
    threads: tuple[Thread, ...]
    remarks: tuple[str, ...] = ()


def write(folder: Path, scenario: str, samples: Sequence[Samples]) -> None:
    text = msgspec.json.Encoder().encode_lines(samples).decode()
    files.write_text(folder / f"{scenario}{_SUFFIX}", text)


def read(folder: Path, scenario: str) -> list[Samples]:
    """Reads a file of ``write``, if it exists. Raises ``UsageError`` for any other content."""
    path = folder / f"{scenario}{_SUFFIX}"
    if not files.is_there(path):
        return []
    with errors_explained(path):
        return msgspec.json.Decoder(Samples).decode_lines(files.read(path))
