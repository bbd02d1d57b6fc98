"""hyperfine: located or installed, and its two export formats."""

from pathlib import Path

import pytest

from waitbench.execution import hyperfine
from waitbench.model.errors import HarnessError
from waitbench.system.places import Cache


def test_without_apt_and_cargo_hyperfine_is_asked_for_in_plain_words(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("waitbench.execution.hyperfine.shutil.which", lambda _name: None)
    with pytest.raises(
        HarnessError, match=r"no apt-get; no cargo.*Install hyperfine ≥ 1\.13.*something else"
    ):
        hyperfine.locate(cache, lambda _what: None)


@pytest.mark.parametrize(
    ("said", "version"),
    # The last is the package of that name on the Python index.
    [("hyperfine 1.12.0", None), ("hyperfine 1.13.0", "1.13.0"), ("muon spin rotation", None)],
)
def test_an_old_hyperfine_on_path_is_passed_over(
    said: str, version: str | None, tmp_path: Path
) -> None:
    program = tmp_path / "hyperfine"
    program.write_text(f"#!/bin/sh\necho {said}\n")
    program.chmod(0o755)
    found = hyperfine._program_at(str(program))
    assert found == (version and hyperfine.Hyperfine(str(program), version))


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
