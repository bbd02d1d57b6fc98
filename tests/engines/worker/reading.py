"""Worker files as they are written."""

from pathlib import Path

from waitbench.engines.worker import file as worker_file
from waitbench.model.worker import WorkerFile


def read(folder: Path, text: str, name: str = "mine") -> WorkerFile:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return worker_file.read(path)
