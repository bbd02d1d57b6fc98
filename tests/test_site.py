"""The documents as a site: built without a network, and every link within it leads somewhere."""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.running import run
from waitbench.system.places import ROOT

pytestmark = pytest.mark.integration


def test_the_site_is_built_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path)
    done = run(*command, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    contents = (ROOT / "mkdocs.yml").read_text("utf-8")
    documents = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert not {name for name in documents if f"- {name}\n" not in contents}
    lost = []
    for page in tmp_path.rglob("*.html"):
        if "samples" in page.parts and page.name != "index.html":
            continue  # a sample of our own page
        text = page.read_text("utf-8")
        for link in re.findall(r'(?:href|src)="?([^"\s>]+)', text):
            path = unquote(link.partition("#")[0])
            if path and not re.match(r"[a-z]+:|//", path) and not (page.parent / path).exists():
                lost.append((page.name, link))
        assert not re.search(r'<(?:script|link)[^>]*(?:src|href)="?https?://', text), page
    assert not [one for one in lost if one[0] != "404.html"]
