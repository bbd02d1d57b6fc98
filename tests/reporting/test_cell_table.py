"""Tables of plain cells, and what Markdown needs."""

from tests.reporting.printing import lines_of
from waitbench.reporting import markdown
from waitbench.reporting.cell_table import CellTable

TABLE = CellTable(
    "title [b]",
    ("", "direct", "long-heading"),
    (("row one", "1", "10"), ("row [two]", "22", "–")),
    ("A note.",),
)


def test_cells_are_shown_in_columns_with_numbers_to_the_right() -> None:
    assert lines_of(TABLE.print_to) == [
        "title [b]",
        "                     long-",
        "           direct  heading",
        "row one         1       10",
        "row [two]      22        –",
        "A note.",
        "",
    ]


def test_the_same_cells_are_a_table_in_markdown() -> None:
    assert TABLE.as_markdown().splitlines() == [
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
    assert CellTable("t", ("a",), (("b",),)).as_markdown() == "**t**\n\n| a |\n| --- |\n| b |\n"


def test_text_cannot_end_a_cell_nor_begin_a_tag() -> None:
    lines = markdown.table(("a",), [("x|y\n<script>",)], numbers_from=1)
    assert lines == ["| a |", "| --- |", "| x\\|y &lt;script> |"]


def test_markdown_holds_no_control_characters() -> None:
    text = CellTable("t\x1b", ("a\x1b",), (("b\x1b",),), ("c\x1b",)).as_markdown()
    assert text == "**t\ufffd**\n\n| a\ufffd |\n| --- |\n| b\ufffd |\n\nc\ufffd\n"
