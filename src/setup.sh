# Sourced by ./waitbench and test.sh: creates waitbench's virtualenv if it is missing or out of date.
# Usage: source src/setup.sh REQUIREMENTS_FILE; afterwards "$bench_python" is the virtualenv's interpreter.
# shellcheck shell=bash

# If the caller closed stdin, stdout or stderr, the next opened file would take its place.
{ : 7<&0; } 2>/dev/null || exec </dev/null
{ : 7>&1; } 2>/dev/null || exec >/dev/null
: 7>&2 || exec 2>/dev/null

# Prints a message; the set-up continues if stderr is broken.
bench_say() { printf '%s\n' "$*" >&2 2>/dev/null || true; }

bench_die() {
  bench_say "$BENCH_PROGRAM: $*"
  exit 3
}

# Runs a program so that Python imports nothing from the current folder or the caller's PYTHON variables.
bench_run() { (cd / && unset -v "${!PYTHON@}" && exec "$@"); }

# Prints the first Python >= 3.10 on PATH that starts. The shim of a version manager may not start.
bench_find_python() {
  local name python complaint=
  for name in "${BENCH_PYTHON:-python3}" python3.13 python3.12 python3.11 python3.10 python3.14 python; do
    python=$(command -v -- "$name") || continue
    [[ $python == /* ]] || python=$PWD/$python
    if complaint=$(bench_run "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>&1); then
      printf '%s\n' "$python"
      return
    fi
  done
  bench_die "Python >= 3.10 is needed to run waitbench (not for the revisions). Install one, or set BENCH_PYTHON.${complaint:+ The error of the last Python: ${complaint##*$'\n'}}"
}

# Creates a virtualenv by Python's venv module, or by virtualenv if the distribution leaves out venv.
bench_make_venv() {
  local python=$1 folder=$2
  rm -rf "$folder"
  bench_run "$python" -m venv "$folder" >/dev/null 2>&1 && return
  rm -rf "$folder"
  bench_run "$python" -m virtualenv --quiet "$folder" 2>/dev/null && return
  rm -rf "$folder"
  command -v virtualenv >/dev/null && bench_run virtualenv --quiet --python "$python" "$folder" && return
  # With neither venv nor virtualenv, pip installs virtualenv into a temporary folder.
  bench_run "$python" -m pip install --quiet --target "$folder.virtualenv" virtualenv \
    && bench_run env PYTHONPATH="$folder.virtualenv" "$python" -m virtualenv --quiet "$folder" \
    && rm -rf "$folder.virtualenv" && return
  bench_die "$python cannot create a virtualenv. Install its venv module (Debian: apt install python3-venv) or virtualenv."
}

# Succeeds if the required libraries are installed, and the interpreter starts.
bench_is_ready() {
  [[ -f $stamp && $(cat "$stamp") == "$wanted" ]] && bench_isolated -S -c '' 2>/dev/null
}

# Runs the virtualenv's interpreter in isolated mode, as ./waitbench does.
bench_isolated() { "$bench_python" -I "$@"; }

bench_setup() {
  local requirements=$1 folder=$BENCH_ROOT/.bench/venv wanted stamp python
  bench_python=$folder/bin/python
  # The stamp contains the path, because a virtualenv cannot be moved.
  wanted="$(cat "$BENCH_ROOT"/requirements*.txt "$BENCH_ROOT/src/setup.sh" | cksum) $BENCH_ROOT"
  stamp=$folder/$(basename "$requirements").stamp
  bench_is_ready && return
  if ! mkdir -p "$BENCH_ROOT/.bench" 2>/dev/null || [[ ! -w $BENCH_ROOT/.bench ]]; then
    bench_die "you may not write to $BENCH_ROOT/.bench, where the libraries are installed. Use your own clone."
  fi
  # Two scripts started at once must not build the same folder.
  exec 9>"$BENCH_ROOT/.bench/setup.lock"
  if command -v flock >/dev/null && ! flock --timeout 1 9; then
    bench_say "Waiting for $(cat "$BENCH_ROOT/.bench/setup.holder" 2>/dev/null || echo another process)," \
      "which sets up the same folder ..."
    flock 9
  fi
  printf '%s' "process $$ ($BENCH_PROGRAM)" >"$BENCH_ROOT/.bench/setup.holder"
  if ! bench_is_ready; then
    if ! bench_isolated -m pip --version >/dev/null 2>&1; then
      python=$(bench_find_python) || exit 3
      if [[ -d $folder ]]; then
        # If no virtualenv starts here, as under a limit of memory, the libraries are not the cause.
        bench_make_venv "$python" "$folder.trial"
        bench_say "The libraries in .bench/venv are damaged; they are installed again."
        rm -rf "$folder" "$folder.trial"
      fi
      bench_say "Setting up waitbench in .bench/venv with $("$python" --version) (once, about a minute) ..."
      bench_make_venv "$python" "$folder"
    fi
    bench_say "Installing $(basename "$requirements") ..."
    bench_isolated -m pip install --quiet --disable-pip-version-check --require-hashes \
      --requirement "$requirements" \
      || bench_die "the libraries could not be installed; see above."
    # Tools and benchmarks import the package from src/; it is not installed.
    printf '%s\n' "$BENCH_ROOT/src" "$BENCH_ROOT" >"$(echo "$folder"/lib/python3*/site-packages)/waitbench.pth"
    printf '%s' "$wanted" >"$stamp"
  fi
  rm -f "$BENCH_ROOT/.bench/setup.holder"
  exec 9>&-
}

if [[ $BENCH_ROOT == *:* ]]; then
  bench_die "the path $BENCH_ROOT has a colon in it, which search paths of Python and the shell cannot contain. Move it."
fi
bench_setup "$1"
