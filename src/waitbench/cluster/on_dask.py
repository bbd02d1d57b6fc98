"""Units on the workers of a dask scheduler, and which of them does which next.

See the package for the seam, and ``dask_hosts`` for the other end.
"""

import queue
import uuid
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from waitbench.cluster import MACHINE_REFUSED, MOST_ATTEMPTS, REFUSED, Listener, Machine, Unit
from waitbench.cluster.dask_hosts import (
    ABOUT,
    MACHINE,
    as_it_is,
    carry_out,
    distributed,
    require_certificate,
)
from waitbench.model.errors import HarnessError
from waitbench.system.installation import called

_CLOSES_WITHIN_S = 2
_GATHERS_WITHIN_S = 120
_LOOKS_S = 2.0
"""How often to look whether the scheduler is still there, where nothing is heard."""
_ASKS_EACH_S = 15.0
_SILENT_AFTER_S = 75.0
"""Workers say every 30 s that they are there (``dask_hosts``)."""
_GRACE_S = 30.0
"""So long somebody may still come who can do what is left."""
_ALL = "all"
"""The topic on which a scheduler tells who comes and goes."""
_CONNECTS_WITHIN_S = 5


class Dispatch:
    """The units of a comparison, and what became of them so far."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._pending = list(units)
        self._running: dict[str, tuple[Unit, Machine]] = {}
        self._lost: dict[str, int] = {}
        self._refused: dict[str, dict[str, str]] = {}
        self._unfit: dict[str, str] = {}
        """Why machines can do no unit at all, by name."""
        self._failures: dict[str, str] = {}

    @property
    def failures(self) -> Mapping[str, str]:
        """Why units could not be done, by name."""
        return self._failures

    @property
    def is_over(self) -> bool:
        return not self._pending and not self._running

    def next_for(self, machines: Collection[Machine]) -> Iterator[tuple[Unit, Machine]]:
        """What is to be begun now, each on a machine that is free; it counts as begun."""
        busy = {machine.address for _, machine in self._running.values()}
        for machine in machines:
            unit = next((one for one in self._pending if self._may(one, machine)), None)
            if machine.address not in busy and unit is not None:
                self._pending.remove(unit)
                self._running[unit.name] = unit, machine
                yield unit, machine

    def is_stuck(self, machines: Collection[Machine]) -> bool:
        """Whether there is work, and nobody who does any or may do any."""
        possible = any(self._may(unit, one) for unit in self._pending for one in machines)
        return bool(self._pending) and not self._running and not possible

    def finished(self, unit: Unit) -> None:
        del self._running[unit.name]

    def lost(self, unit: Unit) -> None:
        """Its machine is gone, or whatever ran there."""
        _, machine = self._running.pop(unit.name)
        self._lost[unit.name] = self._lost.get(unit.name, 0) + 1
        if self._lost[unit.name] < MOST_ATTEMPTS:
            self._pending.insert(0, unit)
        else:
            self._failures[unit.name] = (
                f"the nodes of {MOST_ATTEMPTS} attempts were lost, the last on {machine.name}"
            )

    def refused(self, unit: Unit, why: str, *, everything: bool = False) -> None:
        """Its machine cannot do it, or cannot do any."""
        _, machine = self._running.pop(unit.name)
        refusals = self._unfit if everything else self._refused.setdefault(unit.name, {})
        refusals[machine.name] = why
        self._pending.append(unit)

    def give_up(self) -> None:
        """Nobody will come who could do what is left."""
        for unit in self._pending:
            refusals = {**self._refused.get(unit.name, {}), **self._unfit}
            said = "; ".join(
                f"{name}: {why}" for name, why in refusals.items() if unit.machine in (None, name)
            )
            self._failures[unit.name] = said or f"there is no node {unit.machine or ''}".rstrip()
        self._pending.clear()

    def _may(self, unit: Unit, machine: Machine) -> bool:
        refused = machine.name in {**self._refused.get(unit.name, {}), **self._unfit}
        return unit.machine in (None, machine.name) and not refused


class DaskMachines:
    """The machines of one scheduler. To be closed."""

    def __init__(self, address: str) -> None:
        """Raises ``HarnessError`` where no scheduler answers, or it refuses us."""
        self.address = address
        self._client = connected(address)

    def close(self) -> None:
        """Leaves: whatever is still done for us ends."""
        self._client.close(timeout=_CLOSES_WITHIN_S)

    def all(self) -> Sequence[Machine]:
        """See ``Machines``."""
        found = tuple(known(self._client).values())
        if not found:
            raise HarnessError(
                f"The scheduler at {self.address} has no node. Start one on each "
                f"machine: {called('node')} {self.address}"
            )
        return found

    def wait_for(self, number: int) -> None:
        """Blocks until so many workers are there. Raises ``HarnessError`` if they do not come."""
        try:
            self._client.wait_for_workers(number, timeout=_GRACE_S)
        except TimeoutError as error:
            raise HarnessError(f"No {number} nodes came to {self.address}.") from error

    def carry_out(
        self, units: Sequence[Unit], wheels: Mapping[str, bytes], listener: Listener
    ) -> Mapping[str, str]:
        """See ``Machines``."""
        work = _Work(self._client, self.address, listener, Dispatch(units))
        return work.carry_out(wheels)


@dataclass
class _Attempt:
    """A unit that a machine is doing."""

    unit: Unit
    machine: Machine
    key: str
    future: Any = None

    @property
    def topic(self) -> str:
        """Where it tells how far it is: one a machine, so that a scheduler keeps few."""
        return f"waitbench-{self.machine.address}"


class _Work:
    """Units being carried out. Everything happens in the thread that waits for them."""

    def __init__(self, client: Any, address: str, listener: Listener, dispatch: Dispatch) -> None:
        self._client = client
        self._address = address
        self._listener = listener
        self._dispatch = dispatch
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._machines: dict[str, Machine] = {}
        self._attempts: dict[str, _Attempt] = {}
        self._wheels: dict[str, Any] = {}
        self._silence = Silence(_SILENT_AFTER_S)
        self._asked_s = monotonic()

    def carry_out(self, wheels: Mapping[str, bytes]) -> Mapping[str, str]:
        """Why units could not be done, by name."""
        for digest, content in wheels.items():
            self._wheels[digest] = self._client.submit(as_it_is, content, key=f"wheel-{digest}")
        self._client.subscribe_topic(_ALL, lambda event: self._later(self._changed, event[1]))
        self._look()
        stuck_since = monotonic()
        while not (self._dispatch.is_over or self._listener.is_over()):
            for unit, machine in self._dispatch.next_for(self._machines.values()):
                self._begin(unit, machine)
            if not self._dispatch.is_stuck(self._machines.values()):
                stuck_since = monotonic()
            elif monotonic() - stuck_since > _GRACE_S:
                self._dispatch.give_up()
                break
            self._handle_next()
            self._look_for_silence()
        for attempt in list(self._attempts.values()):
            self._forget(attempt)
        return self._dispatch.failures

    def _later(self, what: Callable[..., None], *about: object) -> None:
        """Has our own thread do it. Called in those of dask."""
        self._events.put(partial(what, *about))

    def _handle_next(self) -> None:
        try:
            handle = self._events.get(timeout=_LOOKS_S)
        except queue.Empty:
            handle = self._require_scheduler
        handle()

    def _look_for_silence(self) -> None:
        """Says who has not been heard of for long, such as a worker that was stopped."""
        if monotonic() - self._asked_s < _ASKS_EACH_S:
            return
        self._asked_s = monotonic()
        at_work = {attempt.machine.name for attempt in self._attempts.values()}
        with suppress(OSError):  # a scheduler that is gone is noticed elsewhere
            for change in self._silence.look(beats(self._client), monotonic()):
                if change.name in at_work:
                    self._listener.silent(change.name, change.silent_s)

    def _begin(self, unit: Unit, machine: Machine) -> None:
        attempt = _Attempt(unit, machine, key=f"unit-{uuid.uuid4().hex}")
        self._attempts[attempt.key] = attempt
        self._listener.begun(unit, machine)
        self._client.subscribe_topic(attempt.topic, lambda event: self._later(self._told, event[1]))
        attempt.future = self._client.submit(
            carry_out,
            attempt.key,
            attempt.topic,
            unit.order,
            [self._wheels[digest] for digest in unit.wheels],
            key=attempt.key,
            workers=[machine.address],
            resources={MACHINE: 1},
            pure=False,
        )
        attempt.future.add_done_callback(lambda _: self._later(self._done, attempt.key))

    def _told(self, message: Mapping[str, str]) -> None:
        attempt = self._attempts.get(message["key"])
        if attempt is not None:  # not what another client's unit says, or one that was lost
            self._listener.told(attempt.unit, attempt.machine, message["line"])

    def _done(self, key: str) -> None:
        """The future of an attempt has a result, or will have none."""
        if key not in self._attempts:
            return
        attempt = self._attempts[key]
        try:
            ended = attempt.future.result(timeout=_GATHERS_WITHIN_S)
        except (Exception, CancelledError) as error:
            self._require_scheduler()
            self._lose(attempt, f"{type(error).__name__}: {error}")
            self._look()  # it may be gone, and must not get the next one
            return
        if ended["code"] not in (0, *REFUSED, MACHINE_REFUSED):
            self._lose(attempt, f"it ended with {ended['code']}: {ended['said']}")
            return
        self._forget(attempt)
        if ended["code"] == 0:
            self._dispatch.finished(attempt.unit)
            self._listener.finished(attempt.unit, ended["files"])
        else:
            everything = ended["code"] == MACHINE_REFUSED
            self._dispatch.refused(attempt.unit, ended["said"], everything=everything)
            self._listener.lost(attempt.unit, f"{attempt.machine.name}: {ended['said']}")

    def _changed(self, message: Mapping[str, Any]) -> None:
        """Somebody has come or gone."""
        if message.get("action") not in ("add-worker", "remove-worker"):
            return
        self._require_scheduler()
        for attempt in list(self._attempts.values()):
            if attempt.machine.address == message["worker"]:
                self._lose(attempt, "its worker is gone")
        self._look()

    def _look(self) -> None:
        """Sees who is there."""
        found = known(self._client)
        self._machines = {
            address: machine
            for address, machine in found.items()
            if address in self._machines or self._listener.accepts(machine)
        }

    def _lose(self, attempt: _Attempt, why: str) -> None:
        self._forget(attempt)
        self._dispatch.lost(attempt.unit)
        self._listener.lost(attempt.unit, f"{attempt.machine.name}: {why}")

    def _forget(self, attempt: _Attempt) -> None:
        """Lets a worker forget what it has of an attempt, and end it if it still runs."""
        del self._attempts[attempt.key]
        attempt.future.release()
        self._client.unsubscribe_topic(attempt.topic)

    def _require_scheduler(self) -> None:
        """Raises ``HarnessError`` where the scheduler is gone."""
        lost = any(
            one.future is not None and one.future.cancelled() for one in self._attempts.values()
        )
        if self._client.status != "running" or lost:
            raise HarnessError(f"The scheduler at {self._address} is gone.")


def connected(address: str) -> Any:
    """A client. Raises ``HarnessError``, or ``UsageError`` where it lacks a certificate."""
    if address.startswith("tls:"):
        require_certificate("client")
    # It would tell of versions of packages; those of waitbench's own lock are compared elsewhere.
    warnings.filterwarnings("ignore", module="distributed")
    try:
        return distributed.Client(address, timeout=_CONNECTS_WITHIN_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        hint = (
            ""
            if address.startswith("tls:")
            else (" One that asks for certificates is named tls://HOST:PORT.")
        )
        raise HarnessError(
            f"No scheduler can be talked to at {address}: {_first_line(error)}.{hint}"
        ) from error


def known(client: Any) -> dict[str, Machine]:
    """The workers of waitbench that there are, by address. Raises ``HarnessError``."""
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except OSError as error:
        raise HarnessError(f"The scheduler does not answer: {_first_line(error)}.") from error
    return {
        address: Machine(
            name=str(worker["name"]),
            address=address,
            version=worker[ABOUT]["version"],
            host=worker[ABOUT]["host"],
            instruments=frozenset(worker[ABOUT]["instruments"]),
        )
        for address, worker in workers.items()
        if ABOUT in worker and MACHINE in worker["resources"]
    }


def beats(client: Any) -> dict[str, object]:
    """When each worker was heard last, by its name, by the scheduler's clock."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return {str(worker["name"]): worker.get("last_seen") for worker in workers}


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A machine that has fallen silent, or answers again."""

    name: str
    silent_s: float
    """For how long it has not answered; 0 where it answers again."""


@dataclass
class Silence:
    """When each machine was heard last, by marks of its that change whenever it is alive."""

    patience_s: float
    """Who is heard of no later than this is not silent."""
    _heard: dict[str, tuple[object, float]] = field(default_factory=dict)
    """The last mark of each, and when it was new."""
    _silent: set[str] = field(default_factory=set)

    def look(self, marks: Mapping[str, object], now_s: float) -> Sequence[Change]:
        """What has changed since the last look; ``now_s`` is of a clock that never goes back.

        Marks are compared with those of before only: they may be of another machine's clock.
        """
        changes = []
        for name, mark in marks.items():
            before, since_s = self._heard.get(name, (None, now_s))
            if name not in self._heard or mark != before:
                self._heard[name] = mark, now_s
                if name in self._silent:
                    changes.append(Change(name=name, silent_s=0.0))
                self._silent.discard(name)
            elif now_s - since_s > self.patience_s and name not in self._silent:
                self._silent.add(name)
                changes.append(Change(name=name, silent_s=now_s - since_s))
        return changes
