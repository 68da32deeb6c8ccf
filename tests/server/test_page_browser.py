"""The page of a server, as people use it: in a browser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from page_in_browser import CHROMIUM, NotebookPage, browser
from playwright.sync_api import Browser, expect
from recording_server import RecordingServer
from session_server import Served, client_of, served

from planaria.server import Token

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian's package: chromium)"),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def client(page_server: Served) -> Iterator[httpx.Client]:
    with client_of(page_server.url) as one:
        yield one


@pytest.fixture
def session(client: httpx.Client, request: pytest.FixtureRequest) -> str:
    """A new session named like the test, whose code can ask."""
    name = re.sub(r"[^a-z]+", "-", request.node.name.removeprefix("test_")).strip("-")
    client.post(
        "/v1/sessions", json={"id": name, "input": True, "callbacks": [{"name": "pay"}]}
    ).raise_for_status()
    return name


@pytest.fixture
def page(chromium: Browser, page_server: Served, session: str) -> Iterator[NotebookPage]:
    """The page with that session; nothing may go wrong on it."""
    opened = NotebookPage(
        chromium.new_page(viewport={"width": 1360, "height": 860}), page_server.url, session
    )
    yield opened
    assert opened.problems == []
    opened.page.close()


def test_write_and_run(page: NotebookPage) -> None:
    """A cell prints and has a value; Shift and Enter goes on to the next one, which is added."""
    page.add("print('hello')\n6 * 7")
    page.page.keyboard.press("Shift+Enter")
    expect(page.output(0).locator(".stdout")).to_have_text("hello\n")
    expect(page.output(0).locator(".value")).to_have_text("42")
    expect(page.cell(0).locator(".prompt")).to_have_text("[1]")
    page.page.keyboard.insert_text("1 / 0")
    page.page.keyboard.press("Control+Enter")
    expect(page.output(1)).to_contain_text("ZeroDivisionError: division by zero")
    expect(page.output(1)).to_contain_text('File "<cell 2>", line 1')


def test_streaming_and_interrupt(page: NotebookPage) -> None:
    """Output comes while the code runs; the button stops an endless loop, and variables stay."""
    number = page.begin("kept = 5\nprint('runs', flush=True)\nwhile True: pass")
    expect(page.output(number)).to_contain_text("runs")
    expect(page.cell(number)).to_have_attribute("data-state", "running")
    page.page.locator("#interrupt").click()
    expect(page.output(number)).to_contain_text("Interrupted")
    expect(page.run("kept")).to_have_text("5")


def test_plot_and_table(page: NotebookPage) -> None:
    """A figure is an image; a frame is a table within a frame of its own, whose text runs nowhere."""
    image = page.run("import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()").locator("img")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.naturalWidth") > 100
    output = page.run("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', '<i>']})")
    expect(output.frame_locator("iframe").locator("td", has_text="<i>")).to_be_visible()
    # The frame is as high as its table.
    expect(output.locator("iframe")).not_to_have_css("height", "40px")


#: Tries all ways out of the frame of an output that scripts have, and says what came of it.
ESCAPES = """
<p id="said">nothing</p><img src="http://{host}/img"><script src="http://{host}/script.js"></script>
<link rel="stylesheet" href="http://{host}/style.css"><iframe src="http://{host}/frame"></iframe>
<script>
const found = [];
const attempt = (name, action) => {{ try {{ action(); found.push(name); }} catch {{ }} }};
attempt("parent", () => parent.document.title);
attempt("storage", () => sessionStorage.length);
attempt("cookies", () => document.cookie);
attempt("popup", () => {{ if (!open("http://{host}/popup")) throw 0; }});
attempt("top", () => {{ top.location = "http://{host}/top"; }});
navigator.sendBeacon("http://{host}/beacon");
attempt("worker", () => new Worker("http://{host}/worker.js"));
const tries = [fetch("http://{host}/fetch"), fetch("/v1/sessions"), import("http://{host}/module.js")];
tries.push(new Promise((yes, no) => {{ const s = new WebSocket("ws://{host}/socket"); s.onopen = yes; s.onerror = no; }}));
Promise.allSettled(tries).then((all) => {{
    found.push(...all.filter((one) => one.status === "fulfilled").map((one, index) => `try ${{index}}`));
    said.textContent = `got out by: ${{found.join(", ") || "none"}}`;
    said.dataset.ready = "";
}});
</script>
<a id="leave" href="http://{host}/link">leave</a>
"""


def test_scripts_of_outputs(page: NotebookPage) -> None:
    """Scripts that are in an output run when that is asked for; they load nothing, nor reach the page."""
    with closing(RecordingServer()) as elsewhere:
        html = ESCAPES.format(host=f"127.0.0.1:{elsewhere.port}")
        output = page.run(f"display({{'text/html': {html!r}}}, raw=True)")
        frame = output.frame_locator("iframe")
        expect(frame.locator("#said")).to_have_text("nothing")
        output.get_by_role("button", name="Run them").click()
        expect(frame.locator("#said")).to_have_text("got out by: none")
        expect(output.locator(".hint")).to_contain_text("script.js")
        frame.locator("#leave").click()
        # A frame that is sent elsewhere stays where it is, or is empty; the page goes on.
        expect(page.run("6 * 7")).to_have_text("42")
        elsewhere.settle()
        assert elsewhere.requests == []
    page.problems.clear()  # the browser says what it has refused


def test_figures_of_plotly(page: NotebookPage, client: httpx.Client) -> None:
    """Figures are drawn by the library of the session's own package, as data and in HTML; without it, it says so."""
    plotly = pytest.importorskip("plotly", reason="plotly is not installed")
    bars = plotly.graph_objects.Figure(plotly.graph_objects.Bar(x=["a", "b"], y=[1, 3]))
    show = f"display({{'application/vnd.plotly.v1+json': {bars.to_plotly_json()!r}}}, raw=True)"
    output = page.run(show)
    output.get_by_role("button", name="Draw it").click()
    expect(output).to_contain_text("once the package plotly is installed")
    library = Path(plotly.__file__).parent / "package_data/plotly.min.js"
    minor = page.run("import sys; print(sys.version_info.minor)").inner_text().strip()
    place = f"/home/user/.local/lib/python3.{minor}/site-packages"
    client.put(
        f"/v1/sessions/{page.session}/files",
        params={"path": f"{place}/plotly/package_data/plotly.min.js"},
        content=library.read_bytes(),
        headers={"Content-Type": "application/octet-stream"},
    ).raise_for_status()
    html = bars.to_html(full_html=False, include_plotlyjs="cdn")
    for code in (show, f"display({{'text/html': {html!r}}}, raw=True)"):
        output = page.run(code)
        expect(output.frame_locator("iframe").locator(".bars .point")).to_have_count(2)
        expect(output.locator("iframe")).not_to_have_css("height", "40px")
        expect(output.locator(".hint")).to_have_count(0)


