"""What is kept of the published tables, remade: ``paging.json``."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from waitbench.families.paged_output.paging import Measured, Row
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents
from waitbench.store.plain import Plain, as_number, reading, take, take_objects
from waitbench.system import machine

KIND = "paging"
"""The name of the file, and the kind of results folder that ``paged-output`` makes."""


@dataclass(frozen=True)
class Paging:
    """The rows of a sitting."""

    measured: Sequence[Measured]
    idle_share: float
    """CPU of a paged writer that has nothing to send, as a share of one core."""


def keep(folder: Path, paging: Paging) -> None:
    """Writes ``paging.json``. Raises ``HarnessError`` when the disk refuses."""
    comparisons.write_document(
        folder,
        KIND,
        {
            "machine": machine.describe(),
            "idle_share": paging.idle_share,
            "rows": [asdict(each) for each in paging.measured],
        },
    )


def paging(contents: Contents) -> Paging | None:
    """What ``keep`` left in a results folder; ``None`` where there is nothing.

    Raises ``UsageError`` for a file that is not one of ours.
    """
    document = contents.documents.get(KIND)
    if document is None:
        return None
    with reading(contents.folder / f"{KIND}.json"):
        measured = [_measured(plain) for plain in take_objects(document, "rows")]
        return Paging(measured, as_number(document["idle_share"]))


def _measured(plain: Plain) -> Measured:
    return Measured(
        row=_row(take(plain, "row", dict)),
        repetitions=take(plain, "repetitions", int),
        regular_s=_positive(plain, "regular_s"),
        paged_s=_positive(plain, "paged_s"),
        regular_cpu_s=_positive(plain, "regular_cpu_s"),
        paged_cpu_s=as_number(plain["paged_cpu_s"]),
        dropped=take(plain, "dropped", int),
        bytes_held_peak=take(plain, "bytes_held_peak", int),
    )


def _row(plain: Plain) -> Row:
    return Row(
        device=take(plain, "device", str),
        messages=_at_least_one(plain, "messages"),
        message_bytes=take(plain, "message_bytes", int),
        page_size=take(plain, "page_size", int),
        buffer=take(plain, "buffer", int),
        overflow=take(plain, "overflow", str),
        published_speedup=_optional_number(plain, "published_speedup"),
        published_dropped=_optional_number(plain, "published_dropped"),
    )


def _at_least_one(plain: Plain, key: str) -> int:
    number = take(plain, key, int)
    if number < 1:
        raise ValueError(f"{key} {number} is less than 1")
    return number


def _positive(plain: Plain, key: str) -> float:
    number = as_number(plain[key])
    if not number >= 1e-9:
        raise ValueError(f"{key} {number} is not above zero")
    return number


def _optional_number(plain: Plain, key: str) -> float | None:
    return None if plain.get(key) is None else as_number(plain[key])
