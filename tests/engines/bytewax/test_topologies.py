"""How the engine's processes are started: by our launcher alone, unless its own was asked for."""

from pathlib import Path

import pytest

from waitbench import engines
from waitbench.engines import selection
from waitbench.model.environment import Environment, Facts
from waitbench.model.scenario import Topology

OWN, OTHER = "run-launches", ""


def arguments(capability: str, kind: str, processes: int, workers: int) -> tuple[str, ...]:
    facts = Facts(
        python="3.11.7", package_version="0", extensions={}, package_sha256="", requirements=(),
        compiler=None, capabilities=frozenset({capability}),
    )  # fmt: skip
    (scenario,) = selection.select(("dynamic",), ())
    environment = Environment(Path("/environment"), facts)
    start = engines.DEFAULT.start(environment, scenario, Topology(kind, processes, workers))
    return tuple(start.told["arguments"])


@pytest.mark.parametrize("kind", ["single", "cluster"])
def test_a_module_that_is_a_launcher_too_starts_no_process_of_its_own(kind: str) -> None:
    assert arguments(OWN, kind, 1, 2)[-4:] == ("-i", "{index}", "-a", "{addresses}")
    assert "-i" not in arguments(OWN, kind, 1, 1)
    assert "-i" not in arguments(OTHER, kind, 1, 2)


def test_the_engines_own_launcher_is_left_to_start_them() -> None:
    assert "-i" not in arguments(OWN, "launcher", 2, 2)
    assert arguments(OTHER, "cluster", 2, 1)[-4:] == ("-i", "{index}", "-a", "{addresses}")
