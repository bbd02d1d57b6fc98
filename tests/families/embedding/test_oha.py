"""What oha prints, understood."""

import json
import subprocess

import pytest

from waitbench.families.embedding import client
from waitbench.families.embedding.traffic import Questions
from waitbench.model.errors import HarnessError

OUTPUT = {
    "summary": {
        "total": 10.0,
        "fastest": 0.001,
        "average": 0.04,
        "slowest": 0.2,
        "totalData": 4096,
    },
    "latencyPercentiles": {"p50": 0.039, "p90": 0.05, "p99": 0.1},
    "statusCodeDistribution": {"200": 4000, "429": 3},
    "errorDistribution": {"aborted due to deadline": 200, "connection refused": 2},
}
NOTHING = {
    "summary": {
        "total": 1.0,
        "fastest": None,
        "average": None,
        "slowest": None,
        "totalData": 0,
    },
    "latencyPercentiles": {"p50": None, "p90": None, "p99": None},
    "statusCodeDistribution": {},
    "errorDistribution": {"connection refused": 9},
}


def test_figures_are_taken_over_and_what_the_end_of_the_time_cut_off_is_no_failure() -> None:
    load = client.parse_oha(json.dumps(OUTPUT))
    assert load.statuses == {"200": 4000, "429": 3, "connection refused": 2}
    assert load.requests_per_s == 400
    assert load.body_bytes == 4096
    assert load.percentiles_s == {
        "min": 0.001,
        "mean": 0.04,
        "50%": 0.039,
        "90%": 0.05,
        "99%": 0.1,
        "max": 0.2,
    }


def test_a_load_without_an_answer_has_no_percentiles() -> None:
    load = client.parse_oha(json.dumps(NOTHING))
    assert (load.success_rate, load.percentiles_s) == (0.0, {})


@pytest.mark.parametrize(
    ("code", "printed", "said"),
    [(1, "", "oha failed: no such option"), (0, "{}", "oha's output is not understood")],
)
def test_an_oha_that_fails_is_an_error_in_words(
    monkeypatch: pytest.MonkeyPatch, code: int, printed: str, said: str
) -> None:
    done = subprocess.CompletedProcess([], code, stdout=printed, stderr="no such option")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(HarnessError, match=said):
        client.put_by_oha("http://127.0.0.1:9", Questions([["a"]], [[[1.0]]]), 1, 1.0)
