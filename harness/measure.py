"""One planned run -> a Measurement, or an Outcome that says why there is none."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from harness.environments import Environment
from harness.hyperfine import Hyperfine, Timing, parse_export
from harness.places import Cache
from harness.plan import PlannedRun
from harness.processes import run, tail
from harness.scenarios import Scenario, Topology

PROBE_DIRECTORY = "BENCH_PROBE_DIR"
"""Environment variable by which a workload learns where to report; see dataflows/support/probe.py."""

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


@dataclass(frozen=True)
class Outcome:
    """A run that gave no measurement."""

    label: str
    round: int
    position: int
    started_at: str
    reason: str
    """``failed``, ``timed-out`` or ``lost-items``; ``not-built`` where the revision has no environment."""
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

    def measure(self, planned: PlannedRun) -> Measurement | Outcome:
        """Runs it once. Whatever a workload does is an outcome, never an exception."""
        folder = self.cache.folder("runs") / str(os.getpid())
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "probes").mkdir(parents=True)
        started_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        try:
            timing = self._run(planned, folder)
            reports = [json.loads(path.read_text()) for path in sorted((folder / "probes").glob("*.json"))]
            _check_complete(reports, planned.scenario.expected_items(self.topology))
        except _Failed as failed:
            reason, message = failed.args
            log = (tail(folder / "stdout", 10) + "\n" + tail(folder / "stderr", 20)).strip()
            return Outcome(planned.label, planned.round, planned.position, started_at, reason, message, log)
        finally:
            self.watch(0)
        metrics = {**_from_timing(timing), **_from_reports(reports)}
        return Measurement(planned.label, planned.round, planned.position, started_at, metrics)

    def _run(self, planned: PlannedRun, folder: Path) -> Timing:
        environment = self.environments[planned.label]
        limit = self.time_limit_s or planned.scenario.time_limit_s
        with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
            finished = run(
                self.hyperfine.arguments(command(environment, planned.scenario, self.topology), folder / "export.json"),
                stdout=stdout,
                stderr=stderr,
                time_limit_s=limit,
                env=_run_environment(folder, self.cache),
                cwd=folder,
                on_start=self.watch,
            )
        if finished.timed_out:
            raise _Failed("timed-out", f"still running after {limit:g} s; killed with all its processes")
        if finished.returncode != 0 or not (folder / "export.json").exists():
            raise _Failed("failed", f"hyperfine ended with exit code {finished.returncode}")
        timing = parse_export((folder / "export.json").read_text())
        if timing.exit_code != 0:
            raise _Failed("failed", f"the dataflow ended with exit code {timing.exit_code}")
        if finished.leftovers:
            raise _Failed("failed", f"{finished.leftovers} processes were still running after the dataflow's end; killed")
        return timing


def command(environment: Environment, scenario: Scenario, topology: Topology) -> list[str]:
    """The argument list of one run."""
    python, workers = str(environment.python), str(topology.workers)
    if topology.kind == "single":
        return [python, "-m", "bytewax.run", scenario.import_string, "-w", workers]
    module = environment.facts.launcher_module
    return [python, "-m", module, scenario.import_string, "-p", str(topology.processes), "-w", workers]


def _run_environment(folder: Path, cache: Cache) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
    return {
        **kept,
        PROBE_DIRECTORY: str(folder / "probes"),
        # One seed for str hashes, so that no run's dictionaries differ from another's by chance.
        "PYTHONHASHSEED": "0",
        "PYTHONPYCACHEPREFIX": str(cache.folder("pycache")),
    }


def _check_complete(reports: list[dict[str, Any]], expected: int) -> None:
    items_in = sum(report["items_in"] for report in reports)
    items_out = sum(report["items_out"] for report in reports)
    if items_in != expected or items_out != expected:
        raise _Failed("lost-items", f"{expected} items expected, {items_in} went in, {items_out} came out")
    # Items are numbered from 0, so their sum is known; it catches one lost and another doubled.
    if any(sum(r[key] for r in reports) != expected * (expected - 1) // 2 for key in ("ident_sum_in", "ident_sum_out")):
        raise _Failed("lost-items", f"{expected} items came out, but not the {expected} that were due")


def _from_timing(timing: Timing) -> dict[str, float]:
    metrics = {
        "time_wall_clock": timing.real_s,
        "time_user": timing.user_s,
        "time_system": timing.system_s,
        "time_cpu": timing.user_s + timing.system_s,
    }
    if timing.rss_bytes is not None:
        metrics["memory_peak_resident"] = timing.rss_bytes
    return metrics


def _from_reports(reports: list[dict[str, Any]]) -> dict[str, float]:
    return {
        "polls": sum(report["polls"] for report in reports),
        "items_out": sum(report["items_out"] for report in reports),
    }
