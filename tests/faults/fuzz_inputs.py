"""Odd inputs for ``tests/faults/fuzz.py``: command lines, names of revisions, result folders."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from waitbench.system.places import ROOT

Files = dict[str, bytes]

RESULTS = (
    "docs/samples/input", "docs/samples/waiting",
)  # fmt: skip
"""Real results that are mutated."""
_MOST_ITEMS = 3
"""So many revisions, and runs of each, are kept: more would only take longer."""
_MOST_ROWS = 20

_COMMANDS = ("compare",) * 12 + (
    "plot", "report", "scenarios", "doctor", "", "-h", "nosuch"
)  # fmt: skip
_NUMBERS = (
    "0", "1", "2", "3", "7", "-1", "1.5", "inf", "-inf", "nan", "1e300", "1e-300", "10" * 200,
    "1_0", "٣", "0x10", " 5", "5%", "", "true", "99999999999999999999",
)  # fmt: skip
_PATHS = (
    ".", "..", "/", "/dev/null", "/dev/full", "/proc/1/mem", "/no/x", "no/such", "new", "empty",
    "good.py", "good.py/x", "checkout", "~", "~x", "x" * 300, "/".join("x" * 3000), "loop",
    "loop/x", "good.py:flow", "good.py:flow()", "good.py:get(1,", "broken.py:flow", "latin.py:flow",
    "empty:", "deep.py:flow", "co:lon.py:flow", "good.py:" + "(" * 300,
    "good.py:" + "-" * 5000 + "1",
    "new/\udcff", "http://a", "https://user:TOKEN@a/b.git", "git@host:path", "ext::sh -c x",
    "--upload-pack=x", "file:///no/such", "repository",
)  # fmt: skip
_OPTIONS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("--rounds", "--processes", "-p", "--workers", "--budget", "--time-limit"), _NUMBERS),
    **dict.fromkeys(
        ("--dataflow", "--results", "--repo", "--python"), _PATHS),
    **dict.fromkeys(
        ("--gate", "--fail-fast", "--strict", "--full", "--resume",
         "--no-plot", "--quiet", "--json", "--help", "--",
         ), ()),
    "--topology": ("single", "cluster", "launcher", "ring", ""),
    "--origin": ("auto", "wheel", "source", "moon"),
    "--scenario": ("*", "part*", "dynamic", "embed*", "[", "[!", "nothing", "*" * 99, ""),
    "--set": ("interval=0.1", "partitions=0", "partitions=9" * 40, "items_per_partition=5", "=",
              "a", "heavy_map=maybe", "heavy_map=true", "interval=nan", "interval=1e-400",
              "x=1"),
    "--fail-on": ("cpu:10%", "system:5%,20ms", "steady:10%,together", "cpu:nan%", "cpu:-1%",
                  "cpu:1e99%", "speed:1%", "cpu", "wakeups:5%,alone", "cpu:5%,inf", "cpu:5%,1e999s",
                  "cpu:5%," + "9" * 400 + "s", "cpu:" + "9" * 5000 + "%", ":%", ","),
    "--mode": ("direct", "proxy-fixed", "sideways"),
    "--url": ("ftp://a", "", "http://[", "http://a:b", "file:///etc/passwd"),
    "--format": ("png", "svg", "gif", ""),
}  # fmt: skip
_REVISIONS = ("v0.16.0", "v0.16.1", "A=v0.16.0", "main", "B=HEAD~1", "checkout")
_PIECES = (
    "v0.16.0", "v0.16.1", "0.16", "v", "main", "HEAD", "~", "~3", "^", "^{}", "^0", "~99999999999",
    "#571", "#", "@", "standin@", "nobody@", "bytewax@", "=", "A=", "B=", "..", "...", "/", "//",
    "-", "--", ".lock", ".whl", "refs/heads/main", "origin/main", ":", " ", "\n", "\t", "\x1b[31m",
    "@{u}", "@{-1}", ":/first", "é", "\udcff", "\u202e", "x" * 300, "x/" * 2500, "checkout",
    "empty", "good.py", "sound.whl", "broken.whl", "bytewax-0.0.1-py3-none-any.whl", "no.whl",
    "deadbeef", "0" * 40, "0" * 7, "f" * 41, "$(touch x)", "; touch x", "`touch x`", "%s", "[red]",
    "~root", ".", "v0.16.0 ", "v1!2.3", "v" + "9" * 5000, "٣", "loop",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**63, 10**400, 0.5, -0.0, 1e308, -1e308, 5e-324, float("nan"),
    float("inf"), "", "x", "x" * 300, "../../x", "/", "a/b", "[/red]", "\x00", "\ud800", "\x1b[2J",
    "é", [], {}, [[]], [{}], {"": {}}, [None], {"value": None}, {"value": 1e300, "unit": "second"},
    {"value": -1, "unit": 3}, "second", "time_wall_clock", "2026-01-01T00:00:00+00:00",
)  # fmt: skip


def command_line(random: Random) -> list[str]:
    """Arguments of the program; most of them nearly make sense."""
    line = [random.choice(_COMMANDS)]
    line += [
        revision(random) if random.random() < 0.15 else random.choice(_REVISIONS)
        for _ in range(random.choice((0, 1, 2, 2, 2, 3)))
    ]
    for _ in range(random.choice((0, 0, 1, 1, 2, 3, 6))):
        name = random.choice(list(_OPTIONS))
        values = _OPTIONS[name]
        option = [name, _odd(random, values)] if values or random.random() < 0.02 else [name]
        place = random.randrange(1, len(line) + 1)
        line[place:place] = ["=".join(option)] if random.random() < 0.1 else option
    # A NUL cannot stand in an argument: the kernel ends it there.
    return [text.replace("\0", "") for text in line]


def revision(random: Random) -> str:
    """What might be typed for a revision: often one, sometimes next to one, sometimes anything."""
    if random.random() < 0.4:
        return random.choice(_REVISIONS)
    return "".join(random.choice(_PIECES) for _ in range(random.choice((1, 1, 2, 3, 6)))) + (
        _noise(random) if random.random() < 0.2 else ""
    )


def originals() -> list[Files]:
    """The files of real results, cut down to few runs."""
    return [
        {
            path.name: _cut_down(path)
            for path in sorted((ROOT / folder).iterdir())
            if path.suffix in (".json", ".csv")
        }
        for folder in RESULTS
    ]


def result_files(random: Random, whole: Files) -> Files:
    """Some of the files of real results, one or more of them mutated."""
    scenarios = [name for name in whole if name.endswith(".json") and name != "comparison.json"]
    kept = random.sample(scenarios, min(len(scenarios), random.choice((1, 1, 2))))
    files = {
        name: content
        for name, content in whole.items()
        if name == "comparison.json" or any(name.startswith(one[:-5]) for one in kept)
    }
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        name = random.choice(list(files))
        change = random.choice((_with_other_values,) * 4 + (_with_other_bytes,))
        if not name.endswith(".json"):
            change = random.choice((_with_other_bytes, _with_other_cells))
        files[name] = change(random, files[name])
    if random.random() < 0.03:
        name = random.choice(list(files))
        odd = ("\udcff.json", "verdict.json", "comparison.json", "x" * 245 + ".json", "a\nb.json")
        files[random.choice(odd)] = files.pop(name)
    return files


def _odd(random: Random, values: Sequence[str]) -> str:
    return random.choice(values) if values and random.random() < 0.9 else _noise(random)


def _noise(random: Random) -> str:
    length = random.choice((0, 1, 3, 10, 50, 300, 5000))
    ranges = random.choice(((32, 126), (1, 255), (1, 0xD7FF), (0xDC80, 0xDCFF), (0x1F300, 0x1F6FF)))
    return "".join(chr(random.randint(*ranges)) for _ in range(length))


def _cut_down(path: Path) -> bytes:
    if path.suffix == ".csv":
        return b"".join(path.read_bytes().splitlines(keepends=True)[:_MOST_ROWS])
    return json.dumps(_shortened(json.loads(path.read_bytes()))).encode()


def _shortened(data: Any) -> Any:
    """Plain data in which every list has its first few items only."""
    if isinstance(data, dict):
        return {key: _shortened(value) for key, value in data.items()}
    return [_shortened(item) for item in data[:_MOST_ITEMS]] if isinstance(data, list) else data


def _with_other_values(random: Random, content: bytes) -> bytes:
    """JSON in which something is removed, replaced, renamed or put elsewhere."""
    try:
        data = json.loads(content)
        list(_places(data))
    except (TypeError, ValueError, RecursionError):
        return _with_other_bytes(random, content)
    for _ in range(random.choice((1, 1, 2, 5))):
        places = list(_places(data))
        if not places:
            break
        holder, key = random.choice(places)
        kind = random.random()
        if kind < 0.3:
            del holder[key]
        elif kind < 0.4 and isinstance(holder, dict):
            holder[random.choice(("", "x", "reason", "format", str(key).upper()))] = holder.pop(key)
        elif kind < 0.5:
            other, where = random.choice(places)
            # A copy: nothing is to hold itself.
            holder[key] = json.loads(json.dumps(other[where]))
        else:
            holder[key] = random.choice(_VALUES)
    return json.dumps(data).encode()


def _places(data: Any) -> Any:
    """Every value in plain data, by what holds it and its key."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield data, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


