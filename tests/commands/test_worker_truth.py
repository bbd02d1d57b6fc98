"""Workers that mislead, measured end to end: what is said is true, or nothing is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Compare
from tests.standin import write_wheel_of

pytestmark = pytest.mark.integration
QUICKLY = ("--no-plot", "--rounds", "1", "--set", "window=0.3")


def runs_in(folder: Path) -> dict[str, Any]:
    """The last run of each revision, as ``runs.jsonl`` has it."""
    lines = (folder / "runs.jsonl").read_text().splitlines()
    return {run["revision"]: run for run in map(json.loads, lines)}


IDLES = """
import time
def main():
    print("ready", flush=True)
    time.sleep({seconds})
"""


def test_what_runs_in_place_of_its_revision_is_never_measured_as_it(
    run_compare: Compare, tmp_path: Path
) -> None:
    """A worker file in a checkout, whose script imports the package that lies beside it."""
    tree = tmp_path / "tree"
    (tree / "tool").mkdir(parents=True)
    (tree / "tool" / "__init__.py").write_text(IDLES.format(seconds=1))
    (tree / "run.py").write_text("import tool\nwhile True: tool.main()\n")
    (tree / "ends.py").write_text("import tool\ntool.main()\n")
    path = write_wheel_of(tmp_path, "tool", {"tool/__init__.py": IDLES.format(seconds=1)})
    begins, until_exit = 'package = "tool"\nready = { log = "ready" }\n', 'window = "until-exit"\n'
    files = {
        "here": 'command = "{python} {here}/run.py"\n',
        "ends": f'command = "{{python}} {{here}}/ends.py"\n{until_exit}',
        "copied": 'command = "{python} run.py"\nfiles = ["run.py"]\n',
    }
    for name, text in files.items():
        (tree / f"{name}.toml").write_text(begins + text)
        options = ["--no-plot", "--rounds", "1", "--results", tmp_path / name]
        options += [] if until_exit in text else ["--set", "window=0.3"]
        done = run_compare(path, "--worker", tree / f"{name}.toml", *options)
        said = "".join(run.get("message", "") for run in runs_in(tmp_path / name).values())
        if name == "copied":
            assert (done.returncode, said) == (0, ""), done.stdout
        else:
            assert done.returncode == 3, name
            assert f"it loads tool from {tree}, not from the environment" in said


LIES = """
import json, os, time
assert "PYTHONPATH" not in os.environ
lie = {"items_in": 0, "items_out": 0, "polls": 0, "lateness_ns": [[5, 1000]], "lateness_max_ns": 5}
with open("../probes/process-1.json", "w") as file: json.dump(lie, file)
print("ready", flush=True)
while True: time.sleep(1)
"""


def test_a_worker_does_not_write_its_own_lateness(run_compare: Compare, tmp_path: Path) -> None:
    (tmp_path / "lies.py").write_text(LIES)
    (tmp_path / "lies.toml").write_text(
        'variants = ["lies"]\nfiles = ["lies.py"]\ncommand = "{python} lies.py {revision}"\n'
        'ready = { log = "ready" }\n[poke]\ncommand = "echo lateness 0.25"\n'
    )
    done = run_compare("lies", "--worker", tmp_path / "lies.toml", *QUICKLY)
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = runs_in(tmp_path / "results")["lies"]["metrics"]
    lateness = {metrics[f"item_latency_{one}"] for one in ("p50", "p99", "max")}
    assert lateness == {0.25}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "command = \"sh -c 'echo ftp://u:$(echo hunter)2@host/ >&2; exit 1' {revision}\"\n",
            "it ended with exit code 1 before it was ready: ftp://***@host/",
        ),
        # Longer than one argument or variable may be.
        (
            f'command = "sleep 1{{revision}}"\nenvironment = {{ BIG = "{"x" * 2**18}" }}\n',
            "Argument list too long",
        ),
    ],
)
def test_a_worker_that_does_not_start_is_a_failed_run_without_secrets(
    text: str, message: str, run_compare: Compare, tmp_path: Path
) -> None:
    (tmp_path / "fails.toml").write_text(f'{text}variants = ["1"]\nready = {{ seconds = 1 }}\n')
    done = run_compare("1", "--worker", tmp_path / "fails.toml", *QUICKLY)
    assert done.returncode == 3, done.stdout + done.stderr
    assert message in runs_in(tmp_path / "results")["1"]["message"]
    results = [it for it in (tmp_path / "results").rglob("*") if it.is_file()]
    assert not any(b"hunter2" in path.read_bytes() for path in results)
    assert "hunter2" not in done.stdout + done.stderr
