"""One comparison on many machines: each scenario, with all its revisions, on one of them.

What is validated, built, judged and said is that of a comparison on this machine. ``--on`` names a
scheduler, or so many workers on this machine, for trying.
"""

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from waitbench.cluster import Machine, Machines
from waitbench.cluster.collecting import Listening
from waitbench.cluster.everywhere import Everywhere
from waitbench.cluster.orders import Order, Wheels, build, unit_of
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.metrics import SAMPLED, SYSTEM_CALLS, Instruments
from waitbench.pipeline.comparing import Comparing
from waitbench.pipeline.request import Request, ValidRequest
from waitbench.pipeline.resuming import kept_in
from waitbench.reporting.progress import MachinesProgress, PreparationLog
from waitbench.system import installation, variables

_LOCAL = re.compile(r"local:([1-9][0-9]{0,2})")
_ADDRESS = re.compile(r"(dask|tcp|tls)://([^/\s]+:[0-9]{1,5})/?")
_ENDS_WITHIN_S = 3.0


@dataclass(frozen=True, kw_only=True)
class Spreading:
    """A comparison, and where its units are measured."""

    comparing: Comparing
    on: str
    """As typed: ``dask://HOST:PORT``, ``tls://HOST:PORT`` or ``local:N``."""
    everywhere: bool
    """Whether every machine measures all of it."""

    def compare(self, request: Request) -> ExitCode:
        """The main job. Raises ``HarnessError``."""
        self._validate(request)
        progress = self.comparing.output.progress
        say = PreparationLog(progress, quiet=self.comparing.output.quiet)
        with reached(self.on, say.about) as machines:
            there = self._fitting(machines)
            comparing, valid = self.comparing.fitting(request, say, _shared(there))
            spread = replace(self, comparing=comparing)
            with comparing.prepared_in_folder(
                valid, lambda: build(valid, progress, say), self._claim
            ) as ((built, wheels), folder):
                return spread._carry_out(request, built, machines, there, wheels, folder)

    def _fitting(self, machines: Machines) -> Sequence[Machine]:
        """The machines. Raises ``UsageError`` where this comparison cannot be measured by them."""
        there = machines.all()
        for machine in there:
            _require_same_version(machine)
        if self.everywhere and len(there) < 2:
            raise UsageError(
                f"--everywhere is for several machines, and {there[0].name} is the only one. Start "
                "another node, or leave it out."
            )
        return there

    def _claim(self, labels: Sequence[str]) -> Path:
        """The folder of the results. Of a comparison on each machine there is one in it for each.

        Only a named one of these can be resumed: it says nothing of itself.
        """
        comparing = self.comparing
        if self.everywhere and comparing.resume:
            if comparing.results is None:
                raise UsageError("--everywhere with --resume: name its folder with --results.")
            return comparing.results
        return comparing.reserve_folder(labels)

    def _validate(self, request: Request) -> None:
        self.comparing.validate(request)
        if request.dataflow is not None:
            raise UsageError(
                "--dataflow with --on: your file, and what it needs, are on this machine only. "
                "Measure it here."
            )
        if request.shard is not None:
            raise UsageError("--shard with --on: name one of them, --on makes shares of its own.")

    def _carry_out(
        self,
        request: Request,
        valid: ValidRequest,
        machines: Machines,
        there: Sequence[Machine],
        wheels: Wheels,
        folder: Path,
    ) -> ExitCode:
        output = self.comparing.output
        places: dict[str | None, Path] = {None: folder}
        if self.everywhere:
            places = {one.name: folder / _safe(one.name) for one in there}
        measuring = replace(self.comparing.measuring, sharing=len(places))
        with MachinesProgress(output.progress, quiet=output.quiet) as bar:
            spread = Listening(
                valid=valid,
                measuring=measuring,
                concluding=self.comparing.concluding(valid),
                progress=bar,
                scenarios={one.name: one for one in valid.scenarios},
                places=places,
            )
            budget = _budgets(valid, self.comparing.gate.budget_s, there, self.everywhere)

            def order(name: str) -> str:
                one = Order(
                    request=unit_of(valid, name),
                    measuring=measuring,
                    budget_s=budget(name),
                    passed_variables=request.passed_variables,
                )
                return one.encode(wheels.by_label)

            units = spread.units(order, tuple(wheels.contents), resume=self.comparing.resume)
            try:
                failures = machines.carry_out(units, wheels.contents, spread) if units else {}
            except UsageError:
                raise
            except HarnessError as error:
                raise HarnessError(" ".join((str(error), *_if_kept(folder)))) from error
            if failures:
                lines = ("These could not be measured:", *_reasons(failures), *_if_kept(folder))
                raise HarnessError("\n".join(lines))
            records = spread.merge()
        if self.everywhere:
            several = Everywhere(results=folder, is_held=True, output=output)
            return several.report(list(places.values()))
        return self.comparing.concluding(valid).conclude(records[None], folder)


