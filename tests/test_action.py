"""The composite actions and the examples: their shell steps are run as a runner would run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import standin
from tests.actions import (
    ACTION,
    RUNNER,
    ask,
    environment_of,
    outputs_in,
    run_script,
    step_named,
    steps_of,
)
from tests.conftest import Compare
from tests.faults import clones
from tests.histories import Upstream
from tests.running import run
from waitbench.system.paths import ROOT

FIND, COMPARE = "Find what to compare", "Compare"
EXAMPLES = sorted((ROOT / "examples").glob("*.yml"))
WORKFLOWS = [path for path in EXAMPLES if path.name.startswith("github")]
OURS = "OWNER/waitbench"
BRANCH = 'a"b$(touch${IFS}pwned);c'


def run_step(tmp_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the action as the runner would, with a compare.sh that prints its arguments."""
    (tmp_path / "action").mkdir()
    fake = tmp_path / "action" / "compare.sh"
    fake.write_text('#!/bin/sh\nfor argument in "$@"; do printf "[%s]\\n" "$argument"; done\n')
    fake.chmod(0o755)
    return run_with(tmp_path, tmp_path / "action", **inputs)


def run_one(
    name: str, folder: Path, inputs: dict[str, str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a step of this name."""
    known = environment_of(step_named(name), folder, inputs)
    of_event = {"BASE": "", "BEFORE": "", "DEFAULT_BRANCH": "main"}
    return run_script(step_named(name), folder, {**known, **of_event, **variables})


def run_with(tmp_path: Path, action_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Finds what to compare, and compares."""
    done = run_one(FIND, tmp_path, inputs, GITHUB_ACTION_PATH=str(action_path))
    if done.returncode != 0:
        return done
    return run_one(COMPARE, tmp_path, inputs, GITHUB_ACTION_PATH=str(action_path))


def test_every_input_reaches_a_step_as_a_variable_and_none_as_text() -> None:
    steps = ACTION["runs"]["steps"]
    for script in (each["run"] for each in steps if "run" in each):
        assert "${{" not in script
    read = {value for step in steps for value in step.get("env", {}).values()}
    read |= {part for step in steps for part in re.findall(r"inputs\.[\w-]+", step.get("if", ""))}
    for name in ACTION["inputs"]:
        assert {f"${{{{ inputs.{name} }}}}", f"inputs.{name}"} & read, name


def test_lines_become_arguments_and_a_hostile_name_stays_one(tmp_path: Path) -> None:
    done = run_step(
        tmp_path, baseline="main", candidate=f"a\n{BRANCH}", scenarios="partitioned*\ndynamic",
        fail_on="system:5%\n", arguments="--full", repository="some where", accepted="a b.toml",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, *printed, last = done.stdout.split()
    assert (first, last) == (f"::stop-commands::{last[2:-2]}", f"::{last[2:-2]}::")
    assert printed[-4:] == ["[--]", "[main]", "[a]", f"[{BRANCH}]"]
    assert not (tmp_path / "pwned").exists()
    assert "[some where]" in done.stdout
    assert "[--accepted]\n[a b.toml]\n" in done.stdout
    assert "[--processes]\n[2]\n" in done.stdout
    assert "[--worker]" not in done.stdout
    assert done.stdout.count("[--scenario]") == 2
    assert "[--full]" in printed
    assert "[--gate]" not in printed
    assert outputs_in(tmp_path)["verdict"].endswith("/verdict.json")


def test_a_worker_file_is_measured_with_as_many_processes_as_it_says(tmp_path: Path) -> None:
    done = run_step(tmp_path, baseline="a", candidate="b", worker="rq.toml")
    assert "[--worker]\n[rq.toml]\n" in done.stdout
    assert "[--processes]" not in done.stdout


def test_a_token_that_may_only_read_suffices_as_none_is_used() -> None:
    # A pull request of a fork has such a token, and no secrets.
    text = (ROOT / "action.yml").read_text()
    assert not re.search(r"github\.token|GITHUB_TOKEN|GH_TOKEN|secrets\.|git push|\bgh ", text)
    uses = {step["uses"].partition("@")[0] for step in ACTION["runs"]["steps"] if "uses" in step}
    assert uses == {"actions/cache/restore", "actions/cache/save", "actions/upload-artifact"}


class Pull(Upstream):
    """A pull request whose base has moved on, and its merge commit."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.began = self.commit("began", "began")
        self.switch(BRANCH, "main")
        self.head = self.commit("changed", "changed")
        self.switch("main")
        self.moved = self.commit("moved", "moved")
        self.git("switch", "--quiet", "--detach", "main")
        self.merged = self.merge(self.head, "merged")

    def compared(self, at: str, tmp_path: Path, **event: str) -> tuple[str, str]:
        """The baseline and the candidate, when this is checked out."""
        self.switch(at)
        inputs = {"repository": str(self.folder)}
        done = run_one(FIND, tmp_path, inputs, **{"GITHUB_SHA": self.merged, **event})
        assert done.returncode == 0, done.stdout + done.stderr
        found = outputs_in(tmp_path)
        return found["baseline"], found["candidate"]


def test_what_only_the_base_has_changed_is_in_both_revisions(tmp_path: Path) -> None:
    pull = Pull(tmp_path / "repository")
    # The event has the base as it was when the branch was pushed: too old, or too new.
    for base in (pull.began, pull.moved):
        merged = pull.compared(pull.merged, tmp_path, BASE=base)
        assert merged == (f"base={pull.moved}", f"this={pull.merged}")
        branch = pull.compared(pull.head, tmp_path, BASE=base)
        assert branch == (f"base={pull.began}", f"this={pull.head}")
    # The branch has merged its base itself: that is no merge of the pull request.
    pull.switch(pull.head)
    own = pull.merge(pull.moved, "own")
    assert pull.compared(own, tmp_path, BASE=pull.moved) == (f"base={pull.moved}", f"this={own}")
    # A push is compared with what was there before, if that is known.
    for before in (pull.began, "0" * 40, "1" * 40):
        found = pull.compared(pull.moved, tmp_path, BEFORE=before, GITHUB_EVENT_NAME="push")
        assert found == (f"base={pull.began}", f"this={pull.moved}")


def test_what_cannot_be_found_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    source = Pull(tmp_path / "repository").folder.as_uri()
    standin.git(tmp_path, "clone", "--quiet", "--depth", "1", source, str(folder))
    for repository, said in ((folder, "fetch-depth: 0"), (tmp_path, "check it out")):
        done = run_one(FIND, tmp_path, {"repository": str(repository)}, BASE="1" * 40)
        assert (done.returncode, said in done.stdout) == (3, True), done.stdout
        assert done.stdout.startswith("::error title=waitbench::")
    # Its files would choose how it is measured, also between two releases.
    named = {"repository": str(folder), "baseline": "1.0", "candidate": "2.0", "worker": "w.toml"}
    for files_from, code in (("base", 3), ("change", 0)):
        inputs = {**named, "files_from": files_from}
        done = run_one(FIND, tmp_path, inputs, BASE="1" * 40)
        assert done.returncode == code, done.stdout
    assert "The base, whose files count" in run_one(FIND, tmp_path, named, BASE="1" * 40).stdout


def test_a_change_neither_chooses_how_it_is_measured_nor_accepts_its_own_regression(
    tmp_path: Path,
) -> None:
    pull = Upstream(tmp_path / "repository")
    pull.commit("part", "cpu/part.py")
    base = pull.commit("base", "cpu/rq.toml")
    pull.switch("change", "main")
    pull.commit("part of the change", "cpu/part.py")
    pull.commit("accepts itself", "accepted.toml")
    pull.commit("change", "cpu/rq.toml")
    (tmp_path / "action").mkdir()
    fake = tmp_path / "action" / "compare.sh"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)

    def given(**inputs: str) -> list[str]:
        named = {"worker": f"{pull.folder}/cpu/rq.toml", "accepted": f"{pull.folder}/accepted.toml"}
        inputs = {"repository": str(pull.folder), **named, **inputs}
        action = {"GITHUB_ACTION_PATH": str(tmp_path / "action")}
        done = run_one(FIND, tmp_path, inputs, **action, BASE=base)
        assert done.returncode == 0, done.stdout + done.stderr
        assert outputs_in(tmp_path)["base"] == base
        done = run_one(COMPARE, tmp_path, inputs, **action, BASE=base)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    by_default = given()
    worker = Path(by_default[by_default.index("--worker") + 1])
    assert (worker.read_text(), worker.with_name("part.py").read_text()) == ("base", "part")
    assert "--accepted" not in by_default
    assert "none is accepted" in by_default[0]
    of_change = given(files_from="change")
    assert of_change[of_change.index("--worker") + 1] == f"{pull.folder}/cpu/rq.toml"
    assert of_change[of_change.index("--accepted") + 1] == f"{pull.folder}/accepted.toml"


@pytest.mark.parametrize(
    ("event", "ref", "saves"),
    [
        ("push", "refs/heads/main", True),
        ("schedule", "refs/heads/main", True),
        ("push", "refs/heads/other", False),
        ("pull_request", "refs/pull/7/merge", False),
        # It runs on the default branch, and what it builds is of anybody.
        ("issue_comment", "refs/heads/main", False),
    ],
)
def test_only_the_default_branch_fills_the_cache(
    event: str, ref: str, saves: bool, tmp_path: Path
) -> None:
    def find() -> dict[str, str]:
        known = {"GITHUB_REF": ref, "GITHUB_ACTION_PATH": str(tmp_path)}
        inputs = {"baseline": "a", "candidate": "b"}
        done = run_one(FIND, tmp_path, inputs, GITHUB_EVENT_NAME=event, **known)
        assert done.returncode == 0, done.stderr
        return outputs_in(tmp_path)

    found = find()
    assert (found.get("save") == "yes") is saves
    assert found["prefix"] + found["week"] == "waitbench-Linux-X64-" + found["week"]
    assert re.fullmatch(r"\d{4}-\d\d", found["week"])
    assert (found["folder"], found["restore"]) == (f"{tmp_path}/.bench", "yes")
    (tmp_path / ".bench" / "environments").mkdir(parents=True)
    assert find()["restore"] == "no"


@pytest.mark.integration
def test_the_action_says_fail_and_not_measured_and_what_went_wrong(tmp_path: Path) -> None:
    # A clone, whose rounds count whatever else the machine does.
    clone = clones.make(tmp_path / "clone")
    quick, slow = clone.wheel("quick"), clone.wheel("slow", "burn 0.3")
    broken = clone.wheel("broken", "broken")
    (tmp_path / "workspace").mkdir()

    def judge(candidate: str, fail_on: str = "cpu:20%") -> tuple[int, str, str]:
        """The exit code, what is printed, and the job's summary."""
        (tmp_path / "summary.md").unlink(missing_ok=True)
        done = run_with(
            tmp_path, clone.root, baseline=f"base={quick}", candidate=f"new={candidate}",
            scenarios="dynamic", processes="1", fail_on=fail_on,
            arguments="--no-plot\n--rounds\n16",
        )  # fmt: skip
        return done.returncode, done.stdout, (tmp_path / "summary.md").read_text()

    code, printed, summary = judge(slow)
    assert code == 1, printed
    assert "✗ FAIL: new: total CPU " in printed
    assert re.search(
        r"FAIL: new: total CPU (\+[0-9]+ %|[0-9.]+× more) in dynamic", summary.splitlines()[0]
    )
    outputs = outputs_in(tmp_path)
    assert Path(outputs["verdict"]).is_file()
    assert Path(outputs["markdown"]).read_text().strip() == summary.strip()
    assert "<failure" in (Path(outputs["results"]) / "verdict.xml").read_text()
    assert re.fullmatch(r"waitbench-cpu\.\w+", outputs["artifact"])
    # A second step of the same job has a folder and an artifact of its own.
    code, _, summary = judge(broken)
    assert (code, "NOT MEASURED" in summary.splitlines()[0]) == (3, True)
    assert outputs_in(tmp_path)["artifact"] != outputs["artifact"]
    code, _, summary = judge(slow, "nonsense:1%")
    assert code == 2
    assert summary.startswith("### ! NOT MEASURED: waitbench ended with exit code 2")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_uses_options_and_inputs_that_exist(path: Path, run_compare: Compare) -> None:
    text = path.read_text()
    calls = re.findall(
        r"bench/(?:waitbench ([a-z]+)|(compare)\.sh)((?:[^\n]|\n {6,}(?=--))*)", text
    )
    for of_waitbench, of_script, arguments in calls:
        help_text = run_compare("--help", command=of_waitbench or of_script).stdout
        used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", arguments))
        assert [option for option in used if option not in help_text] == []
    comment = yaml.safe_load((ROOT / "comment" / "action.yml").read_text())
    uses = [step for step in steps_of(path) if str(step.get("uses", "")).startswith(OURS)]
    for step in uses:
        known = comment["inputs"] if "/comment@" in step["uses"] else ACTION["inputs"]
        assert set(step.get("with", {})) <= set(known)
    assert calls or uses


@pytest.mark.parametrize(
    "path", [*WORKFLOWS, *sorted((ROOT / ".github" / "workflows").glob("*.yml"))],
    ids=lambda path: path.name,
)  # fmt: skip
def test_a_workflow_has_few_rights_and_pastes_nothing_into_a_script(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for job in workflow["jobs"].values():
        steps = job.get("steps", [])
        assert not any("${{" in step.get("run", "") for step in steps)
        rights = {**workflow["permissions"], **job.get("permissions", {})}
        runs_code = any(
            "bench/" in step.get("run", "") or step.get("uses", "").startswith(f"{OURS}@")
            for step in steps
        )
        # What builds and runs a change may not write, and what writes runs none of it.
        assert not (runs_code and "write" in rights.values())
        for step in steps:
            if "actions/checkout@" in step.get("uses", ""):
                may_push = rights.get("contents") == "write"
                assert step["with"]["persist-credentials"] is may_push
    assert "pull_request_target" not in path.read_text()


@pytest.mark.parametrize(
    ("comment", "code", "scenarios"),
    [
        ("/waitbench", 0, ""),
        ("/waitbench a-* b\nthanks", 0, "a-*\nb"),
        ("/waitbench $(touch pwned)", 1, None),
    ],
)
def test_a_comment_of_anybody_names_scenarios_and_nothing_else(
    comment: str, code: int, scenarios: str | None, tmp_path: Path
) -> None:
    done = ask("command", tmp_path, COMMENT=comment)
    assert done.returncode == code, done.stdout + done.stderr
    assert outputs_in(tmp_path).get("scenarios") == scenarios
    assert not (tmp_path / "pwned").exists()


GH = """\
#!/bin/sh
# Answers as GitHub's program would: pull requests and comments are in $STATE.
printf '%s ' "$@" >>"$STATE/calls"; echo >>"$STATE/calls"
for word; do
  case $word in
    body=@*) cp "${word#body=@}" "$STATE/body" ;;
    repos/*) path=$word ;;
  esac
done
case " $* " in *" POST "* | *" PATCH "*) ;; *) cat "$STATE/${path##*/}" ;; esac
"""


class GitHub:
    """A pull request with comments, as ``gh`` sees it."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.state.mkdir()
        self.programs = folder / "bin"
        self.programs.mkdir()
        (self.programs / "gh").write_text(GH)
        (self.programs / "gh").chmod(0o755)
        self.results = folder / "results"
        self.results.mkdir()
        self.set(pulls="7\n", comments="")

    def set(self, **answers: str) -> None:
        for name, text in answers.items():
            (self.state / name).write_text(text)

    def comment(self, **variables: str) -> subprocess.CompletedProcess[str]:
        known = {
            "GH_TOKEN": "x", "NUMBER": "", "RUN_URL": "https://example.org/runs/1",
            "HEAD_OWNER": "them", "HEAD_BRANCH": BRANCH, "HEAD_SHA": "abc",
            "RESULTS": str(self.results), "STATE": str(self.state),
            "PATH": f"{self.programs}:{os.environ['PATH']}",
        }  # fmt: skip
        return run(ROOT / "comment" / "comment.sh", env={**RUNNER, **known, **variables})

    def calls(self) -> list[list[str]]:
        return [line.split() for line in (self.state / "calls").read_text().splitlines()]

    @property
    def body(self) -> str:
        return (self.state / "body").read_text()


def test_a_verdict_is_one_comment_that_is_brought_up_to_date(tmp_path: Path) -> None:
    hub = GitHub(tmp_path)
    for place in ("one", "two"):
        (hub.results / place).mkdir()
        (hub.results / place / "verdict.md").write_text(f"### PASS {place} @maintainer ü\n")
    done = hub.comment()
    assert done.returncode == 0, done.stderr
    *_, asked, written = hub.calls()
    assert "repos/somebody/something/issues/7/comments" in asked
    assert {"POST", "repos/somebody/something/issues/7/comments"} <= set(written)
    assert hub.body.startswith("<!-- waitbench -->\n### PASS one ")
    assert "### PASS two" in hub.body
    assert "@maintainer" not in hub.body
    assert "(https://example.org/runs/1)" in hub.body
    assert f"head=them:{BRANCH}" in hub.calls()[0]
    hub.set(comments="41\n42\n")
    assert hub.comment().returncode == 0
    assert {"PATCH", "repos/somebody/something/issues/comments/41"} <= set(hub.calls()[-1])
    # One that is too long is cut off.
    (hub.results / "one" / "verdict.md").write_text("### FAIL\n" + "x" * 100_000)
    assert hub.comment(NUMBER="12").returncode == 0
    assert 50_000 < len(hub.body) < 65_536
    assert any("issues/12/comments" in word for call in hub.calls() for word in call)


def test_where_there_is_nothing_to_say_a_notice_says_why_and_a_number_must_be_one(
    tmp_path: Path,
) -> None:
    hub = GitHub(tmp_path)
    without_verdict = hub.comment()
    (hub.results / "verdict.md").write_text("### PASS\n")
    hub.set(pulls="")
    for done in (without_verdict, hub.comment()):
        assert (done.returncode, done.stdout.count("::notice")) == (0, 1), done.stderr
    assert not (hub.state / "body").exists()
    done = hub.comment(NUMBER="7/../../x")
    assert (done.returncode, "is not the number" in done.stdout) == (3, True)


@pytest.mark.parametrize("worker", ["", "some where.toml"])
def test_the_job_for_gitlab_compares_with_the_target_and_reports_the_verdict(
    worker: str, tmp_path: Path
) -> None:
    job = yaml.safe_load((ROOT / "examples" / "gitlab-merge-request.yml").read_text())["cpu-cost"]
    (tmp_path / "bench").mkdir()
    fake = tmp_path / "bench" / "compare.sh"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    measuring = "\n".join(job["script"][-2:])  # before it: installing, and counting
    variables = {"WORKER": worker, "CI_COMMIT_SHA": "new", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "old"}
    done = run("bash", "-euc", measuring, cwd=tmp_path, env=variables)
    arguments = done.stdout.splitlines()
    kind = ["--worker", worker] if worker else ["--processes", "2"]
    assert arguments[:4] == [*kind, "base=old", "this=new"], done.stderr
    results = arguments[arguments.index("--results") + 1]
    assert job["artifacts"]["reports"] == {"junit": f"{results}/verdict.xml"}
    assert job["artifacts"]["when"] == "always", "a failed gate has the report"
    assert "--gate" in arguments


def test_the_scripts_of_the_steps_are_sound(tmp_path: Path) -> None:
    examples = [step for path in WORKFLOWS for step in steps_of(path)]
    scripts = [step["run"] for step in (*ACTION["runs"]["steps"], *examples) if "run" in step]
    for number, script in enumerate(scripts):
        (tmp_path / f"{number}.sh").write_text(script)
    shellcheck = Path(sys.executable).with_name("shellcheck")
    # Below a warning it takes the variables of the step for misspelt ones of its own.
    options = ("--shell", "bash", "--severity", "warning")
    done = run(shellcheck, *options, *tmp_path.glob("*.sh"))
    assert done.returncode == 0, done.stdout
