# Sourced by ./waitbench and test.sh: the project's own virtualenv, made when it is missing or out of date.
# Usage: source src/setup.sh REQUIREMENTS_FILE; afterwards "$bench_python" is its interpreter.
# shellcheck shell=bash

# What the caller has closed would be the number of the next file that is opened.
{ : 7<&0; } 2>/dev/null || exec </dev/null
{ : 7>&1; } 2>/dev/null || exec >/dev/null
: 7>&2 || exec 2>/dev/null

# What nobody can read is no reason to end.
bench_say() { printf '%s\n' "$*" >&2 2>/dev/null || true; }

bench_die() {
  bench_say "$BENCH_PROGRAM: $*"
  exit 3
}

# Runs a program that imports nothing of the current folder, or of the caller's variables.
bench_run() { (cd / && unset -v "${!PYTHON@}" && exec "$@"); }

# The first Python >= 3.10 on PATH; one that a version manager's shim cannot start does not count.
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
  bench_die "Python >= 3.10 is needed to run waitbench (not for the revisions). Install one, or set BENCH_PYTHON.${complaint:+ The last that was tried said: ${complaint##*$'\n'}}"
}

# Python's own venv, or virtualenv where a distribution has split venv off.
bench_make_venv() {
  local python=$1 folder=$2
  rm -rf "$folder"
  bench_run "$python" -m venv "$folder" >/dev/null 2>&1 && return
  rm -rf "$folder"
  bench_run "$python" -m virtualenv --quiet "$folder" 2>/dev/null && return
  rm -rf "$folder"
  command -v virtualenv >/dev/null && bench_run virtualenv --quiet --python "$python" "$folder" && return
  # No venv, no virtualenv, but pip: a virtualenv of our own, used once.
  bench_run "$python" -m pip install --quiet --target "$folder.virtualenv" virtualenv \
    && bench_run env PYTHONPATH="$folder.virtualenv" "$python" -m virtualenv --quiet "$folder" \
    && rm -rf "$folder.virtualenv" && return
  bench_die "no virtualenv can be made with $python. Install its venv module (Debian: apt install python3-venv) or virtualenv."
}

# Whether the libraries are those wanted, and an interpreter is there to load them.
bench_is_ready() {
  [[ -f $stamp && $(cat "$stamp") == "$wanted" ]] && bench_isolated -S -c '' 2>/dev/null
}

# The interpreter as waitbench is run by it.
bench_isolated() { "$bench_python" -I "$@"; }

bench_setup() {
  local requirements=$1 folder=$BENCH_ROOT/.bench/venv wanted stamp python
  bench_python=$folder/bin/python
  # With where it is: a folder that was moved, or that shares its environment, is set up anew.
  wanted="$(cat "$BENCH_ROOT"/requirements*.txt "$BENCH_ROOT/src/setup.sh" | cksum) $BENCH_ROOT"
  stamp=$folder/$(basename "$requirements").stamp
  bench_is_ready && return
  if ! mkdir -p "$BENCH_ROOT/.bench" 2>/dev/null || [[ ! -w $BENCH_ROOT/.bench ]]; then
    bench_die "you may not write to $BENCH_ROOT/.bench, where the libraries are to be. Use a clone of your own."
  fi
  # Two scripts started at once must not build the same folder.
  exec 9>"$BENCH_ROOT/.bench/setup.lock"
  if command -v flock >/dev/null && ! flock --timeout 1 9; then
    bench_say "Waiting for $(cat "$BENCH_ROOT/.bench/setup.holder" 2>/dev/null || echo another process)," \
      "which sets up the same ..."
    flock 9
  fi
  printf '%s' "process $$ ($BENCH_PROGRAM)" >"$BENCH_ROOT/.bench/setup.holder"
  if ! bench_is_ready; then
    if ! bench_isolated -m pip --version >/dev/null 2>&1; then
      python=$(bench_find_python) || exit 3
      if [[ -d $folder ]]; then
        # What cannot start here (a limit of memory, say) is not damaged: then this one cannot, either.
        bench_make_venv "$python" "$folder.trial"
        bench_say "The libraries in .bench/venv are damaged; they are installed anew."
        rm -rf "$folder" "$folder.trial"
      fi
      bench_say "Setting up waitbench in .bench/venv with $("$python" --version) (once, about a minute) ..."
      bench_make_venv "$python" "$folder"
    fi
    bench_say "Installing $(basename "$requirements") ..."
    bench_isolated -m pip install --quiet --disable-pip-version-check --require-hashes \
      --requirement "$requirements" \
      || bench_die "the libraries could not be installed; see above."
    # Tools and benchmarks import the package from where it is: it is not installed.
    printf '%s\n' "$BENCH_ROOT/src" "$BENCH_ROOT" >"$(echo "$folder"/lib/python3*/site-packages)/waitbench.pth"
    printf '%s' "$wanted" >"$stamp"
  fi
  rm -f "$BENCH_ROOT/.bench/setup.holder"
  exec 9>&-
}

if [[ $BENCH_ROOT == *:* ]]; then
  bench_die "the path $BENCH_ROOT has a colon in it, which Python's and the shell's search paths cannot take. Move it."
fi
bench_setup "$1"
