"""Finds the cgroups of running containers, units and pods by name."""

import glob
import os
import re
from functools import cache
from pathlib import Path

from waitbench.model.errors import UsageError
from waitbench.system.processes import ask

PROCESSES = "cgroup.procs"
"""The file of a cgroup that lists its processes."""
_PATTERNS = {"unit": "{}", "pod": "*pod{}*"}
"""Glob patterns of the folders of cgroups. systemd adds a suffix to that of a pod."""
_INSPECT_LIMIT_S = 30.0


@cache  # podman takes a while
def locate(name: str, root: Path = Path("/")) -> Path | int | None:
    """Returns the folder of a cgroup, given as podman:NAME, docker:NAME, unit:NAME or pod:UID.

    For a container without a cgroup of its own, returns its PID; for any other text, ``None``.
    Raises ``UsageError`` for an unknown name.
    """
    kind, _, rest = name.partition(":")
    if rest and kind in ("podman", "docker"):
        return _locate_container(kind, rest, root)
    if not rest or kind not in _PATTERNS:
        return None
    # systemd writes the dashes of a UID as underscores.
    text = glob.escape(rest) if kind == "unit" else re.sub("[-_]", "[-_]", glob.escape(rest))
    pattern = f"{_PATTERNS[kind].format(text)}/{PROCESSES}"
    for mount in _mounts(root) if "/" not in rest else ():
        folders = [path.parent for path in mount.rglob(pattern)]
        if len(folders) > 1:
            raise UsageError(
                f"{name} names several cgroups: {', '.join(sorted(map(str, folders)))}."
            )
        if folders:
            return folders[0]
    raise UsageError(f"{name}: no cgroup of this machine has that name.")


def _locate_container(program: str, name: str, root: Path) -> Path | int:
    arguments = [program, "inspect", "--type", "container", "--format", "{{.State.Pid}}", name]
    try:
        answer = ask(arguments, time_limit_s=_INSPECT_LIMIT_S)
    except OSError as error:
        raise UsageError(f"{program} does not start: {error.strerror}.") from error
    pid = answer.stdout.strip()
    if answer.returncode != 0 or not pid.isdecimal():
        raise UsageError(f"{program} knows no container {name!r}: {answer.stderr.strip()}")
    try:
        lines = (root / f"proc/{pid}/cgroup").read_text().splitlines()
    except OSError as error:
        raise UsageError(f"The container {name!r} of {program} does not run here.") from error
    paths = {line.split(":", 2)[2].lstrip("/") for line in lines}
    for folder in (mount / path for mount in _mounts(root) for path in sorted(paths)):
        file = folder / PROCESSES
        pids = file.read_text().split() if file.is_file() else ()
        # A cgroup that has this process, too, is not the container's own.
        if pid in pids and str(os.getpid()) not in pids:
            return folder
    return int(pid)


def _mounts(root: Path) -> list[Path]:
    """The folders where cgroups are mounted: version 2, then controllers of version 1."""
    mounts = [line.split() for line in (root / "proc/mounts").read_text().splitlines()]
    places = [(kind, place) for _, place, kind, *_ in mounts if kind.startswith("cgroup")]
    return [root / place.lstrip("/") for _, place in sorted(places, reverse=True)]
