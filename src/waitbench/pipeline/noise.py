"""The smallest rise that ten rounds find on this machine: an idle program against itself."""

import math
import sys

import numpy as np

from waitbench.analysis.rounds import paired_by_round
from waitbench.analysis.rule import ALARM
from waitbench.analysis.signed_rank import hodges_lehmann
from waitbench.model.errors import HarnessError
from waitbench.model.metrics import BY_NAME
from waitbench.pipeline.comparing import run
from waitbench.pipeline.concluding import Output
from waitbench.pipeline.request import Request
from waitbench.system.locks import temporary_folder

ROUNDS = 10
MARGIN = 0.10
"""That of the gate's default question about steady CPU."""
_PROGRAM = "import time\nprint('up', flush=True)\nwhile True:\n    time.sleep(0.001)\n"
_WORKER = (
    "command = '{revision}'\nready = { log = 'up' }\nsettled = { seconds = 0.3 }\nwindow = 2\n"
)


def smallest_rise() -> float:
    """As a share of steady CPU: the least that would have failed in these rounds; takes a minute.

    Raises ``HarnessError`` where the program cannot be measured.
    """
    with temporary_folder() as folder:
        program, worker = folder / "idle", folder / "noise.toml"
        program.write_text(f"#!{sys.executable}\n{_PROGRAM}")
        program.chmod(0o755)
        worker.write_text(_WORKER)
        request = Request(
            revisions=(f"once={program}", f"again={program}"),
            worker=str(worker),
            rounds=ROUNDS,
            results=folder / "results",
            argv=("doctor", "--noise"),
        )
        with run(request, Output(progress_only=True)) as contents:
            (record,) = contents.records
    if record.failures:
        raise HarnessError("An idle program could not be measured here.")
    pairs = paired_by_round(record, "again", BY_NAME["steady"]).values()
    alarm = ALARM / 2
    logs = np.array([math.log(again / once) for once, again in pairs])
    found = hodges_lehmann(logs, alarm, alarm)
    return math.exp(math.log1p(MARGIN) + found.centre - found.low) - 1
