"""Tables in Markdown."""

from waitbench.reporting.document import Heading, Table
from waitbench.reporting.markdown import render_table


def test_text_cannot_end_a_cell_nor_begin_a_tag_nor_command_a_terminal() -> None:
    text = render_table(Table("t\x1b", [(Heading("a\x1b"), ["x|y\n<script>\x1b"])]))
    assert text == "**t\ufffd**\n\n| a\ufffd |\n| --- |\n| x\\|y &lt;script>\ufffd |\n"