def _with_other_bytes(random: Random, content: bytes) -> bytes:
    """Bytes cut off, flipped, put in, or repeated."""
    if not content:
        return bytes(random.randrange(256) for _ in range(20))
    place = random.randrange(len(content))
    odd = (
        b"",
        b"\0",
        b"\xff",
        b"[" * 100_000,
        b"\r",
        b'"',
        b",",
        b"9" * 5000,
        b"\xef\xbb\xbf",
        b"NaN",
    )
    return random.choice(
        (
            content[:place],
            content[:place] + bytes([random.randrange(256)]) + content[place + 1 :],
            content[:place] + random.choice(odd) + content[place:],
            content + content[place:],
            random.choice(odd),
        )
    )  # fmt: skip


def _with_other_cells(random: Random, content: bytes) -> bytes:
    """CSV in which a cell says something else."""
    lines = [line.split(b",") for line in content.split(b"\n")]
    cells = random.choice(lines)
    odd = (
        b"",
        b"x",
        b"nan",
        b"inf",
        b"-1",
        b"1e999",
        b"9" * 400,
        b'"',
        b"1,2",
        b"\xff",
        b"1" * 5000,
    )
    cells[random.randrange(len(cells))] = random.choice(odd)
    return b"\n".join(b",".join(cells) for cells in lines)
