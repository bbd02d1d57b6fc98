"""Folders that belong together: shares of one comparison, or whole ones, a machine each.

Only whole scenarios are put together, each as one machine measured it; no figure is made of two.
"""

import io
import shutil
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from waitbench.model.errors import UsageError
from waitbench.model.record import Context, Record, RevisionRecord
from waitbench.model.share import Share
from waitbench.store import comparisons, journal, why
from waitbench.store.comparisons import COMPARISON_NAME, Contents
from waitbench.store.plain import reading
from waitbench.system import files

_SHARE = "share"


class _Part(msgspec.Struct, kw_only=True):
    """What the settings of a share say of it."""

    scenarios: tuple[str, ...]
    index: int
    number: int
    parameters: dict[str, dict[str, Any]]
    """Of all of the comparison's scenarios."""


class _Settings(msgspec.Struct):
    """What is read of the settings of a comparison."""

    scenarios: tuple[str, ...]
    share: _Part | None = None


@dataclass(frozen=True, kw_only=True)
class Merged:
    """One comparison out of several folders."""

    context: Context
    settings: Mapping[str, Any]
    records: Sequence[Record]
    """In the comparison's order."""
    extra_files: Sequence[Path]
    """Files of its scenarios that no record holds."""
    unknown: Sequence[str]
    """Sentences on what some share does not tell, so that nobody could compare it."""


def share_of(contents: Contents) -> Share:
    """What of a comparison a folder holds. Raises ``UsageError`` where that is not known."""
    settings = _settings(contents)
    part = settings.share
    if part is None:
        return Share(scenarios=settings.scenarios, of=settings.scenarios)
    return Share(
        scenarios=part.scenarios, of=settings.scenarios, index=part.index, number=part.number
    )


def read(folder: Path) -> Contents:
    """A comparison, or a share of one, that is finished. Raises ``UsageError`` for anything else.

    A half is not taken for the whole: what an interruption left is to be continued first.
    """
    contents = comparisons.read(folder)
    if contents.context is None or not (folder / COMPARISON_NAME).exists():
        raise UsageError(f"{str(folder)!r} does not hold a comparison, or a share of one.")
    share = share_of(contents)
    names = {record.scenario for record in contents.records}
    if any(folder.glob(f"*{journal.SUFFIX}")) or not names.issuperset(share.scenarios):
        raise UsageError(
            f"{str(folder)!r} is not finished. Repeat its command with --resume, then merge."
        )
    return contents


def merge(shares: Sequence[Contents]) -> Merged:
    """The comparison of which these are all shares.

    Raises ``UsageError`` where they are not of one comparison, one of them is missing, or two have
    a scenario in common.
    """
    in_order = sorted(shares, key=lambda one: share_of(one).index or 0)
    first = in_order[0]
    # Each with each: what one of them does not know, two others may have in two ways.
    for one, other in combinations(in_order, 2):
        _require_alike(one, other)
    found = [share_of(one) for one in in_order]
    _require_whole(found)
    base = _context(first)
    context = replace(
        base,
        revisions=tuple(map(_known, *(_context(one).revisions for one in in_order))),
        started_at=min(_context(one).started_at for one in in_order),
        argv=_without_shard(base.argv),
    )
    records = {record.scenario: record for one in in_order for record in _records(one, context)}
    return Merged(
        context=context,
        settings={key: value for key, value in first.settings.items() if key != _SHARE},
        records=[records[name] for name in found[0].of],
        extra_files=[path for one in in_order for path in _extra_files(one)],
        unknown=[sentence for one in in_order for sentence in _unknown(one)],
    )


def write(merged: Merged, folder: Path) -> None:
    """Writes a comparison as if it had been measured in this folder. Raises ``HarnessError``."""
    comparisons.begin(folder, merged.context, merged.settings)
    comparisons.finish(folder, merged.records)
    for path in merged.extra_files:
        files.write_with(folder / path.name, partial(shutil.copyfile, path))


