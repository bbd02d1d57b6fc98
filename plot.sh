#!/usr/bin/env bash
# Draws the charts of a folder of results: ./plot.sh [RESULTS] (see --help).
set -euo pipefail
BENCH_PROGRAM=./plot.sh exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/waitbench" plot "$@"
