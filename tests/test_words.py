"""The words that go: no name in the code, and no sentence for users, has one of them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_documents import DOCUMENTS
from waitbench.commands import COMMANDS
from waitbench.system.paths import PACKAGE, ROOT

MODULES = sorted(PACKAGE.rglob("*.py"))
GONE = {
    "acknowledged": "announced", "alone": "strict", "at_once": "concurrent",
    "beside": "extra", "besides": "extra", "carried": "adapted", "carrier": "adapter",
    "coarse": "large changes only", "contestant": "revision", "dear": "costly",
    "dearer": "costlier", "doctored": "regressed", "endings": "shutdown", "excused": "explained",
    "finding": "result", "findings": "results", "floor": "allowance", "foreign_cores": "other load",
    "found": "results", "hopeless": "futile", "in_turn": "interleaved", "in_turns": "interleaved",
    "judgement": "question", "keep": "save", "kept": "saved", "knob": "setting",
    "look": "interim analysis", "looks": "interim analyses", "needle": "planted", "of_user": "user",
    "of_worker": "worker", "one": "its noun", "outcome": "failed run",
    "overdue": "late", "own": "its noun", "plain": "its noun", "rooms": "packages", "said": "text",
    "says": "text", "side_by_side": "concurrent",
    "sitting": "session", "steady": "idle", "stretch": "extension", "tell": "render",
    "tells": "renders", "those": "its noun", "together": "pooled", "told": "figures",
    "traits": "features", "unsaid": "unannounced", "waits": "is idle", "whatever": "its noun",
    "who": "its noun", "whoever": "its noun", "works": "is busy", "would_have_found": "detectable",
}  # fmt: skip
"""The words, each with what stands instead."""
USUAL = {
    # Another meaning of the word, in which everybody has it.
    "is_alone", "FAILS_ALONE",
    "one_round",
}  # fmt: skip
LATER = {
    # Renames that change an option, or result files.
    "alone", "waits", "works", "side_by_side", "at_once", "Judgement",
    "judgement", "Findings", "findings", "findings_of", "outcome", "OUTCOME", "OWN",
}  # fmt: skip
GONE_IN_PROSE = re.compile(
    r"\b(sitting|hopeless|coarse|excused|overdue|needle|doctored|besides|heeds|mends|is told|"
    r"is said|whoever|unsaid|anew|mend|mended|dear|dearer|dearest|dearly|contestants?|steady|"
    r"CPU in all|foreign cores|carriers?|knobs?|sittings|would have found)\b"
)


def names_in(tree: ast.AST) -> Iterator[str]:
    """The names that a module gives to variables, arguments, attributes, functions and classes."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name


def words_of(name: str) -> str:
    """The words of a name in lower case, each between underscores."""
    return f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower()}_"


def test_names_in_the_code_have_none_of_them() -> None:
    names = {name for path in MODULES for name in names_in(ast.parse(path.read_text("utf-8")))}
    gone = {name for name in names if any(f"_{word}_" in words_of(name) for word in GONE)}
    assert gone - {*COMMANDS} == USUAL | LATER


def test_messages_and_help_texts_have_none_of_them() -> None:
    for path in MODULES:
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in docstrings:
                assert not GONE_IN_PROSE.search(str(node.value)), (path, node.lineno)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_have_none_of_them(path: Path) -> None:
    prose = re.sub(r"^```.*?^```|`[^`]*`|\(.*?\)", "", path.read_text("utf-8"), flags=re.M | re.S)
    assert GONE_IN_PROSE.findall(prose) == []
