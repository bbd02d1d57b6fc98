"""The command line on a machine from which CPU is stolen: readings are replaced, nothing is slower.

    .bench/venv/bin/python benchmarks/stolen.py SHARE compare BASELINE CANDIDATE --gate

What each run is said to have been robbed of is SHARE of the CPU that it used, give or take.
"""

import random
import sys

import runner
from waitbench.execution import measure
from waitbench.system import endings, watch

JITTER = 0.5
"""Standard deviation of the logarithm of the share."""


def steal(share: float) -> None:
    """Has every run observe that so large a share of its CPU was stolen, on the average."""

    def observed(
        before: watch.Reading | None, after: watch.Reading | None, run_cpu_s: float
    ) -> dict[str, float]:
        jitter = random.lognormvariate(-(JITTER**2) / 2, JITTER)
        seen = watch.observed(before, after, run_cpu_s)
        return seen and {**seen, "machine_steal": share * run_cpu_s * jitter}

    setattr(measure, "observed", observed)  # noqa: B010 -- what it imported from there


if __name__ == "__main__":
    endings.own_from_the_start()
    steal(float(sys.argv.pop(1)))
    sys.exit(runner.main())
