"""Records of a scan made by hand."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from tests.records import make_record, specify, times
from waitbench.model.record import ScenarioResults
from waitbench.model.scenario import CurvePoint

VALUES = (1, 4, 16, 64, 256, 1024)
WOBBLE = (0.0, 0.02, -0.02, 0.01, -0.01, 0.015)

WINDOW_S = 2.0

Costs = Mapping[str, Callable[[float], float]]
"""Cores by the value that was scanned, for each label."""


def scan_records(costs: Costs, *, rounds: int = 5) -> list[ScenarioResults]:
    """A record for each value; rounds wobble as wholes, and each value a little by itself."""
    return [_record(costs, value, place, rounds) for place, value in enumerate(VALUES)]


def late_records(costs: Costs) -> list[ScenarioResults]:
    """A scan in which lateness grows by 10 ms for each input."""
    records = scan_records(costs)
    for value, record in zip(VALUES, records, strict=True):
        record.measurements = [
            replace(run, metrics={**run.metrics, "item_latency_p50": value / 100})
            for run in record.measurements
        ]
    return records


def _record(costs: Costs, value: int, place: int, rounds: int) -> ScenarioResults:
    runs: dict[str, list[dict[str, float]]] = {}
    for number, (label, cost) in enumerate(costs.items()):
        runs[label] = []
        for one in range(rounds):
            wobble = WOBBLE[one % 6] + WOBBLE[(one + place + number) % 6]
            cores = cost(value) * (1 + wobble)
            runs[label].append(
                {
                    **times(WINDOW_S + 0.2, 0.1, 0.05),
                    "cpu_share_idle": cores,
                    "time_cpu_idle": cores * WINDOW_S,
                    "wakeups": 1000.0 * WINDOW_S,
                }
            )
    record = make_record(runs, scenario=f"idle@partitions={value}")
    point = CurvePoint(scenario="idle", parameter="partitions", value=value)
    return specify(record, scan=point, parameters={"partitions": value})
