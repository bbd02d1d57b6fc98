"""A page is one file, and whatever is in it is text."""

import re
from dataclasses import replace

import pytest
from msgspec import structs

from tests.records import outcome
from tests.reporting.made_up import kept
from waitbench.analysis.statistics import Estimate
from waitbench.reporting import html
from waitbench.reporting.page import compose
from waitbench.reporting.page_parts import Scene

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
    one = kept("folder", ("v1", "v2"))
    context = structs.replace(one.context, argv=("compare", text), topology=text)
    for scene in one.scenes:
        scene.record.scenario = text
        scene.record.context = context
        scene.record.add(outcome("v2", 6, "failed", message=text, log=text))
    scenes = [Scene.of(scene.record) for scene in one.scenes]
    shown = html.render(
        compose([replace(one, context=context, scenes=scenes, headline=(text, "fail"))])
    )
    # What it holds of elements is what the template and the library wrote.
    harmless = kept("folder", ("v1", "v2"))
    harmless.scenes[0].record.add(outcome("v2", 6, "failed", message="why", log="log"))
    scenes = [Scene.of(harmless.scenes[0].record)]
    plain = html.render(compose([replace(harmless, scenes=scenes)]))
    tags = [len(re.findall(r"<(script|img|style|!--)", page)) for page in (shown, plain)]
    assert tags[0] == tags[1]
    assert "\u202e" not in shown
    assert "onerror=alert(1)>" not in shown
    assert "49" not in re.findall(r"<code>.*?</code>", shown, re.DOTALL)[0]


def test_a_page_asks_for_nothing() -> None:
    shown = html.render(compose([kept("folder", ("v1", "v2"))]))
    own = shown[: shown.index('id="drawings"')]
    assert re.findall(r"""(?:src|href)=["'](?!#)""", own) == []
    assert "default-src 'none'" in own
    assert shown.count("</script>") == 3


@pytest.mark.parametrize(
    ("outcome_of_gate", "kind"),
    [("pass", "passed"), ("fail", "failed"), ("inconclusive", "open"), ("not measured", "open")],
)
def test_a_page_shows_the_outcome_of_a_gate(outcome_of_gate: str, kind: str) -> None:
    one = replace(kept("folder", ("v1", "v2")), headline=("What it said", outcome_of_gate))
    assert f'<p class="verdict {kind}"><bdi>What it said' in html.render(compose([one]))


def test_every_tone_has_a_rule_of_its_own() -> None:
    rules = html.render(compose([kept("folder", ("v1", "v2"))]))
    for low, high, expected in ((0.5, 2.0, "inconclusive"), (0.999, 1.001, "same")):
        assert html.tone(Estimate(value=1.0, low=low, high=high, count=9)) == expected
        assert f'class="{expected}"' in rules
