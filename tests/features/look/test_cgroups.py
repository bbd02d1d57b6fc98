"""Cgroups of containers, units and pods by name, in folders as the kernel shows them."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from waitbench.features.look import cgroups
from waitbench.model.errors import UsageError

PID = "4711"
UID = "0c1d2e3f-aaaa-4bbb-8ccc-0123456789ab"
HYBRID = """\
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
"""
VERSION_2 = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"


def make_group(root: Path, folder: str, *pids: object) -> Path:
    group = root / "sys/fs/cgroup" / folder
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
    return group


@pytest.fixture(params=[HYBRID, VERSION_2])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    (tmp_path / "proc" / PID).mkdir(parents=True)
    (tmp_path / "proc/mounts").write_text(request.param)
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    return tmp_path


def top(root: Path) -> str:
    """The folder of version 2 within that of all cgroups."""
    return "unified/" if "unified" in (root / "proc/mounts").read_text() else ""


def test_a_unit_is_the_folder_of_its_name(root: Path) -> None:
    folder = make_group(root, f"{top(root)}system.slice/nginx@1.service", PID)
    make_group(root, f"{top(root)}system.slice/nginx.service", 5)
    assert cgroups.locate("unit:nginx@1.service", root) == folder


def test_a_unit_of_version_1_alone_is_found_too(root: Path) -> None:
    (root / "proc/mounts").write_text(HYBRID.replace("cgroup2", "none"))
    folder = make_group(root, "systemd/system.slice/nginx.service", PID)
    assert cgroups.locate("unit:nginx.service", root) == folder


@pytest.mark.parametrize(
    "name", [f"kubepods-burstable-pod{UID.replace('-', '_')}.slice", f"pod{UID}"]
)
def test_a_pod_is_found_by_its_uid_however_its_folder_is_written(name: str, root: Path) -> None:
    folder = make_group(root, f"{top(root)}kubepods/{name}")
    make_group(root, f"{top(root)}kubepods/{name}/cri-containerd-1234.scope", PID)
    assert cgroups.locate(f"pod:{UID}", root) == folder


@pytest.mark.parametrize("name", ["unit:no.service", f"pod:{UID}", "unit:/system.slice"])
def test_a_name_without_a_cgroup_is_refused(name: str, root: Path) -> None:
    with pytest.raises(UsageError, match="no cgroup of this machine has that name"):
        cgroups.locate(name, root)


def test_a_name_of_two_cgroups_is_refused_with_both(root: Path) -> None:
    folders = [make_group(root, f"{top(root)}{user}/app.service", PID) for user in "ab"]
    with pytest.raises(UsageError, match="names several") as caught:
        cgroups.locate("unit:app.service", root)
    assert all(str(folder) in str(caught.value) for folder in folders)


@pytest.mark.parametrize("name", ["4711", "redis-server", "unit:", "a:b", "/sys/fs/cgroup/x"])
def test_other_texts_are_not_names_of_cgroups(name: str, root: Path) -> None:
    assert cgroups.locate(name, root) is None


def answer_with(patch: pytest.MonkeyPatch, output: str, code: int = 0) -> list[Sequence[str]]:
    """Answers in place of podman and docker; returns a list of the questions."""
    asked = list[Sequence[str]]()

    def answer(words: Sequence[str], time_limit_s: float) -> "subprocess.CompletedProcess[str]":
        asked.append(words)
        return subprocess.CompletedProcess(words, code, output, "no such container")

    patch.setattr(cgroups, "ask", answer)
    return asked


@pytest.mark.parametrize("program", ["podman", "docker"])
def test_a_container_is_the_cgroup_of_its_first_process(
    program: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_group(root, f"{top(root)}machine.slice/libpod-12.scope", PID, 4712)
    make_group(root, f"{top(root)}machine.slice/libpod-conmon-12.scope", 4710)
    (root / "proc" / PID / "cgroup").write_text("4:cpu:/other\n0::/machine.slice/libpod-12.scope\n")
    asked = answer_with(monkeypatch, f"{PID}\n")
    assert cgroups.locate(f"{program}:web", root) == folder
    assert [words[0] for words in asked] == [program]
    assert asked[0][-1] == "web"


def test_a_container_in_the_cgroup_of_waitbench_is_its_processes_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_group(root, f"{top(root)}user.slice", PID, os.getpid())
    (root / "proc" / PID / "cgroup").write_text("0::/user.slice\n")
    answer_with(monkeypatch, PID)
    assert cgroups.locate("podman:web", root) == int(PID)


@pytest.mark.parametrize(
    ("output", "code", "message"),
    [
        ("", 125, "podman knows no container 'web': no such container"),
        ("0\n", 0, "The container 'web' of podman does not run here"),
    ],
)
def test_a_container_that_does_not_run_is_refused(
    output: str, code: int, message: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, output, code)
    with pytest.raises(UsageError, match=message):
        cgroups.locate("podman:web", root)


def test_a_missing_program_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root))
    with pytest.raises(UsageError, match="podman does not start: No such file"):
        cgroups.locate("podman:web", root)
