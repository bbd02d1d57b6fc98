"""Pathway: tables that a Rust engine keeps up to date, fed and asked from Python.

Its licence is the Business Source License 1.1, which sets limits to its use in production. Wheels
fit CPython 3.10 and newer.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from waitbench.engines.base import Knob, Start
from waitbench.engines.carried import Carried
from waitbench.model.environment import Environment
from waitbench.model.scenario import NEXT_AWAKE, WINDOW, Scenario, Topology


class Pathway(Carried):
    """``pathway@VERSION``: its sources are threads that may block; no step can ask for a timer."""

    name = "pathway"
    example = "0.33.0"
    package = "pathway"
    module = "pathway"
    smoke_test = "import pathway; pathway.io.python.ConnectorSubject, pathway.udf"
    settings: Mapping[str, Knob] = MappingProxyType(
        {
            "autocommit_ms": Knob(default="1500", whole=True),
            "commit_each": Knob(default="0", whole=True, most=1),
        }
    )
    """How often a source commits by itself, and whether it also does so after each item (1)."""
    size = "about 400 MB to fetch with all that it needs, 1.6 GB installed"
    capabilities = frozenset({NEXT_AWAKE, WINDOW})

    def start(self, environment: Environment, scenario: Scenario, topology: Topology) -> Start:
        start = super().start(environment, scenario, topology)
        variables = {"PATHWAY_THREADS": str(topology.workers), "PATHWAY_PROCESSES": "1"}
        return replace(start, variables=variables)

    def remark(self) -> str:
        return (
            "a thread sleeps for each source, its worker until a row comes or a source commits, "
            "each every autocommit_ms; rows go on then, in batches mapped before any is written; "
            "windows close by later items, not by a clock; keeps no snapshots"
        )


ENGINE = Pathway()
