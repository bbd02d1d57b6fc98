"""Pages in a real browser: of one comparison, of all samples together, of runs that failed."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.reasons import place, why
from tests.records import make_record, outcome, times
from tests.reporting.made_up import kept
from waitbench.pipeline import paging
from waitbench.reporting import html
from waitbench.reporting.page import ReadFolder, compose
from waitbench.reporting.page_parts import Scene
from waitbench.system.places import ROOT

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]
SAMPLES = ROOT / "docs" / "samples"
SIX = ("waiting", "input")
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``one.html`` of one comparison, ``all.html`` of several, and others."""
    folder = tmp_path_factory.mktemp("pages")
    paging.write(folder / "one.html", [SAMPLES / "waiting"], 50)
    paging.write(folder / "all.html", [SAMPLES], 50)
    for name in SIX[1:]:
        paging.write(folder / f"{name}.html", [SAMPLES / name], 50)
    (folder / "failed.html").write_text(html.render(compose([failed()])))
    return folder


def failed() -> ReadFolder:
    """A candidate whose runs failed."""
    record = make_record({"v1": [times(1, 1, 1)] * 3, "v2": []}, scenario="idle")
    for number in (1, 2):
        record.add(outcome("v2", number, "failed", message="exit code 1: boom", log="Trace\nboom"))
    one = ReadFolder(folder=Path("one"), context=record.context, scenes=[Scene.of(record)])
    return replace(one, headline=("NOT MEASURED: v2 failed in 2 runs of idle", "not measured"))


@pytest.fixture
def open_page(browser: Browser, pages: Path) -> Iterator[Open]:
    """Opens a page from the disk; at the end nothing may have been asked for or gone wrong."""
    wrong: list[str] = []
    contexts = []

    def asked(url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            wrong.append(url)

    def opened(
        name: str = "one",
        *,
        width: int = 1280,
        height: int = 900,
        part: str = "",
        **options: object,
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            permissions=["clipboard-read", "clipboard-write"],
            **options,  # type: ignore[arg-type]
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: asked(request.url))
        address = name if name.startswith("file:") else (pages / name).with_suffix(".html").as_uri()
        page.goto(f"{address}{part}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


MOST_DRAWN = 8


def unfold(page: Page) -> None:
    page.evaluate(
        "document.querySelectorAll('section > details').forEach((d) => { d.open = true; })"
    )


def draw(page: Page) -> None:
    """Opens what is folded up, and waits until the first charts are drawn."""
    unfold(page)
    for figure in page.locator("figure.chart").all()[:MOST_DRAWN]:
        figure.scroll_into_view_if_needed()
        expect(figure.locator("svg.marks")).to_be_visible(timeout=30_000)


def chart(page: Page, title: str) -> Locator:
    """The first chart of this title, drawn."""
    unfold(page)
    figure = page.locator("figure.chart", has_text=title).first
    figure.scroll_into_view_if_needed()
    expect(figure.locator("svg.marks")).to_be_visible(timeout=30_000)
    return figure


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["one", *SIX[1:], "all", "failed"])
def test_everyone_can_read_everything(open_page: Open, name: str, scheme: str) -> None:
    page = open_page(name, width=1440, color_scheme=scheme)
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        draw(page)
        violations = Axe().run(page).response["violations"]
        assert [(width, one["id"], one["nodes"][0]["html"]) for one in violations] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["one", *SIX[1:], "failed"])
def test_the_answer_is_on_the_first_screen(open_page: Open, name: str) -> None:
    page = open_page(name, width=900, height=600)
    cards = page.locator(".card").all()
    assert cards
    for card in cards:
        box = card.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 600, card.inner_text()
        expect(card.locator(".level")).not_to_be_empty()
        expect(card.locator(".figure")).to_have_count(1)
        if name == "failed":
            continue
        # How sure it is: an interval of each change.
        changes = card.locator(".lines li", has_text=re.compile("less|more|the same"))
        for change in changes.all() or [card]:
            shown = change.locator("small").filter(visible=True)
            expect(shown).to_have_text(re.compile(r"\d( %|×)"))


