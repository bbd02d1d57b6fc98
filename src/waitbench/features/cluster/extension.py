"""``--shard`` and ``--on``: a comparison that several machines measure."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Optional

import typer

from waitbench.features.cluster import shards
from waitbench.model.errors import UsageError
from waitbench.model.record import Shard
from waitbench.model.scenario import Scenario
from waitbench.pipeline.extension import Extension
from waitbench.pipeline.request import Request
from waitbench.reporting.output import Output
from waitbench.store.comparisons import StoredComparison
from waitbench.system.installation import called

_NOT_FOR_SHARDS = (
    "revisions", "on", "results", "resume", "plot", "quiet", "verbose", "as_json", "worker",
    "accepted", "origin", "python", "repo",
)  # fmt: skip
"""Parameters of ``compare`` that --on applies itself. Shards get all others as typed."""


@dataclass(frozen=True)
class ClusterExtension(Extension):
    """Measures one shard here, or all shards on the workers of a scheduler."""

    on: Annotated[
        Optional[str],
        typer.Option(
            metavar="ADDRESS",
            help="Measure on the workers of a dask scheduler.\n\ntcp://HOST:PORT or "
            "tls://HOST:PORT.",
            show_default="this machine",
        ),
    ] = None
    shard: Annotated[
        str,
        typer.Option(
            metavar="I/N",
            help="Measure a shard of the scenarios, such as 1/3."
            f"\n\n{called('merge')} makes one comparison of all shards.",
            show_default="all",
        ),
    ] = "1/1"

    EXAMPLE = (
        "./compare.sh main my-branch --gate --shard 1/3   # ./waitbench merge makes the verdict"
    )

    def shard_of(self, request: Request, scenarios: Sequence[Scenario]) -> Shard | None:
        index, number = shards.parse(self.shard)
        if number == 1:
            return None
        if request.survey_option:
            raise UsageError(
                f"--shard does not go with {request.survey_option}, which needs a single machine."
            )
        return shards.deal(index, number, {it.name: it.expected_s for it in scenarios})

    def run(
        self, request: Request, output: Output, context: typer.Context
    ) -> AbstractContextManager[StoredComparison] | None:
        if self.on is None:
            return None
        # dask takes a second to import.
        from waitbench.features.cluster import on_dask

        options = tuple(_typed_options(context, except_for=_NOT_FOR_SHARDS))
        return on_dask.run(self.on, options, context.params["accepted"], request, output)


def _typed_options(context: typer.Context, *, except_for: Collection[str]) -> Iterator[str]:
    """The options that the user typed, as arguments, without some parameters."""
    for option in context.command.params:
        name = str(option.name)
        source = context.get_parameter_source(name)
        if name in except_for or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        if isinstance(value, bool):
            yield (option.opts if value else option.secondary_opts)[0]
            continue
        for item in value if isinstance(value, (list, tuple)) else (value,):
            yield from (option.opts[0], str(getattr(item, "value", item)))
