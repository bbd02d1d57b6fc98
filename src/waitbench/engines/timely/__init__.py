"""timely: the Rust crate timely dataflow, which other stream processors stand on."""

import re
import shutil
from collections.abc import Mapping
from types import MappingProxyType

from waitbench.engines.base import Builder, Knob, Start
from waitbench.engines.cargo import CargoBuilder
from waitbench.engines.carried import Carried
from waitbench.model.environment import Environment
from waitbench.model.scenario import ALARM, NEXT_AWAKE, WINDOW, Scenario, Topology, Value

_PROGRAM = "waitbench-timely"
"""What is built, in an environment's ``bin``; see sources/src/main.rs."""

_SMOKE_TEST = f"""
import os, subprocess, sys
program = os.path.join(os.path.dirname(sys.executable), {_PROGRAM!r})
from waitbench_timely import TIMELY
said = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout.decode().split()
assert said == ["timely", TIMELY], said
"""


class Timely(Carried):
    """https://github.com/TimelyDataflow/timely-dataflow, releases of crates.io from 0.29.0 on.

    The workloads are a program of ours, which knows them by their parameters. Its Rust fits the
    interface that 0.29 brought; an earlier version fails to build, and the compiler says by what.
    """

    name = "timely"
    example = "0.32.0"
    package = "waitbench-timely"
    module = "waitbench_timely"
    smoke_test = _SMOKE_TEST
    runs_python = False
    parameters: frozenset[str] | None = frozenset(
        {
            "partitions", "items_per_partition", "items_per_worker", "long_input", "heavy_map",
            "scheduled", "interval", "burst", "idle", "heaviness", "silent", "window", "alarm",
            "seed",
        }
    )  # fmt: skip
    """Those of sources/src/arguments.rs."""
    most_workers: int | None = None
    settings: Mapping[str, Knob] = MappingProxyType({"idle_spin": Knob(default="10", whole=True)})
    """Microseconds that an idle worker looks for news before it parks: from 0.32 on."""
    capabilities = frozenset({NEXT_AWAKE, WINDOW, ALARM})
    builder: Builder = CargoBuilder(
        name, {r"linker `cc` not found|gcc.*not found": "build-essential"}
    )

    def version_of(self, name: str) -> str | None:
        # All three numbers: cargo takes fewer for any version that begins with them.
        return name.removeprefix("v") if re.fullmatch(r"v?\d+\.\d+\.\d+", name) else None

    def missing_prerequisite(self) -> str | None:
        missing = [program for program in ("cargo", "rustc") if shutil.which(program) is None]
        if not missing:
            return None
        return (
            f"Building {self.name} takes a Rust toolchain, and there is no "
            f"{' and no '.join(missing)} here. This installs one: https://rustup.rs"
        )

    def start(self, environment: Environment, scenario: Scenario, topology: Topology) -> Start:
        program = environment.folder / "bin" / _PROGRAM
        known = self.parameters or frozenset()
        parameters = {
            name: _written(value) for name, value in scenario.parameters.items() if name in known
        }
        # Settings only if asked for: an earlier version has none, and refuses them.
        told = (f"{name}={text}" for name, text in {**parameters, **environment.settings}.items())
        return Start(arguments=(str(program), str(topology.workers), *told), processes=1)

    def remark(self) -> str:
        return (
            "Rust, no Python; a source is scheduled when something is due, and what is due at once"
            " goes from step to step as one batch; keeps no snapshots"
        )


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


ENGINE = Timely()
