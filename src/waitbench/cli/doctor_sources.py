"""Where code comes from, as ``doctor`` finds it: git, the repository, the package index."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

from waitbench import engines
from waitbench.cli.finding import Finding
from waitbench.model.errors import masked

_NETWORK_ANSWERS_WITHIN_S = 60


def findings() -> Iterator[Finding]:
    """In the order in which people need them; each as soon as it is known."""
    yield _git()
    yield _repository()
    yield _index()


def _git() -> Finding:
    if shutil.which("git"):
        return Finding(what="git", here="installed")
    return Finding(
        what="git",
        here="not installed",
        costs="Commits and branches cannot be looked up; releases have wheels.",
        remedy="sudo apt-get install git",
    )


def _repository() -> Finding:
    engine = engines.DEFAULT
    where = os.environ.get(engine.repository_variable or "") or str(engine.repository)
    if _answers("git", "ls-remote", "--exit-code", "--", where, "HEAD"):
        return Finding(what="repository", here=f"{masked(where)} answers")
    return Finding(
        what="repository",
        here=f"{masked(where)} does not answer",
        costs="Commits, branches and tags that are not in the cache yet cannot be looked up.",
        remedy=f"export {engine.repository_variable}=FOLDER    # a clone of it",
    )


def _index() -> Finding:
    package = engines.DEFAULT.package
    if _answers(sys.executable, "-m", "pip", "index", "versions", package):
        return Finding(what="package index", here="answers")
    return Finding(
        what="package index",
        here=f"does not answer for {package}",
        costs="Releases that are not in the cache yet cannot be installed.",
        remedy=f"{sys.executable} -m pip config debug",
    )


def _answers(*question: str) -> bool:
    """Whether a program that asks the network ends well."""
    try:
        asked = subprocess.run(
            question,
            capture_output=True,
            timeout=_NETWORK_ANSWERS_WITHIN_S,
            check=False,
            # So that nobody is asked for a password.
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0
