#!/usr/bin/env bash
# Draws the charts of a folder of results: ./plot.sh [RESULTS] (see --help).
trap 'exit 3' EXIT # what fails here is no regression, which is all that 1 means
set -euo pipefail
BENCH_PROGRAM=./plot.sh exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/waitbench" plot "$@"
