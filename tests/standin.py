"""A second engine: a tiny package that stands in where waitbench, not an engine, is tested."""

import os
import re
import subprocess
import textwrap
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from waitbench.engines.base import Engine
from waitbench.engines.bytewax.scenarios import Dataflow
from waitbench.model.launch import DataflowConfig
from waitbench.model.revision import Environment
from waitbench.model.scenario import Scenario, Topology


class StandIn(Engine):
    """The engine."""

    name = "standin"
    package = "stand-in"
    module = "standin"
    repository: str | None = "https://example.org/standin.git"
    build_paths = (":(top)", ":(top,exclude)docs")
    smoke_test = "import standin.run"
    uses_cargo = True
    building_needs = "Building it takes Rust."

    def version_of(self, name: str) -> str | None:
        return name.removeprefix("r") if re.fullmatch(r"r\d+\.\d+\.\d+", name) else None

    def tag_of(self, version: str) -> str:
        return f"release-{version}"

    def capabilities(self, package: Path) -> frozenset[str]:
        return frozenset({(package / "greeting.txt").read_text()})

    def program(
        self, environment: Environment, scenario: Scenario, _topology: Topology
    ) -> DataflowConfig:
        assert isinstance(scenario, Dataflow)
        (greeting,) = environment.build.capabilities
        arguments = (str(environment.python), "-m", "standin.run", scenario.import_string, greeting)
        return DataflowConfig(arguments=arguments, processes=1)

    def role(self, arguments: Sequence[str]) -> str | None:
        return "stand-in" if "standin.run" in arguments else None


RUN_MODULE = '''
"""Pretends to run a dataflow: reports the items that the import string promises, or misbehaves."""
import json, os, re, sys, time

BEHAVIOUR = {behaviour!r}

def wait(busy_s):
    """Somebody looks on: waits until it is ended, and burns so much in each tenth of a second."""
    open(os.environ["BENCH_WAITING"], "w").close()
    while True:
        burn(busy_s)
        time.sleep(0.1)

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def main():
    assert sys.argv[2] == "hello", "what the engine found in the package comes back at the start"
    numbers = dict(re.findall(r"(\\w+)=(\\d+)\\b", sys.argv[1]))
    each = int(numbers.get("items_per_partition", numbers.get("items_per_worker", 0)))
    items = int(numbers.get("partitions", 1)) * each
    if BEHAVIOUR == "hang":
        os.fork()
        while True:
            time.sleep(60)
    if BEHAVIOUR == "lose":
        items -= 1
    if BEHAVIOUR[:3] in ("do ", "do\\n"):
        exec(BEHAVIOUR[2:].lstrip(), globals())
    if "BENCH_WAITING" in os.environ:
        wait(float(BEHAVIOUR.split()[1]) / 10 if BEHAVIOUR.startswith("burn") else 0)
    if BEHAVIOUR.startswith("burn"):
        while time.process_time() < float(BEHAVIOUR.split()[1]):
            pass
    if BEHAVIOUR.startswith("sleep"):
        time.sleep(float(BEHAVIOUR.split()[1]))
    ident_sum = items * (items - 1) // 2
    if BEHAVIOUR == "double":
        ident_sum += 1
    report = dict(pid=os.getpid(), polls=items, items_in=items, items_out=items)
    report.update(ident_sum_in=ident_sum, ident_sum_out=ident_sum)
    path = os.path.join(os.environ["BENCH_PROBE_DIR"], "process-%d.json" % os.getpid())
    with open(path, "w") as file:
        json.dump(report, file)

if __name__ == "__main__":
    main()
'''

CARGO_MAIN = 'fn main() {{ println!("{text}"); }}\n'


def write_package(folder: Path, behaviour: str = "ok") -> None:
    """The package's Python files, into ``folder``/standin."""
    package = folder / "standin"
    package.mkdir(parents=True, exist_ok=True)
    on_import = {
        "broken": "raise RuntimeError('broken on purpose')\n",
        "stuck": "import time\ntime.sleep(600)\n",
    }
    (package / "__init__.py").write_text(on_import.get(behaviour, ""))
    (package / "greeting.txt").write_text("hello")
    (package / "run.py").write_text(RUN_MODULE.format(behaviour=behaviour))


def write_wheel(folder: Path, behaviour: str = "ok", version: str = "0.0.1") -> Path:
    """A wheel of the stand-in, for any Python: the same bytes for the same behaviour and version.

    So what several tests measure is set up once.
    """
    write_package(folder / "sources", behaviour)
    sources = sorted((folder / "sources" / "standin").iterdir())
    contents = {f"standin/{file.name}": file.read_text() for file in sources}
    return write_wheel_of(folder, "stand-in", contents, version)


def write_wheel_of(
    folder: Path, name: str, files: Mapping[str, str | bytes], version: str = "1.0", more: str = ""
) -> Path:
    """A wheel of a distribution of that name, with these files."""
    stem = f"{name.replace('-', '_')}-{version}"
    contents = {
        **files,
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"{more}",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{stem}.dist-info/RECORD": "",
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in contents.items():
            archive.writestr(zipfile.ZipInfo(member), content)  # which has no time of its own
    return path


def revision(folder: Path, behaviour: str = "ok", label: str = "") -> str:
    """A wheel of the stand-in, as a user would name it on the command line."""
    named = str(write_wheel(folder, behaviour))
    return f"{label}={named}" if label else named


def git(folder: Path, *arguments: str, hour: int = 0) -> str:
    """Runs git with an identity and dates of its own; returns what it prints."""
    # Old, and equal for all commits, unless an hour of 2020 is given: it misleads cargo.
    date = f"{1_577_836_800 + 3600 * hour} +0000"
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date,
    }  # fmt: skip
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def write_sources(folder: Path, text: str = "one") -> None:
    """Sources whose wheel has a compiled part, by maturin and cargo, as bytewax's has."""
    write_package(folder / "pysrc")
    (folder / "src").mkdir(exist_ok=True)
    (folder / "src" / "main.rs").write_text(CARGO_MAIN.format(text=text))
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "stand-in"\nversion = "0.0.1"\nedition = "2021"\n'
    )
    (folder / "pyproject.toml").write_text(
        textwrap.dedent("""
        [project]
        name = "stand-in"
        version = "0.0.1"
        requires-python = ">=3.9"
        [build-system]
        requires = ["maturin>=1.0,<2.0"]
        build-backend = "maturin"
        [tool.maturin]
        bindings = "bin"
        python-source = "pysrc"
        module-name = "standin"
        """)
    )


def write_repository(folder: Path) -> dict[str, str]:
    """A repository of two commits with different Rust code, a tag and a branch; returns ids."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commits = {}
    for text in ("one", "two"):
        write_sources(folder, text)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", text)
        commits[text] = git(folder, "rev-parse", "HEAD")
    git(folder, "tag", "release-0.0.1", commits["one"])
    git(folder, "branch", "feature/two", commits["two"])
    return commits