def test_figures_of_bokeh(page: NotebookPage, client: httpx.Client) -> None:
    """HTML that has its library in it is drawn, and its frame is as high as it is."""
    pytest.importorskip("bokeh", reason="bokeh is not installed")
    from bokeh import embed, plotting, resources

    plot = plotting.figure(width=300, height=220)
    plot.line([1, 2, 3], [3, 1, 2])
    client.put(
        f"/v1/sessions/{page.session}/files",
        params={"path": "plot.html"},
        content=embed.file_html(plot, resources.INLINE).encode(),
        headers={"Content-Type": "application/octet-stream"},
    ).raise_for_status()
    output = page.run("display({'text/html': open('plot.html').read()}, raw=True)")
    output.get_by_role("button", name="Run them").click()
    expect(output.locator("iframe")).to_have_css("height", re.compile("^2[2-4][0-9]"))


def test_undo_rewind_fork_compare(page: NotebookPage) -> None:
    """States are undone, gone back to, forked and compared from the tree."""
    for code in ("x = 1", "x = 2", "x = 3"):
        page.run(code)
    expect(page.page.locator(".state")).to_have_count(4)
    page.page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.state(2)).to_have_attribute("aria-current", "true")
    expect(page.cell(2)).to_contain_text("not part of the present state")
    expect(page.run("x")).to_have_text("2")
    page.state(1).click()
    expect(page.page.locator(".detail")).to_have_text(
        "After execution 1x = 1Rewind to hereFork from hereCompare"
    )
    page.page.get_by_role("button", name="Compare", exact=True).click()
    dialog = page.page.get_by_role("dialog")
    expect(dialog.locator(".changes .changed")).to_contain_text("x int 1 → int 2")
    dialog.get_by_role("button", name="Close").click()
    page.page.get_by_role("button", name="Fork from here").click()
    fork = page.page.locator(".state.forked")
    expect(fork).to_contain_text(f"{page.session}-fork-1")
    page.page.get_by_role("button", name="Rewind to here").click()
    expect(page.state(1)).to_have_attribute("aria-current", "true")
    # The state that was left can be gone to again.
    expect(page.page.locator(".state .label", has_text="left 1")).to_be_visible()
    expect(page.run("x")).to_have_text("1")
    fork.click()
    page.wait()
    expect(page.page).to_have_title(f"{page.session}-fork-1 – planaria")
    expect(page.run("x + 100")).to_have_text("101")


