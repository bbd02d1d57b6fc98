#!/usr/bin/env bash
# Makes each requirements*.txt: what its .in file chooses, all that this needs in turn, and the
# hashes, for Python 3.10 and later. What is locked already stays, if the .in file allows it:
#   src/lock.sh             after a change of an .in file
#   src/lock.sh --upgrade   to renew what no .in file names
set -euo pipefail
cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
if [[ -x .bench/venv/bin/uv ]]; then PATH=$PWD/.bench/venv/bin:$PATH; fi

lock() {
  local name=$1
  shift
  uv pip compile --no-config --quiet --universal --python-version 3.10 --generate-hashes \
    --no-annotate --no-emit-index-url --custom-compile-command src/lock.sh \
    --output-file "$name.txt" "$@" "$name.in" >/dev/null
}

lock requirements "$@"
# The next one goes into a virtualenv together with the first.
lock requirements-dev --constraints requirements.txt "$@" &
for job in $(jobs -p); do wait "$job"; done
