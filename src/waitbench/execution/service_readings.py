"""Readings of the services of a worker: their CPU, and the requests that reach them.

Launchers import this: standard library only.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from waitbench.execution.launch_report import Failure
from waitbench.execution.service_launch import request
from waitbench.model.launch import RunningService
from waitbench.system.tcp import Connections, Traffic

_MAX_COUNT = 1e14
_COUNTED_WITHIN_S = 10.0
_Counts = Mapping[str, float]


class ServiceReadings:
    """The services of one run, read at the begin and at the end of its window."""

    def __init__(
        self,
        services: Mapping[str, RunningService],
        run: Callable[[Sequence[str], float], tuple[int | None, str]],
    ) -> None:
        """``run`` returns the exit code of a command, ``None`` if it took too long, and its
        output."""
        self._services = services
        self._run = run
        self.stopped = set[str]()
        self._connections: Connections | None = None
        """Counts requests to services without counters, where the kernel does."""
        self._first: _Counts = {}
        self._added: _Counts = {}
        """The counts that a reading itself adds."""

    def order(self, name: str, kind: str) -> None:
        """Stops or starts a service. Raises ``OSError`` if its launcher has ended."""
        request(self._services[name], kind)
        self.stopped ^= {name}

    def begin(self) -> None:
        """Reads twice, to know what a reading adds. Raises ``Failure``."""
        services = (service for name, service in self._services.items() if name not in self.stopped)
        if ports := [service.config.port for service in services if not service.config.counters]:
            with suppress(OSError):
                self._connections = Connections(ports)
        # One reading of the kernel's counters for both: its readings are not requests.
        traffic = self._traffic()
        once, self._first = self._read(traffic), self._read(traffic)
        self._added = {key: self._first.get(key, 0.0) - count for key, count in once.items()}

    def begin_again(self) -> None:
        """Takes this moment for the begin, as ``begin`` was early."""
        self._first = self._read(self._traffic())

    def rises(self) -> dict[str, float]:
        """Returns the rise of each known count since the begin, by key of metric."""
        return {
            f"service_{key}": max(
                0.0, count - self._first.get(key, 0.0) - self._added.get(key, 0.0)
            )
            for key, count in self._read(self._traffic()).items()
        }

    def _traffic(self) -> Mapping[int, Traffic]:
        """Returns the traffic of each port; empty where the kernel does not tell all of it."""
        with suppress(OSError):
            return self._connections.reading() if self._connections else {}
        return {}

    def _read(self, traffic: Mapping[int, Traffic]) -> _Counts:
        """Sums the services' CPU time, and the requests to those that run.

        Requests come from their own commands, or else from the kernel; a count that one service
        lacks is unknown for all.
        """
        cpu_s, counts = 0.0, list[_Counts]()
        for name, service in self._services.items():
            try:
                cpu_s += request(service)
            except OSError as error:
                raise Failure(f"the service {name} ended during the run") from error
            if name in self.stopped:
                continue
            seen = traffic.get(service.config.port)
            if service.config.counters:
                counts.append(self._declared(name, service.config.counters))
            else:
                counts.append({"requests": seen.segments, "bytes": seen.bytes} if seen else {})
        keys = set[str]().union(*counts).intersection(*counts)
        totals = {key: sum(count[key] for count in counts) for key in keys}
        return totals if math.isnan(cpu_s) else {"cpu_idle": cpu_s, **totals}

    def _declared(self, name: str, command: Sequence[str]) -> _Counts:
        code, output = self._run(command, _COUNTED_WITHIN_S)
        if code != 0:
            how = "took too long" if code is None else f"ended with exit code {code}"
            raise Failure(f"the command that counts for {name} {how}")
        counts = defaultdict[str, float](float)
        for line in output.splitlines():
            with suppress(ValueError):
                key, number = line.split()
                # No rise could be computed from such a value.
                if not 0 <= (value := float(number)) < _MAX_COUNT:
                    raise Failure(f"the command that counts for {name} printed '{key} {value}'")
                counts[key] += value
        return counts
