"""Makes the site of the documents (mkdocs.yml): home page, navigation, links to other files."""

import posixpath
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s#]+)")
_CODE = re.compile(r"`[^`\n]+`")
_ALIGNMENT = re.compile(r"(?<=\S) {3,}(?=# )")
_COMMANDS = re.compile(r"^```console\n(?!\$ )", re.M)
_HOME = "README.md"


def on_config(config: Any) -> None:
    """Makes the navigation of the headings and links of docs/README.md."""
    _, *sections = re.split(r"^## ", Path(config.docs_dir, _HOME).read_text("utf-8"), flags=re.M)
    config.nav = [{"Home": _HOME}]
    for section in sections:
        pages = [path for path in _LINK.findall(section) if not path.startswith("../")]
        config.nav.append({section.partition("\n")[0]: pages})


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """A page, whose links out of docs/, and to its folders, lead to the repository."""
    folder = posixpath.dirname(page.file.src_uri)

    def target(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        if files.get_file_from_path(path) is not None:
            return link[1]
        return f"{config.repo_url}/blob/main/{posixpath.normpath(posixpath.join('docs', path))}"

    if page.file.src_uri == _HOME:
        markdown = _introduce(markdown, Path(config.docs_dir).parent)
    # GitHub needs this backslash in tables, and Python's Markdown shows it.
    markdown = _CODE.sub(lambda code: code[0].replace(r"\|", "|"), markdown)
    # Without a prompt, commands would be coloured as output.
    markdown = _COMMANDS.sub("```sh\n", markdown)
    # Columns of the site are narrower than those of the repository.
    markdown = _ALIGNMENT.sub("  ", markdown)
    return _LINK.sub(target, markdown)


def _introduce(index: str, root: Path) -> str:
    """The index, with title, sentence and first picture of the repository's README."""
    readme = (root / "README.md").read_text("utf-8")
    title, sentence, *_ = readme.split("\n\n")
    picture = re.findall(r"^!\[.*\)$", readme, re.M)[0].replace("](docs/", "](")
    ways, heading, sections = index.partition("\n\n")[2].partition("## ")
    return f"{title}\n\n{sentence}\n\n{ways}{picture}\n\n{heading}{sections}"
