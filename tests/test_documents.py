"""What the documents promise is there."""

import re
import sys
import textwrap
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

import waitbench
from tests.running import run
from waitbench.analysis.rule import RULE
from waitbench.engines.worker import file as worker_file
from waitbench.pipeline.gating import read_accepted
from waitbench.system.paths import ROOT

PATTERNS = ("*.md", "docs/**/*.md", "*/README.md", "workers/*.md")
DOCUMENTS = sorted({path for pattern in PATTERNS for path in ROOT.glob(pattern)})
WIDEST = 120
LONGEST_README, LONGEST_SENTENCE, LONGEST_DOCUMENTS = 500, 30, 20_000
"""In words."""
DECISIONS = [f"{path.stem}.html" for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")]
"""Like ``ways-not-taken``, they are read from their index, and are not in the navigation."""


def test_the_example_for_pandas_prints_a_row_for_every_scenario() -> None:
    text = (ROOT / "docs" / "results.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = run(sys.executable, "-c", textwrap.dedent(example), cwd=ROOT)
    assert "partitioned-long-input" in done.stdout
    assert len(done.stdout.splitlines()) == 1 + 1 + 8


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_names_only_files_that_exist_and_is_narrow(
    document: Path,
) -> None:
    text = document.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (document.parent / target).exists(), target
    wide = [line for line in text.splitlines() if len(line) > WIDEST]
    assert wide == []
    assert "@@" not in text, "a placeholder"


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_no_sentence_at_the_front_door_is_long(name: str) -> None:
    """Nor row, heading or item; without code and targets of links."""
    text = re.sub(
        r"^```.*?^```|\]\([^)]*\)", "", (ROOT / name).read_text("utf-8"), flags=re.M | re.S
    )
    parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=[*|#\d])", text))
    found = [one for part in parts for one in re.split(r"(?<=[.!?])\s+", part)]
    assert [one for one in found if len(one.split()) > LONGEST_SENTENCE] == []


def test_the_readme_and_the_documents_are_short() -> None:
    """But for the reference that is made from the command line."""
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= LONGEST_README
    kept = [path for path in (ROOT / "docs").glob("*.md") if path.name != "command-line.md"]
    assert sum(len(path.read_text("utf-8").split()) for path in kept) <= LONGEST_DOCUMENTS


def blocks(language: str) -> list[tuple[str, str]]:
    """The examples of all documents in a language, each with its document's path."""
    return [
        (str(path.relative_to(ROOT)), block)
        for path in DOCUMENTS
        for block in re.findall(rf"```{language}\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    ]


RUN_BY = {
    "docs/results.md": "tests/test_documents.py",
    "workers/README.md": "tests/real/test_worker_examples.py",
}
"""The tests that run the programs of documents."""


def test_every_program_of_a_document_is_run() -> None:
    assert sorted(path for path, _ in blocks("python")) == sorted(RUN_BY)
    for document, test in RUN_BY.items():
        assert Path(document).name in (ROOT / test).read_text("utf-8")


@pytest.mark.parametrize(("document", "block"), blocks("toml"))
def test_every_worker_file_of_a_document_is_valid(
    document: str, block: str, tmp_path: Path
) -> None:
    """In itself, or if it begins with a table, behind the first and the tables before it."""
    path = tmp_path / "example.toml"
    if block.startswith("[[accepted]]"):
        path.write_text(block)
        assert read_accepted(path, today=date(2026, 1, 1))
        return
    texts = [text for path, text in blocks("toml") if path == document]
    first, *parts = texts[: texts.index(block) + 1]
    parts = [text for text in parts if text.startswith("[")]
    whole = "".join([first, *parts]) if block.startswith("[") else block
    path.write_text(whole)
    for name in re.findall(r'"(\w+\.py)"', whole):
        (tmp_path / name).touch()
    assert worker_file.read(path).command


def test_every_input_of_the_action_in_a_document_exists() -> None:
    known = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    examples = [(path, yaml.safe_load(block)) for path, block in blocks("yaml")]
    assert sorted(path for path, _ in examples) == ["README.md", "docs/pull-requests.md"]
    for _, found in examples:
        steps = found if isinstance(found, list) else found["jobs"]["cpu"]["steps"]
        (ours,) = (step for step in steps if "waitbench@" in step.get("uses", ""))
        assert set(ours.get("with", {})) <= set(known)


def test_the_looks_of_the_gate_are_those_of_its_rule() -> None:
    looks = f"looks after {', '.join(map(str, RULE.analyses[:-1]))} and {RULE.analyses[-1]}"
    shown = run(sys.executable, ROOT / "runner.py", "compare", "--help-all").stdout
    for text in (shown, (ROOT / "docs" / "gate.md").read_text("utf-8")):
        assert looks in " ".join(text.split())


def test_the_index_of_trials_has_each_of_them() -> None:
    folder = ROOT / "docs" / "trials"
    rows = re.findall(r"^\| ([a-z0-9, -]+) \|", (folder / "README.md").read_text("utf-8"), re.M)
    named = [name for row in rows[1:] for name in row.split(", ") if name.strip("- ")]
    assert sorted(named) == sorted(path.stem for path in folder.glob("*.txt"))


def test_the_index_has_every_document() -> None:
    """The site is navigated by it."""
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    names = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {name for name in names if f"]({name})" not in index} == set()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the documents, as its users get it."""
    folder = tmp_path_factory.mktemp("site")
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder)
    done = run(*command, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.integration
def test_the_links_of_the_site_lead_somewhere_and_load_nothing(site: Path) -> None:
    lost = []
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        for link in re.findall(r'(?:href|src)="?([^"\s>]+)', text):
            path = unquote(link.partition("#")[0])
            if path and not re.match(r"[a-z]+:|//", path) and not (page.parent / path).exists():
                lost.append((page.name, link))
        assert not re.search(r'<(?:script|link)[^>]*(?:src|href)="?https?://', text), page
    assert not [link for link in lost if link[0] != "404.html"]
    assert not [*site.rglob("*.jsonl"), *site.rglob("*.csv"), *site.rglob("comparison.json")]


@pytest.mark.integration
def test_the_home_page_says_what_waitbench_is_and_has_three_ways_in(site: Path) -> None:
    top, _, _ = (site / "index.html").read_text("utf-8").partition("<h2")
    _, _, article = top.partition("<h1")
    assert "fails pull requests that make waiting cost more" in " ".join(article.split())
    assert re.findall(r'<li><a href="([^"#]+)', article) == [
        "tutorial.html",
        "pull-requests.html",
        "look.html",
    ]
    assert 'src="samples/input/costs.png"' in article


class Prose(HTMLParser):
    """The text of a page outside of code."""

    def __init__(self) -> None:
        super().__init__()
        self.code, self.text = 0, ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.code += tag in CODE

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag in CODE

    def handle_data(self, data: str) -> None:
        self.text += "" if self.code else data


CODE = ("code", "script", "style", "svg")


@pytest.mark.integration
def test_no_page_of_the_site_shows_markdown_and_each_has_a_next_one(site: Path) -> None:
    pages = {path for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 30
    lonely = set()
    for page in pages:
        html, prose = page.read_text("utf-8"), Prose()
        prose.feed(html)
        assert not re.search(r"\]\(|\*\*|`|<!--|\|\s*---", prose.text), page
        assert not re.search(r"<code>[^<]*\\\|", html), page
        lonely |= {page} if "md-footer__link" not in html else set()
        (title,) = re.findall(r"<h1[^>]*>(.*?)<a class", html, re.S)
        assert "./" not in title, "the navigation has titles"
    assert {path.name for path in lonely} <= {"ways-not-taken.html", *DECISIONS}


def figures_in(text: str) -> set[str]:
    """The numbers of a text, without commas."""
    return {found.replace(",", "") for found in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_quotes_a_trial_has_its_figures(document: Path) -> None:
    """Of a paragraph or an item that names one: each number stands in it."""
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.M | re.S)
    for part in re.split(r"\n\s*\n|\n(?=\* )", text):
        named = re.findall(r"\]\(([^)]*trials/[a-z0-9-]+\.txt)\)", part)
        known = figures_in(" ".join((document.parent / one).read_text("utf-8") for one in named))
        quoted = figures_in(re.sub(r"\]\([^)]*\)|`[^`]*`", "", part)) if named else set()
        assert quoted <= known, part


def test_the_readme_has_the_ratios_of_its_sample() -> None:
    runs = waitbench.read(ROOT / "docs" / "samples" / "input")
    waiting = runs[(runs["scenario"] == "partitioned-long-input") & (runs["round"] > 0)]
    means = waiting.groupby("revision")[["time_cpu", "time_system"]].mean()
    cpu, system = means.loc["v0.16.0"] / means.loc["v0.16.1"]
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"{cpu:.0f}× less total CPU and {system:.0f}× less system time" in text
