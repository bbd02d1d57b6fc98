"""Shares of one comparison, each measured on a machine of its own, and merged.

Each scenario comes whole from one shard: no figure mixes machines.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from waitbench.model.errors import UsageError
from waitbench.model.record import Context, Record
from waitbench.model.revision import Revision
from waitbench.model.shard import Shard
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents
from waitbench.store.formats import reading
from waitbench.system import files

_SHARD = re.compile(r"\0--shard[=\0][^\0]*")
"""The option among arguments that are joined by NUL."""


def read(folder: Path) -> Contents:
    """Reads a finished comparison, or a shard of one. Raises ``UsageError`` for anything else."""
    contents = comparisons.read(folder)
    if not contents.comparison.finished:
        raise UsageError(
            f"{str(folder)!r} is not finished. Repeat its command with --resume, then merge."
        )
    return contents


def merge(shards: Sequence[Contents]) -> tuple[Context, Sequence[Record]]:
    """Merges all shards of a comparison into its header and its records.

    Raises ``UsageError`` if they are of different comparisons, incomplete, or overlap.
    """
    in_order = sorted(shards, key=lambda shard: shard.comparison.here.index)
    contexts = [shard.comparison for shard in in_order]
    # Taken from a shard that has an environment for the revision, if there is one.
    revisions = tuple(
        next((revision for revision in versions if revision.build is not None), versions[0])
        for versions in zip(*(context.revisions for context in contexts), strict=False)
    )
    for shard in in_order[1:]:
        _require_alike(in_order[0], shard, revisions)
    _require_whole([context.here for context in contexts])
    by_name = {record.scenario: record for shard in in_order for record in shard.records}
    first = contexts[0]
    records = [by_name[name] for name in first.here.of]
    for record in records:
        machine = record.measured_on if record.measured_on != first.machine else None
        record.spec = structs.replace(record.spec, machine=machine)
    whole = structs.replace(
        first,
        revisions=revisions,
        started_at=min(context.started_at for context in contexts),
        argv=tuple(_SHARD.sub("", "\0".join(first.argv)).split("\0")),
        scenarios=tuple(record.spec for record in records),
        share=None,
        finished=False,
    )
    return whole, [structs.replace(record, context=whole) for record in records]


def write(
    folder: Path, whole: Context, records: Sequence[Record], more: Iterable[Path] = ()
) -> Contents:
    """Writes a merged comparison, with copies of more files. Raises ``HarnessError``."""
    comparisons.begin(folder, whole, records)
    comparisons.finish(folder, records)
    for path in more:
        with reading(path):
            text = files.read(path).decode("utf-8", "replace")
        files.write_text(folder / path.name, text)
    return Contents(folder=folder, comparison=whole, records=records)


def packed(folder: Path) -> Mapping[str, bytes]:
    """The files of a folder by name; none if it does not exist."""
    return {path.name: files.read(path) for path in folder.glob("*")}


def unpack(content: Mapping[str, bytes], folder: Path) -> None:
    """Writes a finished shard of a trusted machine. Raises ``UsageError`` and writes no other."""
    half = folder.with_name(f"{folder.name}.part")
    files.remove(half)
    half.mkdir()
    for name, data in content.items():
        (half / Path(name).name).write_bytes(data)
    read(half)
    half.rename(folder)


def _require_alike(first: Contents, other: Contents, known: Sequence[Revision]) -> None:
    """Raises a ``UsageError`` that names the first difference between two comparisons."""
    here, there = _in_common(first.comparison, known), _in_common(other.comparison, known)
    for name in {**here, **there}:
        if here.get(name) != there.get(name):
            raise UsageError(
                f"{str(first.folder)!r} and {str(other.folder)!r} are not of one comparison: "
                f"{name} differ."
            )


def _in_common(context: Context, known: Sequence[Revision]) -> dict[str, Any]:
    return {
        "versions of waitbench": context.waitbench,
        "versions of hyperfine": context.hyperfine_version,
        **context.in_common(known),
        **{f"settings {name!r}": value for name, value in context.settings.items()},
    }


def _require_whole(shards: Sequence[Shard]) -> None:
    measured = Counter(name for shard in shards for name in shard.scenarios)
    for name, number in measured.items():
        if number > 1:
            raise UsageError(
                f"{name} was measured in {number} of these folders, and runs of two machines make "
                "no round. Name each share once."
            )
    missing = [name for name in shards[0].of if name not in measured]
    if missing:
        raise UsageError(f"A share is missing: no folder has {', '.join(missing)}.")
