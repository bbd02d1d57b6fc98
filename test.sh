#!/usr/bin/env bash
# The project's own tests: linters, types, imports, unit tests, then integration tests with real
# bytewax, hyperfine and git.
# ./test.sh [PYTEST ARGUMENTS], e.g. ./test.sh -m 'not integration' for the quick ones only.
set -euo pipefail
BENCH_ROOT=$(CDPATH='' cd -P -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
export BENCH_PROGRAM=./test.sh
# shellcheck source=src/setup.sh
source "$BENCH_ROOT/src/setup.sh" "$BENCH_ROOT/requirements-dev.txt"
cd "$BENCH_ROOT"
bin=$(dirname "$bench_python")
"$bin/ruff" check .
"$bin/ruff" format --check .
"$bin/mypy"
"$bin/lint-imports"
"$bin/shellcheck" --external-sources ./*.sh ./waitbench src/*.sh benchmarks/*.sh .ci/run
[[ $# -gt 0 ]] && exec "$bench_python" -m pytest "$@"
# Three files at a time: most tests wait, none asserts on a time, few heed what else the machine does.
"$bench_python" -m pytest -m "not alone" --numprocesses 3 --dist loadfile
exec "$bench_python" -m pytest -m alone
