"""What is kept of the published tables, remade: ``paging.json``."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from waitbench.families.paged_output.paging import Measured
from waitbench.model.metrics import Quantity
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents
from waitbench.store.plain import reading
from waitbench.system import machine

KIND = "paging"
"""The name of the file, and the kind of results folder that ``paged-output`` makes."""


class Paging(msgspec.Struct, frozen=True, rename={"measured": "rows"}):
    """The rows of a sitting."""

    measured: Sequence[Measured]
    idle_share: Quantity
    """CPU of a paged writer that has nothing to send, as a share of one core."""


def keep(folder: Path, paging: Paging) -> None:
    """Writes ``paging.json``. Raises ``HarnessError`` when the disk refuses."""
    content = {"machine": machine.describe(), **msgspec.to_builtins(paging)}
    comparisons.write_document(folder, KIND, content)


def paging(contents: Contents) -> Paging | None:
    """What ``keep`` left in a results folder; ``None`` where there is nothing.

    Raises ``UsageError`` for a file that is not one of ours.
    """
    document = contents.documents.get(KIND)
    if document is None:
        return None
    with reading(contents.folder / f"{KIND}.json"):
        return msgspec.convert(document, Paging)
