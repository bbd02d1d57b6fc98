"""Lets the site of the documents (mkdocs.yml) lead to files that are beside them."""

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s#]+)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """A page, whose links out of docs/, and to its folders, lead to the repository."""
    folder = posixpath.dirname(page.file.src_uri)

    def target(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        if files.get_file_from_path(path) is not None:
            return link[1]
        return f"{config.repo_url}/blob/main/{posixpath.normpath(posixpath.join('docs', path))}"

    return _LINK.sub(target, markdown)
