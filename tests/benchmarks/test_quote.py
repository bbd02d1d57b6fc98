"""Tables in documents: they are those of the samples."""

import re
from pathlib import Path

import pytest

from benchmarks import quote


@pytest.mark.parametrize("document", quote.DOCUMENTS, ids=lambda path: str(path.name))
def test_a_documents_tables_are_those_of_its_samples(document: Path) -> None:
    text = document.read_text("utf-8")
    assert quote.quoted(text) == text


def test_the_documents_of_these_families_quote_all_their_samples() -> None:
    found = {
        document.stem: re.findall("<!-- tables of docs/samples/(.*) -->", document.read_text())
        for document in quote.DOCUMENTS
    }
    assert found["embedding"] == ["embedding", "embedding/call-cost-40", "embedding-worker"]
    assert found["paged-output"] == ["paged-output"]


def test_a_table_that_was_changed_by_hand_is_put_right_and_the_rest_left_alone() -> None:
    (document,) = (path for path in quote.DOCUMENTS if path.stem == "paged-output")
    text = document.read_text("utf-8")
    changed = text.replace("| 250,000 |", "| 250,001 |", 1)
    assert changed != text
    assert quote.quoted(changed) == text
