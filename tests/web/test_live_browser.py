"""The page in a real browser: what people do, with scripts and without, and what a screen reader would meet."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
import uvicorn
from click.testing import CliRunner
from hostile import PAGES, hostile_home
from services.asking import asked_for, missing
from services.browser import PROGRAMS, find_browser
from services.ports import free_port, listens, wait_until
from web_client import indexed, made

from indexer.cli import main
from indexer.web.app import make_app
from indexer.web.shared import ServedCollection

pytestmark = pytest.mark.live

VIEWS = ("/", "/?q=sea+ice&why=1&f.subject=oceans", "/topics", "/topics/t-000001", "/document?id=d04",
         "/phrases?phrase=sea+ice", "/phrases?in=The+%5B%5Bsea+ice%5D%5D+melts.", "/operations", "/api", "/login",
         "/document?id=nowhere", "/topics/t-000001/merge?into=t-000002", "/document/delete?id=d04")  # fmt: skip
SEEN = """(() => {
  const one = document.activeElement, by = one.matches(".switch input") ? one.nextElementSibling : one;
  return one === document.body || getComputedStyle(by).outlineStyle !== "none";
})()"""
WIDTHS = (390, 768, 1280, 1920)


@contextmanager
def listening(home):
    """A real server over a home."""
    port = free_port()
    app = make_app(ServedCollection.open(home=home, create=False))
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: listens(port), 20, "the server")
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser(request):
    if not asked_for(request.config):
        pytest.skip("Needs a browser: run with -m live.")
    sync_api = pytest.importorskip("playwright.sync_api")
    program = find_browser()
    if program is None:
        missing(f"There is no browser: {', '.join(PROGRAMS)}.")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory, parts, browser):
    home = tmp_path_factory.mktemp("browser") / "home"
    with listening(indexed(home, made())) as found:
        yield found


@pytest.fixture
def page(browser, address):
    """A page that reports what scripts complain of."""
    context = browser.new_context(base_url=address)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


def said(page):
    return page.inner_text("#said")


def test_searching_and_narrowing_without_loading_anew(page):
    page.goto("/")
    page.evaluate("window.same = true")
    page.keyboard.press("/")
    page.keyboard.type("ocean waves")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=ocean+waves")
    page.wait_for_selector("mark")
    page.get_by_label("Words", exact=True).check()
    page.wait_for_url("**mode=words**")
    box = page.locator("input[name='f.subject'][value='oceans']")
    box.focus()
    page.keyboard.press("Space")
    page.wait_for_url("**f.subject=oceans**")
    page.wait_for_selector("a.chosen")
    assert page.evaluate("document.activeElement.value") == "oceans"  # whoever types stays where he was
    assert page.evaluate("window.same")
    before = said(page)
    page.reload()
    assert said(page) == before  # the address has it all
    page.go_back()
    page.wait_for_function("!location.search.includes('subject')")


def test_other_words_for_the_query_are_a_click_away(page, monkeypatch):
    monkeypatch.setattr("indexer.search.related.NEAR", 0.4)  # the encoder of these tests knows letters only
    page.goto("/?q=robot+arm")
    page.click("#also a")
    page.wait_for_url("**/?q=mobile+robot")
    page.wait_for_selector("mark")


def test_a_link_into_the_page_leads_there_and_loads_nothing_anew(page):
    page.set_viewport_size({"width": 390, "height": 500})
    page.goto("/?q=sea+ice")
    page.evaluate("window.same = true")
    page.click("a.jump")
    page.wait_for_function(
        "() => Math.abs(document.getElementById('narrow').getBoundingClientRect().top) < 100"
    )
    page.wait_for_timeout(300)
    assert page.evaluate("window.same")
    page.go_back()
    page.wait_for_function("() => scrollY < 100")
    assert page.evaluate("window.same")


def test_searching_and_reading_without_scripts(browser, address):
    context = browser.new_context(base_url=address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.fill("#q", "sea ice")
    page.click("text=Search >> nth=-1")
    page.locator("input[name='f.subject'][value='oceans']").check()
    page.click("button.apply")
    page.wait_for_url("**f.subject=oceans**")
    page.click("li.hit h3 a >> nth=0")
    page.wait_for_selector("div.body a.keyphrase")  # a click waits for the answer's beginning only
    page.click("div.body a[data-phrase] >> nth=0")
    assert page.inner_text("h1").startswith("Phrases like")
    page.click("nav >> text=Topics")
    page.click("tbody a >> nth=0")
    assert page.inner_text("#leading") == "Leading phrases"
    page.click("text=Change this topic")
    assert page.locator("select[name=into]").is_visible()
    context.close()


def test_the_map_leads_to_topics_and_lights_its_table(page):
    page.goto("/topics")
    circle = page.locator("figure a").first
    id_ = circle.get_attribute("data-topic")
    circle.hover()
    assert page.locator(f"tr.lit[data-topic='{id_}']").count() == 1
    circle.click()
    page.wait_for_url(f"**/topics/{id_}")
    page.go_back()
    row = page.locator(f"tr[data-topic='{id_}'] a")
    row.focus()
    assert page.locator(f".wide a.lit[data-topic='{id_}']").count() == 1
    assert page.locator(".wide a.lit").count() == 1
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.locator(".wide").is_hidden()
    page.locator(f".tall a[data-topic='{id_}']").click()
    page.wait_for_url(f"**/topics/{id_}")


def test_a_marked_phrase_shows_what_is_like_it(page):
    page.goto("/document?id=d04")
    link = page.locator("div.body a[data-phrase]").first
    phrase = link.get_attribute("data-phrase")
    link.click()
    page.wait_for_selector("dialog[open] li")
    assert page.inner_text("#near-title") == f"Like “{phrase}”"
    assert page.locator("dialog h3").all_inner_texts() == ["In this sentence", "The phrase alone"]
    assert page.inner_text("dialog p.text mark").lower() == phrase.lower()
    assert page.locator("dialog ul").count() == 2
    rows = page.locator("dialog ul >> nth=0").locator("li")
    assert rows.locator("mark").count() == rows.count() > 0  # which phrase of each sentence is meant
    own = rows.filter(has=page.locator("a[href='/document?id=d04']")).locator("mark").all_inner_texts()
    assert phrase.lower() not in [mark.lower() for mark in own]  # not the one that was chosen
    page.keyboard.press("Escape")
    page.wait_for_function("() => location.hash === ''")
    assert page.locator("dialog[open]").count() == 0


def test_what_is_like_a_phrase_has_an_address_and_back_closes_it(page):
    page.goto("/document?id=d04")
    page.click("div.body a[data-phrase] >> nth=0")
    page.wait_for_selector("dialog[open] li")
    title, address = page.inner_text("#near-title"), page.url
    page.go_back()
    page.wait_for_selector("dialog", state="hidden")
    assert page.url.endswith("/document?id=d04")
    page.go_forward()
    page.wait_for_selector("dialog[open] li")
    page.goto("/topics")
    page.goto(address)
    page.wait_for_selector("dialog[open] li")
    assert page.inner_text("#near-title") == title
    page.click("dialog button")
    page.wait_for_function("() => location.hash === ''")
    assert page.url.endswith("/document?id=d04")


def test_forward_at_once_after_back_opens_it_again(page):
    """The event of the closed dialog comes after the step forward: it may not go back once more."""
    page.goto("/document?id=d04")
    page.click("div.body a[data-phrase] >> nth=0")
    page.wait_for_selector("dialog[open] li")
    page.evaluate("""() => {
        const dialog = document.querySelector("dialog.near"), close = dialog.close.bind(dialog);
        dialog.close = () => { dialog.close = close; close(); history.forward(); };
        // The closed dialog tells of it as late as a busy browser does.
        dialog.addEventListener("close", (event) => {
            if (!event.isTrusted) return;
            event.stopImmediatePropagation();
            setTimeout(() => dialog.dispatchEvent(new Event("close")), 500);
        }, { capture: true });
    }""")
    page.go_back()
    page.wait_for_timeout(1_500)
    assert page.locator("dialog[open] li").count() > 0
    assert "#phrase=" in page.url


def test_a_phrase_of_a_topic_leads_to_what_is_like_it(page):
    page.goto("/topics/t-000001")
    page.click("a[data-phrase] >> nth=0")
    page.wait_for_url("**/phrases?phrase=**")


def test_a_topic_is_renamed(page):
    page.goto("/topics/t-000002")
    page.click("text=Change this topic")
    page.fill("#label", "Waves & <ice>")
    page.click("button:text-is('Rename')")
    assert page.inner_text("h1") == "Waves & <ice>"
    page.goto("/topics")
    assert page.locator("tbody a", has_text="Waves & <ice>").count() == 1


def test_a_file_is_added_and_a_dead_letter_tried_again(page, address, tmp_path):
    file = tmp_path / "new.jsonl"
    file.write_text('{"id": "new", "text": "Sea ice melts."}\n{broken\n')
    page.goto("/operations")
    page.set_input_files("#file", file)
    page.click("text=Add >> nth=-1")
    page.wait_for_selector("li[data-state=done]")  # it looks by itself
    assert page.inner_text("th.reason >> nth=0") == "new.jsonl, line 2"
    page.click("text=Try again")
    page.wait_for_selector("li[data-state=done]:nth-child(1)")
    assert page.locator("li[data-task]").count() == 2
    page.click("td >> text=Dismiss")
    page.wait_for_selector("text=Nothing is open.")
    page.goto("/document?id=new")
    assert "Sea ice melts." in page.inner_text("div.body")


def test_documents_do_nothing_to_who_reads_them(browser, tmp_path, parts):
    """No dialog of a script, no request to elsewhere, and no word that is wider than a phone."""
    home = hostile_home(tmp_path / "home")
    file = tmp_path / "topics.html"
    assert CliRunner().invoke(main, ["--home", str(home), "report", str(file)]).exit_code == 0
    dialogs: list[str] = []
    asked: list[str] = []
    with listening(home) as address:
        context = browser.new_context(base_url=address, viewport={"width": 390, "height": 844})
        page = context.new_page()
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        for view in PAGES:
            page.goto(view)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
        page.goto("/document?id=h0%3Cb%3E%260")
        page.click("a[data-phrase] >> nth=0")
        page.wait_for_selector("dialog[open] li")
        page.goto("/topics")
        page.hover("figure a:visible >> nth=0")  # of the two shapes the one for phones
        assert [one for one in asked if not one.startswith(address)] == []
        asked.clear()
        page.goto(file.as_uri())
        page.wait_for_load_state("networkidle")
        context.close()
    assert (asked, dialogs) == ([file.as_uri()], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_fits_and_can_be_used_by_everybody(browser, address, width, scheme):
    """No finding of axe at all, and nothing wider than the screen."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # The policy of the page keeps axe out, as it would any other script.
    context = browser.new_context(
        base_url=address, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    for view in VIEWS:
        page.goto(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        found = axe.run(page).response["violations"]
        assert [(view, one["id"], one["nodes"][0]["html"]) for one in found] == []
    context.close()


def test_everything_can_be_reached_by_keyboard_and_is_seen(page):
    page.goto("/?q=sea+ice")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
        outline = page.evaluate(SEEN)
        assert outline, page.evaluate("document.activeElement.outerHTML")
    assert {"q", "mode", "why", "A", "BUTTON"} <= seen


def test_a_page_is_light(page):
    sizes = []
    page.on("response", lambda answer: sizes.append(len(answer.body())))
    page.goto("/?q=ocean+waves&why=1")
    page.wait_for_load_state("networkidle")
    assert sum(sizes) < 300_000
