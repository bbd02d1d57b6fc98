"""Environment variables that child processes inherit.

Builds, dataflows, workers and services run untrusted code. Variables of the caller's shell, such as
tokens, another repository's ``GIT_DIR`` or a ``PYTHONPATH``, must neither reach that code nor
change a figure. So waitbench removes all variables from its own environment except those listed
here. The user can add variables by naming them in ``BENCH_PASS_ENV``.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

EVERYWHERE = (
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*",
    "LD_LIBRARY_PATH",
)  # fmt: skip
"""Inherited by all programs. Dataflows, workers and services inherit only these and added ones."""

SETTING_UP = (
    "*_proxy", "*_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "PIP_*", "UV_*", "SSH_AUTH_SOCK",
    "GIT_SSL_*", "GIT_SSH*", "GIT_CONFIG*", "GIT_ASKPASS", "GIT_HTTP_*", "GIT_PROXY_*",
    "GIT_TRACE*",
    "npm_config_*", "NPM_CONFIG_*", "NODE_EXTRA_CA_CERTS", "MAVEN_*", "JAVA_HOME", "CGO_*",
    "GOPROXY", "GOPRIVATE", "GONO*", "GOSUMDB", "GOFLAGS", "GOPATH", "GOCACHE", "GOMODCACHE",
    "GOTOOLCHAIN",
    "PYENV_ROOT", "XDG_*", "CARGO_*", "RUSTUP_*", "RUSTFLAGS", "RUST_BACKTRACE", "MAKEFLAGS",
    "CC", "CXX", "AR", "LD", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "C_INCLUDE_PATH",
    "LIBRARY_PATH", "PKG_CONFIG*", "OPENSSL_*", "PROTOC*", "CMAKE_*", "SETUPTOOLS_SCM_*",
)  # fmt: skip
"""Inherited by downloads and builds as well."""

OURS = (
    "BENCH_*", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI",
    # dask can distribute a comparison among machines.
    "DASK_*",
    # Shell completion.
    "_WAITBENCH_COMPLETE", "_TYPER_COMPLETE_*", "COMP_WORDS", "COMP_CWORD",
    "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE",
)  # fmt: skip
"""Read by waitbench itself."""

_SET = {"OPENBLAS_NUM_THREADS": "1"}
"""Set for waitbench itself. Threads of numpy's linear algebra wait for each other by spinning: if
another program uses a CPU, a system of 300 equations takes fifty times as long."""

_EXTRA_SETTING = "BENCH_PASS_ENV"
_SECRET_SUFFIXES = ("_TOKEN", "_PASSWORD", "_SECRET", "_SECRET_KEY")
"""Variables with these endings are removed, even if listed, unless ``BENCH_PASS_ENV`` has them."""


@contextmanager
def only_listed() -> Iterator[None]:
    """Removes unlisted variables from this process within the block."""
    before = dict(os.environ)
    listed, passed = (*EVERYWHERE, *SETTING_UP, *OURS), _passed()
    for name in before:
        if name not in passed and (not _is_listed(name, listed) or name.endswith(_SECRET_SUFFIXES)):
            del os.environ[name]
    os.environ.update({name: it for name, it in _SET.items() if name not in passed})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def of_run() -> Mapping[str, str]:
    return _chosen(EVERYWHERE)


def of_setup() -> Mapping[str, str]:
    return _chosen((*EVERYWHERE, *SETTING_UP))


def _chosen(listed: Iterable[str]) -> Mapping[str, str]:
    patterns = (*listed, *_passed())
    return {name: value for name, value in os.environ.items() if _is_listed(name, patterns)}


def _passed() -> Sequence[str]:
    return os.environ.get(_EXTRA_SETTING, "").split()


def _is_listed(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
