"""An engine's git repository: a folder, used as it is, or a URL, cloned once, fetched as needed."""

import hashlib
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from waitbench.model.errors import HarnessError, UsageError, masked
from waitbench.system import files, variables
from waitbench.system.places import Cache
from waitbench.system.processes import Answer, ask

_URL = re.compile(r"(https?|ssh|git|file)://[^\s-][^\s]*|[\w.-]+@[\w.-]+:[^\s-][^\s]*")
_GIT_TIME_LIMIT_S = 1800


@dataclass(frozen=True)
class Repository:
    """Where commits, branches and tags are looked up."""

    location: str
    cache: Cache
    say: Callable[[str], None] = lambda _message: None

    @property
    def shown(self) -> str:
        """The location as it may be said: without a password or token."""
        return masked(self.location)

    def __post_init__(self) -> None:
        if not self.location or (
            not self._is_local() and not _URL.fullmatch(self.location)
        ):
            raise UsageError(
                f"--repo {self.location!r} is neither a folder nor a URL (https://…, ssh://…, "
                "git@host:path)."
            )

    def find_commit(self, name: str) -> str | None:
        """The full id of the commit that a tag, a branch or 7 or more hex digits name, if any."""
        folder = self._folder()
        found = _find(folder, name)
        if found is None and not self._is_local():
            self.say(f"{name} is not in the local copy of {self.shown}: fetching")
            self._update(folder, name)
            found = _find(folder, name)
        return found

    def date_of(self, commit: str) -> str | None:
        """When a commit was committed, in ISO 8601."""
        return git(self._folder(), "show", "--no-patch", "--format=%cI", commit)

    def read_file(self, commit: str, path: str) -> str | None:
        """The text of one file of a commit; ``None`` where it has no such file."""
        return git(self._folder(), "show", f"{commit}:{path}")

    def export(self, commit: str, target: Path) -> None:
        """Writes a commit's files into an empty folder; needs no other commit's blobs."""
        archive = subprocess.Popen(
            ["git", "-C", str(self._folder()), "archive", "--format=tar", commit],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
        )
        # --touch: files get the time of now, never the commit's, which would hide a change from
        # cargo (its fingerprints compare modification times, and two commits can have the same).
        unpacked = subprocess.run(
            ["tar", "-x", "--touch", "-C", str(target)],
            stdin=archive.stdout,
            capture_output=True,
            check=False,
        )
        _, errors = archive.communicate()
        if archive.returncode != 0 or unpacked.returncode != 0:
            reason = (errors + unpacked.stderr).decode("utf-8", "replace").strip()
            raise HarnessError(f"Commit {commit} cannot be read from {self.location}: {reason}")

    def _is_local(self) -> bool:
        return files.is_folder(self.location)

    def _folder(self) -> Path:
        if self._is_local():
            if git(Path(self.location), "rev-parse", "--git-dir") is None:
                raise UsageError(f"--repo {self.location!r} is a folder, but not a git repository.")
            return Path(self.location)
        key = hashlib.sha256(self.location.encode()).hexdigest()[:16]
        folder = self.cache.folder("repositories") / key
        with FileLock(self.cache.lock_file(f"repository-{key}")):
            if not folder.exists():
                self.say(f"cloning {self.shown} (once)")
                partial = folder.with_name(f"{key}.part-{os.getpid()}")
                _require(
                    ["git", "clone", "--quiet", "--bare", "--", self.location, str(partial)],
                    self.location,
                )
                # What it was cloned from would stand in its configuration, token and all.
                git(partial, "remote", "set-url", "origin", self.shown)
                partial.rename(folder)
        return folder

    def _update(self, folder: Path, name: str) -> None:
        refs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
        fetch = ["git", "-C", str(folder), "fetch", "--quiet", "--", self.location]
        _require([*fetch, *refs], self.location)
        base, _ = _split_ancestry(name)
        if _find(folder, name) is not None:
            return
        if base.startswith("#"):
            for ref in _pull_requests(base):
                git(folder, "fetch", "--quiet", "--", self.location, f"+{ref}:{ref}")
        elif re.fullmatch(r"[0-9a-f]{40}", base):
            # A commit in no branch can still be had from most hosts by its full id.
            git(folder, "fetch", "--quiet", "--", self.location, base)


def _find(folder: Path, name: str) -> str | None:
    base, ancestry = _split_ancestry(name)
    if base.startswith("#"):
        candidates = list(_pull_requests(base))
    elif base == "HEAD":
        candidates = ["HEAD"]
    else:
        candidates = [
            f"refs/tags/{base}",
            f"refs/heads/{base}",
            f"refs/remotes/{base}",
            f"refs/remotes/origin/{base}",
            f"refs/{base}",
            # A copy of ours has the branches of its origin as its own.
            f"refs/heads/{base.removeprefix('origin/')}",
        ]
    if re.fullmatch(r"[0-9a-fA-F]{7,40}", base):
        candidates.append(base)
    for candidate in candidates:
        found = git(
            folder,
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{candidate}{ancestry}^{{commit}}",
        )
        if found:
            return found
    return None


def _split_ancestry(name: str) -> tuple[str, str]:
    """``main~3^2`` as ``main`` and ``~3^2``."""
    base = re.split(r"[~^]", name, maxsplit=1)[0]
    return base, name[len(base) :]


def _pull_requests(name: str) -> tuple[str, ...]:
    """The refs by which hosts know the pull request ``#571``."""
    number = name[1:]
    return f"refs/pull/{number}/head", f"refs/merge-requests/{number}/head"


def _environment() -> dict[str, str]:
    # GIT_DIR and its like, which any git hook has, would name another repository.
    return {**variables.of_setup(), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def git(folder: Path, *arguments: str) -> str | None:
    """What a git command prints, stripped; ``None`` where it fails."""
    completed = _run(["git", "-C", str(folder), *arguments])
    return completed.stdout.strip() if completed.returncode == 0 else None


def _run(command: list[str]) -> Answer:
    """Raises ``HarnessError`` where there is no git, or it does not end."""
    try:
        done = ask(command, time_limit_s=_GIT_TIME_LIMIT_S, env=_environment())
    except FileNotFoundError as error:
        raise HarnessError(
            "git is not installed here. Install it (apt-get install git)."
        ) from error
    if done.returncode is None:
        raise HarnessError(
            f"git was still running after {_GIT_TIME_LIMIT_S} s, and was killed: "
            f"{' '.join(command)}"
        )
    return done


def _require(command: list[str], location: str) -> None:
    completed = _run(command)
    if completed.returncode != 0:
        reason = completed.stderr.strip().splitlines()
        raise UsageError(
            f"{location} cannot be reached: {reason[-1] if reason else 'git failed'}. "
            "Name another copy with --repo URL_OR_FOLDER."
        )
