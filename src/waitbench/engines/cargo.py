"""Builds with a Rust part, by cargo, such that two revisions never share a binary by accident.

Cargo trusts modification times: with a shared target folder, the second of two commits can come
out as the first one's binary. Dependencies may stay compiled from one build to the next; the
package's own fingerprints are removed before each, and the log must show that it was compiled.
"""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.engines import rustup
from waitbench.engines.base import ReadSource
from waitbench.model.environment import Toolchain
from waitbench.model.errors import HarnessError
from waitbench.system.processes import tail

_COMPLAINT = re.compile(
    r"error|not found|could not|cannot|no such|panicked|missing|not installed", re.IGNORECASE
)
"""Hints look at such lines only: package names are also in what cargo says of those it compiles."""

_COMPLAINTS_WITHIN_LINES = 200


@dataclass(frozen=True)
class CargoBuilder:
    """Builds one engine's source trees."""

    engine: str
    hints: Mapping[str, str]
    """System packages that a failed build seems to lack, by a pattern of its complaints."""

    def toolchain(self, sources: Sequence[ReadSource], wanted: str | None = None) -> Toolchain:
        return rustup.choose(sources, wanted)

    def variables(self, directory: Path, toolchain: Toolchain) -> Mapping[str, str]:
        forced = {rustup.VARIABLE: toolchain.name} if toolchain.name else {}
        return {
            "CARGO_TARGET_DIR": str(_target(directory)),
            "CARGO_TERM_COLOR": "never",
            **forced,
        }

    def before(self, source: Path, directory: Path) -> None:
        _compiler_file(directory).unlink(missing_ok=True)
        crate = _crate_name(source)
        if crate is None:
            return
        for pattern in ("*/.fingerprint", "*/*/.fingerprint"):
            for fingerprints in _target(directory).glob(pattern):
                for fingerprint in fingerprints.glob(f"{crate}-*"):
                    shutil.rmtree(fingerprint)

    def after(self, source: Path, directory: Path, toolchain: Toolchain, log: Path) -> None:
        crate = _crate_name(source)
        text = log.read_text("utf-8", "replace")
        if crate and not re.search(rf"Compiling {re.escape(crate)} v", text):
            raise HarnessError(
                f"cargo did not recompile {crate}; the log is {log}. "
                f"Delete {source.parent} and try again."
            )
        ran = _compilers_that_ran(directory)
        if crate and ran and ran != {toolchain.compiler}:
            raise HarnessError(
                f"{crate} was to be built by {toolchain.compiler}, and was built by "
                f"{' and '.join(sorted(ran))}; the log is {log}."
            )

    def hint(self, log: Path) -> str:
        lines = tail(log, _COMPLAINTS_WITHIN_LINES).splitlines()
        text = "\n".join(line for line in lines if _COMPLAINT.search(line))
        toolchain = re.search(r"toolchain '([\w.-]+)' is not installed", text)
        if toolchain:
            return f"\nHint: rustup toolchain install {toolchain[1]}"
        for program in ("cargo", "rustc"):
            missing = "{0}, the Rust .*is not installed|{0}.*not found|No such file.*{0}"
            if re.search(missing.format(program), text):
                return f"\nHint: building {self.engine} takes a Rust toolchain: https://rustup.rs"
        packages = [
            names
            for pattern, names in self.hints.items()
            if re.search(pattern, text, re.IGNORECASE)
        ]
        if not packages:
            return ""
        return f"\nHint: a system package may be missing: apt-get install {' '.join(packages)}"


def _target(directory: Path) -> Path:
    return directory / "target"


def _compiler_file(directory: Path) -> Path:
    """Where cargo writes down what the compilers that it starts say of themselves."""
    return _target(directory) / ".rustc_info.json"


def _compilers_that_ran(directory: Path) -> set[str]:
    """The first line of ``rustc --version`` of each that a build has started."""
    try:
        outputs = json.loads(_compiler_file(directory).read_text("utf-8"))["outputs"].values()
        said = [str(output["stdout"]).splitlines() for output in outputs if output["success"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
    return {lines[0] for lines in said if lines and lines[0].startswith("rustc ")}


def _crate_name(source: Path) -> str | None:
    """The name of the source tree's crate; ``None`` where it has none."""
    manifest = source / "Cargo.toml"
    if not manifest.is_file():
        return None
    match = re.search(r'^name\s*=\s*"([^"]+)"', manifest.read_text("utf-8"), re.MULTILINE)
    return match[1] if match else None
