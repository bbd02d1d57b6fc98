"""``merge``: makes one comparison of the shards that several machines measured.

All runs of a scenario come from one shard, so no figure mixes machines.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import structs

from waitbench.commands import options
from waitbench.features.cluster.shards import shard_of
from waitbench.model.errors import UsageError
from waitbench.model.record import ComparisonHeader, ScenarioResults, Shard
from waitbench.model.revision import Revision
from waitbench.pipeline.concluding import conclude
from waitbench.pipeline.gating import gate_of
from waitbench.pipeline.preparation import first_difference
from waitbench.reporting.output import Output
from waitbench.store import comparisons, folders
from waitbench.store.comparisons import RUNS_NAME, StoredComparison
from waitbench.store.formats import errors_explained
from waitbench.system import files

EXAMPLES = """
\b
Examples:
  ./compare.sh main my-branch --gate --shard 1/2 --results one    # on one machine
  ./compare.sh main my-branch --gate --shard 2/2 --results two    # on another
  ./waitbench merge one two --results whole                       # where both folders are
"""


def merge(
    shards: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER",
            help="The results of every shard of a comparison.",
        ),
    ],
    results: options.NewResults = None,
    plot: options.Plot = True,
    quiet: options.Quiet = False,
    verbose: options.Verbose = 0,
    as_json: options.AsJson = False,
) -> None:
    """Make one comparison of all its shards, with the output and the exit code of compare."""
    whole, records = merged([read_finished(folder) for folder in shards])
    gate_of(whole)  # Raises before anything is created.
    output = Output(quiet=quiet, as_json=as_json, verbosity=verbose)
    with folders.claimed(results, whole.labels) as folder:
        contents = write(folder, whole, records, shards)
        code = conclude(contents, output, plot=plot)
    raise typer.Exit(code)


_SHARD = re.compile(r"\0--shard[=\0][^\0]*")
"""The option in a command line whose arguments are joined by NUL."""


def read_finished(folder: Path) -> StoredComparison:
    """Reads a finished comparison, or a shard of one. Raises ``UsageError`` for anything else."""
    contents = comparisons.read(folder)
    if not contents.comparison.finished:
        raise UsageError(
            f"{str(folder)!r} is not finished. Repeat its command with --resume, then merge."
        )
    return contents


def merged(
    shards: Sequence[StoredComparison],
) -> tuple[ComparisonHeader, Sequence[ScenarioResults]]:
    """Merges all shards of a comparison into its header and its records.

    Raises ``UsageError`` if a shard is missing, overlaps another, or is of another comparison.
    """
    in_order = sorted(shards, key=lambda shard: shard_of(shard.comparison).index)
    contexts = [shard.comparison for shard in in_order]
    # A shard that could not build a revision has no facts about it.
    revisions = tuple(
        next((revision for revision in versions if revision.build is not None), versions[0])
        for versions in zip(*(context.revisions for context in contexts), strict=False)
    )
    for shard in in_order[1:]:
        _require_same_comparison(in_order[0], shard, revisions)
    _require_complete([*map(shard_of, contexts)])
    by_name = {record.scenario: record for shard in in_order for record in shard.records}
    first = contexts[0]
    records = [by_name[name] for name in shard_of(first).of]
    for record in records:
        machine = record.measured_on if record.measured_on != first.machine else None
        record.spec = structs.replace(record.spec, machine=machine)
    whole = structs.replace(
        first,
        revisions=revisions,
        started_at=min(context.started_at for context in contexts),
        argv=tuple(_SHARD.sub("", "\0".join(first.argv)).split("\0")),
        scenarios=tuple(record.spec for record in records),
        shard=None,
        finished=False,
    )
    return whole, [structs.replace(record, context=whole) for record in records]


def write(
    folder: Path,
    whole: ComparisonHeader,
    records: Sequence[ScenarioResults],
    shards: Iterable[Path],
) -> StoredComparison:
    """Writes a merged comparison, and copies the files of features from the shards.

    Raises ``HarnessError``.
    """
    comparisons.begin(folder, whole, records)
    comparisons.finish(folder, whole, records)
    for path in (path for shard in shards for path in sorted(shard.glob("*.jsonl"))):
        if path.name != RUNS_NAME:
            with errors_explained(path):
                text = files.read(path).decode("utf-8", "replace")
            files.write_text(folder / path.name, text)
    return StoredComparison(folder=folder, comparison=whole, records=records)


def _require_same_comparison(
    first: StoredComparison, other: StoredComparison, known: Sequence[Revision]
) -> None:
    """Raises a ``UsageError`` that names the first difference between two comparisons."""
    facts = (_in_common(contents.comparison, known) for contents in (first, other))
    if (name := first_difference(*facts)) is not None:
        raise UsageError(
            f"{str(first.folder)!r} and {str(other.folder)!r} are not of one comparison: "
            f"{name} differ."
        )


def _in_common(context: ComparisonHeader, known: Sequence[Revision]) -> dict[str, Any]:
    """The facts that all shards of a comparison share, by their names in messages."""
    return {
        "versions of waitbench": context.waitbench,
        "versions of hyperfine": context.hyperfine_version,
        **context.in_common(known),
        **{f"settings {name!r}": value for name, value in context.settings.items()},
        # A shard that was resumed may have another budget.
        "settings 'gate'": structs.replace(gate_of(context), budget_s=math.inf),
    }


def _require_complete(shards: Sequence[Shard]) -> None:
    measured = Counter(name for shard in shards for name in shard.scenarios)
    for name, number in measured.items():
        if number > 1:
            raise UsageError(
                f"{name} was measured in {number} of these folders, and runs of two machines make "
                "no round. Name each shard once."
            )
    missing = [name for name in shards[0].of if name not in measured]
    if missing:
        raise UsageError(f"A shard is missing: no folder has {', '.join(missing)}.")