def test_approve(page: NotebookPage) -> None:
    """A call that waits is shown with its arguments, and its buttons approve and refuse it."""
    number = page.begin("'paid' if await pay(amount=900, to='Ada') else 'kept'")
    call = page.page.get_by_role("group", name="Call of pay")
    expect(call).to_contain_text("amount900toAda")
    expect(page.cell(number)).to_have_attribute("data-state", "waiting")
    call.get_by_role("button", name="Approve").click()
    expect(page.output(number)).to_have_text("'paid'")
    refused = page.begin("await pay(1)")
    call.get_by_role("button", name="Refuse").click()
    expect(page.output(refused)).to_contain_text("PermissionError: refused")
    expect(call).to_have_count(0)


def test_input(page: NotebookPage) -> None:
    """A line that is asked for is typed beside the notebook, while the code runs."""
    number = page.begin("input('Who? ')")
    field = page.page.get_by_label("Who?")
    field.fill("Ada")
    field.press("Enter")
    expect(page.output(number)).to_have_text("'Ada'")


def test_upload_and_analyse(page: NotebookPage) -> None:
    """A CSV file is uploaded, previewed as a table, read by pandas, edited, and downloaded."""
    text = "region,units\nnorth,3\nsouth,5\n"
    chosen: Any = {"name": "sales.csv", "mimeType": "text/csv", "buffer": text.encode()}
    page.page.locator("#upload").set_input_files(chosen)
    file = page.page.locator(".file", has_text="sales.csv")
    file.locator(".file-name").click()
    dialog = page.page.get_by_role("dialog")
    expect(dialog.get_by_role("cell", name="south")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    read = "import pandas as pd\nint(pd.read_csv('sales.csv').units.sum())"
    expect(page.run(read)).to_have_text("8")
    expect(page.page.locator(".variables")).to_contain_text("pd")
    file.locator(".file-name").click()
    dialog.get_by_role("button", name="Edit").click()
    dialog.locator(".cm-content").click()
    page.page.keyboard.press("Control+End")
    page.page.keyboard.insert_text("west,4\n")
    dialog.get_by_role("button", name="Save").click()
    dialog.get_by_role("button", name="Close").click()
    expect(page.run(read)).to_have_text("12")
    with page.page.expect_download() as download:
        file.get_by_role("button", name="Download").click()
    assert Path(download.value.path()).read_text() == text + "west,4\n"


def test_reload_while_code_runs(page: NotebookPage, client: httpx.Client) -> None:
    """Who loads the page in the middle of an execution sees what was printed, and then the rest."""
    number = page.begin("print('before')\nname = input('Go on? ')\nprint('after')")
    expect(page.output(number)).to_have_text("before\n")
    page.reload()
    expect(page.output(number)).to_have_text("before\n")
    expect(page.cell(number)).to_have_attribute("data-state", "running")
    field = page.page.get_by_label("Go on?")
    field.fill("yes")
    field.press("Enter")
    expect(page.output(number)).to_have_text("before\nafter\n")
    expect(page.cell(number)).to_have_attribute("data-state", "done")


def test_two_browsers(page: NotebookPage, chromium: Browser, page_server: Served) -> None:
    """Both see what either writes, executes and takes back."""
    other = NotebookPage(chromium.new_page(), page_server.url, page.session)
    number = page.begin("x = 1\nprint('for both')")
    expect(other.output(number)).to_have_text("for both\n")
    number = other.begin("print('and back')")
    expect(page.output(number)).to_have_text("and back\n")
    page.page.get_by_role("button", name="Undo", exact=True).click()
    expect(other.state(1)).to_have_attribute("aria-current", "true")
    assert other.problems == []
    other.page.close()


def test_keys_of_jupyter(page: NotebookPage) -> None:
    """Esc leaves the text; a, b, j, k, d d, z, c, x, v, V, m and Enter do what they do in Jupyter."""
    cells = page.page.locator("#cells .cell")
    keyboard = page.page.keyboard
    page.add("first = 1")
    keyboard.press("Escape")
    keyboard.press("b")
    expect(cells).to_have_count(2)
    keyboard.press("Enter")
    keyboard.insert_text("second")
    keyboard.press("Escape")
    keyboard.press("k")
    keyboard.press("a")
    expect(cells).to_have_count(3)
    keyboard.press("m")
    keyboard.press("Enter")
    keyboard.insert_text("# A *title*\n\n<script>alert(1)</script>")
    keyboard.press("Shift+Enter")
    expect(page.cell(0).locator(".rendered h1 em")).to_have_text("title")
    expect(page.cell(0).locator(".rendered script")).to_have_count(0)
    keyboard.press("j")
    keyboard.press("d")
    keyboard.press("d")
    expect(cells).to_have_count(2)
    expect(page.page.locator("#cells")).not_to_contain_text("second")
    keyboard.press("z")
    expect(page.page.locator("#cells")).to_contain_text("second")
    keyboard.press("c")
    keyboard.press("v")
    expect(cells).to_have_count(4)
    expect(page.page.locator("#cells")).to_contain_text(re.compile("second.*second", re.DOTALL))
    keyboard.press("x")
    expect(cells).to_have_count(3)
    keyboard.press("V")
    expect(cells).to_have_count(4)


def test_more_keys_of_jupyter(page: NotebookPage) -> None:
    """1 to 6 make headings, Ctrl, Shift and - splits, M merges, o hides the output, l numbers lines, 0 0 restarts."""
    cells = page.page.locator("#cells .cell")
    keyboard = page.page.keyboard
    expect(page.run("kept = 1\nprint('shown')")).to_have_text("shown\n")
    keyboard.press("o")
    expect(page.output(0).locator(".stdout")).to_be_hidden()
    keyboard.press("o")
    expect(page.output(0).locator(".stdout")).to_be_visible()
    keyboard.press("l")
    expect(page.cell(0).locator(".cm-lineNumbers")).to_be_visible()
    keyboard.press("l")
    expect(page.cell(0).locator(".cm-lineNumbers")).to_have_count(0)
    keyboard.press("Enter")
    keyboard.press("Control+Home")
    keyboard.press("End")
    keyboard.press("Control+Shift+Minus")
    expect(cells).to_have_count(2)
    expect(page.cell(0).locator(".cm-line")).to_have_text(["kept = 1"])
    expect(page.cell(1).locator(".cm-line")).to_have_text(["print('shown')"])
    keyboard.press("Escape")
    keyboard.press("k")
    keyboard.press("Shift+M")
    expect(cells).to_have_count(1)
    expect(page.cell(0).locator(".cm-line")).to_have_text(["kept = 1", "print('shown')"])
    keyboard.press("b")
    keyboard.press("Enter")
    keyboard.insert_text("Part")
    keyboard.press("Escape")
    keyboard.press("2")
    keyboard.press("3")
    keyboard.press("Control+Enter")
    expect(page.cell(1).locator(".rendered h3")).to_have_text("Part")
    keyboard.press("0")
    keyboard.press("0")
    page.page.get_by_role("dialog").get_by_role("button", name="Start again").click()
    expect(page.page.get_by_role("dialog")).to_have_count(0)
    expect(page.run("'kept' in globals()").locator(".value")).to_have_text("False")


def test_completion(page: NotebookPage) -> None:
    """The kernel completes the names that there are."""
    page.run("lengthy_name = 7")
    page.add("lengthy")
    page.page.keyboard.press("Control+Space")
    # Not by a key, which does nothing in the first moments of the list.
    page.page.locator(".cm-tooltip-autocomplete li", has_text="lengthy_name").click()
    page.page.keyboard.press("Control+Enter")
    expect(page.output(1)).to_have_text("7")


def test_shell(page: NotebookPage) -> None:
    """The terminal runs what is typed, in the session's own files."""
    page.run("open('note.txt', 'w').write('from Python')\n")
    page.page.get_by_role("tab", name="Shell").click()
    terminal = page.page.locator(".terminal .xterm-rows")
    expect(terminal).to_contain_text("$")
    page.page.keyboard.type("cat note.txt; echo $((6 * 7))\n")
    expect(terminal).to_contain_text("from Python42")
    page.page.get_by_role("tab", name="Notebook").click()
    expect(page.page.locator("#cells .cell")).to_have_count(1)


def test_notebooks_as_files(page: NotebookPage) -> None:
    """A notebook is exported as .ipynb with its outputs, which nbformat takes, and imported again."""
    page.run("print('out')\n6 * 7")
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Export the notebook").click()
    path = Path(download.value.path())
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert [one.output_type for one in notebook.cells[0].outputs] == ["stream", "execute_result"]
    page.page.keyboard.press("Escape")
    with page.page.expect_file_chooser() as chooser:
        page.page.get_by_role("button", name="Import a notebook").click()
    bash = {
        "cell_type": "code",
        "id": "added",
        "metadata": {},
        "source": ["%%bash\n", "echo hi"],
        "outputs": [],
    }
    changed = path.with_name("changed.ipynb")
    notebook.cells.append(nbformat.from_dict({**bash, "execution_count": None}))
    nbformat.write(notebook, changed)
    chooser.value.set_files(changed)
    expect(page.cell(0).locator(".stdout")).to_have_text("out\n")
    expect(page.page.locator('.cell[data-kind="bash"]')).to_contain_text("echo hi")


def test_first_session(chromium: Browser) -> None:
    """Who comes to an empty server creates a session by one button, and writes in its cell."""
    with served(page=True) as running:
        page = chromium.new_page()
        page.goto(running.url)
        page.get_by_role("button", name="Create a session").click()
        expect(page.locator("#cells .cm-content")).to_be_focused()
        expect(page.locator("#cells .cm-placeholder")).to_contain_text("Shift+Enter")
        page.keyboard.insert_text("6 * 7")
        page.keyboard.press("Shift+Enter")
        expect(page.locator("#cells .value")).to_have_text("42")
        page.close()


def test_signing_in(chromium: Browser) -> None:
    """The page asks for the token where there is one, and never puts it into an address."""
    with served(page=True, tokens=[Token("blue", "the-secret")]) as running:
        with client_of(running.url, "the-secret") as client:
            client.post("/v1/sessions", json={"id": "mine"})
        page = chromium.new_page()
        addresses: list[str] = []
        page.on("request", lambda request: addresses.append(request.url))
        page.goto(running.url)
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("the token is wrong")
        page.get_by_label("Token").fill("the-secret")
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#cells .cell").first).to_be_visible()
        page.reload()
        expect(page.locator("#cells .cell").first).to_be_visible()
        assert not any("the-secret" in address for address in addresses)
        page.close()


#: Where `npm install axe-core` has put it: see the Makefile.
AXE = [
    Path(os.environ["PLANARIA_AXE"]) if "PLANARIA_AXE" in os.environ else None,
    Path(__file__).parents[2] / ".venv-integrations/node_modules/axe-core/axe.min.js",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(page: NotebookPage, scheme: Any) -> None:
    """axe finds nothing serious, in both colours, with outputs, a state and a dialog open, and on a phone."""
    source = next((one.read_text("utf-8") for one in AXE if one is not None and one.exists()), None)
    if source is None:
        pytest.skip("axe-core is not installed: npm install axe-core")
    page.page.emulate_media(color_scheme=scheme)
    page.run("print('out')\nx = 5\nx")
    page.run("1 / 0")
    page.begin("await pay(3)")
    expect(page.page.get_by_role("group", name="Call of pay")).to_be_visible()
    page.state(1).click()
    for name in ("Requests and tool calls", "Limits and usage"):
        page.page.locator(".panel > summary", has_text=name).click()
    _check(page, source)
    page.page.get_by_role("button", name="Keys", exact=True).click()
    _check(page, source)
    page.page.keyboard.press("Escape")
    page.page.set_viewport_size({"width": 390, "height": 800})
    for part in ("Sessions", "Notebook", "Details"):
        page.page.get_by_role("navigation", name="Parts of the page").get_by_text(part).click()
        _check(page, source)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 390


def _check(page: NotebookPage, source: str) -> None:
    page.page.evaluate(source)
    found = page.page.evaluate("axe.run(document, {resultTypes: ['violations'], iframes: false})")
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in serious] == []
