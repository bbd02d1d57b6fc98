"""What a revision can run, and what would not heed what it sets."""

from pathlib import Path

import pytest

from tests.records import facts
from waitbench.execution.bench import Bench
from waitbench.families import selection
from waitbench.model.environment import Environment
from waitbench.model.scenario import NEXT_AWAKE, Topology
from waitbench.system.places import Cache

NATIVE = "flow = 1\n"
OBSERVED = "from support import api\nflow = api\n"


def missing(
    cache: Cache, engine: str, scenario: str, settings: dict[str, str], can: str = NEXT_AWAKE
) -> str | None:
    """Why an environment cannot run a scenario of ours, or the dataflow of a file."""
    known = facts(capabilities=frozenset({can}))
    environments = {"x": Environment(Path("e"), engine, known, settings)}
    bench = Bench(environments=environments, topology=Topology("single"), cache=cache)
    is_file = scenario.endswith(".py")
    (found,) = (selection.of_user(scenario),) if is_file else selection.select([scenario], ())
    return bench.what_is_missing(found, "x")


def test_a_setting_that_a_scenario_does_not_heed_is_said(cache: Cache) -> None:
    set_to = {"awake_ms": "5"}
    assert missing(cache, "bytewax", "partitioned-idle", set_to) is None
    assert missing(cache, "bytewax", "partitioned-scheduled", {}) is None
    found = missing(cache, "bytewax", "partitioned-scheduled", set_to)
    assert found == "its scenario does not heed awake_ms"
    found = missing(cache, "bytewax", "partitioned-idle", set_to, can="")
    assert found == "it cannot say when a source is to be asked next"
    assert missing(cache, "streamz", "partitioned-scheduled", {"poll_interval": "1"}) is None


@pytest.mark.parametrize(
    ("engine", "text", "settings", "said"),
    [
        ("bytewax", NATIVE, {}, None),
        ("bytewax", NATIVE, {"awake_ms": "5"}, "its scenario does not heed awake_ms"),
        ("bytewax", OBSERVED, {"awake_ms": "5"}, None),
        ("streamz", NATIVE, {}, "it runs only what is written against dataflows/support"),
        ("streamz", OBSERVED, {"poll_interval": "1"}, None),
    ],
)
def test_a_dataflow_of_a_user_runs_where_it_was_written_for(
    engine: str, text: str, settings: dict[str, str], said: str | None, cache: Cache, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    assert missing(cache, engine, str(path), settings) == said
