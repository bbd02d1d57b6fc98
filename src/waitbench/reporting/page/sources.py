"""A comparison's context -> how it was measured: machine, revisions, and the command."""

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from waitbench.model.record import Context, Record, RevisionRecord
from waitbench.reporting import machines
from waitbench.reporting.page.parts import Cell, Heading, Source, Table

_SHOWN_DIGITS = 12
_HEADER = ("revision", "asked for", "origin", "version", "commit", "Python", "compiler", "package")


def source(folder: Path, context: Context, records: Iterable[Record] = ()) -> Source:
    """How one comparison was measured, and where, if that was on several machines."""
    where = machines.sentence(records)
    return Source(
        title=f"{folder.resolve().name}, begun {context.started_at}",
        facts=(*_facts(context), *([] if where is None else [("machines", where)])),
        revisions=Table(
            title="Revisions",
            header=tuple(map(Heading, _HEADER)),
            rows=tuple(tuple(map(_cell, _texts(one))) for one in context.revisions),
        ),
        command=shlex.join(("./waitbench", *context.argv)),
    )


def _facts(context: Context) -> Iterator[tuple[str, str]]:
    yield "topology", context.topology
    yield "engine", ", ".join(context.engines) or "not recorded"
    yield "hyperfine", context.hyperfine_version
    for name, value in context.machine.items():
        if value is not None:
            yield name.replace("_", " "), str(value)
    if context.waitbench is not None:
        yield "waitbench", context.waitbench


def _texts(revision: RevisionRecord) -> tuple[str, ...]:
    facts = revision.facts
    return (
        revision.label,
        revision.text,
        revision.origin,
        facts.package_version if facts else "",
        " ".join(filter(None, ((revision.commit or "")[:_SHOWN_DIGITS], revision.commit_date))),
        facts.python if facts else "",
        (facts.compiler if facts else None) or "",
        facts.package_sha256[:_SHOWN_DIGITS] if facts else "not built",
    )


def _cell(text: str) -> Cell:
    return Cell(text=text or "–")
