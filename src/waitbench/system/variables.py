"""The environment variables that other programs get: those that are listed here, and no more.

A build and a workload run somebody's code, which is under test and may be anybody's. What the
caller's shell holds besides (tokens, another repository's ``GIT_DIR``, a ``PYTHONPATH``) must
neither reach that code nor change a figure. So the harness takes everything that is not listed out
of its own environment when it starts: what it starts later cannot have it. ``BENCH_PASS_ENV`` names
what is not taken out, and is passed on to builds, services and workloads.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

from waitbench.model.errors import UsageError

EVERYWHERE = (
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*",
    "LD_LIBRARY_PATH",
)  # fmt: skip
"""What any program may need to run at all. Workloads and services get nothing else of the
caller's."""

SETTING_UP = (
    # The way to an index or a repository.
    "*_proxy", "*_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "PIP_*", "UV_*", "SSH_AUTH_SOCK",
    "GIT_SSL_*", "GIT_SSH*", "GIT_CONFIG*", "GIT_ASKPASS", "GIT_HTTP_*", "GIT_PROXY_*",
    "GIT_TRACE*",
    # Interpreters and compilers.
    "PYENV_ROOT", "XDG_*", "CARGO_*", "RUSTUP_*", "RUSTFLAGS", "RUST_BACKTRACE", "MAKEFLAGS",
    "CC", "CXX", "AR", "LD", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "C_INCLUDE_PATH",
    "LIBRARY_PATH", "PKG_CONFIG*", "OPENSSL_*", "PROTOC*", "CMAKE_*",
)  # fmt: skip
"""What downloading and building may need besides."""

OURS = (
    "BENCH_*", "DASK_*", "*_REPO", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI",
    # A shell that asks what a word may be completed to.
    "_WAITBENCH_COMPLETE", "_TYPER_COMPLETE_*", "COMP_WORDS", "COMP_CWORD",
    "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE",
)  # fmt: skip
"""What the harness itself heeds."""

_OUR_OWN = {"OPENBLAS_NUM_THREADS": "1"}
"""What the harness sets for itself: threads of numpy's linear algebra wait for each other by
spinning. Where another program uses a CPU, a system of 300 equations takes fifty times as long."""

_NAMED = "BENCH_PASS_ENV"
_SECRETS = ("_TOKEN", "_PASSWORD", "_SECRET", "_SECRET_KEY")
"""How names end that are listed by none but the user: cargo's, to publish packages, is one."""


@contextmanager
def only_listed() -> Iterator[None]:
    """For the time of the block, this process has the listed variables, and those passed on."""
    before = dict(os.environ)
    listed, passed = (*EVERYWHERE, *SETTING_UP, *OURS), _passed()
    for name in before:
        if name not in passed and (not _is_listed(name, listed) or name.endswith(_SECRETS)):
            del os.environ[name]
    os.environ.update(_OUR_OWN)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def require_passed() -> None:
    """Raises ``UsageError`` for a variable that is to be passed on and is not set."""
    for name in _passed():
        if name not in os.environ or name in _OUR_OWN:
            raise UsageError(f"{_NAMED}: {name}: there is no such environment variable.")


def of_workload() -> Mapping[str, str]:
    """What a workload or a service gets of the caller's."""
    return _chosen(EVERYWHERE)


def of_setup() -> Mapping[str, str]:
    """What a download or a build gets of the caller's."""
    return _chosen((*EVERYWHERE, *SETTING_UP))


def _chosen(listed: Iterable[str]) -> Mapping[str, str]:
    wanted = (*listed, *_passed())
    return {name: value for name, value in os.environ.items() if _is_listed(name, wanted)}


def _passed() -> Sequence[str]:
    return os.environ.get(_NAMED, "").split()


def _is_listed(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
