"""The worker files of workers/, and the reference of their keys."""

from pathlib import Path

import pytest

from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker.file import PLACEHOLDERS
from waitbench.model.conditions import Answer, Readiness
from waitbench.model.worker import MetricTable, Poke, ServiceTable, WorkerTable
from waitbench.system.paths import ROOT, WORKERS

EXAMPLES = sorted(WORKERS.glob("*/*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_whole_and_explains_itself(path: Path) -> None:
    found = worker_file.read(path)
    assert found.revisions
    assert found.poke is not None or found.ends_by_itself
    assert path.read_text("utf-8").startswith("# ")
    assert all(one.install or "{python}" in one.command for one in found.services.values())
    assert found.package or found.variants or found.install


def test_the_reference_has_every_key() -> None:
    """The examples of documents: tests/test_documents.py."""
    reference = (ROOT / "docs" / "worker-files.md").read_text("utf-8")
    named = {one: f"{one}.NAME" for one in ("services", "metrics", "scenarios")}
    for table in (WorkerTable, ServiceTable, Poke, MetricTable):
        names = [named.get(key, key) for key in table.__struct_encode_fields__]
        assert [name for name in names if f"| `{name}` |" not in reference] == []
    for condition in (*Readiness.__subclasses__(), *Answer.__subclasses__()):
        assert f"| `{condition.key} = " in reference
    for placeholder in PLACEHOLDERS:
        assert f"`{{{placeholder}}}`" in reference