def test_a_table_is_sorted_with_the_keyboard(open_page: Open) -> None:
    page = open_page()
    unfold(page)
    table = page.get_by_role("table", name="The whole run").first
    first = table.locator("tbody th").first
    expect(first).to_have_text("v0.16.0")
    button = table.get_by_label("Sort by cpu")
    button.focus()
    page.keyboard.press("Enter")
    expect(first).to_have_text("v0.16.1")
    page.keyboard.press("Enter")
    expect(first).to_have_text("v0.16.0")
    expect(table.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")


def test_revisions_and_scenarios_are_filtered(open_page: Open) -> None:
    page = open_page()
    page.get_by_role("searchbox", name="Revisions").fill("0.21")
    matrix = page.locator(".matrix:not(.away) tbody tr")
    expect(matrix.filter(visible=True)).to_have_count(1)
    page.get_by_role("searchbox", name="Scenarios").fill("burst")
    expect(page.locator("section.scenario").filter(visible=True)).to_have_count(1)
    expect(page.locator(".matrix:not(.away) thead th").filter(visible=True)).to_have_count(2)


def test_a_link_shows_what_its_sender_saw(open_page: Open) -> None:
    page = open_page(color_scheme="light")
    page.locator("#cost").select_option(label="CPU time, relative to v0.16.0")
    page.get_by_role("button", name="Dark", exact=True).click()
    page.locator(".matrix:not(.away)").get_by_label("Sort by partitioned-idle").click()
    page.locator("#partitioned-idle summary").first.click()
    figure = page.locator("#partitioned-idle figure", has_text="Every run")
    figure.get_by_label("Show").select_option("real time, s")
    page.get_by_role("searchbox", name="Scenarios").fill("idle")
    expect(page).to_have_url(re.compile("scenarios=idle"))

    other = open_page(page.url, color_scheme="light")
    matrix = other.locator(".matrix").filter(visible=True)
    expect(matrix).to_contain_text("CPU time, relative to v0.16.0")
    expect(matrix.locator("th[aria-sort]")).to_contain_text("partitioned-idle")
    expect(matrix.locator("thead th").filter(visible=True)).to_have_count(2)
    expect(other.locator("section.scenario").filter(visible=True)).to_have_count(1)
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    expect(other.locator("#partitioned-idle > details")).to_have_attribute("open", "")
    shown = other.locator("#partitioned-idle figure", has_text="Every run")
    expect(shown.get_by_label("Show")).to_have_value(figure.get_by_label("Show").input_value())
    shown.scroll_into_view_if_needed()
    expect(shown.locator(".role-axis-title", has_text="real time, s")).to_be_visible()


def test_tables_and_charts_are_copied(open_page: Open) -> None:
    page = open_page()
    unfold(page)
    page.get_by_label("Copy the table The whole run").first.click()
    expect(page.get_by_role("status").last).to_contain_text("Copied: the table")
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0].split("\t") == ["revision", "real", "user", "system", "cpu"]
    assert copied[1].startswith("v0.16.0\t")


def test_print_has_everything_and_no_buttons(open_page: Open) -> None:
    page = open_page()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("section > details:not([open])")).to_have_count(0)
    expect(page.get_by_role("button").filter(visible=True)).to_have_count(0)
    expect(page.locator("figure svg.marks").filter(visible=True)).to_have_count(
        page.locator("figure.chart").count()
    )
    assert page.pdf().startswith(b"%PDF")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("section > details[open]")).to_have_count(0)
    assert "open=" not in page.url


def test_without_scripts_there_are_all_tables_and_nothing_that_does_not_work(
    open_page: Open,
) -> None:
    page = open_page(java_script_enabled=False)
    expect(page.locator(".matrix").filter(visible=True)).to_have_count(4)
    expect(page.locator("button, input, select, figure").filter(visible=True)).to_have_count(0)
    expect(page.locator(".card").filter(visible=True)).to_have_count(2)


def test_hostile_text_is_shown_as_text_on_dots_too(open_page: Open, pages: Path) -> None:
    hostile = "<img src=x onerror='document.title=1'>"
    one = kept("hostile", ("v1", hostile), (hostile,))
    (pages / "hostile.html").write_text(html.render(compose([one])))
    page = open_page("hostile")
    figure = chart(page, "Every run")
    figure.locator(".mark-symbol path").last.hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text(hostile)
    expect(page.locator(".card h2").first).to_contain_text(hostile)
    assert page.title() == f"{hostile} against v1"


@pytest.fixture(scope="module")
def reasons(pages: Path) -> Path:
    """``why.html``: two revisions whose threads wait and work at several places."""
    one = kept("why", ("v1", "v2"), ("waiting",))
    before = why(
        "v1", place("main", "spin", cpu=0.9, waits=False), place("main", "lock", wakeups=2)
    )
    after = why(
        "v2",
        place("main", "park", wakeups=900, cpu=0.07, call="futex"),
        place("main", "lock", wakeups=2),
        place("<img src=x onerror='document.title=1'>", thread="needle", wakeups=100),
    )
    scenes = [replace(scene, reasons=[before, after]) for scene in one.scenes]
    path = pages / "why.html"
    path.write_text(html.render(compose([replace(one, scenes=scenes)])))
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.usefixtures("reasons")
def test_everyone_can_read_a_flame_graph(open_page: Open, scheme: str) -> None:
    page = open_page("why", color_scheme=scheme)
    unfold(page)
    expect(page.get_by_role("treeitem", name="park")).to_be_visible()
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
    assert page.title() == "v2 against v1"


@pytest.mark.usefixtures("reasons")
def test_a_flame_graph_is_walked_zoomed_and_searched_with_the_keyboard(open_page: Open) -> None:
    page = open_page("why")
    unfold(page)
    figure = page.locator("figure.flame")
    told = figure.locator(".told")
    expect(told).to_contain_text("all: v1 2 wake-ups a second, v2 1,002 wake-ups a second")
    page.get_by_role("treeitem", name="all").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(told).to_contain_text("MainThread: ")
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("needle: v1 0 wake-ups a second, v2 100 wake-ups")
    page.keyboard.press("Enter")
    expect(page.get_by_role("treeitem", name="park")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_role("treeitem", name="park")).to_be_visible()
    figure.get_by_label("Find").fill("park")
    expect(page.locator(".graph .match")).to_have_count(1)
    expect(told).to_contain_text("1 found for “park”: v1 0 wake-ups a second, v2 900 wake-ups")
    figure.get_by_label("Width").select_option("cpu")
    expect(page.get_by_role("treeitem", name="spin")).to_have_class(re.compile("less4"))


def test_a_link_that_was_cut_short_shows_the_page(open_page: Open) -> None:
    page = open_page(part="#nowhere&cost=17&theme=pink&sort0=x&chart0=99&open=a.b&revisions=%E0%A4")
    expect(page.locator(".matrix").filter(visible=True)).to_contain_text("steady CPU")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
