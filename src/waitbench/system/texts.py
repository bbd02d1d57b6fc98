"""Texts that others wrote, before they are shown: what workloads said, names out of files."""


def printable(text: str) -> str:
    """A text without what would command a terminal, reorder its letters or break a file.

    Tabs and line breaks stay; each other character that cannot be seen becomes ``�``.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\t\n" else "\ufffd" for one in text)
