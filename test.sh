#!/usr/bin/env bash
# The project's own tests.
#   ./test.sh              before each commit: linters, types, imports, what runs in process, and one
#                          of each command end to end, a pair of real releases among them
#   ./test.sh --all        the rest, too: simulations, compilers, browsers, brokers, faults
#   ./test.sh ARGUMENTS    what pytest does with these, after the linters
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
"$bin/shellcheck" --external-sources ./*.sh ./waitbench src/*.sh comment/*.sh workers/*/*.sh .ci/run
# Three files at a time: most tests wait, none asserts on a time or heeds what else the machine does.
# In our order, slow ones first (tests/conftest.py); xdist's own begins with those of many tests.
side_by_side=(--numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 10)
case ${1-} in
  "") exec "$bench_python" -m pytest -m "not (integration or long) or smoke" "${side_by_side[@]}" ;;
  --all)
    [[ $# -eq 1 ]] || bench_die "--all takes nothing beside it"
    exec "$bench_python" -m pytest "${side_by_side[@]}"
    ;;
  *) exec "$bench_python" -m pytest "$@" ;;
esac