def packed(folder: Path) -> bytes:
    """A folder as a tar; an empty one where there is none."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        if folder.is_dir():
            archive.add(folder, arcname=".")
    return content.getvalue()


def unpack(content: bytes, folder: Path) -> Contents:
    """Keeps a finished share that another machine has packed, and reads it.

    Whoever packed it is trusted. Raises ``UsageError`` for anything else; nothing is kept then.
    """
    half = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(half, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(half)  # noqa: S202
    read(half)
    half.rename(folder)
    return read(folder)


def _require_same(first: Contents, other: Contents, what: Mapping[str, tuple[Any, Any]]) -> None:
    """Raises ``UsageError`` that names the first of these that two folders do not have in common.

    ``what`` has a pair for each, by what it is called.
    """
    for name, (here, there) in what.items():
        if here != there:
            raise UsageError(
                f"{str(first.folder)!r} and {str(other.folder)!r} are not of one comparison: "
                f"{name} differ ({_short(here)} and {_short(there)})."
            )


def _require_alike(first: Contents, other: Contents) -> None:
    here, there = _context(first), _context(other)
    _require_same(
        first,
        other,
        {
            "versions of waitbench": (here.waitbench, there.waitbench),
            "versions of hyperfine": (here.hyperfine_version, there.hyperfine_version),
            "topologies": (here.topology, there.topology),
            "revisions": (list(here.labels), list(there.labels)),
        },
    )
    for one, two in zip(here.revisions, there.revisions, strict=True):
        _require_same(first, other, _of_revision(one, two))
    names = [name for name in {**first.settings, **other.settings} if name != _SHARE]
    both = {name: (first.settings.get(name), other.settings.get(name)) for name in names}
    _require_same(first, other, {f"the settings {name!r}": pair for name, pair in both.items()})
    ours, theirs = _parameters(first), _parameters(other)
    shared = {
        f"parameters of {name}": (ours[name], theirs[name]) for name in ours if name in theirs
    }
    _require_same(first, other, shared)


def _unknown(contents: Contents) -> Iterator[str]:
    """What a share does not tell of what it measured, a sentence each."""
    context = _context(contents)
    name = str(contents.folder)
    if "+" not in (context.waitbench or ""):
        yield f"{name!r} does not tell which sources of waitbench measured it."
    for one in context.revisions:
        if one.facts is None:
            yield f"{name!r} does not tell which build of {one.label} it had, if any."


def _of_revision(one: RevisionRecord, two: RevisionRecord) -> dict[str, tuple[Any, Any]]:
    """What two shares must have in common of a revision, as far as both could set it up."""
    label = one.label
    alike: dict[str, tuple[Any, Any]] = {
        f"what was asked for beside {label}": (one.variant, two.variant)
    }
    if one.facts is not None and two.facts is not None:
        alike[f"Pythons of {label}"] = (one.facts.python, two.facts.python)
        alike[f"builds of {label}"] = (one.facts.package_sha256, two.facts.package_sha256)
    return alike


def _parameters(contents: Contents) -> Mapping[str, Any]:
    """The parameters of the scenarios that a folder knows of, of all of them if it is a share."""
    own = {record.scenario: dict(record.parameters) for record in contents.records}
    share = _settings(contents).share
    return own if share is None else {**share.parameters, **own}


def _settings(contents: Contents) -> _Settings:
    with reading(contents.folder / COMPARISON_NAME):
        return msgspec.convert(contents.settings, _Settings)


def _require_whole(shares: Sequence[Share]) -> None:
    titles = Counter(share.title for share in shares if share.index is not None)
    for title, number in titles.items():
        if number > 1:
            raise UsageError(f"{title} is there {number} times. Name each share once.")
    measured = Counter(name for share in shares for name in share.scenarios)
    twice = [name for name, number in measured.items() if number > 1]
    if twice:
        raise UsageError(
            f"{twice[0]} was measured in {measured[twice[0]]} of these folders, and no round is "
            "made of two machines'."
        )
    missing = [name for name in shares[0].of if name not in measured]
    if missing:
        numbers = {share.index for share in shares}
        number = next((share.number for share in shares if share.number), 0)
        lacking = [f"{one}/{number}" for one in range(1, number + 1) if one not in numbers]
        which = f"share {', '.join(lacking)}" if lacking else "a share"
        raise UsageError(f"{which.capitalize()} is missing: nobody measured {', '.join(missing)}.")


def _context(contents: Contents) -> Context:
    assert contents.context is not None, "read() has seen to it"
    return contents.context


def _known(*of_each: RevisionRecord) -> RevisionRecord:
    """A revision as a share has it that could set it up."""
    return next((one for one in of_each if one.facts is not None), of_each[0])


def _records(contents: Contents, context: Context) -> Iterator[Record]:
    """Those of a share, as the whole comparison has them."""
    wanted = share_of(contents).scenarios
    for record in contents.records:
        if record.scenario in wanted:
            elsewhere = dict(record.measured_on) != dict(context.machine)
            machine = record.measured_on if elsewhere else None
            yield replace(record, context=context, machine=machine)


def _extra_files(contents: Contents) -> Iterator[Path]:
    for name in share_of(contents).scenarios:
        yield from why.paths(contents.folder, name)


def _without_shard(argv: Sequence[str]) -> tuple[str, ...]:
    """The command that measures all of it."""
    kept: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--shard":
            next(words, None)
        elif not word.startswith("--shard="):
            kept.append(word)
    return tuple(kept)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
