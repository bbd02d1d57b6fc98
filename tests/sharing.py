"""Folders of shares, made of one comparison by hand."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from waitbench.model.share import Shard
from waitbench.store.comparisons import COMPARISON_NAME
from waitbench.store.csv_files import SAMPLES_SUFFIX

_SUFFIXES = (".json", SAMPLES_SUFFIX)


def part(whole: Path, number: int, **changes: Any) -> list[Path]:
    """Parts a folder of results as if so many shares had been measured.

    ``changes`` are of the content of each ``comparison.json``.
    """
    comparison = json.loads((whole / COMPARISON_NAME).read_text())
    names = comparison["settings"]["scenarios"]
    parameters = {
        name: json.loads((whole / f"{name}.json").read_text())["metadata"]["parameters"]
        for name in names
    }
    folders = []
    for index in range(1, number + 1):
        share = Shard(index=index, number=number).of(dict.fromkeys(names, 1.0))
        of_share = {**share.as_settings(), "parameters": parameters}
        folder = whole.with_name(f"{whole.name}-{index}-of-{number}")
        folder.mkdir()
        for name in share.scenarios:
            for path in (whole / f"{name}{suffix}" for suffix in _SUFFIXES):
                if path.exists():
                    shutil.copy(path, folder)
        edit(
            folder / COMPARISON_NAME,
            {
                **comparison,
                "argv": [*comparison["argv"], "--shard", f"{index}/{number}"],
                "settings": {**comparison["settings"], "share": of_share},
                **changes,
            },
        )
        folders.append(folder)
    return folders


def edit(path: Path, content: Mapping[str, Any]) -> None:
    """Writes JSON as the project does."""
    path.write_text(json.dumps(content, indent=1))


def scenario_files(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The bytes of what belongs to scenarios, by the file's name."""
    paths = (folder / f"{name}{suffix}" for name in names for suffix in _SUFFIXES)
    return {path.name: path.read_bytes() for path in paths if path.exists()}
