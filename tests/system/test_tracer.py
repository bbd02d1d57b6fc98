"""Whether anything can be traced, and what would mend it."""

import os
from pathlib import Path

import pytest

from waitbench.system import tracer
from waitbench.system.instruments import Counter
from waitbench.system.tracer import find_tracer


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine where root finds a tracer on PATH that attaches."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(tracer, "find_system_calls", lambda: Counter(tracepoint=1))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    put_program(tmp_path, "exit 0")


def put_program(folder: Path, script: str) -> None:
    program = folder / tracer.PROGRAM
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_a_tracer_that_attaches_is_found(tmp_path: Path) -> None:
    assert find_tracer().path == str(tmp_path / tracer.PROGRAM)


def test_only_root_may_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = find_tracer()
    assert (found.path, found.reason) == (None, "only root may trace")
    assert found.remedy.startswith("sudo ")


def test_a_tracer_that_is_not_there_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_tracer().remedy == "sudo apt-get install bpftrace"


def test_what_prevents_counting_prevents_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Counter(tracepoint=None, reason="not mounted", remedy="sudo mount")
    monkeypatch.setattr(tracer, "find_system_calls", lambda: lacking)
    found = find_tracer()
    assert (found.path, found.reason, found.remedy) == (None, "not mounted", "sudo mount")


@pytest.mark.parametrize(
    ("script", "says"),
    [("echo first >&2; echo 'no BPF' >&2; exit 1", "no BPF"), ("exit 4", "exit code 4")],
)
def test_a_kernel_that_refuses_is_quoted(script: str, says: str, tmp_path: Path) -> None:
    put_program(tmp_path, script)
    found = find_tracer()
    assert found.path is None
    assert found.reason.endswith(f"cannot trace here: {says}")
    assert found.remedy
