#!/usr/bin/env bash
# Compares revisions of bytewax: ./compare.sh BASELINE CANDIDATE... (see --help).
set -euo pipefail
BENCH_PROGRAM=./compare.sh exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/waitbench" compare "$@"
