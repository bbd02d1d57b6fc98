"""The engine that is one worker in a JVM and Python processes: what of it needs neither."""

import importlib.util
import signal
import stat
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from waitbench.engines.pyspark import ENGINE, java_version
from waitbench.environments.revisions import resolve
from waitbench.model.errors import UsageError

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="it is measured on Linux only")


def carried(name: str) -> ModuleType:
    """A module of the carrier's folder that needs nothing of the engine."""
    assert ENGINE.carrier is not None
    spec = importlib.util.spec_from_file_location(name, ENGINE.carrier / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_202"', 8),
        ('openjdk version "25" 2025-09-16 LTS', 25),
        ("Unable to locate a Java Runtime.", None),
    ],
)
def test_the_version_of_java(said: str, version: int | None) -> None:
    assert java_version(said) == version


@needs_linux
@pytest.mark.parametrize(
    ("said", "lack"),
    [
        ('openjdk version "17.0.1"', None),
        ('openjdk version "11.0.2"', "version 11"),
        ("what?", "names no version"),
        (None, "no java on the PATH"),
    ],
)
def test_java_that_is_missing_or_too_old_is_said_with_what_to_do(
    said: str | None, lack: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if said is not None:
        java = tmp_path / "java"
        java.write_text(f"#!/bin/sh\nprintf '%s\\n' '{said}' >&2\n")
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = ENGINE.missing_prerequisite()
    if lack is None:
        assert found is None
    else:
        assert found is not None
        assert lack in found
        assert "apt-get install" in found


def test_releases_before_sources_can_be_written_in_python_are_refused() -> None:
    assert ENGINE.version_of("4.1.4") == "4.1.4"
    assert ENGINE.version_of("main") is None
    with pytest.raises(UsageError, match=r"^pyspark 3\.5\.9 is too old: 4\.0\.0 is the oldest"):
        resolve(["pyspark@3.5.9"], {})


def test_what_is_told_is_heard_before_the_teller_goes_on(tmp_path: Path) -> None:
    channel = carried("channel")
    listener = channel.Listener(str(tmp_path))
    order: list[str] = []

    def tell() -> None:
        teller = channel.Teller(str(tmp_path))
        teller.tell(begun=True)
        order.append("goes on")
        teller.tell(items=3)
        listener.over()

    telling = threading.Thread(target=tell)
    telling.start()
    assert listener.next() == {"begun": True}
    order.append("heard")
    listener.heard()
    assert listener.next() == {"items": 3}
    listener.heard()
    assert listener.next() is None
    telling.join()
    assert order == ["heard", "goes on"]


@pytest.mark.parametrize(("program", "is_kept"), [("pyspark.daemon", True), ("other", False)])
def test_only_in_a_daemon_children_that_have_ended_are_kept_to_be_counted(
    program: str, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", program, "worker"])
    monkeypatch.setattr(signal, "signal", signal.signal)
    before = signal.getsignal(signal.SIGCHLD)
    carried("sitecustomize")
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        now = signal.getsignal(signal.SIGCHLD)
        assert now == (before if is_kept else signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGCHLD, before)
