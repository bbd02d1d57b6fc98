#!/usr/bin/env bash
# Compares revisions of bytewax: ./compare.sh BASELINE CANDIDATE... (see --help).
trap 'exit 3' EXIT # exit code 1 means a regression, so a failure of this script must not end with 1
set -euo pipefail
BENCH_PROGRAM=./compare.sh exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/waitbench" compare "$@"
