"""hyperfine: located or installed, what it exports, and what is said of a run that failed."""

import mmap
import resource
from pathlib import Path

import pytest

from waitbench.execution import hyperfine, measure
from waitbench.execution.measure import Measurer, _last_words
from waitbench.model.errors import HarnessError
from waitbench.system.paths import Cache

CHAIN = """
Traceback (most recent call last):
  File "scorers/process.py", line 1, in ask
    os.read(fd)
scorers.process.ModelError: model process 7 ended with exit code -9; its stderr is empty

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "flow.py", line 2, in step
    ask()
ValueError: in two
lines

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "run.py", line 3, in <module>
RuntimeError: (src/run.rs) error in step
"""


@pytest.mark.parametrize(
    ("stderr", "printed"),
    [
        ("", ""),
        ("a\nlast\n\n", ": last"),
        (
            CHAIN + "Warning: Ignoring non-zero exit code\n",
            ": RuntimeError: (src/run.rs) error in step; from ValueError: in two; from "
            "scorers.process.ModelError: model process 7 ended with exit code -9; its stderr is "
            "empty",
        ),
        (CHAIN[: CHAIN.index("The above")], ": scorers.process.ModelError: model process 7 "
            "ended with exit code -9; its stderr is empty"),
        (CHAIN + CHAIN.replace("(src/run.rs) error", "another"), ": RuntimeError: another in step"),
        (CHAIN + "Segmentation fault\n", ": Segmentation fault"),
    ],
)  # fmt: skip
def test_the_last_words_of_a_run_are_its_whole_chain_of_exceptions(
    tmp_path: Path, stderr: str, printed: str
) -> None:
    path = tmp_path / "stderr"
    path.write_text(stderr)
    assert _last_words(path).startswith(printed)
    assert _last_words(path).count("RuntimeError") <= 1
    assert bool(printed) == bool(_last_words(path))


def test_without_apt_and_cargo_hyperfine_is_asked_for_in_plain_words(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("waitbench.execution.hyperfine.shutil.which", lambda _name: None)
    with pytest.raises(
        HarnessError, match=r"no apt-get; no cargo.*Install hyperfine ≥ 1\.13.*something else"
    ):
        hyperfine.locate(cache, lambda _what: None)


@pytest.mark.parametrize(
    ("printed", "version"),
    # The last is the package of that name on the Python index.
    [("hyperfine 1.12.0", None), ("hyperfine 1.13.0", "1.13.0"), ("muon spin rotation", None)],
)
def test_an_old_hyperfine_on_path_is_passed_over(
    printed: str, version: str | None, tmp_path: Path
) -> None:
    program = tmp_path / "hyperfine"
    program.write_text(f"#!/bin/sh\necho {printed}\n")
    program.chmod(0o755)
    hyperfine_found = hyperfine._program_at(program)
    assert hyperfine_found == (version and hyperfine.Hyperfine(str(program), version))


EXPORT_1 = """{"results": [{"command": "x", "mean": 0.5, "stddev": null, "median": 0.5,
 "user": 0.25, "system": 0.125, "min": 0.5, "max": 0.5, "times": [0.5],
 "exit_codes": [3]}]}"""
EXPORT_2 = """{"schema_version": 2, "metadata": {"hyperfine_version": "2.0.0"},
 "primary_metric": "time_wall_clock", "results": [{"command": "x", "measurements": [{
 "time_wall_clock": {"value": 0.5, "unit": "second"}, "time_cpu": {"value": 0.375,
 "unit": "second"}, "time_user": {"value": 0.25, "unit": "second"},
 "time_system": {"value": 0.125, "unit": "second"},
 "exit_code": 3}],
 "summary": {}}]}"""


@pytest.mark.parametrize("export", [EXPORT_1, EXPORT_2])
def test_both_lines_of_hyperfine_are_read_alike(export: str) -> None:
    assert hyperfine.parse_export(export) == (0.5, 3)


@pytest.mark.parametrize(
    "export", ["", "{}", "[]", '{"results": []}', EXPORT_1.replace("[0.5]", "[0.5, 0.5]")]
)
def test_an_unreadable_export_is_an_error(export: str) -> None:
    with pytest.raises(HarnessError, match="cannot be read"):
        hyperfine.parse_export(export)


SIZE = 16 * 2**20
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
HAS_HUGE_PAGES = THP.exists() and "[always]" in THP.read_text()


def page_faults() -> int:
    """Those of children that have ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


@pytest.mark.skipif(HAS_HUGE_PAGES, reason="a fault gives more than a page")
def test_free_memory_is_used_once() -> None:
    """If a hypervisor took free pages, the first use of each costs more than any other."""
    before = page_faults()
    Measurer.prefault(SIZE)
    assert page_faults() - before >= SIZE // mmap.PAGESIZE


@pytest.mark.parametrize(("size", "available"), [(0, 2**40), (SIZE, 0)])
def test_no_memory_is_used_for_a_single_run_nor_where_none_is_available(
    size: int, available: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "available_memory", lambda: available)
    before = page_faults()
    Measurer.prefault(size)
    assert page_faults() == before


@pytest.mark.parametrize("free", [2**40, SIZE // 2])
def test_at_most_half_of_the_available_memory_is_used_and_of_the_free_memory(
    free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "available_memory", lambda: SIZE)
    monkeypatch.setattr("os.sysconf", lambda _name: free // mmap.PAGESIZE)
    commands: list[list[str]] = []
    monkeypatch.setattr(measure, "ask", lambda command, **_: commands.append(command))
    monkeypatch.setattr(measure, "usable_cpus", lambda: 4.5)
    Measurer.prefault(2**40)
    assert len(commands) == 4
    each = min(free, SIZE) // 2 // 4
    assert all(f"-1, {each}," in command[-1] for command in commands)


@pytest.mark.parametrize("error", [OSError, RuntimeError])
def test_a_comparison_goes_on_if_no_process_can_use_memory(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_arguments: object, **_named: object) -> None:
        raise error

    monkeypatch.setattr(measure, "ask", fails)
    Measurer.prefault(SIZE)
