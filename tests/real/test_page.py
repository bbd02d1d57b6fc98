"""Pages in a real browser: of comparisons, of a gate and of failed runs."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.gate_runs import counted
from tests.reporting.made_up import page_of
from tests.reporting.test_page import PAGES, gate
from waitbench.pipeline import concluding
from waitbench.reporting import html
from waitbench.store import comparisons
from waitbench.system.paths import ROOT

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]
SAMPLES = ROOT / "docs" / "samples"
NAMES = ("waiting", "input", "gate", "failed", "long")
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of each of ``NAMES``."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("waiting", "input"):
        page = concluding.page_of(comparisons.read(SAMPLES / name))
        (folder / f"{name}.html").write_text(html.render(page))
    judged = [counted(one, idle=4.0, latency=1.0) for one in ("one", "two")]
    of_gate = page_of(*judged, **gate("idle:10%", "latency:25%"))
    (folder / "gate.html").write_text(html.render(of_gate))
    names = [f"partitioned-long-input-heavy-map-with-a-longer-name-{number}" for number in range(3)]
    long = [counted(name, idle=0.5, latency=[0.5, 2.0] * 10) for name in names]
    (folder / "long.html").write_text(html.render(page_of(*long)))
    (folder / "failed.html").write_text(html.render(PAGES["failed"]()))
    return folder


@pytest.fixture
def open_page(browser: Browser, pages: Path) -> Iterator[Open]:
    """Opens a page from the disk; at the end nothing may have been asked for or gone wrong."""
    wrong: list[str] = []
    contexts = []

    def opened(name: str, *, width: int = 1280, height: int = 900, **options: object) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            **options,  # type: ignore[arg-type]
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if asks(request.url) else None)
        page.goto((pages / name).with_suffix(".html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def asks(url: str) -> bool:
    return not url.startswith("file:")


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")


@pytest.mark.parametrize("name", NAMES)
def test_everyone_can_read_everything(open_page: Open, name: str) -> None:
    page = open_page(name)
    unfold(page)
    for width, scheme in ((1440, "light"), (900, "dark"), (390, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        violations = Axe().run(page).response["violations"]
        assert [(width, one["id"], one["nodes"][0]["html"]) for one in violations] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["waiting", "input", "gate", "long"])
def test_the_answer_is_on_the_first_screen(open_page: Open, name: str) -> None:
    page = open_page(name, width=1440, height=900)
    # Bars come before ratios.
    last = page.locator("main > .table:first-of-type tbody tr").last
    box = last.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 900
    dot = page.locator("main > .table svg.dot").last.bounding_box()
    assert dot is not None
    assert dot["x"] + dot["width"] <= 1440
    assert dot["width"] >= 150 or name == "long", "dots and intervals can be told apart"


@pytest.mark.parametrize("name", ["waiting", "gate", "long"])
def test_on_a_phone_no_name_or_figure_of_any_table_is_cut_off(open_page: Open, name: str) -> None:
    page = open_page(name, width=390)
    unfold(page)
    cut_off = "(parts) => parts.filter((part) => part.scrollWidth > part.clientWidth + 1).length"
    assert page.locator(".scroll").count() > 0
    assert page.locator(".scroll").evaluate_all(cut_off) == 0
    assert page.locator("main > .table tbody :is(th, td)").evaluate_all(cut_off) == 0


def test_a_long_table_is_sorted_and_filtered_with_the_keyboard(open_page: Open) -> None:
    page = open_page("input")
    table = page.locator("main > .forest")
    table.get_by_role("button", name="change").focus()
    page.keyboard.press("Enter")
    expect(table.locator("tbody th").first).to_have_text("▼ partitioned-long-input")
    page.keyboard.press("Enter")
    expect(table.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    expect(table.locator("tbody th").last).to_have_text("▼ partitioned-long-input")
    table.get_by_role("searchbox").fill("lateness")
    expect(table.locator("tbody tr").filter(visible=True)).to_have_count(4)


def test_print_has_everything_with_the_names_of_columns(open_page: Open) -> None:
    page = open_page("input", color_scheme="dark")
    last = page.locator("details table").last
    expect(last).to_be_hidden()
    page.emulate_media(media="print")
    expect(last).to_be_visible()
    expect(page.locator("input").filter(visible=True)).to_have_count(0)
    # As a control it would not be repeated on further pages.
    displays = page.locator("th button").evaluate_all(
        "(all) => all.map((it) => getComputedStyle(it).display)"
    )
    assert {*displays} == {"contents"}
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")
