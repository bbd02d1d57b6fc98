"""Builds of any language: made once, whole or not at all, with a sentence where they fail."""

import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.engines.worker.reading import read
from tests.histories import Upstream
from tests.waiting import until
from waitbench.engines.worker import WorkerFileEngine
from waitbench.environments import builds, ranges, uv
from waitbench.environments.origins import OriginResolver
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import resolve
from waitbench.environments.virtualenvs import EnvironmentBuilder
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import Environment, Interpreter
from waitbench.system import files
from waitbench.system.paths import Cache

COUNTED = "cd {here}; echo {revision} >> built; echo {revision} > {prefix}/product"
"""Which names no file by its path."""
Make = Callable[..., Mapping[str, Environment | HarnessError]]


@pytest.fixture(autouse=True)
def python(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Interpreter(sys.executable, "3.11.7")
    monkeypatch.setattr(uv, "_pythons", lambda *_arguments: [here])


def engine_of(folder: Path, script: str, more: str = "") -> WorkerFileEngine:
    build = f"[build]\ncommand = ['sh', '-c', '''{script}''']\n{more}\n"
    return WorkerFileEngine(read(folder, f"command = 'sleep 9'\n{build}"))


@pytest.fixture
def make(tmp_path: Path, cache: Cache) -> Make:
    """Builds revisions by a script."""

    def made(
        script: str, *texts: str, more: str = "", repository: Repository | None = None
    ) -> Mapping[str, Environment | HarnessError]:
        engine = engine_of(tmp_path, script, more)
        specs = resolve(texts, engine, repository)
        specs = OriginResolver(engine, repository, cache).choose(specs, "auto", None)
        return EnvironmentBuilder(engine=engine, cache=cache).build_all(specs)

    return made


def product(made: Environment | HarnessError) -> str:
    assert isinstance(made, Environment), made
    return (made.folder / "product").read_text()


def built(folder: Path) -> list[str]:
    path = folder / "built"
    return path.read_text().split() if path.exists() else []


def kept(cache: Cache) -> list[str]:
    return [path.name for path in cache.folder("environments").iterdir()]


def test_a_revision_is_built_once_until_what_determines_it_changes(
    make: Make, tmp_path: Path
) -> None:
    (tmp_path / "more.sh").write_text("one")
    script = f"{COUNTED}; cat {{here}}/more.sh > /dev/null"
    made = make(script, "A=1.0", "2.0")
    assert [product(made[label]) for label in ("A", "2.0")] == ["1.0\n", "2.0\n"]
    assert make(script, "1.0", "2.0")["1.0"] == made["A"]
    assert sorted(built(tmp_path)) == ["1.0", "2.0"]
    make(script, "1.0", more="within = 9")
    assert len(built(tmp_path)) == 2, "its time limit does not change it"
    (tmp_path / "more.sh").write_text("two")
    make(script, "1.0")
    assert len(built(tmp_path)) == 3, "a file that it names has changed"
    make(f"{script}; true", "1.0")
    assert len(built(tmp_path)) == 4


def test_files_are_named_by_a_path_with_spaces_or_within_a_script(tmp_path: Path) -> None:
    folder = tmp_path / "my files"
    folder.mkdir()
    for name in "abc":
        (folder / name).write_text(name)
    (tmp_path / "d").write_text("d")
    paths = f"'{{here}}/a', '--b={{here}}/b', '{{here}}/../d,x', '$(cat {tmp_path}/d)'"
    build = f"[build]\ncommand = ['sh', {paths}, '{{prefix}}', '{{revision}}']\n"
    engine = WorkerFileEngine(read(folder, f"command = 'sleep 9'\n{build}"))
    known = builds.determinants(engine)
    assert {files.sha256(path) for path in (folder / "a", folder / "b", tmp_path / "d")} <= {*known}


def test_builds_of_releases_take_turns(make: Make) -> None:
    alone = "mkdir {here}/busy && sleep 0.2 && rmdir {here}/busy"
    made = make(f"{alone} && echo {{revision}} > {{prefix}}/product", "1.0", "2.0", "3.0")
    assert [product(it) for it in made.values()] == ["1.0\n", "2.0\n", "3.0\n"]


@pytest.mark.parametrize(
    ("script", "more", "says"),
    [
        (
            "echo {revision} > {prefix}/product; echo cannot go on; exit 3",
            "",
            "sh failed (exit 3): can",
        ),
        (
            "echo {revision} > {prefix}/product; sleep 99",
            "within = 0.2",
            "still running after 0.2 s",
        ),
        (
            "cd {prefix}; echo https://me:secret@host/{revision} not found; exit 1",
            "",
            "https://***@host/1.0 not found",
        ),
    ],
)
def test_a_build_that_fails_or_hangs_gives_a_sentence_and_its_log_and_keeps_nothing(
    script: str, more: str, says: str, make: Make, cache: Cache
) -> None:
    error = make(script, "1.0", more=more)["1.0"]
    assert isinstance(error, HarnessError)
    assert error.reason.startswith("sh ")
    assert says in error.reason
    (log,) = cache.folder("logs").iterdir()
    assert str(log) in str(error)
    assert "secret" not in str(error)
    assert kept(cache) == []


def test_a_missing_program_is_named_with_its_remedy(tmp_path: Path, cache: Cache) -> None:
    build = "[build]\ncommand = 'nope-123 {prefix} {revision}'"
    text = f"command = 'x'\ninstall = 'apt-get install it'\n{build}"
    engine = WorkerFileEngine(read(tmp_path, text))
    specs = OriginResolver(engine, None, cache).choose(resolve(["1.0"], engine, None), "auto", None)
    error = EnvironmentBuilder(engine=engine, cache=cache).build_all(specs)["1.0"]
    assert str(error) == (
        "build.command needs the program nope-123, which is not here. This would install it: "
        "apt-get install it"
    )


def test_a_killed_build_counts_for_nothing_and_leaves_no_process(
    make: Make, tmp_path: Path, cache: Cache
) -> None:
    script = f"{COUNTED}; test -e on || {{ echo $$ > pid; sleep 600; }}"
    text = engine_of(tmp_path, script).worker.path
    process = begun(text, cache)
    until((tmp_path / "pid").exists)
    process.send_signal(signal.SIGKILL)
    process.wait()
    pid = int((tmp_path / "pid").read_text())
    until(lambda: has_ended(pid))
    (tmp_path / "on").touch()
    assert product(make(script, "1.0")["1.0"]) == "1.0\n"
    assert built(tmp_path) == ["1.0", "1.0"]


def has_ended(pid: int) -> bool:
    """Also as a zombie, which this process may have adopted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def begun(worker: Path, cache: Cache) -> "subprocess.Popen[bytes]":
    """Begins to build the revision 1.0 of a worker file in another process."""
    program = (
        "import sys, pathlib\n"
        "from waitbench.engines.worker import WorkerFileEngine, file\n"
        "from waitbench.environments.revisions import resolve\n"
        "from waitbench.environments.virtualenvs import EnvironmentBuilder\n"
        "from waitbench.system import supervisor\n"
        "from waitbench.system.paths import Cache\n"
        "supervisor.start()\n"
        "engine = WorkerFileEngine(file.read(pathlib.Path(sys.argv[1])))\n"
        "builder = EnvironmentBuilder(engine=engine, cache=Cache(pathlib.Path(sys.argv[2])))\n"
        "builder.build_all(resolve(['1.0'], engine, None))\n"
    )
    return subprocess.Popen([sys.executable, "-c", program, str(worker), str(cache.root)])


def test_commits_are_built_from_their_sources_by_their_hashes(
    make: Make, tmp_path: Path, cache: Cache
) -> None:
    upstream = Upstream(tmp_path / "upstream")
    first, second = upstream.commit("one", "text"), upstream.commit("two", "text")
    upstream.git("tag", "v1.0", first)
    repository = Repository(str(upstream.folder), cache)
    made = make(
        "cp {source}/text {prefix}/product", first, second[:9], "v1.0", repository=repository
    )
    assert [product(it) for it in made.values()] == ["one", "two", "one"]
    assert len(kept(cache)) == 2, "a tag is its commit"
    assert [*cache.folder("builds/mine").iterdir()] == []
    (upstream.folder / "text").write_text("changed")
    made = make("cp {source}/text {prefix}/product", str(upstream.folder), repository=repository)
    assert product(made["upstream"]) == "changed"


LISTED = [
    "printf '1.0.0\\n1.1.0\\n2.0.0\\n'",
    """printf '["1.0.0",\\n "1.1.0", "2.0.0"]'""",
    "echo example.org/module v1.0.0 v1.1.0 v2.0.0",
]


@pytest.mark.parametrize("command", LISTED)
def test_releases_are_those_that_the_command_prints_oldest_first(
    command: str, tmp_path: Path
) -> None:
    engine = engine_of(tmp_path, COUNTED, f'versions = ["sh", "-c", """{command}"""]')
    good, bad = resolve(["v1.0.0", "2.0.0"], engine, None)
    points = ranges.releases(engine, good, bad, good.python).points
    assert [point.source.identity.removeprefix("v") for point in points] == [
        "1.0.0", "1.1.0", "2.0.0",
    ]  # fmt: skip
    assert [it.identity for it in ranges.newest(engine, good.python, 2)] == [
        point.source.identity for point in points[1:]
    ]
    with pytest.raises(UsageError, match="does not come before"):
        ranges.releases(engine, bad, good, good.python)
    with pytest.raises(UsageError, match=r"'1\.2' is not a release of mine\. The newest are: v?1"):
        resolve(["1.2"], engine, None)


def test_what_may_move_or_cannot_be_listed_is_refused(tmp_path: Path, cache: Cache) -> None:
    engine = engine_of(tmp_path, COUNTED)
    with pytest.raises(UsageError, match="'latest' is not a fixed version"):
        resolve(["latest"], engine, None)
    good, bad = resolve(["1.0", "0123abc"], engine, None)
    with pytest.raises(UsageError, match=r"its file needs build\.versions"):
        ranges.releases(engine, good, bad, good.python)
    with pytest.raises(UsageError, match="--repo: mine is built from releases"):
        resolve(["1.0"], engine, Repository(str(tmp_path), cache))
    broken = engine_of(tmp_path, COUNTED, "versions = ['sh', '-c', 'echo no net >&2; exit 1']")
    with pytest.raises(HarnessError, match=r"build\.versions, sh, failed: no net"):
        resolve(["1.0"], broken, None)
