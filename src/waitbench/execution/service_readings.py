"""Readings of the services of a worker: their CPU, and the requests that reach them.

Launchers import this: standard library only.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from waitbench.execution.launch_report import Failure
from waitbench.execution.service_launch import request
from waitbench.model.launch import ServiceConfig
from waitbench.system.tcp import Connections, Traffic

_MAX_COUNT = 1e14
_COUNTED_WITHIN_S = 10.0
_Counts = Mapping[str, float]


class ServiceReadings:
    """The services of one run, read at both ends of its window."""

    def __init__(
        self,
        services: Mapping[str, ServiceConfig],
        run: Callable[[Sequence[str], float], tuple[int | None, str]],
    ) -> None:
        """Takes running services by name, and ``ConditionLaunch.run_command``."""
        self._services = services
        self._run = run
        self.stopped = set[str]()
        """The names of services that an action has stopped."""
        self._connections: Connections | None = None
        """The kernel's counts of requests to services whose tables have no ``counters``."""
        self._first: _Counts = {}
        self._added: _Counts = {}
        """The rises of counts that a reading itself causes."""

    def order(self, name: str, kind: str) -> None:
        """Stops or starts a service. Raises ``OSError`` if its launcher has ended."""
        request(self._services[name], kind)
        self.stopped ^= {name}

    def begin(self) -> None:
        """Reads twice: the difference is the rise that a reading causes. Raises ``Failure``."""
        services = (service for name, service in self._services.items() if name not in self.stopped)
        if ports := [service.port for service in services if not service.counters]:
            with suppress(OSError):
                self._connections = Connections(ports)
        # Both use one reading of the kernel's counters, as these readings are not requests.
        traffic = self._traffic()
        before, self._first = self._read(traffic), self._read(traffic)
        self._added = {key: self._first.get(key, 0.0) - count for key, count in before.items()}

    def begin_again(self) -> None:
        """Moves the beginning of the window to now."""
        self._first = self._read(self._traffic())

    def rises(self) -> dict[str, float]:
        """Returns the rise of each known count since the beginning, by key of metric."""
        return {
            f"service_{key}": max(
                0.0, count - self._first.get(key, 0.0) - self._added.get(key, 0.0)
            )
            for key, count in self._read(self._traffic()).items()
        }

    def _traffic(self) -> Mapping[int, Traffic]:
        """Returns the traffic of each port; empty if the kernel does not count all of it."""
        with suppress(OSError):
            return self._connections.reading() if self._connections else {}
        return {}

    def _read(self, traffic: Mapping[int, Traffic]) -> _Counts:
        """Sums the CPU time of all services, and the requests to running ones.

        A service's ``counters`` command, or else the kernel, counts requests. If one service lacks
        a count, the sum is unknown.
        """
        cpu_s, counts = 0.0, list[_Counts]()
        for name, service in self._services.items():
            try:
                cpu_s += request(service)
            except OSError as error:
                raise Failure(f"the service {name} ended during the run") from error
            if name in self.stopped:
                continue
            seen = traffic.get(service.port)
            if service.counters:
                counts.append(self._printed_counts(name, service.counters))
            else:
                counts.append({"requests": seen.segments, "bytes": seen.bytes} if seen else {})
        keys = set[str]().union(*counts).intersection(*counts)
        totals = {key: sum(count[key] for count in counts) for key in keys}
        return totals if math.isnan(cpu_s) else {"cpu_idle": cpu_s, **totals}

    def _printed_counts(self, name: str, command: Sequence[str]) -> _Counts:
        """Runs a service's command; sums the numbers in its output by name. Raises ``Failure``."""
        code, output = self._run(command, _COUNTED_WITHIN_S)
        if code != 0:
            how = "took too long" if code is None else f"ended with exit code {code}"
            raise Failure(f"the command that counts for {name} {how}")
        counts = defaultdict[str, float](float)
        for line in output.splitlines():
            with suppress(ValueError):
                key, number = line.split()
                # Also rejects NaN and infinity, from which no rise can be computed.
                if not 0 <= (value := float(number)) < _MAX_COUNT:
                    raise Failure(f"the command that counts for {name} printed '{key} {value}'")
                counts[key] += value
        return counts
