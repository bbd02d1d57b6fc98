"""Whole comparisons of the same revisions and scenarios, each by a machine of its own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from waitbench.model.errors import UsageError
from waitbench.model.record import RevisionRecord
from waitbench.store import shares
from waitbench.store.comparisons import Contents


def read(folder: Path) -> Contents:
    """A whole comparison by one machine. Raises ``UsageError`` for anything else."""
    contents = shares.read(folder)
    share = shares.share_of(contents)
    if not share.is_whole:
        raise UsageError(
            f"{str(folder)!r} is {share.title.lower()}: merge the shares of each machine first."
        )
    if any(record.machine is not None for record in contents.records):
        raise UsageError(
            f"{str(folder)!r} was itself measured by several machines, a share each: machines are "
            "told apart by comparisons that each of them measured whole."
        )
    return contents


def require_alike(several: Sequence[Contents]) -> None:
    """Raises ``UsageError`` where these are fewer than two, or not of the same things.

    Builds may differ, as machines of two kinds have builds of their own.
    """
    if len(several) < 2:
        raise UsageError("--everywhere compares machines: name the folders of two or more.")
    first = several[0]
    for other in several[1:]:
        assert first.context is not None, "read() has seen to it"
        assert other.context is not None
        here, there = first.context, other.context
        ours, theirs = (
            {r.scenario: dict(r.parameters) for r in it.records} for it in (first, other)
        )
        shares.require_same(
            first,
            other,
            {
                "versions of waitbench": (here.waitbench, there.waitbench),
                "topologies": (here.topology, there.topology),
                "revisions": (
                    [_identity(one) for one in here.revisions],
                    [_identity(one) for one in there.revisions],
                ),
                "scenarios": (sorted(ours), sorted(theirs)),
                "parameters": (ours, theirs),
            },
        )


def _identity(revision: RevisionRecord) -> tuple[Any, ...]:
    """What a revision is, wherever it was built; a wheel or checkout is known by its version."""
    version = revision.facts.package_version if revision.facts and not revision.commit else None
    return revision.label, revision.engine, revision.variant, revision.commit, version
