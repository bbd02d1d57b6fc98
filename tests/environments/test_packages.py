"""Packages as they are named and as they are made, installed for real."""

import os
import platform
import sys
from pathlib import Path

import pytest

from tests.standin import write_wheel_of as wheel
from waitbench.engines.worker import WorkerFileEngine
from waitbench.engines.worker import file as worker_file
from waitbench.environments import packages
from waitbench.environments.virtualenvs import EnvironmentBuilder, has_changed
from waitbench.model.errors import HarnessError
from waitbench.model.revision import (
    BuildInfo,
    Environment,
    EnvironmentSpec,
    Interpreter,
    Origin,
    Source,
)
from waitbench.system.paths import Cache

HERE = Interpreter(sys.executable, platform.python_version())


def made(package: str, wheel: Path, cache: Cache, more: str = "") -> Environment | HarnessError:
    """What becomes of a wheel that is a revision of a worker file's package."""
    path = cache.root.with_name("mine.toml")
    path.write_text(f"package = '{package}'\ncommand = 'true'\n{more}")
    engine = WorkerFileEngine(worker_file.read(path))
    source = Source(Origin.FILE, "", wheel)
    spec = EnvironmentSpec(
        label="a",
        text="a",
        engine=engine.name,
        origin=Origin.FILE,
        source=source,
        python=HERE,
        wheel=wheel,
    )
    builder = EnvironmentBuilder(engine=engine, cache=cache)
    return builder.build_all([spec])["a"]


def facts(package: str, wheel: Path, cache: Cache, more: str = "") -> BuildInfo:
    environment = made(package, wheel, cache, more)
    assert isinstance(environment, Environment), environment
    return environment.build


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all there is of an index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    for version in ("1.0", "2.0", "3.0a1"):
        wheel(tmp_path / "links", "Beside-It", {"beside_it.py": ""}, version)
    return tmp_path / "links"


def test_packages_and_extras_are_installed_as_they_are_pinned_however_they_are_spelled(
    tmp_path: Path, cache: Cache, links: Path
) -> None:
    wheel(links, "Fast.Loop", {"fast.py": ""})
    metadata = "Provides-Extra: standard\nRequires-Dist: fast_loop; extra == 'standard'\n"
    path = wheel(tmp_path, "Some_Server", {"some_server/__init__.py": ""}, "1.5", metadata)
    pinned = "with = ['BESIDE_it==1.0', 'some.server==1.0']\n"
    bare = facts("Some.server", path, cache, pinned)
    assert bare.package_version == "1.5", "of what is under test there is no other version"
    assert bare.requirements == ("beside-it==1.0", "some-server==1.5")
    more = facts("some-server[Standard]", path, cache, pinned)
    assert set(more.requirements) - set(bare.requirements) == {"fast-loop==1.0"}


def test_an_installed_package_that_is_edited_has_changed(
    tmp_path: Path, cache: Cache, links: Path
) -> None:
    path = wheel(links, "server", {"server/__init__.py": ""})
    source, environment = Source(Origin.FILE, "", path), made("server", path, cache)
    assert isinstance(environment, Environment), environment
    assert not has_changed(source, environment, "Server")
    (module,) = environment.folder.glob("lib/*/site-packages/server/__init__.py")
    for edit in (lambda: module.write_text("import time"), module.unlink):
        edit()
        assert has_changed(source, environment, "Server")


def test_a_revision_that_cannot_be_installed_with_a_pin_is_an_error(
    tmp_path: Path, cache: Cache, links: Path
) -> None:
    metadata = "Requires-Dist: Beside.It>=1.5\n"
    path = wheel(tmp_path / "own", "server", {"server/__init__.py": ""}, more=metadata)
    result = made("server", path, cache, "with = ['BESIDE_it==1.0']\n")
    assert "server==1.0" in str(result)
    assert "beside-it" in str(result)


@pytest.mark.parametrize(
    ("more", "is_made"),
    [
        ("command = 'sleep {revision}'", False),
        ("command = '{python} x {revision}'", True),
        ("command = 'python3 {revision}'", True),
        ("command = 'sleep {revision}'\npython = '>=3.9'", True),
    ],
)
def test_variants_have_an_environment_where_something_in_the_file_needs_a_python(
    more: str, is_made: bool, cache: Cache
) -> None:
    path = cache.root.with_name("mine.toml")
    path.write_text(f"variants = ['1', '2']\n{more}\n")
    engine = WorkerFileEngine(worker_file.read(path))
    specs = [
        EnvironmentSpec(
            label=word,
            text=word,
            engine=engine.name,
            origin=Origin.VARIANT,
            source=Source(Origin.VARIANT, word),
            python=HERE,
        )
        for word in engine.variants
    ]
    made = [*EnvironmentBuilder(engine=engine, cache=cache).build_all(specs).values()]
    environments = [env for env in made if isinstance(env, Environment)]
    assert [(env.build.program, env.python.exists()) for env in environments] == [
        ("1", is_made), ("2", is_made),
    ]  # fmt: skip
    assert len({env.build.package_sha256 for env in environments}) == 2


