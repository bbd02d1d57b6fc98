"""What to measure, valid and resolved: what all that measures starts from."""

from dataclasses import dataclass

from waitbench.engines.base import Engine
from waitbench.environments.revisions import Repositories
from waitbench.model.environment import EnvironmentSpec
from waitbench.model.errors import UsageError
from waitbench.model.instruments import Instruments
from waitbench.model.scenario import Scenario, Topology
from waitbench.model.share import Share
from waitbench.system.places import Cache


@dataclass(frozen=True, kw_only=True)
class ValidRequest:
    """A request that makes sense, resolved."""

    engines: tuple[Engine, ...]
    """Whose revisions these are, the baseline's first."""
    scenarios: tuple[Scenario, ...]
    """All of the comparison."""
    share: Share
    """Which of them are measured here."""
    topology: Topology
    repositories: Repositories
    specs: tuple[EnvironmentSpec, ...]
    cache: Cache
    time_limit_s: float | None
    instruments: Instruments
    """What observes instrumented runs; none, if there are to be no such runs."""
    toolchain: str | None
    setup_limit_s: float | None
    python: str | None
    """The interpreter that the user asks for."""
    argv: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of the revisions, the baseline's first."""
        return tuple(spec.revision.label for spec in self.specs)

    def specs_of(self, engine: Engine) -> tuple[EnvironmentSpec, ...]:
        """Those of an engine's revisions."""
        return tuple(spec for spec in self.specs if spec.revision.engine == engine.name)

    @property
    def engine(self) -> Engine:
        """The one engine, where one is all that makes sense. Raises ``UsageError``."""
        if len(self.engines) > 1:
            names = " and ".join(engine.name for engine in self.engines)
            raise UsageError(f"These are revisions of {names}: name revisions of one engine.")
        return self.engines[0]

    @property
    def here(self) -> tuple[Scenario, ...]:
        """The scenarios that are measured here."""
        return tuple(one for one in self.scenarios if one.name in self.share.scenarios)

    @property
    def elsewhere(self) -> tuple[Scenario, ...]:
        """The others."""
        return tuple(one for one in self.scenarios if one.name not in self.share.scenarios)

    def as_settings(self) -> dict[str, object]:
        """What it asks for besides revisions and topology, for the result files."""
        return {
            "scenarios": [scenario.name for scenario in self.scenarios],
            **({} if self.share.is_whole else {"share": self._share_settings()}),
            "time_limit_s": self.time_limit_s,
            "instruments": sorted(self.instruments.keys),
            "split": "sampled" if self.instruments.sampler else "ticks",
        }

    def _share_settings(self) -> dict[str, object]:
        # Of all scenarios: who has another share must have meant the same.
        parameters = {scenario.name: dict(scenario.parameters) for scenario in self.scenarios}
        return {**self.share.as_settings(), "parameters": parameters}

    @property
    def round_s(self) -> float:
        """Roughly how long one round of every scenario measured here takes."""
        return sum(scenario.expected_s for scenario in self.here) * len(self.specs)
