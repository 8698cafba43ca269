"""Chromium and JupyterLab: a browser that shows, prints and checks pages, and notebooks in a real JupyterLab."""

import base64
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

BROWSER_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",  # commands are read from descriptor 3, answers written to descriptor 4
)
DRAWN = "document.readyState === 'complete' && [...document.querySelectorAll('.js-plotly-plot, .plotly-graph-div')]\
.every(chart => chart.querySelector('.main-svg'))"
MODE_BARS = "[...document.querySelectorAll('.modebar-btn')].map(button => button.dataset.title)"
KEYS = {
    "Enter": {"text": "\r", "windowsVirtualKeyCode": 13},
    "Space": {"key": " ", "text": " ", "windowsVirtualKeyCode": 32},
    **{letter: {"code": f"Key{letter.upper()}", "windowsVirtualKeyCode": ord(letter.upper())} for letter in "adsyz"},
    **{
        key: {"windowsVirtualKeyCode": number}
        for key, number in {"Backspace": 8, "Tab": 9, "Escape": 27, "End": 35, "Home": 36, "Delete": 46}.items()
    },
    **{
        f"Arrow{side}": {"windowsVirtualKeyCode": number}
        for number, side in enumerate(("Left", "Up", "Right", "Down"), start=37)
    },
}
AXE = Path(importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0], "axe.min.js")
MODIFIERS = {"Control": 2, "Shift": 8}


class Browser:
    """Chromium, controlled by the DevTools protocol."""

    def __init__(self, profile, **environment):
        command = ["chromium", *BROWSER_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(  # noqa: S603 (our own pages)
            ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh", *command],  # noqa: S607 (any POSIX shell)
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | environment,
        )
        self._numbers, self._session, self._buffer = itertools.count(1), {}, b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = {"sessionId": session}
        self.call("Page.enable")  # a page that asks whether to leave is left

    def call(self, method, **params):
        """Send a command; return its result."""
        number = self._send(method, params)
        while (answer := self._receive()).get("id") != number:
            if answer.get("method") == "Page.javascriptDialogOpening":
                self._send("Page.handleJavaScriptDialog", {"accept": True})
        assert "error" not in answer, answer
        return answer["result"]

    def _send(self, method, params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params, **self._session}
        self._process.stdin.write(json.dumps(message).encode() + b"\0")
        self._process.stdin.flush()
        return number

    def _receive(self):
        while b"\0" not in self._buffer:
            received = os.read(self._process.stdout.fileno(), 1 << 20)
            assert received, "the browser ended"
            self._buffer += received
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, expression):
        """Return the value of a JavaScript expression, of a promise once it is fulfilled."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_until(self, condition):
        """Wait until a JavaScript expression is true."""
        for _ in range(1200):
            if self.evaluate(f"Boolean({condition})"):
                return
            time.sleep(0.1)
        pytest.fail(f"the page never became: {condition}")

    def open(self, url, *, width=1280, height=900, scheme="light"):
        """Open a page in a window of a size, in light or dark colours, and wait until its charts are drawn."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        size = {"width": width, "height": height}
        self.call("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url="about:blank")
        self.wait_until("location.href === 'about:blank'")
        self.call("Page.navigate", url=url)
        self.wait_until(f"location.href !== 'about:blank' && {DRAWN}")

    def click(self, element, modifiers=0):
        """Click the middle of an element, which a JavaScript expression returns, with the mouse."""
        middle = "box => [box.x + box.width / 2, box.y + box.height / 2]"
        self.evaluate(f"{element}.scrollIntoView({{block: 'center', inline: 'center'}})")
        x, y = self.evaluate(f"({middle})({element}.getBoundingClientRect())")
        at = {"x": x, "y": y, "button": "left", "clickCount": 1, "modifiers": modifiers}
        for event in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=event, **at)

    def press(self, keys):
        """Press a key of KEYS, with modifiers as in ``Shift+Enter``, and release it."""
        *modifiers, key = keys.split("+")
        pressed = {"key": key, "code": key, "modifiers": sum(map(MODIFIERS.get, modifiers))} | KEYS[key]
        self.call("Input.dispatchKeyEvent", type="keyDown", **pressed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def type(self, text):
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def mode_bars(self, charts):
        """Wait until so many charts are drawn; return the titles of the buttons above them."""
        self.wait_until(f"document.querySelectorAll('.modebar').length === {charts}")
        return self.evaluate(MODE_BARS)

    def accessibility_faults(self, selector="html"):
        """Return what axe-core finds serious or critical in the elements of a selector: rule, element and its fault."""
        if not self.evaluate("Boolean(window.axe)"):
            self.evaluate(AXE.read_text(encoding="utf-8") + "; true")
        run = f"axe.run({json.dumps(selector)}, {{resultTypes: ['violations']}})"
        faults = self.evaluate(
            f"{run}.then(found => found.violations.filter(one => ['serious', 'critical'].includes(one.impact))"
            ".flatMap(one => one.nodes.map(node => [one.id, node.html, node.failureSummary])))"
        )
        return [tuple(fault) for fault in faults]

    def screenshot(self, path):
        """Save a picture of the whole page as a PNG file."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))
        return path

    def pdf(self, path, **options):
        """Print the page to a PDF file."""
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", **options)["data"]))
        return path

    def close(self):
        with self._process:
            self.call("Browser.close")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Return a browser without network traffic of its own."""
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def rendered(browser):
    """Return a function that opens a page in a browser and returns its document after scripts ran."""

    def rendered(page):
        browser.open(page.as_uri())
        return browser.evaluate("document.documentElement.outerHTML")

    return rendered


@pytest.fixture
def lab(tmp_path):
    """Return a function that serves a notebook with JupyterLab, and returns its address."""
    servers = []

    def serve(notebook):
        runtime = tmp_path / "runtime"
        environment = os.environ | {
            "JUPYTER_RUNTIME_DIR": str(runtime),
            "JUPYTER_DATA_DIR": str(tmp_path / "data"),  # which notebooks are trusted
            "JUPYTER_CONFIG_DIR": str(tmp_path / "configuration"),
            "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces"),
        }
        options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
        server = subprocess.Popen(  # noqa: S603 (our own interpreter)
            [sys.executable, "-m", "jupyterlab", str(notebook.parent), *options],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        servers.append(server)
        while not (described := [one for one in runtime.glob("jpserver-*.json") if one.stat().st_size]):
            assert server.poll() is None, "JupyterLab ended"
            time.sleep(0.1)
        address = json.loads(described[0].read_text(encoding="utf-8"))
        return f"{address['url']}lab/tree/{notebook.name}?token={address['token']}&reset"

    yield serve
    for server in servers:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:  # now and then JupyterLab does not end
            server.kill()
            server.wait()