PROGRAM = "tool-1.0.data/scripts/tool"
SHAPES = {
    "namespace": (
        "tele-sdk",
        {"tele/sdk/trace/__init__.py": "", "tele/sdk/__init__.pyi": ""},
        ["tele/sdk/trace/__init__.py"],
    ),
    "one file": ("one-file", {"one_file.py": ""}, ["one_file.py"]),
    "another name": ("py-other", {"other/__init__.py": ""}, ["other/__init__.py"]),
    "several": (
        "py-several",
        {"a/__init__.py": "", "b.py": "", "tests/__init__.py": "1 / 0\n"},
        ["a/__init__.py", "b.py", "tests/__init__.py"],
    ),
    "a program": ("tool", {PROGRAM: "#!python\nprint('one')\n"}, []),
    "data": ("some-data", {"some-data-1.0.data/data/share/words.txt": "one"}, []),
}
"""Name, files, and those that Python loads first."""


@pytest.mark.parametrize("shape", SHAPES)
def test_a_package_is_what_its_installer_recorded_whatever_its_shape(
    shape: str, tmp_path: Path, cache: Cache
) -> None:
    name, files, loaded_first = SHAPES[shape]
    later = {f"{Path(path).parent}/later.py": "" for path in files if path.endswith("__init__.py")}
    environment = made(name, wheel(tmp_path / "one", name, {**files, **later}), cache)
    assert isinstance(environment, Environment), environment
    alone = environment.build
    assert (alone.package_version, len(alone.package_sha256)) == ("1.0", 64)
    package = packages.installed(environment.folder)[name]
    assert sorted(packages.modules_of(package)) == loaded_first
    changed = dict.fromkeys(files, "# more\n")
    more = facts(name, wheel(tmp_path / "two", name, {**changed, **later}), cache)
    assert more.package_sha256 != alone.package_sha256, "two builds, two digests"


def test_one_build_has_one_digest_and_the_same_compiled_parts_wherever_it_is(
    tmp_path: Path,
) -> None:
    # What starts a script names the environment, and so may what the installer writes.
    parts: dict[str, str | bytes] = {
        "tool/__init__.py": "import colorsys",
        "tool/late.py": "",
        "tool/python2.py": "print 'no'\n",
        "tool-1.0.dist-info/entry_points.txt": "[console_scripts]\nstarted = tool:main\n",
        "tool.so": b"",
        "tool.libs/liba.so.1": b"",
        "tool-1.0.data/scripts/script": "#!python\nprint('one')\n",
        PROGRAM: b"\x7fELF, one",
    }
    first, second, changed = (
        made(
            "tool", wheel(tmp_path / place, "tool", files), Cache(tmp_path / place / "cache"),
            "module = 'tool'\n",
        )
        for place, files in (
            ("one", parts), (f"two{'-' * 100}", parts), ("other", {**parts, PROGRAM: b"\x7fELF, 2"})
        )
    )  # fmt: skip
    assert isinstance(first, Environment), first
    assert isinstance(second, Environment), second
    assert isinstance(changed, Environment), changed
    assert first.build.package_sha256 == second.build.package_sha256
    assert first.build.extensions == second.build.extensions != changed.build.extensions
    names = {Path(name).name for name in first.build.extensions}
    assert names == {"tool", "tool.so", "liba.so.1"}
    # All modules are compiled before the first run, as far as they can be.
    bytecode = Cache(tmp_path / "one" / "cache").bytecode(first.folder)
    compiled = bytecode.glob("lib/python*/site-packages/tool/*.pyc")
    assert {path.name.partition(".")[0] for path in compiled} == {"__init__", "late"}
    assert next((tmp_path / "one" / "cache").glob("pycache/**/colorsys.*.pyc"), None), "as imported"


def test_the_module_that_a_worker_file_names_is_the_one_that_is_imported(
    tmp_path: Path, cache: Cache
) -> None:
    files = {"tool/__init__.py": "", "other.py": "from collections import Iterable\n"}
    path = wheel(tmp_path, "tool", files)
    assert isinstance(made("tool", path, cache), Environment)
    error = made("tool", path, Cache(tmp_path / "other"), "module = 'other'\n")
    assert "ImportError: cannot import name 'Iterable'" in str(error).splitlines()[0]
    assert f"Python {HERE.minor_text}: --python names another" in str(error)


def test_what_a_wheel_was_under_the_same_name_is_not_installed_again(
    tmp_path: Path, cache: Cache
) -> None:
    sizes, digests = set(), set()
    for text in ("one", "two"):
        path = wheel(tmp_path, "server", {"server/__init__.py": f"NAME = '{text}'\n"})
        os.utime(path, (0, 0))
        sizes.add(path.stat().st_size)
        digests.add(facts("server", path, cache).package_sha256)
    assert (len(sizes), len(digests)) == (1, 2)
