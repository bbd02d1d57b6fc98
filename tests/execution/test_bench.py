"""What a revision can run."""

from pathlib import Path

from tests.records import facts
from waitbench.engines import selection
from waitbench.execution.bench import Bench
from waitbench.model.environment import Environment
from waitbench.model.scenario import NEXT_AWAKE, Topology
from waitbench.system.places import Cache


def missing(cache: Cache, scenario: str, can: str = NEXT_AWAKE) -> str | None:
    """Why an environment cannot run a scenario."""
    environments = {"x": Environment(Path("e"), "bytewax", facts(capabilities=frozenset({can})))}
    bench = Bench(environments=environments, topology=Topology("single"), cache=cache)
    (found,) = selection.select([scenario], ())
    return bench.what_is_missing(found, "x")


def test_what_a_revision_cannot_do_for_a_scenario_is_said(cache: Cache) -> None:
    assert missing(cache, "partitioned-idle", can="") is None
    assert missing(cache, "partitioned-scheduled") is None
    found = missing(cache, "partitioned-scheduled", can="")
    assert found == "it cannot say when a source is to be asked next"
