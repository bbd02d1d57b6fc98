"""Packages as they are named and as they are made, installed for real."""

import platform
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from waitbench.engines import worker_file
from waitbench.engines.command import Command
from waitbench.environments.virtualenvs import Maker
from waitbench.model.environment import Environment, EnvironmentSpec, Facts, Interpreter, Origin
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Revision, WheelFile
from waitbench.system.places import Cache

HERE = Interpreter(sys.executable, platform.python_version())


def wheel(
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
            archive.writestr(zipfile.ZipInfo(member), content)
    return path


def made(package: str, wheel: Path, cache: Cache, more: str = "") -> Environment | HarnessError:
    """What becomes of a wheel that is a revision of a worker file's package."""
    path = cache.root.with_name("mine.toml")
    path.write_text(f"package = '{package}'\ncommand = 'true'\n{more}")
    engine = Command(worker_file.read(path))
    source = WheelFile(wheel, "")
    spec = EnvironmentSpec(
        revision=Revision(label="a", text="a", engine=engine.name, source=source),
        origin=Origin.FILE, python=HERE, commit=None, commit_date=None, wheel=wheel,
    )  # fmt: skip
    maker = Maker(
        engine=engine, repository=None, cache=cache, requirements=tuple(engine.requirements)
    )
    return maker.make_all([spec])["a"]


def facts(package: str, wheel: Path, cache: Cache, more: str = "") -> Facts:
    environment = made(package, wheel, cache, more)
    assert isinstance(environment, Environment), environment
    return environment.facts


@pytest.mark.parametrize(
    ("spelling", "own_name"),
    [
        ("Some-Package", "some-package"),
        ("some_package", "Some-Package"),
        ("some.package", "some_Package"),
        ("some-package", "Some.Package"),
    ],
)
def test_a_package_is_found_however_it_is_spelled(
    spelling: str, own_name: str, tmp_path: Path, cache: Cache
) -> None:
    path = wheel(tmp_path, own_name, {"some_package/__init__.py": ""}, "1.5")
    found = facts(spelling, path, cache)
    assert found.package_version == "1.5"
    assert "some-package==1.5" in found.requirements


def test_extras_and_packages_beside_it_are_installed_however_they_are_spelled(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = tmp_path / "links"
    for name in ("Fast.Loop", "Beside-It"):
        wheel(links, name, {f"{name[:4].lower()}.py": ""})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    asked = "Provides-Extra: standard\nRequires-Dist: fast_loop; extra == 'standard'\n"
    path = wheel(tmp_path, "Server", {"server/__init__.py": ""}, more=asked)
    plain = facts("server", path, cache, "with = ['BESIDE_it==1.0']\n")
    more = facts("server[Standard]", path, cache, "with = ['BESIDE_it==1.0']\n")
    assert {"beside-it==1.0", "server==1.0"} <= set(plain.requirements)
    assert set(more.requirements) - set(plain.requirements) == {"fast-loop==1.0"}
