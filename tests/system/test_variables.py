"""What other programs get of the caller's environment."""

import os
import re

import pytest

from waitbench.model.errors import masked
from waitbench.system import variables
from waitbench.system.paths import ROOT

CANARY = "SECRET_TOKEN"


@pytest.fixture(autouse=True)
def caller(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (CANARY, "CARGO_REGISTRY_TOKEN", "CARGO_REGISTRY_SECRET_KEY"):
        monkeypatch.setenv(name, "canary")
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
        for name in ("CARGO_REGISTRY_TOKEN", "CARGO_REGISTRY_SECRET_KEY"):
            assert name not in {**os.environ, **variables.of_setup()}
        os.environ["ADDED"] = "meanwhile"
    assert dict(os.environ) == before
    # A run gets less than a build, and a build less than the harness.
    assert {"https_proxy", "CARGO_HOME", "COLUMNS"}.isdisjoint(variables.of_run())
    assert "LC_TIME" in variables.of_run()
    assert "https_proxy" in variables.of_setup()
    assert {CANARY, "COLUMNS", "BENCH_PROGRAM", "GIT_DIR"}.isdisjoint(variables.of_setup())


def test_the_harness_computes_in_one_thread_and_says_nothing_of_that_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "OPENBLAS_NUM_THREADS"
    monkeypatch.delenv(name, raising=False)
    with variables.only_listed():
        assert os.environ[name] == "1"
        assert name not in {**variables.of_setup(), **variables.of_run()}
    assert name not in os.environ


def test_a_variable_that_is_passed_on_has_the_users_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_PASS_ENV", "NO_SUCH OPENBLAS_NUM_THREADS")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    with variables.only_listed():
        assert variables.of_run()["OPENBLAS_NUM_THREADS"] == "7"
        assert "NO_SUCH" not in variables.of_run()


TEXT = (ROOT / "docs" / "reliability.md").read_text("utf-8")


def test_the_document_lists_the_variables_that_other_programs_get() -> None:
    section = TEXT.partition("## What builds and runs get")[2].partition("## Faults")[0]
    parts = re.split(r"\n(?=Everything|Downloads|waitbench itself|A program under)", section)[1:4]
    named = [set(re.findall(r"`([\w*]+)`", part)) for part in parts]
    listed = (variables.EVERYWHERE, variables.SETTING_UP, variables.OURS)
    assert named == [set(names) for names in listed]


def test_what_is_said_of_a_url_has_no_secret_of_it() -> None:
    for url in (
        "https://me:SEC'RET@host/x",
        "git+ssh://SECRET@host",
        "//host/x?access_token=SECRET",
    ):
        assert ("SEC" in masked(url), "host" in masked(url)) == (False, True)
