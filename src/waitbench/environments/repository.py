"""An engine's git repository: a folder, used as it is, or a URL, cloned and fetched as needed."""

import hashlib
import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from waitbench.model.errors import HarnessError, UsageError, masked
from waitbench.model.revision import SourceTree
from waitbench.system import files, variables
from waitbench.system.locks import locked, temporary_folder
from waitbench.system.paths import Cache
from waitbench.system.processes import CommandOutput, ask

_URL = re.compile(r"(https?|ssh|git|file)://[^\s-][^\s]*|[\w.-]+@[\w.-]+:[^\s-][^\s]*")
_GIT_TIME_LIMIT_S = 1800

SHALLOW_HINT = (
    "and is a shallow clone, whose history ends early. Check it out with fetch-depth: 0 "
    "(actions/checkout), or fetch the rest with git fetch --unshallow --tags."
)

_SUBMODULE = re.compile(r"(?:^|\0)160000 [^\t]*\t([^\0]+)")
"""A submodule in ``git ls-files --stage``."""


@dataclass(frozen=True)
class Repository:
    """Finds commits by id, branch or tag."""

    location: str
    cache: Cache
    say: Callable[[str], None] = lambda _message: None
    _fetched: set[str] = field(default_factory=set, compare=False)
    """The names that were fetched, as ``find_commit`` fetches each only once."""

    @property
    def shown(self) -> str:
        """The location without a password or token."""
        return masked(self.location)

    def __post_init__(self) -> None:
        if not (self._is_local() or _URL.fullmatch(self.location)):
            raise UsageError(
                f"--repo {self.location!r} is neither a folder nor a URL (https://…, ssh://…, "
                "git@host:path)."
            )

    def find_commit(self, name: str) -> str:
        """The full id of a commit, from an up-to-date repository. Raises ``UsageError``."""
        folder = self.folder()
        commit = _find(folder, name)
        is_current = self._is_local() or (commit is not None and not _may_move(folder, name))
        if not is_current and name not in self._fetched:
            why = "may have moved since the last fetch of" if commit else "is not in the copy of"
            self.say(f"{name} {why} {self.shown}: fetching")
            with self._locked():
                for stale in folder.rglob("*.lock"):  # of a fetch that was killed
                    stale.unlink(missing_ok=True)
                try:
                    self._fetch(folder, name)
                except UsageError:
                    if commit is None:
                        raise
                    text = f"{self.shown} cannot be reached: {name} is taken as it was fetched last"
                    self.say(text)
                commit = _find(folder, name)
            self._fetched.add(name)
        if commit is None:
            raise UsageError(f"{self.location} has no commit, branch or tag {name!r}{self._hint()}")
        return commit

    def _hint(self) -> str:
        """Ends a sentence on a missing commit, with a remedy."""
        if not self._is_local():
            return (
                ". If it is in a fork, name the fork with --repo URL. For a pull request, name the "
                "full id of its last commit. A commit of a deleted branch may be gone for good."
            )
        if is_shallow(Path(self.location)):
            return f", {SHALLOW_HINT}"
        return ". A folder is used as it is: git fetch --tags gets what its origin has."

    def folder(self) -> Path:
        """The folder of the repository or of its local copy. Raises ``UsageError``."""
        if self._is_local():
            failure = f"--repo {self.location!r} is not a git repository that can be read"
            require_git(failure, Path(self.location), "rev-parse", "--git-dir")
            return Path(self.location)
        folder = self.cache.folder("repositories") / self._key
        with self._locked():
            if not folder.exists():
                self.say(f"cloning {self.shown} (once)")
                # git clone would store the URL with its token.
                partial_folder = folder.with_name(f"{self._key}.part")
                files.remove(partial_folder)  # of a process that was killed
                _init(partial_folder)
                self._fetch(partial_folder)
                partial_folder.rename(folder)
        return folder

    @property
    def _key(self) -> str:
        return hashlib.sha256(self.location.encode()).hexdigest()[:16]

    def _locked(self) -> AbstractContextManager[int]:
        """Excludes other users of the local copy."""
        return locked(self.cache.lock_file(f"repository-{self._key}"), self.say)

    def _is_local(self) -> bool:
        return files.is_folder(self.location)

    def _fetch(self, folder: Path, name: str = "") -> None:
        """Mirrors branches, tags and ``HEAD`` in a copy. Fetches ``name`` if it is a full id."""
        refs = [f"+{ref}:{ref}" for ref in ("refs/heads/*", "refs/tags/*")]
        # git leaves no process running, so a lock found later is stale.
        fetch = ("-c", "gc.autoDetach=false", "fetch", "--quiet", "--prune", "--", self.location)
        failure = f"{self.location} cannot be reached. Name another copy with --repo URL_OR_FOLDER"
        require_git(failure, folder, *fetch, *refs)
        listed = git(folder, "ls-remote", "--symref", "--", self.location, "HEAD") or ""
        if head := re.match(r"ref: (refs/heads/\S+)\tHEAD", listed):
            git(folder, "symbolic-ref", "HEAD", head[1])
        commit = re.match(r"[0-9a-f]{40}(?![^~^])", name)
        if commit and _find(folder, name) is None:
            # Most hosts serve a commit without a branch by its full id.
            git(folder, *fetch, commit[0])


