#!/usr/bin/env bash
# Draws the charts of a folder of results: ./plot.sh [RESULTS] (see --help).
trap 'exit 3' EXIT # exit code 1 means a regression, so a failure of this script must not end with 1
set -euo pipefail
BENCH_PROGRAM=./plot.sh exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/waitbench" plot "$@"
