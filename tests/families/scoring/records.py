"""Records of calls to a model, made by hand."""

from collections.abc import Mapping, Sequence

from tests.records import context, measurement
from waitbench.model.record import Record

Samples = Sequence[Mapping[str, float]]


def asked(transport: str, samples: Samples, **metrics: float) -> Record:
    """A record of one run of ``a``, and of none of ``b``."""
    record = Record(
        scenario=f"scoring-{transport}",
        family="scoring",
        parameters={"transport": transport, "timeout_ms": 10.0},
        context=context(["a", "b"]),
    )
    record.add(measurement("a", 1, metrics, samples=tuple(samples)))
    return record


def calls(*taken_ms: float, lines: float = 10) -> Samples:
    return [{"taken_s": taken / 1000, "lines": lines} for taken in taken_ms]
