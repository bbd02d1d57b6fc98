r"""What a resident worker costs: runs beside an idle one and its scheduler, and without, in turn.

    .bench/venv/bin/python benchmarks/resident_worker.py [--pairs 120] [--revision v0.21.1]

One revision, one scenario. Both are stopped for the runs without, so that the two of a pair follow
each other closely. A pair of which a run was disturbed is made again. Prints the ratio of the
workers' steady CPU, with interval; the CPU of others that the watch saw, against what it tolerates;
and what the idle worker and its scheduler use themselves (--pairs 0: only that). On a machine that
does nothing else.
"""

import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.common import command_line
from benchmarks.preparing import ready
from waitbench.analysis.statistics import geometric_mean, log_ratios, mean
from waitbench.execution.measure import Measurer
from waitbench.execution.plan import in_turn
from waitbench.model.metrics import BY_NAME
from waitbench.model.run import DISTURBED, WARM_UP, Measurement, PlannedRun
from waitbench.model.scenario import Scenario
from waitbench.system import confinement, variables
from waitbench.system.places import ROOT
from waitbench.system.watch import FOREIGN_CORES

SETTLES_S = 3.0
TURNS_S = 1.0
"""Before each run, for what they have missed once they may go on."""
IDLE_S = 120.0
STATES = ("without", "beside")

Runs = Mapping[str, Sequence[Measurement]]
"""Equally many in each state."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--pairs", type=int, default=120)
    parser.add_argument("--revision", default="v0.21.1")
    parser.add_argument("--scenario", default="partitioned-long-input")
    options = parser.parse_args()
    with measuring(options.revision, options.scenario) as parts, resident() as processes:
        if options.pairs:
            report(*Pair(*parts, processes).repeat(options.pairs))
        for name, share in idle_shares(processes).items():
            print(f"idle {name}: {share * 100:.3f} % of a core, over {IDLE_S:.0f} s")


@contextmanager
def measuring(
    revision: str, scenario: str, *settings: str
) -> Iterator[tuple[Measurer, Scenario, str]]:
    """What measures runs of one revision in one scenario, with that scenario and the label."""
    with confinement.adopting_orphans(), variables.only_listed():
        prepared = ready(
            (revision,), 1, scenario, settings=settings, quick=False, instrumented=False
        )
        with prepared.measuring() as measurer:
            yield measurer, prepared.request.scenarios[0], prepared.labels[0]


@dataclass(frozen=True)
class Pair:
    """A run in each state."""

    measurer: Measurer
    scenario: Scenario
    label: str
    processes: Mapping[str, psutil.Process]

    def repeat(self, count: int) -> tuple[Runs, Mapping[str, int]]:
        """So many undisturbed pairs after a warm-up, and how many runs were disturbed."""
        found: dict[str, list[Measurement]] = {state: [] for state in STATES}
        disturbed = dict.fromkeys(STATES, 0)
        for number in itertools.count(WARM_UP):
            runs = {state: self.run(state, number) for state in in_turn(STATES, number)}
            if number == WARM_UP:
                continue
            for state, run in runs.items():
                disturbed[state] += DISTURBED in run.marks
            if not any(DISTURBED in run.marks for run in runs.values()):
                for state, run in runs.items():
                    found[state].append(run)
            if len(found["beside"]) == count:
                break
        return found, disturbed

    def run(self, state: str, number: int) -> Measurement:
        let(self.processes.values(), go_on=state == "beside")
        time.sleep(TURNS_S)
        planned = PlannedRun(scenario=self.scenario, label=self.label, round=number, position=0)
        result = self.measurer.measure(planned)
        let(self.processes.values(), go_on=True)
        if not isinstance(result, Measurement):
            raise SystemExit(f"a run failed: {result.message}")
        return result


def let(processes: Iterable[psutil.Process], *, go_on: bool) -> None:
    """Lets them go on, or stops them."""
    for process in processes:
        if go_on:
            process.resume()
        else:
            process.suspend()


@contextmanager
def resident() -> Iterator[Mapping[str, psutil.Process]]:
    """A scheduler and an idle worker, once they have settled."""
    with ExitStack() as stack:
        scheduler, said = stack.enter_context(_started("Scheduler", "scheduler", "--port", "0"))
        address = said.rpartition(" ")[2]
        worker, _ = stack.enter_context(_started("Worker", "worker", address))
        time.sleep(SETTLES_S)
        yield {"scheduler": scheduler, "worker": worker}


@contextmanager
def _started(until: str, *command: str) -> Iterator[tuple[psutil.Process, str]]:
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "runner.py"), *command], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None, "opened with a pipe"
        yield (
            psutil.Process(process.pid),
            next(line.strip() for line in process.stdout if line.startswith(until)),
        )
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait()


def idle_shares(processes: Mapping[str, psutil.Process]) -> Mapping[str, float]:
    """What each uses of a core, by name."""
    before = {name: used_s(process) for name, process in processes.items()}
    time.sleep(IDLE_S)
    return {name: (used_s(one) - before[name]) / IDLE_S for name, one in processes.items()}


def used_s(process: psutil.Process) -> float:
    """CPU time of a process so far, to the nanosecond: in ticks it would be next to nothing."""
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((one / "schedstat").read_text().split()[0]) for one in threads) / 1e9


def report(runs: Runs, disturbed: Mapping[str, int]) -> None:
    """Prints the figures of the runs."""
    steady = BY_NAME["steady"]
    for state in STATES:
        used = mean([run.metrics[steady.key] for run in runs[state]])
        cores = [
            run.metrics["machine_foreign_cpu"] / run.metrics["time_wall_clock"]
            for run in runs[state]
        ]
        print(
            f"{state}: steady CPU {used.value:.4f} s (mean of {used.count}); others used "
            f"{mean(cores).value:.4f} cores, at most {max(cores):.4f} ({FOREIGN_CORES:.2f} and 4 "
            f"ticks are tolerated); {disturbed[state]} others were disturbed"
        )
    values = {state: [run.metrics[steady.key] for run in runs[state]] for state in STATES}
    with_each = list(zip(values["without"], values["beside"], strict=True))
    ratio = geometric_mean(log_ratios(with_each, steady))
    print(f"beside/without: {ratio.value:.4f} (95 % CI {ratio.low:.4f}–{ratio.high:.4f})")


if __name__ == "__main__":
    main()
