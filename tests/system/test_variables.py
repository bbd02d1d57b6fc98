"""What other programs get of the caller's environment."""

import os

import pytest

from waitbench.model.errors import UsageError
from waitbench.system import variables

CANARY = "SECRET_TOKEN"


@pytest.fixture(autouse=True)
def caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CANARY, "canary")
    for name in ("GIT_DIR", "PYTHONPATH", "LOG_LEVEL", "MAX_CLIENT_BATCH_SIZE"):
        monkeypatch.setenv(name, "elsewhere")
    for name in ("LC_TIME", "https_proxy", "CARGO_HOME", "COLUMNS", "BENCH_PROGRAM"):
        monkeypatch.setenv(name, "kept")


def test_what_is_not_listed_is_gone_for_the_time_of_the_block() -> None:
    before = dict(os.environ)
    with variables.only_listed():
        for name in (CANARY, "GIT_DIR", "PYTHONPATH", "LOG_LEVEL", "MAX_CLIENT_BATCH_SIZE"):
            assert name not in os.environ
        for name in ("PATH", "HOME", "LC_TIME", "https_proxy", "CARGO_HOME", "COLUMNS"):
            assert os.environ[name] == before[name]
        os.environ["ADDED"] = "meanwhile"
    assert dict(os.environ) == before


def test_what_the_user_names_is_passed_on() -> None:
    with variables.only_listed():
        variables.pass_on([CANARY])
        assert os.environ[CANARY] == "canary"
        assert variables.of_setup()[CANARY] == "canary"
        assert CANARY in variables.of_workload([CANARY])
        assert CANARY not in variables.of_workload()
    assert CANARY not in variables.of_setup(), "the next command has not named it"


def test_what_is_to_be_passed_on_must_be_there() -> None:
    with variables.only_listed(), pytest.raises(UsageError, match="--pass-env NO_SUCH"):
        variables.pass_on(["NO_SUCH"])


def test_a_workload_gets_less_than_a_build_and_a_build_less_than_the_harness() -> None:
    assert {"https_proxy", "CARGO_HOME", "COLUMNS"}.isdisjoint(variables.of_workload())
    assert "LC_TIME" in variables.of_workload()
    assert "https_proxy" in variables.of_setup()
    assert {CANARY, "COLUMNS", "BENCH_PROGRAM", "GIT_DIR"}.isdisjoint(variables.of_setup())
