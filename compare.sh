#!/usr/bin/env bash
# Compares revisions of bytewax: ./compare.sh BASELINE CANDIDATE... (see --help).
set -euo pipefail
BENCH_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export BENCH_PROGRAM=./compare.sh
# shellcheck source=waitbench/setup.sh
source "$BENCH_ROOT/waitbench/setup.sh" "$BENCH_ROOT/requirements.txt"
exec "$bench_python" "$BENCH_ROOT/runner.py" compare "$@"
