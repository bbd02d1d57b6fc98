#!/usr/bin/env bash
# Writes each requirements*.txt: the libraries of its .in file and their dependencies, with hashes,
# for Python 3.10 and later. Locked versions stay, as far as the .in file allows:
#   src/lock.sh             after a change of an .in file
#   src/lock.sh --upgrade   updates all versions that no .in file fixes
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
# Both are installed into one virtualenv, so their versions must agree.
lock requirements-dev --constraints requirements.txt "$@" &
for job in $(jobs -p); do wait "$job"; done
