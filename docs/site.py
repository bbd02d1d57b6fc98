"""Makes the site of the documents (mkdocs.yml): its navigation, and links to files beside them."""

import posixpath
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s#]+)")


def on_config(config: Any) -> None:
    """Makes the navigation of the headings and links of docs/README.md."""
    index = Path(config.docs_dir, "README.md").read_text("utf-8")
    config.nav = ["README.md"]
    for section in re.split(r"^## ", index, flags=re.M)[1:]:
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

    return _LINK.sub(target, markdown)
