"""One planned run -> a Measurement, or an Outcome that says why there is none."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from waitbench.environments.virtualenvs import Environment
from waitbench.execution import assets
from waitbench.execution.accounting import marks_of, metrics_of
from waitbench.execution.hyperfine import Hyperfine, Timing, parse_export
from waitbench.execution.plan import PlannedRun
from waitbench.execution.services import URL_VARIABLE, running
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Scenario, Topology
from waitbench.system.places import DATAFLOWS, Cache
from waitbench.system.processes import run, tail
from waitbench.system.watch import DISTURBED, Reading, is_disturbed, observed

PROBE_DIRECTORY = "BENCH_PROBE_DIR"
"""Environment variable by which a workload learns where to report; see dataflows/support/probe.py."""

TIMED_OUT = "timed-out"
NOT_SUPPORTED = "not-supported"
"""The outcome of a scenario that needs what a revision's bytewax does not have: said, but no failure."""

HARMLESS = frozenset({NOT_SUPPORTED, DISTURBED})
"""Outcomes that do not make a comparison fail."""

_LAUNCH = DATAFLOWS / "support" / "launch.py"
_NOT_INHERITED = ("PYTHON", "BYTEWAX_", "__BYTEWAX", "BENCH_", "VIRTUAL_ENV", "RUST_LOG", "RUST_BACKTRACE")


@dataclass(frozen=True)
class Measurement:
    """A run that passed its checks."""

    label: str
    round: int
    position: int
    started_at: str
    """ISO 8601, UTC."""
    metrics: Mapping[str, float]
    """By the metric's key in files, in its unit."""
    marks: tuple[str, ...] = ()
    """What is odd about it: ``unbalanced`` (accounting.py), ``disturbed`` (watch.py)."""
    samples: tuple[Mapping[str, float], ...] = field(default=(), repr=False)
    """What the workload observed besides, such as each of its calls; see the family."""


@dataclass(frozen=True)
class Outcome:
    """A run that gave no measurement."""

    label: str
    round: int
    position: int
    started_at: str
    reason: str
    """``failed``, ``timed-out``, ``lost-items``, ``not-built`` (the revision has no environment); and, which are no failures,
    ``not-supported`` and ``disturbed`` (a measurement that was repeated because the machine did something else)."""
    message: str
    log: str
    """The end of what the run printed."""


class _Failed(Exception):
    """Why a run does not count: reason and sentence."""


@dataclass(frozen=True)
class Measurer:
    """Runs planned runs, one at a time."""

    hyperfine: Hyperfine
    environments: Mapping[str, Environment]
    topology: Topology
    cache: Cache
    watch: Callable[[int], None]
    """Told the process group in flight, and 0 when it is over."""
    time_limit_s: float | None = None
    """Instead of the scenario's own."""
    services_python: Path | None = None
    """What runs the services, where a scenario needs any."""

    def measure(self, planned: PlannedRun) -> Measurement | Outcome:
        """Runs it once. Whatever a workload does is an outcome, never an exception."""
        started_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        where = (planned.label, planned.round, planned.position, started_at)
        environment = self.environments[planned.label]
        if not is_supported(planned.scenario, environment):
            return Outcome(
                *where, NOT_SUPPORTED, "its sources cannot say when to be asked next (bytewax 0.17 and later can)", ""
            )
        folder = self.cache.folder("runs") / str(os.getpid())
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "probes").mkdir(parents=True)
        try:
            with self.services(planned.scenario, folder) as (url, service_metrics):
                before = Reading.now()
                timing = self._run(planned.scenario, environment, folder, url)
                after = Reading.now()
            launched = json.loads((folder / "launched.json").read_text())
            reports = [json.loads(path.read_text()) for path in sorted((folder / "probes").glob("*.json"))]
            _check_complete(reports, planned.scenario.expected_items(self.topology))
            metrics = metrics_of(timing, launched, reports)
            metrics |= service_metrics
            services_cpu_s = sum(value for key, value in service_metrics.items() if key.startswith("service_cpu"))
            metrics |= observed(before, after, metrics["time_cpu"] + services_cpu_s)
            samples = tuple(sample for report in reports for sample in report["samples"])
            metrics |= planned.scenario.family.metrics_of(samples, _totals(reports))
            marks = marks_of(timing, launched) + ((DISTURBED,) if is_disturbed(metrics) else ())
            return Measurement(*where, metrics, marks, samples)
        except _Failed as failed:
            reason, message = failed.args
            log = (tail(folder / "stdout", 10) + "\n" + tail(folder / "stderr", 20)).strip()
            return Outcome(*where, reason, message, log)
        except HarnessError as error:  # a service that does not start
            return Outcome(*where, "failed", str(error).splitlines()[0], str(error))
        finally:
            self.watch(0)
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def services(self, scenario: Scenario, folder: Path) -> Iterator[tuple[str, dict[str, float]]]:
        """Starts what the scenario talks to. Where the scenario's service is, and its metrics, which are there when the block is over. Empty without any."""
        metrics: dict[str, float] = {}
        if scenario.family.services is None:
            yield "", metrics
            return
        assert self.services_python is not None, "prepared for scenarios with services"
        with running(self.services_python, scenario.family.services(scenario.parameters), folder) as up:
            before = up.cpu_s()
            yield up.url, metrics
            metrics |= {f"service_cpu_{name}": used - before[name] for name, used in up.cpu_s().items()}
            calls = up.upstream_calls()
            if calls is not None:
                metrics["upstream_calls"] = calls

    def _run(self, scenario: Scenario, environment: Environment, folder: Path, service_url: str) -> Timing:
        limit = self.time_limit_s or scenario.time_limit_s
        with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
            finished = run(
                self.hyperfine.arguments(command(environment, scenario, self.topology, folder), folder / "export.json"),
                stdout=stdout,
                stderr=stderr,
                time_limit_s=limit,
                env={**run_environment(folder, self.cache), URL_VARIABLE: service_url},
                cwd=folder,
                on_start=self.watch,
            )
        if finished.timed_out:
            raise _Failed(TIMED_OUT, f"still running after {limit:g} s; killed with all its processes")
        if finished.returncode != 0 or not (folder / "export.json").exists():
            raise _Failed("failed", f"hyperfine ended with exit code {finished.returncode}")
        timing = parse_export((folder / "export.json").read_text())
        if timing.exit_code != 0:
            last_words = _complaint(folder / "stderr")
            raise _Failed("failed", f"the dataflow ended with exit code {timing.exit_code}{last_words}")
        if finished.leftovers:
            raise _Failed("failed", f"{finished.leftovers} processes were still running after the dataflow's end; killed")
        return timing


