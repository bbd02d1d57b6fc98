"""Tables in Markdown."""

from waitbench.reporting.document import Table
from waitbench.reporting.markdown import render_table

TABLE = Table(
    "title [b]",
    ("", "direct", "long-heading"),
    (("row one", "1", "10"), ("row [two]", "22", "–")),
    ("A note.",),
)


def test_cells_are_a_table_in_markdown() -> None:
    assert render_table(TABLE).splitlines() == [
        "**title [b]**",
        "",
        "|  | direct | long-heading |",
        "| --- | ---: | ---: |",
        "| row one | 1 | 10 |",
        "| row [two] | 22 | – |",
        "",
        "A note.",
    ]


def test_a_table_without_notes_ends_with_its_last_row() -> None:
    assert render_table(Table("t", ("a",), (("b",),))) == "**t**\n\n| a |\n| --- |\n| b |\n"


def test_text_cannot_end_a_cell_nor_begin_a_tag() -> None:
    lines = render_table(Table("t", ("a",), (("x|y\n<script>",),))).splitlines()
    assert lines[2:] == ["| a |", "| --- |", "| x\\|y &lt;script> |"]


def test_markdown_holds_no_control_characters() -> None:
    text = render_table(Table("t\x1b", ("a\x1b",), (("b\x1b",),), ("c\x1b",)))
    assert text == "**t\ufffd**\n\n| a\ufffd |\n| --- |\n| b\ufffd |\n\nc\ufffd\n"
