"""A worker file, or a window of a user's dataflow -> its scenario."""

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from waitbench.families.worker import METRICS, OF_SERVICE, metrics_of_service
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.metrics import BY_NAME
from waitbench.model.scenario import (
    COMMAND,
    Family,
    Parameters,
    Samples,
    Scenario,
    Service,
    ServicePlan,
)
from waitbench.model.worker import Condition, ServiceFile, WorkerFile, filled
from waitbench.system.ports import is_listened_to

WINDOW = "window"
MOST_S = 3600.0
NAME = "worker"

_LATENESS = tuple(BY_NAME[name].key for name in ("latency", "latency-p50", "latency-max"))
_KEYS = {
    "ready_s": "time_ready",
    "stop_s": "time_stop",
    "memory_bytes": "memory_proportional",
    "processes_begun": "processes_replaced",
    "service_cpu": "service_cpu_steady",
    "service_requests": "service_requests",
    "service_bytes": "service_bytes",
}


def scenario_of(worker: WorkerFile, *, quick: bool) -> Scenario:
    """The one scenario of a worker: it is started, waits, is woken up, and ends.

    ``quick`` has it judged for as long as the gate does.
    """
    window_s = worker.gate_window_s if quick else worker.window_s
    here = worker.path.parent
    # What it takes to start and to end is nobody's to know before.
    others_s = (worker.settled.seconds or 1.0) + (1.0 if worker.poke else 0.0) + 1.5
    # As long as each step of it may take.
    steps = [worker.ready.within, worker.settled.within, worker.stop_within_s]
    steps += [worker.poke.done.within] if worker.poke else []

    def plan_of(parameters: Parameters) -> ServicePlan:
        filling = {name: str(parameters[name]) for name in worker.parameters}
        return ServicePlan(
            services=tuple(
                _service(name, one, here, filling) for name, one in worker.services.items()
            )
        )

    of_services = [
        metric
        for name, service in worker.services.items()
        for metric in metrics_of_service(name, counts=bool(service.counters))
    ]
    family = Family(
        name=NAME,
        items=lambda _parameters, _topology: None,
        lasts_s=lambda parameters: float(parameters[WINDOW]) + others_s,
        longest_s=lambda parameters: float(parameters[WINDOW]) + others_s + sum(steps),
        metrics=(*METRICS, *of_services),
        metrics_of=lambda samples, totals: {
            **_metrics_of(samples, totals),
            **{
                f"{key}_{name}": float(totals[f"service_{kind}_{name}"])
                for name in worker.services
                for kind, (key, *_) in OF_SERVICE.items()
                if f"service_{kind}_{name}" in totals
            },
        },
        services=plan_of if worker.services else None,
        waits=lambda _parameters: True,
        needs=lambda _parameters: frozenset({COMMAND}),
        lacks={} if worker.poke else dict.fromkeys(_LATENESS, "[poke] in its file says how"),
        portable=True,
        counted_outside=True,
        lengthened=_lengthened,
    )
    parameters: Parameters = {
        "file": worker.path.name,
        "sha256": worker.sha256,
        WINDOW: window_s,
        **worker.parameters,
    }
    return Scenario(
        name=worker.name,
        purpose=f"the worker of {worker.path.name}, while it waits",
        family=family,
        module=worker.path,
        parameters=parameters,
    )


def in_a_window(scenario: Scenario, after_s: float, window_s: float) -> Scenario:
    """A dataflow of the user's that is judged in a window, and ended after it."""
    for name, value in (("--after", after_s), ("--for", window_s)):
        if not 0 < value <= MOST_S:
            raise UsageError(
                f"{name} {value:g}: must be above zero, and at most {MOST_S:g} seconds."
            )
    lasts_s = after_s + window_s + 1.0
    family = Family(
        name=scenario.family.name,
        items=scenario.family.items,
        lasts_s=lambda _parameters: lasts_s,
        longest_s=lambda _parameters: lasts_s + 10.0,
        metrics=METRICS,
        metrics_of=_metrics_of,
        waits=lambda _parameters: True,
        lacks=dict.fromkeys(_LATENESS, "a worker file with [poke] says how"),
        counted_outside=True,
        lengthened=_lengthened,
    )
    parameters = {**scenario.parameters, "after": after_s, WINDOW: window_s}
    return replace(scenario, family=family, parameters=parameters, is_observed=True)


def _lengthened(parameters: Parameters, seconds: float) -> Parameters:
    return {**parameters, WINDOW: max(float(parameters[WINDOW]), seconds)}


def _metrics_of(_samples: Samples, totals: Mapping[str, float]) -> Mapping[str, float]:
    return {key: float(totals[name]) for name, key in _KEYS.items() if name in totals}


def _service(name: str, file: ServiceFile, here: Path, filling: Mapping[str, str]) -> Service:
    def words(given: Sequence[str]) -> Callable[[int, Path, Path], Sequence[str]]:
        return lambda port, folder, python: filled(
            given,
            {
                **filling,
                "port": str(port),
                "folder": str(folder),
                "python": str(python),
                "here": str(here),
            },
        )

    return Service(
        name=name,
        settings={},
        command=words(file.command),
        counting=words(file.counters) if file.counters else None,
        install=file.install,
        is_up=lambda url: _is_up(file.ready, url, here),
        prepare=lambda _folder, _say: _require(name, file),
        ready_within_s=file.ready.within,
    )


def _require(name: str, file: ServiceFile) -> Mapping[str, str]:
    """Raises ``HarnessError`` where a service's program is missing."""
    program = file.command[0]
    if not program.startswith("{") and shutil.which(program) is None:
        remedy = f" This would install it: {file.install}" if file.install else ""
        raise HarnessError(
            f"The service {name} needs the program {program}, which is not here.{remedy}"
        )
    return {}


def _is_up(ready: Condition, url: str, here: Path) -> bool:
    port = int(url.rpartition(":")[2])
    if ready.command:
        words = filled(ready.command, {"port": str(port), "here": str(here)})
        try:
            asked = subprocess.run(words, capture_output=True, timeout=ready.within, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return asked.returncode == 0
    return is_listened_to(port)
