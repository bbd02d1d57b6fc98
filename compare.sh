#!/usr/bin/env bash
# Compares revisions of bytewax: ./compare.sh BASELINE CANDIDATE... (see --help).
trap 'exit 3' EXIT # what fails here is no regression, which is all that 1 means
set -euo pipefail
BENCH_PROGRAM=./compare.sh exec "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/waitbench" compare "$@"
