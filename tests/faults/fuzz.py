"""Random command lines, names of revisions and result files: does anything get past the checks?

    .bench/venv/bin/python tests/faults/fuzz.py [--examples 100000] [--seed 0] [--only KIND:NUMBER]

There are three kinds, and each gets a third of the examples. What runs is the real program, but
nothing is downloaded, built or measured. A command line must end in a valid plan (what would be
prepared next), in help, or in exit 2 with a sentence; a name in a revision or a ``UsageError``; a
folder of results in its report or exit 2. Never in a traceback; and where it ends in exit 2,
nothing may have been created outside the cache. Every example is made of the seed and its number.
"""

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from random import Random
from unittest.mock import patch

from benchmarks.common import command_line
from tests.faults import fuzz_inputs
from tests.faults.fuzz_sandbox import Watch, run, sandbox, told
from waitbench import engines
from waitbench.environments import revisions
from waitbench.environments.repository import Repository
from waitbench.model.errors import UsageError
from waitbench.system.places import ROOT, Cache

_CHUNK = 500
_MOST_SHOWN = 20


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--examples", type=int, default=100_000, help="in all, a third a kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="KIND:NUMBER", help="this example, as it was")
    options = parser.parse_args()
    if options.only:
        kind, _, number = options.only.partition(":")
        print(*try_all(kind, options.seed, range(int(number), int(number) + 1))[1], sep="\n")
        return 0
    print(f"tests/faults/fuzz.py --examples {options.examples} --seed {options.seed}", flush=True)
    faults, each = 0, -(-options.examples // len(KINDS))
    with ProcessPoolExecutor() as pool:
        for kind in KINDS:
            starts = range(0, each, _CHUNK)
            parts = [range(start, min(start + _CHUNK, each)) for start in starts]
            ended: Counter[str] = Counter()
            found = []
            for counts, said in pool.map(try_all, repeat(kind), repeat(options.seed), parts):
                ended += counts
                found += said
            ends = ", ".join(f"{count:,} {name}" for name, count in ended.most_common())
            print(f"{each:,} {kind}: {ends}; {len(found)} faults", flush=True)
            print(*found[:_MOST_SHOWN], sep="\n", end="\n" if found else "")
            faults += len(found)
    return 1 if faults else 0


def try_all(kind: str, seed: int, numbers: range) -> tuple[Counter[str], list[str]]:
    """Tries examples of a kind; how they ended, and a text for each that should not have."""
    ended: Counter[str] = Counter()
    faults = []
    with sandbox() as watch:
        for number in numbers:
            random = Random(f"{seed}:{kind}:{number}")
            try:
                ended[KINDS[kind](random, watch)] += 1
            except AssertionError as error:
                faults.append(f"{kind}:{number}: {error}")
    return ended, faults


def _try_command_line(random: Random, watch: Watch) -> str:
    line = fuzz_inputs.command_line(random)
    columns = random.choice(("", "1", "40", "80", "0", "x"))
    with patch.dict(os.environ, {"COLUMNS": columns}):
        code, said = run(line, watch, random.choice(("utf-8", "ascii", "latin-1")))
    _require(code in (0, 2), f"exit {code}: {said[:600]}", line)
    _require(code == 0 or bool(said.strip()), "exit 2 without a word", line)
    _require("Traceback" not in said, said[-600:], line)
    if code == 2:
        # A folder that was named for results, and is refused by the disk, is tried at least.
        texts = [*line, *(text.partition("=")[2] for text in line)]
        named = [os.path.realpath(text) for text in texts if text]
        own = (str(ROOT / "results"), *(name for name in named if name != "/"))
        stray = [
            p for p in watch.created if not any(p.startswith(o) or o.startswith(p) for o in own)
        ]
        _require(not stray, f"exit 2, but created {stray}", line)
    return "planned or shown" if code == 0 else "refused"


def _try_revision(random: Random, watch: Watch) -> str:
    texts = [fuzz_inputs.revision(random) for _ in range(random.choice((1, 1, 2)))]
    watch.created.clear()
    watch.is_on = True
    try:
        revisions.engines_of(texts)
        found = revisions.resolve(texts, {engines.DEFAULT.name: Repository("repository", Cache())})
    except UsageError as error:
        _require(bool(str(error)), "no sentence", texts)
        return "refused"
    except Exception as error:
        raise AssertionError(f"{told(error)} of {texts!r:.300}") from error
    finally:
        watch.is_on = False
        _require(not watch.created, f"created {watch.created}", texts)
    _require(len(found) == len(texts), "one is lost", texts)
    return "resolved"


def _try_results(random: Random, watch: Watch) -> str:
    files = fuzz_inputs.result_files(random, random.choice(_originals()))
    with tempfile.TemporaryDirectory(dir=watch.sandbox) as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        if random.random() < 0.05:
            path = folder / random.choice(list(files))
            path.unlink()
            random.choice(
                (Path.mkdir, lambda p: p.symlink_to("no-such"), lambda p: p.symlink_to(p))
            )(path)
        code, said = run(["report", name], watch, "utf-8")
        _require(code in (0, 2), f"exit {code}: {said[:600]}", "a folder of results")
        _require(code == 0 or bool(said.strip()), "exit 2 without a word", "a folder of results")
        _require(not watch.created, f"created {watch.created}", "a folder of results")
    return "shown" if code == 0 else "refused"


KINDS: Mapping[str, Callable[[Random, Watch], str]] = {
    "command lines": _try_command_line,
    "names of revisions": _try_revision,
    "result folders": _try_results,
}


def _require(holds: bool, text: str, about: object) -> None:
    if not holds:
        raise AssertionError(f"{text} ({about!r:.400})")


def _originals(found: list[fuzz_inputs.Files] = []) -> list[fuzz_inputs.Files]:
    found[:] = found or fuzz_inputs.originals()
    return found


if __name__ == "__main__":
    sys.exit(main())
