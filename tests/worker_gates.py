"""Gates of workers that are commands: guided and judged as real ones are, of runs that are made up.

A run is a course: the worker starts, is ready, settles, is watched for as long as the gate has its
scenario say, is poked, and is told to end.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from tests.execution.made_runs import NOTHING_CONCURRENT, Together
from tests.records import context, measurement
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.rounds import why_interleaved
from waitbench.engines import selection
from waitbench.engines.worker import file as worker_file
from waitbench.execution.concurrency import Concurrency
from waitbench.model.metrics import CHANGED_BY_SHARING, WINDOW, Instruments
from waitbench.model.record import ScenarioResults
from waitbench.model.run import PlannedRun, Result
from waitbench.model.scenario import Scenario
from waitbench.model.verdicts import GateStatus
from waitbench.pipeline.comparing import OpenQuestions
from waitbench.pipeline.gating import Gate, last_analysis

WORKER = 'command = "{revision} {port}"\nready = { port = true }\n[poke]\ncommand = "true"\n'
"""Its file."""
SERVICE = '[services.broker]\ncommand = "serve {port}"\ncounters = "count {port}"\n'
"""What its file may have, too."""
MOST_ROUNDS = 30
SERVICE_CORES, REQUESTS = 0.005, 5.0
"""What its service uses of a core, and the requests that it asks of it, a second."""
READY_AFTER_S, SETTLED_AFTER_S, ENDS_WITHIN_S, LATE_S = 0.2, 1.2, 0.002, 0.002
START_CPU_S, CORES, WAKEUPS = 0.1, 0.02, 20.0
"""What any of them uses: CPU to start, and of a core and as wake-ups a second from then on."""
NOISE = 0.03
"""Standard deviation of the logarithm of whatever a run gives."""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What a worker does, besides what its twin does, too."""

    share: float = 1.0
    """Of the runs in which it does the next two, and leaves something behind."""
    burns_at_its_end_s: float = 0.0
    later_s: float = 0.0
    spins_after_s: float = math.inf
    """How long after its start it begins to use a whole core."""
    has_others_use_s: float = 0.0
    """CPU of programs that are no part of it, such as a broker of the user's."""
    requests: float = REQUESTS
    """How often it asks its service, a second."""
    has_service_use: float = SERVICE_CORES
    """What of a core that takes."""
    grows_by: float = 0.0
    """Bytes that it allocates a minute, and keeps."""
    leaves_s: float = 0.0
    """CPU of what it leaves behind, which falls into the run after it."""

    def used_s(self, at_s: float) -> float:
        """The CPU seconds that it has used so long after its start."""
        waited_s, spun_s = max(0.0, at_s - READY_AFTER_S), max(0.0, at_s - self.spins_after_s)
        return START_CPU_S + CORES * waited_s + spun_s

    def run(self, window_s: float, random: Random, *, is_outlier: bool) -> dict[str, float]:
        """What a run gives in which it is watched for so long."""
        late_s = LATE_S + (self.later_s if is_outlier else 0.0)
        ends_s = SETTLED_AFTER_S + window_s
        told_s = ends_s + late_s
        burns_s = self.burns_at_its_end_s if is_outlier else 0.0
        ended_s = max(ENDS_WITHIN_S, burns_s)
        startup_s = self.used_s(SETTLED_AFTER_S)
        idle_s = self.used_s(ends_s) - startup_s
        shutdown_s = self.used_s(told_s) - self.used_s(ends_s) + burns_s
        found = {
            "time_wall_clock": told_s + ended_s,
            "time_cpu": startup_s + idle_s + shutdown_s,
            "time_cpu_startup": startup_s,
            "time_cpu_idle": idle_s,
            "cpu_share_idle": idle_s / window_s,
            "time_cpu_shutdown": shutdown_s,
            "time_cpu_running": idle_s + shutdown_s,
            "time_startup": SETTLED_AFTER_S,
            "time_stop": ended_s,
            "time_shutdown": late_s + ended_s,
            "memory_peak_resident": 2e7,
            "memory_proportional": 2e7,
            "memory_growth": self.grows_by,
            "item_latency_p50": late_s,
            "item_latency_p99": late_s,
            "machine_foreign_cpu": 0.02 + self.has_others_use_s,
            "wakeups": WAKEUPS * window_s,
            "system_calls": 2 * WAKEUPS * window_s,
            "service_cpu_idle": self.has_service_use * window_s,
            "service_requests": self.requests * window_s,
        }
        return {key: value * math.exp(random.gauss(0, NOISE)) for key, value in found.items()}


def gates_of(
    folder: Path,
    candidate: Behaviour,
    count: int = 1,
    *,
    phases: str = "",
    where: str = "mine",
    is_concurrent: bool = False,
) -> Counter[GateStatus]:
    """What so many gates come to that compare a worker with one that does more in a scenario."""
    path = folder / "mine.toml"
    path.write_text(WORKER + phases)
    scenarios = selection.select((), (), worker=worker_file.read(path), quick=True)
    return Counter(
        _gate_of(scenarios, candidate, where, Random(seed), is_concurrent=is_concurrent)
        for seed in range(count)
    )


def _gate_of(
    scenarios: Sequence[Scenario],
    candidate: Behaviour,
    where: str,
    random: Random,
    *,
    is_concurrent: bool,
) -> GateStatus:
    """What a gate by the default criteria comes to."""
    instruments = Instruments(tracepoint=0)
    gate = Gate(criteria=DEFAULTS, most_rounds=last_analysis(MOST_ROUNDS))
    gate = gate.supported_by(instruments, scenarios)
    records = {
        one.name: ScenarioResults(spec=one, context=context(["base", "new"])) for one in scenarios
    }

    left_s = [0.0]

    def run(planned: PlannedRun, _before: int) -> Result:
        is_twin = planned.label != "new" or planned.scenario.name != where
        does = Behaviour() if is_twin else candidate
        window_s = float(planned.scenario.parameters["window"])
        is_outlier = random.random() < does.share
        found = does.run(window_s, random, is_outlier=is_outlier)
        found["machine_foreign_cpu"] += left_s[0]
        left_s[0] = does.leaves_s if is_outlier else 0.0
        keys = {metric.key for metric in planned.scenario.metrics}
        given = {key: value for key, value in found.items() if key in keys}
        given[WINDOW] = window_s
        return measurement(planned.label, planned.round, given, position=planned.position)

    shared = [it for it in gate.criteria if it.metric.name in CHANGED_BY_SHARING]
    made, concurrency = Together(run), NOTHING_CONCURRENT
    if is_concurrent:
        differing = partial(why_interleaved, criteria=shared)
        concurrency = Concurrency(records.keys(), differing, may_skip_turn=True)
    questions = OpenQuestions(gate, records)
    made.session(records, concurrency).carry_out(
        questions.rounds_needed, gate.groups(scenarios), ["base", "new"], gate.most_rounds
    )
    assert bool(made.at_once) is is_concurrent
    return gate.conclude(records.values()).outcome
