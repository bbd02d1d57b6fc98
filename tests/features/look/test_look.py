"""A look at running workers, as a user takes one."""

import json
import os
import re
from collections.abc import Iterator

import pytest

import waitbench
from tests.conftest import Compare
from tests.running import line_of, python

pytestmark = pytest.mark.integration
SLEEPS = """
import threading, time
def tick():
    while True: time.sleep(0.01)
for _ in range(6): threading.Thread(target=tick).start()
print("ready", flush=True)
"""


@pytest.fixture
def worker() -> Iterator[int]:
    """A program with seven threads that runs already."""
    with python(SLEEPS) as process:
        line_of(process)
        yield process.pid


@pytest.mark.smoke
def test_a_look_shows_a_process_and_its_busiest_threads(run_compare: Compare, worker: int) -> None:
    done = run_compare(str(worker), "--for", "0.5", command="look")
    assert done.returncode == 0, done.stderr
    title, headings, whole, process, *threads = done.stdout.splitlines()
    assert title.startswith("what it costs now · 1 process · 0.5")
    assert headings.split() == ["who", "%", "core", "wakes/s", "calls/s", "memory"]
    assert whole.startswith("in all ")
    assert process.startswith(f"{worker} ")
    assert threads[3].startswith("  4 other threads ")
    os.kill(worker, 0)


def test_many_of_them_at_a_price_are_a_sum(run_compare: Compare, worker: int) -> None:
    more = ("--times", "500", "--price", "0.04/core-hour")
    done = run_compare(str(worker), "--for", "0.5", *more, command="look")
    assert done.returncode == 0, done.stderr
    assert re.search(r"500 of these keep [\d.]+ cores busy, for [\d.,]+ a month\.", done.stdout)
    refused = run_compare(str(worker), "--price", "4", command="look")
    assert refused.returncode == 2
    assert "is not AMOUNT/core-hour" in refused.stderr


QUICK = ("--for", "9")
"""Windows of a tenth of a second, of which thirty take three."""


def test_a_limit_is_an_exit_code_and_a_table(run_compare: Compare, worker: int) -> None:
    limits = ("--limit", "wakeups:50/s", "--limit", "memory:50GB")
    done = run_compare(str(worker), *limits, *QUICK, command="look")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"FAIL: {worker}: wake-ups while waiting" in done.stdout
    assert "at most 50/s" in done.stdout
    assert "what it costs now" in done.stdout
    assert "worker file" not in done.stdout
    done = run_compare(str(worker), "--limit", "wakeups:50000/s", *QUICK, command="look")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS: 1 limit holds" in done.stdout


def test_json_has_the_answers_and_both_processes(run_compare: Compare, worker: int) -> None:
    with python(SLEEPS.replace("0.01", "0.002")) as costlier:
        line_of(costlier)
        pids = (str(worker), str(costlier.pid))
        done = run_compare(*pids, *QUICK, "--json", command="look")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["outcome"] == "fail"
    assert found["parts"][0]["id"] == costlier.pid
    (process,) = found["baseline"]["parts"]
    assert (process["id"], len(process["parts"])) == (worker, 7), "with all of its threads"
    assert "idle" in {it["metric"] for it in found["judgements"] if it["fails"]}


def test_a_program_may_look_too(worker: int) -> None:
    seen = waitbench.look(worker, seconds=0.3)
    assert seen.wakeups_per_s > 0
    assert seen.parts[0].id == worker
    with pytest.raises(ValueError, match="is waitbench itself"):
        waitbench.look(os.getpid())
