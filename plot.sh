#!/usr/bin/env bash
# Draws the charts of a folder of results: ./plot.sh [RESULTS] (see --help).
set -euo pipefail
BENCH_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export BENCH_PROGRAM=./plot.sh
# shellcheck source=waitbench/setup.sh
source "$BENCH_ROOT/waitbench/setup.sh" "$BENCH_ROOT/requirements.txt"
exec "$bench_python" "$BENCH_ROOT/runner.py" plot "$@"
