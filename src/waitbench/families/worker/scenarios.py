"""A worker file -> its scenarios."""

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from waitbench.families.worker import (
    METRICS,
    NOT_UNTIL_EXIT,
    OF_SERVICE,
    UNTIL_EXIT,
    metrics_of_service,
    written,
)
from waitbench.model.errors import HarnessError
from waitbench.model.metrics import BY_NAME, NOT_OF_COMMANDS, Metric
from waitbench.model.placeholders import filled
from waitbench.model.scenario import (
    COMMAND,
    Family,
    Parameters,
    Scenario,
    Service,
)
from waitbench.model.worker import Condition, ServiceFile, WorkerFile
from waitbench.system.ports import is_listened_to

WINDOW = "window"
NAME = "worker"
_USUAL_S, _MOST_S = 30.0, 600.0
"""How long what ends by itself usually takes, for the time left, and may take."""

_LATENESS = tuple(BY_NAME[name].key for name in ("latency", "latency-p50", "latency-max"))
_KEYS = {
    "ready_s": "time_ready",
    "stop_s": "time_stop",
    "memory_bytes": "memory_proportional",
    "processes_begun": "processes_replaced",
    "window_s": "time_window",
    "window_cpu_s": "time_cpu_window",
    "service_cpu": "service_cpu_steady",
    "service_requests": "service_requests",
    "service_bytes": "service_bytes",
}


def scenarios_of(worker: WorkerFile, *, quick: bool) -> tuple[Scenario, ...]:
    """Each of the scenarios of a worker, or the one that has the defaults of its parameters.

    It is started, waits, is woken up, and ends; or it ends by itself. ``quick`` has it judged for
    as long as the gate does.
    """
    family = _family(worker)
    named = {f"{worker.name}-{name}": values for name, values in worker.scenarios.items()}
    return tuple(
        Scenario(
            name=name,
            purpose=f"the worker of {worker.path.name}, {_doing(worker)}",
            family=family,
            module=worker.path,
            parameters={
                "file": worker.path.name,
                "sha256": worker.sha256,
                **_window(worker, quick=quick),
                **worker.parameters,
                **values,
            },
        )
        for name, values in (named or {worker.name: {}}).items()
    )


def _doing(worker: WorkerFile) -> str:
    return "until it ends" if worker.ends_by_itself else "while it waits"


def _window(worker: WorkerFile, *, quick: bool) -> Parameters:
    if isinstance(worker.window_s, str):
        return {}
    return {
        WINDOW: (worker.gate_window_s or min(worker.window_s, 2.0)) if quick else worker.window_s
    }


def metrics_of_worker(worker: WorkerFile) -> tuple[Metric, ...]:
    """What its runs may give besides what those of all workers do."""
    own = [one for name, file in worker.metrics.items() for one in written.metrics_of(name, file)]
    of_services = [
        metric
        for name, service in worker.services.items()
        for metric in metrics_of_service(name, counts=bool(service.counters))
    ]
    return (*of_services, *own)


def _family(worker: WorkerFile) -> Family:
    waits = not worker.ends_by_itself
    # What it takes to start and to end is nobody's to know before.
    others_s = (worker.settled_when.seconds or 1.0) + (1.0 if worker.poke else 0.0) + 1.5
    # As long as each step of it may take.
    steps = [worker.ready_when.within, worker.settled_when.within, worker.stop_within_s]
    steps += [worker.poke.done.within] if worker.poke else []
    return Family(
        name=NAME,
        items=lambda _parameters, _topology: None,
        lasts_s=lambda parameters: float(parameters.get(WINDOW, _USUAL_S)) + others_s,
        longest_s=lambda parameters: float(parameters.get(WINDOW, _MOST_S)) + others_s + sum(steps),
        metrics=(*(METRICS if waits else UNTIL_EXIT), *metrics_of_worker(worker)),
        metrics_of=lambda totals: {
            **_metrics_of(totals),
            **{
                f"{key}_{name}": float(totals[f"service_{kind}_{name}"])
                for name in worker.services
                for kind, (key, *_) in OF_SERVICE.items()
                if f"service_{kind}_{name}" in totals
            },
        },
        metrics_written=(lambda paths: written.read(paths, worker.metrics))
        if worker.metrics
        else None,
        services=lambda parameters: _services(worker, parameters),
        waits=lambda _parameters: waits,
        works=lambda _parameters: not waits,
        needs=lambda _parameters: frozenset({COMMAND}),
        lacks=dict.fromkeys(_LATENESS, "[poke] in its file says how")
        if waits and not worker.poke
        else {},
        without=NOT_OF_COMMANDS if waits else NOT_UNTIL_EXIT,
        lengthened=_lengthened,
    )


def _services(worker: WorkerFile, parameters: Parameters) -> Sequence[Service]:
    """The services of a run; each may be told the ports of those before it."""
    filling = {name: str(parameters[name]) for name in worker.parameters}
    here = worker.path.parent
    return [_service(name, one, here, filling) for name, one in worker.services.items()]


def _lengthened(parameters: Parameters, seconds: float) -> Parameters:
    if WINDOW not in parameters:
        return parameters
    return {**parameters, WINDOW: max(float(parameters[WINDOW]), seconds)}


def _metrics_of(totals: Mapping[str, float]) -> Mapping[str, float]:
    return {key: float(totals[name]) for name, key in _KEYS.items() if name in totals}


def _service(name: str, file: ServiceFile, here: Path, filling: dict[str, str]) -> Service:
    def words(given: Sequence[str]) -> Callable[[int, Path, Path], Sequence[str]]:
        def found(port: int, folder: Path, python: Path) -> Sequence[str]:
            # For those that are started after it.
            filling.update({f"{name}.port": str(port), f"{name}.folder": str(folder)})
            own = {"port": port, "folder": folder, "python": python, "here": here}
            return filled(given, {**filling, **{key: str(value) for key, value in own.items()}})

        return found

    return Service(
        name=name,
        command=words(file.command),
        counting=words(file.counters) if file.counters else None,
        is_up=lambda port: _is_up(file.ready, port, here),
        require=lambda: _require(name, file),
        ready_within_s=file.ready.within,
    )


def _require(name: str, file: ServiceFile) -> None:
    """Raises ``HarnessError`` where a service's program is missing."""
    program = file.command[0]
    if not program.startswith("{") and shutil.which(program) is None:
        remedy = f" This would install it: {file.install}" if file.install else ""
        raise HarnessError(
            f"The service {name} needs the program {program}, which is not here.{remedy}"
        )


def _is_up(ready: Condition, port: int, here: Path) -> bool:
    if ready.command:
        words = filled(ready.command, {"port": str(port), "here": str(here)})
        try:
            asked = subprocess.run(words, capture_output=True, timeout=ready.within, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return asked.returncode == 0
    return is_listened_to(port)
