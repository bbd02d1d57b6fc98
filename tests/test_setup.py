"""Setting up, hints, and what the documentation promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Compare
from waitbench.environments.builds import _hint
from waitbench.execution import hyperfine
from waitbench.model.errors import HarnessError
from waitbench.system.places import ROOT, Cache


@pytest.mark.parametrize(
    ("line", "package"),
    [
        ("  sasl.c:1:10: fatal error: sasl/sasl.h: No such file or directory", "libsasl2-dev"),
        ("  Could not find directory of OpenSSL installation, and this `-sys` crate cannot proceed", "libssl-dev"),
        ('  thread \'main\' panicked: Could not find `protoc` installation and this build crate cannot proceed', "protobuf-compiler"),
        ("  failed to execute command: No such file or directory (os error 2)\n  is `cmake` not installed?", "cmake"),
        ("error: linker `cc` not found", "build-essential"),
        ("cargo, the Rust package manager, is not installed or is not on PATH.", "rustup.rs"),
    ],
)  # fmt: skip
def test_a_missing_system_package_is_hinted_at(line: str, package: str, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(f"   Compiling sasl2-sys v0.1.20\n   Compiling openssl v0.10.45\n{line}\n")
    assert package in _hint(log)


def test_no_hint_is_given_for_other_failures(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("   Compiling sasl2-sys v0.1.20\n   Compiling cmake v0.1.49\nerror[E0308]: mismatched types\n")
    assert _hint(log) == ""


def make_venv(tmp_path: Path, refused: str) -> subprocess.CompletedProcess[str]:
    """Runs setup.sh's function with a Python that refuses to run some modules."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ncase "$2" in {refused}) exit 1 ;; esac\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    functions = (ROOT / "waitbench" / "setup.sh").read_text().rpartition("\nbench_setup ")[0]
    script = f'{functions}\nset -euo pipefail\nBENCH_PROGRAM=test bench_make_venv "$1" "$2"'
    command = ["bash", "-c", script, "bash", str(python), str(tmp_path / "venv")]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env={"PATH": "/usr/bin:/bin"})


@pytest.mark.parametrize("refused", ["nothing", "venv"])
def test_a_python_without_venv_gets_its_environment_through_virtualenv(refused: str, tmp_path: Path) -> None:
    done = make_venv(tmp_path, refused)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "venv" / "bin" / "python").exists()


def test_a_python_with_neither_is_told_what_to_install(tmp_path: Path) -> None:
    done = make_venv(tmp_path, "venv|virtualenv|pip")
    assert done.returncode == 3
    assert "apt install python3-venv" in done.stderr


def test_without_apt_and_cargo_hyperfine_is_asked_for_in_plain_words(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waitbench.execution.hyperfine.shutil.which", lambda _name: None)
    with pytest.raises(HarnessError, match=r"no apt-get; no cargo.*Install hyperfine ≥ 1\.13.*something else"):
        hyperfine.locate(cache, lambda _what: None)


def test_an_old_hyperfine_on_path_is_passed_over(cache: Cache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "hyperfine"
    old.write_text("#!/bin/sh\necho hyperfine 1.12.0\n")
    old.chmod(0o755)
    assert hyperfine._ask(str(old)) is None
    old.write_text("#!/bin/sh\necho hyperfine 1.13.0\n")
    assert hyperfine._ask(str(old)) == hyperfine.Hyperfine(str(old), "1.13.0")
    old.write_text("#!/bin/sh\necho muon spin rotation\n")  # the package of that name on the Python index
    assert hyperfine._ask(str(old)) is None


@pytest.mark.parametrize("command", ["compare", "plot", "report", "calibrate", "load", "paged-output"])
def test_the_readme_names_every_option(command: str, run_compare: Compare) -> None:
    shown = run_compare("--help", command=command).stdout
    readme = (ROOT / "README.md").read_text()
    options = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", shown.partition("Examples")[0])) - {"--help"}
    assert len(options) > (20 if command == "compare" else 0)
    assert [option for option in sorted(options) if f"`{option}" not in readme and f"{option} " not in readme] == []


def test_the_readme_and_the_guide_name_only_files_that_exist() -> None:
    for document in (
        "README.md",
        "CONTRIBUTING.md",
        "docs/embedding.md",
        "docs/paged-output.md",
        "docs/scoring.md",
        "docs/statistics.md",
        "docs/verdict.md",
    ):
        text = (ROOT / document).read_text()
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if "://" not in target:
                assert ((ROOT / document).parent / target).exists(), f"{document}: {target}"
        assert "@@" not in text, document
