"""Folders that belong together: shares of one comparison, or whole ones, a machine each.

Only whole scenarios are put together, each as one machine measured it; no figure is made of two.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from waitbench.model.errors import UsageError
from waitbench.model.record import Context, Record, RevisionRecord
from waitbench.model.share import Share
from waitbench.store import comparisons, why
from waitbench.store.comparisons import Contents
from waitbench.store.formats import reading
from waitbench.system import files

_SHARD = re.compile(r"\0--shard[=\0][^\0]*")
"""What a share was asked for by, among arguments with zeros between them."""


def read(folder: Path) -> Contents:
    """A comparison, or a share of one, that is finished. Raises ``UsageError`` for anything else.

    A half is not taken for the whole: what an interruption left is to be continued first.
    """
    contents = comparisons.read(folder)
    if not contents.comparison.finished:
        raise UsageError(
            f"{str(folder)!r} is not finished. Repeat its command with --resume, then merge."
        )
    return contents


def merge(shares: Sequence[Contents]) -> tuple[Context, Sequence[Record]]:
    """The comparison of which these are all shares, and its records.

    Raises ``UsageError`` where they are not of one comparison, one of them is missing, or two have
    a scenario in common.
    """
    in_order = sorted(shares, key=lambda one: one.comparison.here.index or 0)
    found = [one.comparison for one in in_order]
    # Each revision as a share has it that could set it up.
    revisions = tuple(
        next((one for one in of_each if one.facts is not None), of_each[0])
        for of_each in zip(*(one.revisions for one in found), strict=False)
    )
    for one in in_order[1:]:
        _require_alike(in_order[0], one, revisions)
    _require_whole([one.here for one in found])
    by_name = {record.scenario: record for one in in_order for record in one.records}
    records = [by_name[name] for name in found[0].here.of]
    machine = found[0].machine
    for record in records:
        record.machine = record.measured_on if record.measured_on != machine else None
    whole = structs.replace(
        found[0],
        revisions=revisions,
        started_at=min(one.started_at for one in found),
        argv=tuple(_SHARD.sub("", "\0".join(found[0].argv)).split("\0")),
        scenarios=tuple(record.facts for record in records),
        share=None,
        finished=False,
    )
    return whole, [structs.replace(record, context=whole) for record in records]


def write(
    folder: Path, whole: Context, records: Sequence[Record], shares: Iterable[Path]
) -> Contents:
    """Writes a comparison as if it had been measured in this folder, and what shares have besides.

    Raises ``HarnessError``.
    """
    comparisons.begin(folder, whole, records)
    comparisons.finish(folder, records)
    for path in (path for share in shares for path in why.paths(share)):
        with reading(path):
            text = files.read(path).decode("utf-8", "replace")
        files.write_text(folder / path.name, text)
    return Contents(folder=folder, comparison=whole, records=records)


def packed(folder: Path) -> Mapping[str, bytes]:
    """The files of a folder by their names; none where there is no folder."""
    return {path.name: files.read(path) for path in folder.glob("*")}


def unpack(content: Mapping[str, bytes], folder: Path) -> None:
    """Keeps a finished share that another machine has packed.

    Whoever packed it is trusted. Raises ``UsageError`` for anything else; nothing is kept then.
    """
    half = folder.with_name(f"{folder.name}.part")
    files.remove(half)
    half.mkdir()
    for name, data in content.items():
        (half / Path(name).name).write_bytes(data)
    read(half)
    half.rename(folder)


def _require_alike(first: Contents, other: Contents, known: Sequence[RevisionRecord]) -> None:
    """Raises ``UsageError`` that names the first of what two folders do not have in common."""
    here, there = _in_common(first.comparison, known), _in_common(other.comparison, known)
    for name in {**here, **there}:
        if here.get(name) != there.get(name):
            raise UsageError(
                f"{str(first.folder)!r} and {str(other.folder)!r} are not of one comparison: "
                f"{name} differ."
            )


def _in_common(one: Context, known: Sequence[RevisionRecord]) -> dict[str, Any]:
    return {
        "versions of waitbench": one.waitbench,
        "versions of hyperfine": one.hyperfine_version,
        **one.in_common(known),
        **{f"settings {name!r}": value for name, value in one.settings.items()},
    }


def _require_whole(shares: Sequence[Share]) -> None:
    measured = Counter(name for share in shares for name in share.scenarios)
    for name, number in measured.items():
        if number > 1:
            raise UsageError(
                f"{name} was measured in {number} of these folders, and runs of two machines make "
                "no round. Name each share once."
            )
    missing = [name for name in shares[0].of if name not in measured]
    if missing:
        raise UsageError(f"A share is missing: no folder has {', '.join(missing)}.")