def is_supported(scenario: Scenario, environment: Environment) -> bool:
    """Whether a revision's bytewax has what a scenario needs."""
    return environment.facts.supports_next_awake or not scenario.needs_next_awake


def command(environment: Environment, scenario: Scenario, topology: Topology, folder: Path) -> list[str]:
    """The argument list of one run: our launcher, which starts bytewax's processes and reports to ``folder``."""
    python = str(environment.python)
    module = environment.facts.launcher_module if topology.kind == "launcher" else "bytewax.run"
    bytewax = [python, "-m", module, scenario.import_string, "-w", str(topology.workers)]
    if topology.kind == "launcher":
        bytewax += ["-p", str(topology.processes)]
    started = topology.processes if topology.kind == "cluster" else 1
    return [python, "-I", "-S", str(_LAUNCH), str(folder / "launched.json"), str(started), *bytewax]


def run_environment(folder: Path, cache: Cache) -> dict[str, str]:
    """The environment variables of a run: the user's, without those that would make revisions behave differently."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
    return {
        **kept,
        PROBE_DIRECTORY: str(folder / "probes"),
        assets.FOLDER_VARIABLE: str(assets.folder(cache)),
        # So that a user's dataflow can import our support code too; our own find it beside them.
        "PYTHONPATH": str(DATAFLOWS),
        # One seed for str hashes, so that no run's dictionaries differ from another's by chance.
        "PYTHONHASHSEED": "0",
        "PYTHONPYCACHEPREFIX": str(cache.folder("pycache")),
    }


def _check_complete(reports: Sequence[Mapping[str, Any]], expected: int | None) -> None:
    items_in = sum(report["items_in"] for report in reports)
    items_out = sum(report["items_out"] for report in reports)
    if expected is None:
        if items_in != items_out:
            raise _Failed("lost-items", f"{items_in} items went in, {items_out} came out")
        return
    if not reports or items_in != expected or items_out != expected:
        raise _Failed("lost-items", f"{expected} items expected, {items_in} went in, {items_out} came out")
    # Items are numbered from 0, so their sum is known; it catches one lost and another doubled.
    if any(sum(r[key] for r in reports) != expected * (expected - 1) // 2 for key in ("ident_sum_in", "ident_sum_out")):
        raise _Failed("lost-items", f"{expected} items came out, but not the {expected} that were due")


def _totals(reports: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
    """What the processes of a run add up to."""
    names = {name for report in reports for name in report["totals"]}
    return {name: sum(report["totals"].get(name, 0.0) for report in reports) for name in names}


def _complaint(stderr: Path) -> str:
    """The line of a traceback that says what happened, for the message; the whole is in the log."""
    lines = [line for line in tail(stderr, 40).splitlines() if line.strip() and "Ignoring non-zero exit code" not in line]
    return f": {lines[-1].strip()[:200]}" if lines else ""
