"""Pages in a real browser: of one comparison, of all samples together, of runs that failed."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.reasons import place, why
from tests.records import make_record, outcome, times
from tests.reporting.made_up import kept, trends_of
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
    (folder / "outlier.html").write_text(html.render(outlier()))
    return folder


def failed() -> ReadFolder:
    """A candidate whose runs failed."""
    record = make_record({"v1": [times(1, 1, 1)] * 3, "v2": []}, scenario="idle")
    for number in (1, 2):
        record.add(outcome("v2", number, "failed", message="exit code 1: boom", log="Trace\nboom"))
    one = ReadFolder(folder=Path("one"), context=record.context, scenes=[Scene.of(record)])
    return replace(one, headline=("NOT MEASURED: v2 failed in 2 runs of idle", "not measured"))


def outlier() -> Any:
    """A history in which one revision costs thirty times as much as all others."""
    nights = [kept(f"{n}", ("v0.1", f"v0.{n}"), rise=29.0 if n == 4 else 0.01) for n in range(2, 9)]
    return compose(nights, trends_of(nights))


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


def colour(part: Locator, name: str = "color") -> str:
    found: str = part.evaluate(f"(part) => getComputedStyle(part).getPropertyValue('{name}')")
    return found


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


def test_what_failed_is_red_and_has_its_last_words_on_the_first_screen(open_page: Open) -> None:
    page = open_page("failed", width=900, height=600)
    words = page.locator(".card .failure")
    expect(words).to_have_text("✗ 2 runs of idle: failed: exit code 1: boom")
    box = words.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 600
    red = [int(one) for one in re.findall(r"\d+", colour(words))[:3]]
    assert red[0] > 2 * max(red[1:])


def test_an_inconclusive_gate_is_not_shown_in_the_colour_of_a_failed_one(
    open_page: Open, pages: Path
) -> None:
    colours = {}
    for said in ("fail", "inconclusive", "not measured", "pass"):
        one = replace(kept("one", ("v1", "v2")), headline=("What it said", said))
        (pages / "gate.html").write_text(html.render(compose([one])))
        colours[said] = colour(open_page("gate").locator(".verdict"))
    assert colours["inconclusive"] != colours["fail"]
    assert colours["pass"] not in (colours["fail"], colours["inconclusive"])


def test_everything_but_the_answer_is_folded_up(open_page: Open) -> None:
    page = open_page()
    expect(page.locator("section > details")).not_to_have_count(0)
    expect(page.locator("section > details[open]")).to_have_count(0)
    expect(page.locator(".matrix").filter(visible=True)).to_have_count(1)


def test_a_dot_tells_its_round_its_position_and_its_marks(open_page: Open) -> None:
    figure = chart(page := open_page(), "Every run")
    figure.locator(".mark-symbol path").first.hover()
    tip = page.locator("#vg-tooltip-element")
    for name in ("revision", "round", "position", "marks"):
        expect(tip).to_contain_text(name)


def test_every_run_stands_beside_its_median_and_what_encloses_that(open_page: Open) -> None:
    figure = chart(page := open_page(), "Every run")
    bands, ticks = (figure.locator(f".layer_{n}_marks path") for n in (0, 1))
    # Of three revisions, in each of five rounds.
    expect(bands).to_have_count(15)
    expect(ticks).to_have_count(15)
    ticks.first.hover(position={"x": 2, "y": 1})
    tip = page.locator("#vg-tooltip-element")
    for name in ("median", "low", "high", "range: too few runs"):
        expect(tip).to_contain_text(name)


def test_no_figure_at_a_scale_is_cut_off_whatever_cost_is_chosen(open_page: Open) -> None:
    figure = chart(open_page(), "Every run")
    select = figure.get_by_label("Show")
    titles = select.locator("option").all_inner_texts()
    assert "system calls while waiting" in titles
    for title in titles:
        select.select_option(title)
        axis = figure.locator(".role-axis-title", has_text=title)
        expect(axis).to_be_visible()
        left = figure.locator("svg.marks").evaluate("(svg) => svg.getBoundingClientRect().left")
        labels = figure.locator(".role-axis-label text")
        starts = labels.evaluate_all("(all) => all.map((t) => t.getBoundingClientRect().left)")
        assert min(starts) >= left, title
        assert not any(len(text) > 5 for text in axis_figures(figure)), axis_figures(figure)


def axis_figures(figure: Locator) -> list[str]:
    texts = figure.locator(".role-axis-label text").all_text_contents()
    return [text for text in texts if re.fullmatch(r"[\d.,µmkMG]+", text)]


def test_each_cost_has_a_scale_of_its_own(open_page: Open) -> None:
    figure = chart(open_page(), "Every run")
    scales = set()
    for title in ("real time, s", "wake-ups while waiting", "lateness at p99, ms"):
        figure.get_by_label("Show").select_option(title)
        expect(figure.locator(".role-axis-title", has_text=title)).to_be_visible()
        scales.add(tuple(axis_figures(figure)))
    assert len(scales) == 3


def test_another_theme_leaves_what_was_chosen(open_page: Open) -> None:
    page = open_page(color_scheme="light")
    figure = chart(page, "Every run")
    figure.get_by_label("Show").select_option("real time, s")
    title = figure.locator(".role-axis-title", has_text="real time, s")
    expect(title).to_be_visible()
    page.locator("#cost").select_option(label="Real time, relative to v0.16.0")
    page.get_by_role("button", name="Dark", exact=True).click()
    expect(title).to_be_visible()
    expect(figure.get_by_label("Show")).to_have_value("4")
    expect(page.locator(".matrix").filter(visible=True)).to_contain_text("Real time")
    body = colour(page.locator("body"))
    assert colour(title.locator("text"), "fill") == body


def test_the_baseline_can_be_seen_in_the_dark(open_page: Open) -> None:
    page = open_page("outlier", color_scheme="dark")
    figure = chart(page, "change points are shaded")
    line = figure.locator(".layer_0_marks line").first
    assert colour(line, "stroke") == colour(page.locator("body"))


def test_an_outlier_stands_at_the_edge_until_all_is_chosen(open_page: Open) -> None:
    figure = chart(open_page("outlier"), "change points are shaded")
    outlier = figure.locator(".mark-text text", has_text="29× more")
    expect(outlier).to_be_visible()

    def spread() -> float:
        tops: list[float] = figure.locator(".layer_3_marks path").evaluate_all(
            "(all) => all.map((dot) => dot.getBoundingClientRect().top)"
        )
        usual = sorted(tops)[1:]
        return usual[-1] - usual[0]

    before, dot = spread(), figure.locator(".layer_3_marks path").nth(1)
    place = dot.get_attribute("transform")
    figure.get_by_label("Show").select_option("all")
    expect(dot).not_to_have_attribute("transform", place or "")
    assert spread() < before / 4


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


@pytest.mark.parametrize("name", ["one", "all"])
def test_a_filter_that_nothing_fits_says_so_and_is_undone(open_page: Open, name: str) -> None:
    page = open_page(name)
    page.get_by_role("searchbox", name="Revisions").fill("zzz")
    expect(page.get_by_text("Nothing here has revision “zzz” in its name.")).to_be_visible()
    expect(page.locator("#summary table").filter(visible=True)).to_have_count(0)
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#summary table").filter(visible=True)).to_have_count(1)
    expect(page.get_by_text("Nothing here has")).not_to_be_visible()
    page.get_by_role("searchbox", name="Scenarios").fill("yyy")
    expect(page.get_by_text("Nothing here has scenario “yyy” in its name.")).to_be_visible()
    expect(page.locator("#summary table").filter(visible=True)).to_have_count(0)


def test_another_cost_is_shown_in_the_matrix_when_it_is_chosen(open_page: Open) -> None:
    page = open_page()
    expect(page.locator(".matrix").filter(visible=True)).to_have_count(1)
    page.locator("#cost").select_option(label="Real time, relative to v0.16.0")
    expect(page.locator(".matrix").filter(visible=True)).to_contain_text("Real time")


def test_a_link_leads_to_a_scenario(open_page: Open) -> None:
    page = open_page(part="#partitioned-burst")
    expect(page.locator("#partitioned-burst h2")).to_be_in_viewport()
    expect(page.locator("#partitioned-burst > details")).to_have_attribute("open", "")
    page.locator(".matrix:not(.away) thead a", has_text="partitioned-idle").click()
    expect(page.locator("#partitioned-idle h2")).to_be_in_viewport()
    assert page.url.partition("#")[2].startswith("partitioned-idle")


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


def test_a_link_that_was_cut_short_shows_the_page(open_page: Open) -> None:
    page = open_page(part="#nowhere&cost=17&theme=pink&sort0=x&chart0=99&open=a.b&revisions=%E0%A4")
    expect(page.locator(".matrix").filter(visible=True)).to_contain_text("steady CPU")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_tables_and_charts_are_copied(open_page: Open) -> None:
    page = open_page()
    unfold(page)
    page.get_by_label("Copy the table The whole run").first.click()
    expect(page.get_by_role("status").last).to_contain_text("Copied: the table")
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0].split("\t") == ["revision", "real", "user", "system", "cpu"]
    assert copied[1].startswith("v0.16.0\t")


def test_a_chart_that_was_not_drawn_yet_is_copied(open_page: Open) -> None:
    page = open_page()
    unfold(page)
    figure = page.locator("figure.chart", has_text="Every run").last
    expect(figure.locator("svg.marks")).to_have_count(0)
    figure.get_by_label("Copy the chart Every run").evaluate("(button) => button.click()")
    expect(page.get_by_role("status").last).to_contain_text("Copied: the chart")
    kinds = page.evaluate("navigator.clipboard.read().then((items) => items[0].types)")
    assert kinds == ["image/png"]


def test_what_is_copied_is_what_is_shown(open_page: Open) -> None:
    page = open_page("all")
    page.get_by_role("searchbox", name="Scenarios").fill("idle")
    page.locator(".matrix:not(.away) .copy").click()
    expect(page.get_by_role("status").last).to_contain_text("Copied: the table")
    heading = page.evaluate("navigator.clipboard.readText()").splitlines()[0]
    assert heading == "revision\tpartitioned-idle cluster, 2 processes"


def test_the_caption_of_a_table_stays_when_the_table_is_scrolled(open_page: Open) -> None:
    page = open_page("input", width=390)
    matrix = page.locator(".matrix:not(.away)")
    before = matrix.locator(".caption").bounding_box()
    reached = matrix.locator(".scroll").evaluate(
        "(part) => (part.scrollLeft = 200, part.scrollLeft)"
    )
    assert reached == 200, "it is wider than the screen"
    assert matrix.locator(".caption").bounding_box() == before


def test_colours_are_as_the_system_has_them_until_somebody_chooses(open_page: Open) -> None:
    page = open_page(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    theme = page.locator("html")
    page.emulate_media(color_scheme="light")
    expect(theme).to_have_attribute("data-theme", "light")
    page.emulate_media(color_scheme="dark")
    expect(theme).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Light", exact=True).click()
    light = page.evaluate(ground)
    assert light != dark
    page.emulate_media(color_scheme="light")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == light, "what was chosen stays"
    page.get_by_role("button", name="Dark", exact=True).click()
    assert page.evaluate(ground) == dark


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


def test_paper_is_light_and_has_the_colours_of_verdicts(open_page: Open) -> None:
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    cell = page.locator(".matrix:not(.away) td.less4").first
    assert colour(cell, "print-color-adjust") == "exact"
    assert colour(cell, "background-color") == "rgb(111, 173, 222)"


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


@pytest.mark.parametrize("name", ["one", "all"])
def test_there_is_one_way_to_write_a_date_and_no_number_that_nobody_can_read(
    open_page: Open, name: str
) -> None:
    page = open_page(name)
    unfold(page)
    text = page.locator("main").inner_text()
    assert re.findall(r"\d{4}-\d\d-\d\dT", text) == []
    assert "memory\n" in text
    assert not re.search(r"memory\n\d{4,}", text)
    assert re.search(r"memory\n[\d.]+ GiB", text)
