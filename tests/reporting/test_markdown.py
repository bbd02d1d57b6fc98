"""Tables in Markdown."""

from waitbench.reporting.document import Heading, Table
from waitbench.reporting.markdown import render_table


def test_cells_are_a_table_in_markdown() -> None:
    names = (Heading(""), ["row one", "row [two]"])
    figures = (("direct", ["1", "22"]), ("long-heading", ["10", "–"]))
    table = Table("title [b]", (names, *figures), ("A note.",))
    assert render_table(table).splitlines() == [
        "**title [b]**",
        "",
        "|  | direct | long-heading |",
        "| --- | ---: | ---: |",
        "| row one | 1 | 10 |",
        "| row [two] | 22 | – |",
        "",
        "A note.",
    ]


def test_text_cannot_end_a_cell_nor_begin_a_tag_nor_command_a_terminal() -> None:
    text = render_table(Table("t\x1b", [(Heading("a\x1b"), ["x|y\n<script>\x1b"])]))
    assert text == "**t\ufffd**\n\n| a\ufffd |\n| --- |\n| x\\|y &lt;script>\ufffd |\n"
