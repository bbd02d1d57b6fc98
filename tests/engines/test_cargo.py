"""Builds by cargo: what they lack, and that they really compile."""

import json
from pathlib import Path

import pytest

from waitbench.engines import DEFAULT
from waitbench.model.environment import Toolchain
from waitbench.model.errors import HarnessError

BUILDER = DEFAULT.builder
RUST = Toolchain("rustc 1.86.0 (05f9846f8 2025-03-31)", "", "stable")


@pytest.mark.parametrize(
    ("line", "package"),
    [
        ("  sasl.c:1:10: fatal error: sasl/sasl.h: No such file or directory", "libsasl2-dev"),
        ("  Could not find directory of OpenSSL installation", "libssl-dev"),
        ("  thread 'main' panicked: Could not find `protoc` installation", "protobuf-compiler"),
        ("  failed: No such file or directory\n  is `cmake` not installed?", "cmake"),
        ("error: linker `cc` not found", "build-essential"),
        (
            "error: toolchain '1.86.0-x86_64' is not installed\n"
            "  Cargo, the Rust package manager, is not installed or is not on PATH.",
            "rustup toolchain install 1.86.0-x86_64",
        ),
        ("cargo, the Rust package manager, is not installed or is not on PATH.", "rustup.rs"),
    ],
)  # fmt: skip
def test_a_missing_system_package_is_hinted_at(line: str, package: str, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(f"   Compiling sasl2-sys v0.1.20\n   Compiling openssl v0.10.45\n{line}\n")
    assert package in BUILDER.hint(log)


def test_no_hint_is_given_for_other_failures(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(
        "   Compiling sasl2-sys v0.1.20\n   Compiling cmake v0.1.49\nerror[E0308]: mismatched\n"
    )
    assert BUILDER.hint(log) == ""


def write_crate(folder: Path, name: str) -> Path:
    source = folder / "source"
    source.mkdir()
    (source / "Cargo.toml").write_text(f'[package]\nname = "{name}"\nversion = "1.0.0"\n')
    return source


def test_fingerprints_of_the_crate_are_removed_and_those_of_its_dependencies_stay(
    tmp_path: Path,
) -> None:
    source = write_crate(tmp_path, "stream")
    kept, gone = (
        tmp_path / "target" / "release" / ".fingerprint" / name for name in ("tokio-1", "stream-1")
    )
    cross = tmp_path / "target" / "x86_64" / "release" / ".fingerprint" / "stream-2"
    for folder in (kept, gone, cross):
        folder.mkdir(parents=True)
    BUILDER.before(source, tmp_path)
    assert (kept.exists(), gone.exists(), cross.exists()) == (True, False, False)


def test_a_build_that_compiled_nothing_of_the_crate_is_refused(tmp_path: Path) -> None:
    source, log = write_crate(tmp_path, "stream"), tmp_path / "log"
    log.write_text("   Compiling tokio v1.0.0\n    Finished release\n")
    with pytest.raises(HarnessError, match="cargo did not recompile stream"):
        BUILDER.after(source, tmp_path, RUST, log)
    log.write_text("   Compiling tokio v1.0.0\n   Compiling stream v1.0.0 (/source)\n")
    BUILDER.after(source, tmp_path, RUST, log)


def test_sources_without_a_crate_have_nothing_to_recompile(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "log").write_text("")
    BUILDER.before(tmp_path / "source", tmp_path)
    BUILDER.after(tmp_path / "source", tmp_path, RUST, tmp_path / "log")


def ran(folder: Path, *compilers: str) -> None:
    """What cargo writes down of the compilers that it started."""
    outputs = {
        str(n): {"success": True, "stdout": f"{one}\nhost: x\n"} for n, one in enumerate(compilers)
    }
    outputs["other"] = {"success": True, "stdout": "___\nlib___.rlib\n"}
    (folder / "target").mkdir(exist_ok=True)
    (folder / "target" / ".rustc_info.json").write_text(json.dumps({"outputs": outputs}))


def test_what_another_compiler_has_built_is_refused(tmp_path: Path) -> None:
    source, log = write_crate(tmp_path, "stream"), tmp_path / "log"
    log.write_text("   Compiling stream v1.0.0 (/source)\n")
    ran(tmp_path, RUST.compiler)
    BUILDER.after(source, tmp_path, RUST, log)
    ran(tmp_path, "rustc 1.74.1 (a28077b28 2023-12-04)")
    with pytest.raises(
        HarnessError, match=r"built by rustc 1\.86\.0 .* was built by rustc 1\.74\.1"
    ):
        BUILDER.after(source, tmp_path, RUST, log)
    BUILDER.before(source, tmp_path)
    BUILDER.after(source, tmp_path, RUST, log)  # cargo has said nothing


def test_the_toolchain_is_forced_whatever_the_sources_name(tmp_path: Path) -> None:
    assert BUILDER.variables(tmp_path, RUST)["RUSTUP_TOOLCHAIN"] == "stable"
    assert "RUSTUP_TOOLCHAIN" not in BUILDER.variables(tmp_path, Toolchain("rustc 1.0.0", ""))
