"""The base class of extensions, by which features take part in comparisons."""

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
    """A feature's part in comparisons. Methods that a subclass does not override do nothing.

    The parameters of a subclass's constructor are options of ``compare``, with annotations for
    typer. Their defaults turn the feature off, but reports still call its ``contribution``.
    """

    EXAMPLE: ClassVar[str] = ""
    """An example for the help of ``compare``."""

    @property
    def survey_option(self) -> str | None:
        """The option, if given, that measures short scenarios without a verdict."""
        return None

    def scenarios(self, request: "Request", select: Select) -> tuple["Scenario", ...]:
        """Selects scenarios, by calling ``select`` with the request or with changed requests."""
        return select(request)

    def shard_of(self, request: "Request", scenarios: Sequence["Scenario"]) -> "Shard | None":
        """The shard of this machine; ``None``: it measures all scenarios. Raises ``UsageError``."""
        return None

    def run(
        self, request: "Request", output: "Output", context: "typer.Context"
    ) -> "AbstractContextManager[StoredComparison] | None":
        """Measures a request in place of ``comparing.run``; ``None`` if the feature does not."""

    def after_runs(
        self, valid: "ValidRequest", bench: "Bench", folder: Path, progress: "RunProgress"
    ) -> None:
        """Makes extra runs after all runs of a comparison, and saves their results."""

    def contribution(self, folder: Path, records: Sequence["ScenarioResults"]) -> Contribution:
        """Analyses a folder of results. Raises ``UsageError`` if its files cannot be read."""
        return Contribution()

    def explain_running(self, find: Callable[[], Sequence[int]], seconds: float) -> Contribution:
        """Explains the cost of the processes whose PIDs ``find`` returns, in about ``seconds``."""
        return Contribution()


@cache
def extensions() -> tuple[type[Extension], ...]:
    modules = (name.partition(":") for name in EXTENSIONS)
    return tuple(getattr(import_module(module), name) for module, _, name in modules)
