"""``bisect``: which release, or which commit, changed what a worker costs, as it is typed."""

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.analysis.criteria import Criterion
from waitbench.cli import gating, options
from waitbench.cli.asking import asking
from waitbench.cli.bisecting import Bisecting
from waitbench.cli.request import Request
from waitbench.cli.stretches import Which
from waitbench.model.environment import OriginChoice
from waitbench.model.errors import UsageError, masked

EXAMPLES = """
\b
Examples:
  ./waitbench bisect v0.16.0 v0.21.1 -s partitioned-long-input --find faster
  ./waitbench bisect v0.20.1 main -s 'dynamic*' --fail-on steady:10%
  ./waitbench bisect 3f2a1b0 my-branch --repo ~/src/bytewax --fail-on wakeups:5% -p 2
"""


class Find(str, Enum):
    """The direction of the change."""

    SLOWER = "slower"
    FASTER = "faster"


@asking
def bisect(
    good: Annotated[
        str, typer.Argument(metavar="GOOD", help="The older end: a release, commit, branch or tag.")
    ],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="The newer end.")],
    *,
    request: Request,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="METRIC:PCT%",
            help="What changed, and by how much it must have to matter, such as wakeups:5%.",
        ),
    ] = "steady:10%",
    find: Annotated[
        Find, typer.Option(help="Whether it rose, or fell: what mended something.")
    ] = Find.SLOWER,
    releases: Annotated[
        bool, typer.Option("--releases", help="Only releases, by their wheels: seconds each.")
    ] = False,
    commits: Annotated[
        bool, typer.Option("--commits", help="Only commits, all built here.")
    ] = False,
    all_parents: Annotated[
        bool,
        typer.Option(
            "--all-parents",
            help="Commits of merged branches too, in topological order: neighbours may be of "
            "different branches. Without it, a culprit that is a merge is searched inside.",
        ),
    ] = False,
    max_rounds: Annotated[
        int, typer.Option("--max-rounds", help="A step stays unclear after so many rounds.")
    ] = 30,
    budget: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="No round begins after this much time; see --resume."),
    ] = 7200,
    full: options.Full = False,
    results: options.NewResults = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with a search: that of --results, or the latest."),
    ] = False,
    markdown: Annotated[
        Optional[Path], typer.Option(metavar="FILE", help="Write what was found as Markdown.")
    ] = None,
    quiet: options.Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="What was found as JSON on stdout, progress on stderr.")
    ] = False,
) -> None:
    """Find which release, then which commit, changed what a worker costs.

    The ends are measured first; where no change is proven, that is the answer. Each step measures
    the good end, a middle and the bad end in the same rounds. The chance that what is named is
    wrong is 5 % at most, over all steps together.
    """
    if releases and commits:
        raise UsageError("--releases and --commits: one kind only, or neither for both.")
    criterion = _criterion(fail_on, max_rounds)
    asked_for = replace(
        request,
        revisions=(good, bad),
        origin=OriginChoice.SOURCE if commits else OriginChoice.AUTO,
        required_metrics=frozenset({criterion.metric.key}),
    )
    bisecting = Bisecting(
        criterion=criterion,
        faster=find is Find.FASTER,
        which=Which.RELEASES if releases else Which.COMMITS if commits else Which.BOTH,
        all_parents=all_parents,
        full=full,
        most_rounds=gating.last_look(max_rounds),
        budget_s=budget,
        results=results,
        resume=resume,
        markdown=markdown,
        quiet=quiet,
        as_json=as_json,
        options=_to_repeat(request),
    )
    raise typer.Exit(bisecting.bisect(asked_for))


def _criterion(text: str, max_rounds: int) -> Criterion:
    """Raises ``UsageError`` for what a search cannot heed."""
    (criterion,) = gating.read_criteria([text], max_rounds, defaults=False)
    if criterion.floor or criterion.alone or criterion.together:
        raise UsageError(f"--fail-on {text!r}: a search takes METRIC:PERCENT% only.")
    return criterion


def _to_repeat(request: Request) -> tuple[str, ...]:
    """The options that ``compare`` needs to measure the same."""
    words = []
    if request.processes != 1:
        words += ["-p", str(request.processes)]
    if request.workers != 1:
        words += ["-w", str(request.workers)]
    if request.topology is not None:
        words += ["--topology", request.topology]
    if request.repo is not None:
        words += ["--repo", masked(request.repo)]
    return tuple(words)
