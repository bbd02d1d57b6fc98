"""Pages in a real browser: of one comparison, and of all samples together."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.reasons import place, why
from tests.reporting.made_up import kept
from waitbench.pipeline import paging
from waitbench.reporting import html
from waitbench.reporting.page import compose
from waitbench.system.places import ROOT

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]
SAMPLES = ROOT / "docs" / "samples"
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``one.html`` of one comparison with timelines, ``all.html`` of several."""
    folder = tmp_path_factory.mktemp("pages")
    paging.write(folder / "one.html", [SAMPLES / "waiting"], 50)
    paging.write(folder / "all.html", [SAMPLES], 50)
    return folder


@pytest.fixture
def open_page(browser: Browser, pages: Path) -> Iterator[Open]:
    """Opens a page from the disk; at the end nothing may have been asked for or gone wrong."""
    wrong: list[str] = []
    contexts = []

    def asked(url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            wrong.append(url)

    def opened(name: str = "one", *, width: int = 1280, part: str = "", **options: object) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            permissions=["clipboard-read", "clipboard-write"],
            **options,  # type: ignore[arg-type]
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: asked(request.url))
        page.goto(f"{(pages / name).with_suffix('.html').as_uri()}{part}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


MOST_DRAWN = 8


def draw(page: Page) -> None:
    """Opens what is folded up, and waits until the first charts are drawn."""
    page.evaluate(
        "document.querySelectorAll('section > details').forEach((d) => { d.open = true; })"
    )
    for figure in page.locator("figure.chart").all()[:MOST_DRAWN]:
        figure.scroll_into_view_if_needed()
        expect(figure.locator("svg.marks")).to_be_visible()


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("one", 1280, "light"), ("all", 390, "dark")],
)
def test_everyone_can_read_everything(open_page: Open, name: str, width: int, scheme: str) -> None:
    page = open_page(name, width=width, color_scheme=scheme)
    draw(page)
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_dot_tells_its_round_its_position_and_its_marks(open_page: Open) -> None:
    page = open_page()
    figure = page.locator("figure.chart", has_text="Every run").first
    figure.scroll_into_view_if_needed()
    figure.locator(".mark-symbol path").first.hover()
    tip = page.locator("#vg-tooltip-element")
    for name in ("revision", "round", "position", "marks"):
        expect(tip).to_contain_text(name)


def test_another_cost_is_shown_as_dots_when_it_is_chosen(open_page: Open) -> None:
    page = open_page()
    figure = page.locator("figure.chart", has_text="Every run").first
    figure.scroll_into_view_if_needed()
    where = figure.locator(".mark-symbol path").last
    before = where.get_attribute("transform")
    figure.get_by_label("Show").select_option("real time, s")
    expect(where).not_to_have_attribute("transform", before or "")


def test_a_table_is_sorted_with_the_keyboard(open_page: Open) -> None:
    page = open_page()
    table = page.locator("table", has_text="The whole run").first
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


def test_another_cost_is_shown_in_the_matrix_when_it_is_chosen(open_page: Open) -> None:
    page = open_page()
    expect(page.locator(".matrix").filter(visible=True)).to_have_count(1)
    page.get_by_label("Cost").select_option(label="Real time, relative to v0.16.0")
    expect(page.locator(".matrix").filter(visible=True)).to_contain_text("Real time")


def test_a_link_leads_to_a_scenario(open_page: Open) -> None:
    page = open_page(part="#partitioned-burst")
    expect(page.locator("#partitioned-burst h2")).to_be_in_viewport()
    page.locator(".matrix:not(.away) thead a", has_text="partitioned-idle").click()
    expect(page.locator("#partitioned-idle h2")).to_be_in_viewport()
    assert page.url.endswith("#partitioned-idle")


def test_tables_and_charts_are_copied(open_page: Open) -> None:
    page = open_page()
    page.get_by_label("Copy the table The whole run").first.click()
    expect(page.get_by_role("status")).to_contain_text("Copied: the table")
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0].split("\t") == ["revision", "real", "user", "system", "cpu"]
    assert copied[1].startswith("v0.16.0\t")
    figure = page.locator("figure.chart").first
    figure.scroll_into_view_if_needed()
    expect(figure.locator("svg.marks")).to_be_visible()
    figure.get_by_label("Copy the chart Every run").click()
    expect(page.get_by_role("status")).to_contain_text("Copied: the chart")
    kinds = page.evaluate("navigator.clipboard.read().then((items) => items[0].types)")
    assert kinds == ["image/png"]


def test_what_is_copied_is_what_is_shown(open_page: Open) -> None:
    page = open_page("all")
    page.get_by_role("searchbox", name="Scenarios").fill("idle")
    page.locator(".matrix:not(.away) .copy").click()
    expect(page.get_by_role("status")).to_contain_text("Copied: the table")
    heading = page.evaluate("navigator.clipboard.readText()").splitlines()[0]
    assert heading == "revision\tpartitioned-idle cluster, 2 processes"


def test_colours_are_as_the_system_has_them_until_somebody_chooses(open_page: Open) -> None:
    page = open_page(color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.get_by_role("button", name="Light", exact=True).click()
    assert page.evaluate(colour) != dark
    page.get_by_role("button", name="Dark", exact=True).click()
    assert page.evaluate(colour) == dark


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


def test_without_scripts_there_are_all_tables_and_nothing_that_does_not_work(
    open_page: Open,
) -> None:
    page = open_page(java_script_enabled=False)
    expect(page.locator(".matrix").filter(visible=True)).to_have_count(4)
    expect(page.locator("button, input, select, figure").filter(visible=True)).to_have_count(0)
    expect(page.get_by_text("faster in 3").first).to_be_visible()


def test_hostile_text_is_shown_as_text_on_dots_too(open_page: Open, pages: Path) -> None:
    hostile = "<img src=x onerror='document.title=1'>"
    one = kept("hostile", ("v1", hostile), (hostile,))
    (pages / "hostile.html").write_text(html.render(compose([one])))
    page = open_page("hostile")
    draw(page)
    figure = page.locator("figure.chart", has_text="Every run").first
    figure.scroll_into_view_if_needed()
    figure.locator(".mark-symbol path").last.hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text(hostile)
    expect(page.locator("h2").first).to_contain_text(hostile)
    assert page.title() == f"{hostile} against v1"


def test_paper_is_light(open_page: Open) -> None:
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def reasons(pages: Path) -> Path:
    """``why.html``: two revisions whose threads wait and work at several places."""
    one = kept("why", ("v1", "v2"), ("waiting",), sampled=False)
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
    expect(page.get_by_role("treeitem", name="park")).to_be_visible()
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
    assert page.title() == "v2 against v1"


@pytest.mark.usefixtures("reasons")
def test_a_flame_graph_is_walked_zoomed_and_searched_with_the_keyboard(open_page: Open) -> None:
    page = open_page("why")
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
