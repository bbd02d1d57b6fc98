#!/usr/bin/env bash
# Changes the code in many small ways, one at a time, and lists the changes that no test notices.
#
#   benchmarks/mutation.sh [MODULE...]
#
# Over analysis/ and execution/accounting.py, or the modules named, such as
# src/waitbench/analysis/gate.py. Works on a copy in .bench/mutants, with a virtualenv of its own,
# at low priority. The survivors that were judged, with the reasons: docs/trials/mutation.txt.
set -euo pipefail
BENCH_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export BENCH_PROGRAM=benchmarks/mutation.sh
# shellcheck source=src/setup.sh
source "$BENCH_ROOT/src/setup.sh" "$BENCH_ROOT/requirements.txt"
cd "$BENCH_ROOT"

venv=$BENCH_ROOT/.bench/mutation
if ! "$venv/bin/python" -c 'import mutmut' 2>/dev/null; then
  "$bench_python" -m virtualenv --quiet "$venv"
  "$venv/bin/python" -m pip install --quiet --requirement benchmarks/requirements.txt
fi

modules=("$@")
if [[ ${#modules[@]} -eq 0 ]]; then
  modules=(src/waitbench/analysis/*.py src/waitbench/execution/accounting.py)
fi

copy=$BENCH_ROOT/.bench/mutants
rm -rf "$copy"
mkdir -p "$copy"
# The tool takes a file's path for its module's name: no src/ before it.
modules=("${modules[@]#src/}")
cp -r src/waitbench tests "$copy"
cd "$copy"
# What all tests share needs the tools of the whole suite; these tests do not.
rm tests/conftest.py
# The tool leaves properties alone: their bodies move to methods, which it does change.
find waitbench/analysis -name '*.py' -exec sed -i -z -E \
  's/(    @property\n    def )(\w+)\(self\)/\1\2(self):\n        return self.read_\2()\n\n    def read_\2(self)/g' {} +
{
  printf '[mutmut]\nsource_paths=waitbench\n'
  printf 'only_mutate=\n'
  printf '    %s\n' "${modules[@]}"
  printf 'also_copy=\n    tests\n'
  printf 'pytest_add_cli_args=\n    -p\n    no:cacheprovider\n'
  printf 'pytest_add_cli_args_test_selection=\n    tests/analysis\n    tests/execution/test_accounting.py\n'
} >setup.cfg
nice -n 19 "$venv/bin/mutmut" run --max-children 1
nice -n 19 "$venv/bin/mutmut" results