def _if_kept(folder: Path) -> Sequence[str]:
    """Where to go on, if anything is in the folder: an empty one is taken away."""
    return (kept_in(folder),) if any(path.is_file() for path in folder.rglob("*")) else ()


def _reasons(failures: Mapping[str, str]) -> Sequence[str]:
    """Why units could not be done, a line each reason: what a machine lacks, all of its lack."""
    names: dict[str, list[str]] = {}
    for name, why in failures.items():
        names.setdefault(why, []).append(name)
    return [f"{', '.join(several)}: {why}" for why, several in names.items()]


def _require_same_version(machine: Machine) -> None:
    if machine.version != installation.version():
        raise UsageError(
            f"The node {machine.name} has waitbench {machine.version}, and this is "
            f"{installation.version()}: their figures may not be compared. Have the same commit on "
            "both, and start the node again."
        )


def _shared(machines: Sequence[Machine]) -> Instruments:
    """The instruments that all machines have: what is asked must be answered everywhere."""
    keys = frozenset.intersection(*(one.instruments for one in machines))
    return Instruments(tracepoint=0 if SYSTEM_CALLS in keys else None, sampler=SAMPLED in keys)


def _budgets(
    valid: ValidRequest, budget_s: float, machines: Sequence[Machine], everywhere: bool
) -> Callable[[str], float]:
    """What each scenario may take: its part of what all hosts have together, by its length.

    No more than the whole budget: that is how long the user wants to wait.
    """
    expected_s = {one.name: one.expected_s for one in valid.scenarios}
    hosts = 1 if everywhere else len({machine.host for machine in machines})
    total_s = sum(expected_s.values())
    return lambda name: min(budget_s, budget_s * hosts * expected_s[name] / total_s)


def _safe(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "machine"


@contextmanager
def reached(text: str, say: Callable[[str], None]) -> Iterator[Machines]:
    """The machines that ``text`` names, for the time of the block.

    Raises ``UsageError`` where it names none, ``HarnessError`` where they cannot be reached.
    """
    local, address = _LOCAL.fullmatch(text), _ADDRESS.fullmatch(text)
    if local is None and address is None:
        raise UsageError(
            f"--on {text!r} is neither dask://HOST:PORT, nor tls://HOST:PORT, nor local:N."
        )
    # dask takes a second to import.
    from waitbench.cluster.on_dask import DaskMachines

    if address is not None:
        protocol = "tls" if address[1] == "tls" else "tcp"
        with closing(DaskMachines(f"{protocol}://{address[2]}")) as found:
            yield found
        return
    assert local is not None, "one of the two"
    with local_cluster(int(local[1]), say) as own, closing(DaskMachines(own)) as found:
        found.wait_for(int(local[1]))
        yield found


@contextmanager
def local_cluster(workers: int, say: Callable[[str], None]) -> Iterator[str]:
    """The address of the scheduler, for the time of the block. Raises ``HarnessError``."""
    say(f"starting {workers} nodes on this machine")
    processes = [_start("scheduler", "--port", "0")]
    try:
        assert processes[0].stdout is not None, "opened with a pipe"
        said, _, address = processes[0].stdout.readline().strip().rpartition(" ")
        if said != "Scheduler at":
            raise HarnessError("The scheduler of --on local could not be started.")
        for number in range(1, workers + 1):
            processes.append(_start("node", address, "--name", f"local-{number}"))
        yield address
    finally:
        _end(processes)


def _start(*command: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*installation.program(), *command, "--until-stdin-ends"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=variables.of_caller(),
        # A Ctrl-C is for us: they end when we have told them what not to do any more.
        start_new_session=True,
    )


def _end(processes: "list[subprocess.Popen[str]]") -> None:
    """Ends all at once: whoever ends us does not wait long."""
    for process in processes:
        assert process.stdin is not None, "opened with a pipe"
        process.stdin.close()
    for process in processes:
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None, "opened with a pipe"
        process.stdout.close()
