"""A page is one file, and whatever is in it is text."""

import re

import pytest

from tests.records import make_record, outcome, times
from tests.reporting.made_up import kept, page_of
from waitbench.reporting import html

HOSTILE = (
    "<script>alert(1)</script>",
    "\"onmouseover='alert(1)'",
    "</script><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}",
    "a\nb",
    "\u202etxt.exe",
    "</style><!--",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(text: str) -> None:
    def page(said: str) -> str:
        record = make_record({"v1": [times(1, 1, 1)] * 3, said: [times(1, 2, 1)] * 3}, argv=(said,))
        record.scenario = said
        record.add(outcome(said, 6, "failed", message=said, log=said))
        return html.render(page_of(record))

    shown, plain = page(text), page("harmless")
    # What it holds of elements is what the template wrote.
    tags = [re.findall(r"<(?:script|img|style|!--)", one) for one in (shown, plain)]
    assert tags[0] == tags[1]
    assert "\u202e" not in shown
    assert "onerror=alert(1)>" not in shown
    assert "49" not in re.findall(r"<dt>command</dt><dd>.*?</dd>", shown, re.DOTALL)[0]


def test_a_page_asks_for_nothing() -> None:
    shown = html.render(page_of(*kept("folder", ("v1", "v2")).records))
    assert re.findall(r"""(?:src|href)=["'](?!#)|url\(""", shown) == []
    assert "default-src 'none'" in shown
    assert shown.count("<script>") == 1
