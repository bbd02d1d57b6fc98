"""Workloads that misbehave: each is an outcome that says so, and the sound one beside it counts."""

from xml.etree import ElementTree

import pytest

from tests.faults.clones import Clone, records_in
from waitbench.model.run import HARMLESS as HARMLESS_OUTCOMES
from waitbench.model.run import Outcome

pytestmark = pytest.mark.integration

REPORT = 'open(os.environ["BENCH_PROBE_DIR"] + "/process-1.json", "w").write({!r}); os._exit(0)'

MISDEEDS = {
    "raises": ("raise ValueError('on purpose')", "exit code 1: ValueError: on purpose"),
    "aborts": ("os.abort()", "exit code 134"),
    # As the kernel does to whoever uses up the machine's memory.
    "killed": ("os.kill(os.getpid(), 9)", "exit code 137"),
    "hoards": (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29)); bytearray(2**30)",
        "exit code 1: MemoryError",
    ),
    "floods": ("while True: os.write(1, b'x' * 65536)", "wrote more than 16 MiB to its output"),
    "flees": (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait()",
        "1 process still ran after the dataflow's end; killed",
    ),
    "garbles": (REPORT.format("{"), "report cannot be read"),
    "lies": (REPORT.format('["of another kind"]'), "report cannot be read"),
    "vanishes": ("os._exit(0)", "items expected, 0 went in, 0 came out"),
    "wrecks": (
        "import shutil; shutil.rmtree(os.path.dirname(os.environ['BENCH_PROBE_DIR'])); os._exit(0)",
        "hyperfine ended with exit code",
    ),
    "orphans itself": ("os.kill(os.getppid(), 9); time.sleep(600)", "exit code 137"),
    "shouts": (
        "os.write(2, b'\\x1b[2J\\x00\\xff boom\\n'); os._exit(7)",
        "exit code 7: \ufffd[2J\ufffd\ufffd boom",
    ),
}
"""What each does, and what is said of it."""
HARMLESS = {"closes its output": "os.close(1); os.close(2)"}


@pytest.fixture(scope="module")
def said(
    shared_clone: Clone, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, str]]:
    """What came of each in one comparison of all: its outcome, and the message."""
    deeds = {"good": "", **HARMLESS, **{name: deed for name, (deed, _) in MISDEEDS.items()}}
    wheels = [
        shared_clone.wheel(f"deed-{number}", f"do {deed}", name)
        for number, (name, deed) in enumerate(deeds.items())
    ]
    results = tmp_path_factory.mktemp("deeds") / "results"
    limits = ["--time-limit", "20", "--rounds", "16", "--fail-on", "cpu:100%"]
    options = ["-s", "partitioned", "--no-plot"]
    done = shared_clone.run(*wheels, *options, *limits, "--results", results)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert shared_clone.processes() == []
    assert "NOT MEASURED" in done.stdout, done.stdout + done.stderr
    # Each gives an error for its failed runs, and one for the question without an answer.
    assert ElementTree.parse(results / "verdict.xml").getroot().get("errors") == str(
        2 * len(MISDEEDS)
    )
    (record,) = records_in(results)
    ended = {run.label: (run.reason, run.message) for run in record.outcomes if is_bad(run)}
    return {run.label: ("ok", "") for run in record.measurements} | ended


def is_bad(outcome: Outcome) -> bool:
    return outcome.reason not in HARMLESS_OUTCOMES


@pytest.mark.parametrize("name", MISDEEDS)
def test_a_misdeed_is_an_outcome_that_says_what_happened(
    name: str, said: dict[str, tuple[str, str]]
) -> None:
    outcome, message = said[name]
    assert outcome == ("lost-items" if name == "vanishes" else "failed")
    assert MISDEEDS[name][1] in message


@pytest.mark.parametrize("name", ["good", *HARMLESS])
def test_the_others_are_measured(name: str, said: dict[str, tuple[str, str]]) -> None:
    assert said[name][0] == "ok"