def read_file(source_tree: SourceTree, path: str) -> str | None:
    """Returns the content of a file; ``None`` if the sources have no such file."""
    done = _run(source_tree.repository, "show", f"{source_tree.tree}:{path}")
    return done.stdout if done.returncode == 0 else None


def export(source_tree: SourceTree, target: Path) -> None:
    """Writes the files of a tree into an empty folder. Raises ``HarnessError``."""
    # git archive would omit files that .gitattributes excludes from archives.
    failure = f"{source_tree.tree} cannot be read from {source_tree.repository}"
    with temporary_folder() as temporary:
        # With an index of its own and without hooks, as the repository may be the user's.
        options = ("-c", "core.hooksPath=/dev/null", "--work-tree", str(target.resolve()))
        index = {"GIT_INDEX_FILE": str(temporary / "index")}
        run = partial(require_git, failure, source_tree.repository, *options, **index)
        run("read-tree", source_tree.tree)
        if submodule := _SUBMODULE.search(run("ls-files", "--stage", "-z")):
            raise HarnessError(f"Commit {source_tree.tree} {_submodule_error(submodule[1])}")
        # Gives files the current time: with that of their commit, cargo would skip them.
        run("checkout-index", "--all")


def checkouts(cache: Cache) -> Path:
    """The repository in which ``snapshot`` stores files, created if missing."""
    folder = cache.root / "checkouts"
    with locked(cache.lock_file("checkouts")):
        if not (folder / "HEAD").exists():
            _init(folder)
    return folder


def snapshot(folder: Path, cache: Cache) -> str:
    """Stores a checkout's files in ``checkouts``; returns the id of their git tree."""
    failure = f"git cannot read the files of {folder}"
    options = ("-c", "core.safecrlf=false", "--literal-pathspecs")
    run = partial(require_git, failure, folder, *options)
    if submodule := _SUBMODULE.search(run("ls-files", "--stage", "-z")):
        raise UsageError(f"{str(folder)!r} {_submodule_error(submodule[1])}")
    listed = run("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    names = [name for name in listed if name and os.path.lexists(folder / name)]
    objects = checkouts(cache) / "objects"
    with temporary_folder() as temporary:
        # With another index, that of the checkout stays unchanged.
        env = {"GIT_INDEX_FILE": str(temporary / "index"), "GIT_OBJECT_DIRECTORY": str(objects)}
        (temporary / "names").write_bytes(os.fsencode("\0".join(names)))
        from_file = (f"--pathspec-from-file={temporary / 'names'}", "--pathspec-file-nul")
        run("add", "--force", *from_file, **env)
        prefix = run("rev-parse", "--show-prefix").removesuffix("\n")
        return run("write-tree", f"--prefix={prefix}", **env).strip()


def _find(folder: Path, name: str) -> str | None:
    """The full id of a commit; ``None`` if the repository does not have it."""
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    # A user's clone has branches of its origin under origin/; the copy in the cache has not. Many
    # projects tag the release 1.2.0 as v1.2.0.
    for spelling in (name, f"origin/{name}", name.removeprefix("origin/"), f"refs/tags/v{name}"):
        if commit := git(folder, *verify, f"{spelling}^{{commit}}"):
            return commit
    return None


def _may_move(folder: Path, name: str) -> bool:
    """Whether a name may mean another commit later, as it is neither a tag nor an id."""
    base = re.split(r"[~^]", name, maxsplit=1)[0]
    if re.fullmatch(r"[0-9a-fA-F]{7,40}", base):
        return False
    known = partial(git, folder, "rev-parse", "--verify", "--quiet")
    is_tag = known(f"refs/tags/{base}") or known(f"refs/tags/v{base}")
    return not is_tag or known(f"refs/heads/{base}") is not None


def _submodule_error(submodule: str) -> str:
    """Ends a sentence on sources that cannot be built."""
    return (
        f"has a submodule, {submodule!r}, which its build would not get. Build a wheel of this "
        "commit or folder yourself, and name the wheel."
    )


def is_shallow(folder: Path) -> bool:
    return git(folder, "rev-parse", "--is-shallow-repository") == "true"


def git(folder: Path, *arguments: str) -> str | None:
    """The stripped output of a git command; ``None`` if it fails."""
    done = _run(folder, *arguments)
    return done.stdout.strip() if done.returncode == 0 else None


def require_git(failure: str, folder: Path, *arguments: str, **environ: str) -> str:
    """The output of a git command. Raises ``UsageError``, which begins with ``failure``."""
    done = _run(folder, *arguments, **environ)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines() or ["git failed"]
        raise UsageError(f"{failure}. git says: {reason[-1]}")
    return done.stdout


def _run(folder: Path, *arguments: str, **environ: str) -> CommandOutput:
    """Runs git. Raises ``HarnessError`` if it is missing, or does not end."""
    # Drops variables that git sets for hooks, such as GIT_DIR: they name another repository.
    env = {**variables.of_setup(), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **environ}
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = ask(command, time_limit_s=_GIT_TIME_LIMIT_S, env=env)
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


def _init(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    failure = f"{folder} cannot be made a git repository"
    require_git(failure, folder.parent, "init", "--quiet", "--bare", "--", str(folder))
