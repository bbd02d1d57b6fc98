"""Extensions of comparisons by features: the classes that ``features.EXTENSIONS`` names."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from waitbench.features import EXTENSIONS
from waitbench.reporting.document import Contribution

if TYPE_CHECKING:
    import typer

    from waitbench.execution.bench import Bench
    from waitbench.model.record import ScenarioResults, Shard
    from waitbench.model.scenario import Scenario
    from waitbench.pipeline.request import Request, ValidRequest
    from waitbench.reporting.output import Output, RunProgress
    from waitbench.store.comparisons import StoredComparison

Select = Callable[["Request"], tuple["Scenario", ...]]


class Extension:
    """A feature's part in comparisons; by default it has none.

    The parameters of a subclass's constructor are its options of ``compare``, as typer reads them.
    Their defaults leave it off, but every report has its contribution.
    """

    EXAMPLE: ClassVar[str] = ""
    """A line for the end of the help of ``compare``."""

    @property
    def survey_option(self) -> str | None:
        """The option, if typed, that asks for figures only: of short scenarios, without limits."""
        return None

    def scenarios(self, request: "Request", select: Select) -> tuple["Scenario", ...]:
        """Selects scenarios by calling ``select`` for a request, or for changed requests."""
        return select(request)

    def shard_of(self, request: "Request", scenarios: Sequence["Scenario"]) -> "Shard | None":
        """Selects the scenarios to measure here; ``None`` for all. Raises ``UsageError``."""
        return None

    def run(
        self, request: "Request", output: "Output", context: "typer.Context"
    ) -> "AbstractContextManager[StoredComparison] | None":
        """Measures a request elsewhere, like ``comparing.run`` here; ``None`` if it does not."""

    def after_runs(
        self, valid: "ValidRequest", bench: "Bench", folder: Path, progress: "RunProgress"
    ) -> None:
        """Makes extra runs after all others, and saves their results."""

    def contribution(self, folder: Path, records: Sequence["ScenarioResults"]) -> Contribution:
        """Analyses a folder of results. Raises ``UsageError`` if its files cannot be read."""
        return Contribution()

    def explain_running(self, find: Callable[[], Sequence[int]], seconds: float) -> Contribution:
        """Explains the cost of running processes, for about ``seconds``."""
        return Contribution()


@cache
def extensions() -> tuple[type[Extension], ...]:
    modules = (name.partition(":") for name in EXTENSIONS)
    return tuple(getattr(import_module(module), name) for module, _, name in modules)
