"""Names that are too wide."""


def shorten(text: str, width: int) -> str:
    """Leaves out the middle of a text that is too wide, because names differ at their ends."""
    if len(text) <= width:
        return text
    kept = max(width, 3) - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"
