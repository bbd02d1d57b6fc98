"""The facts that waitbench knows about bytewax, except for the workloads in dataflows/."""

import re
from collections.abc import Sequence
from pathlib import Path

from waitbench.engines.base import Engine
from waitbench.engines.bytewax.scenarios import Dataflow
from waitbench.model.launch import ADDRESSES, INDEX, DataflowConfig
from waitbench.model.revision import Environment
from waitbench.model.scenario import ALARM, NEXT_AWAKE, Scenario, Topology

_NOT_BUILT_FROM = (
    ".github", "apidocs", "docs", "examples", "pytests", "requirements",
    "*.md", "*.sh", "Dockerfile*", "COPYRIGHT", "LICENSE", "justfile", "requirements.txt",
    "conftest.py", "stubgen.py", "vermin*.ini", ".cbfmt.*", ".pre-commit-config.*",
    ".readthedocs.*",
)  # fmt: skip
"""Files that no build uses. (``migrations/`` is not among them: sqlx compiles it in.)"""

_RUN_LAUNCHES = "run-launches"
"""A capability of early releases: ``bytewax.run -p N`` is the launcher of a local cluster."""


class Bytewax(Engine):
    """https://github.com/bytewax/bytewax, from 0.16 on."""

    name = "bytewax"
    package = "bytewax"
    module = "bytewax"
    oldest: str | None = "0.16.0"
    release = re.compile(r"v?\d+(\.\d+)+((a|b|rc|\.dev|\.post|-alpha\.|-beta\.|-rc\.)\d+)?")
    repository: str | None = "https://github.com/bytewax/bytewax.git"
    topologies: tuple[str, ...] = ("single", "cluster", "launcher")
    smoke_test = "import bytewax.run, bytewax.dataflow"
    build_paths = (":(top)", *(f":(top,exclude,glob){path}" for path in _NOT_BUILT_FROM))
    uses_cargo = True
    building_needs = (
        "Building bytewax takes git and Rust (https://rustup.rs), and bytewax ≤ 0.16 on Debian: "
        "apt-get install build-essential cmake libsasl2-dev libssl-dev pkg-config protobuf-compiler"
    )

    def tag_of(self, version: str) -> str:
        return f"v{version}"

    def capabilities(self, package: Path) -> frozenset[str]:
        run, inputs, operators = (
            path.read_text("utf-8") if (path := package / name).exists() else ""
            for name in ("run.py", "inputs.py", "operators/__init__.py")
        )
        has = {
            NEXT_AWAKE: "def next_awake" in inputs,
            ALARM: "def notify_at" in operators,
            _RUN_LAUNCHES: '"--processes"' in run,
        }
        return frozenset(name for name in has if has[name])

    def program(
        self, environment: Environment, scenario: Scenario, topology: Topology
    ) -> DataflowConfig:
        assert isinstance(scenario, Dataflow), "worker files have engines of their own"
        launched = topology.kind == "launcher"
        run_launches = _RUN_LAUNCHES in environment.build.capabilities
        module = "bytewax.testing" if launched and not run_launches else "bytewax.run"
        # The launcher of 0.18 raises TypeError without -w.
        arguments = ["-m", module, scenario.import_string, "-w", str(topology.workers)]
        if launched:
            arguments += ["-p", str(topology.processes)]
        # A single process needs no addresses, except in early releases: without them, several
        # workers make ``bytewax.run`` start a child process.
        processes = topology.processes if topology.kind == "cluster" else 1
        if processes > 1 or (run_launches and topology.workers > 1 and not launched):
            arguments += ["-i", INDEX, "-a", ADDRESSES]
        words = [str(environment.python), *arguments]
        return DataflowConfig(arguments=words, processes=processes)

    def role(self, arguments: Sequence[str]) -> str | None:
        if "-i" in arguments[:-1]:
            return f"worker {arguments[arguments.index('-i') + 1]}"
        return None
