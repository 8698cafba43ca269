"""A notebook that was run and saved in JupyterLab, opened again in the other theme."""

import json
import time

import nbformat
import pytest
from nbformat import v4

CODE = """import accounting_analytics as aa
client = aa.connect()
ledgers = aa.discover_ledgers(client, "2026-05-01", "2026-05-31")
lines = aa.load_line_entries(client, ledgers["id"], "2026-05-01", "2026-05-31")
aa.charts.inflow_outflow(aa.load_cash_flow_report(client, "2026-05-01", "2026-05-31"))"""
READY = "!document.querySelector('#jupyterlab-splash') && document.querySelector('.jp-CodeCell')"
IDLE = "document.querySelector('#jp-main-statusbar').innerText.includes('(ipykernel) | Idle')"
CELL = "document.querySelector('.jp-CodeCell')"
DIRTY = "Boolean(document.querySelector('.jp-mod-dirty'))"
DARK = "document.body.dataset.jpThemeLight === 'false'"
SHOWN = "[...document.querySelectorAll('.jp-OutputArea %s')].filter(one => one.checkVisibility())"
IMAGE, CHART, PICTURE = (SHOWN % one for one in ("img", ".js-plotly-plot .main-svg", ".accounting-analytics-picture"))
SUBTITLE, REMARKS = (SHOWN % one for one in (".gtitle-subtitle", ".accounting-analytics-remarks"))
BOX = f"{PICTURE}[0].getBoundingClientRect()"
TITLE = "getComputedStyle(document.querySelector('.js-plotly-plot .gtitle')).fill"
GROUND = "getComputedStyle(document.querySelector('.js-plotly-plot .main-svg')).backgroundColor"


@pytest.mark.browser
def test_saved_notebook_is_whole_in_the_other_theme(browser, lab, demo_company, monkeypatch, tmp_path):
    for name, value in demo_company.environment().items():
        monkeypatch.setenv(name, value)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = tmp_path / "saved.ipynb"
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(CODE)], metadata={"kernelspec": kernel}), path)
    address = lab(path)
    browser.open(address)
    browser.wait_until(READY)
    browser.wait_until(IDLE)
    browser.wait_until(f"({CELL}.querySelector('.cm-content')?.focus(), {CELL}.querySelector('.cm-focused'))")
    browser.press("Shift+Enter")
    browser.wait_until("document.querySelector('.js-plotly-plot .gtitle')")
    browser.wait_until(IDLE)
    browser.screenshot(tmp_path / "light.png")
    assert browser.evaluate(f"[{CHART}.length > 0, {PICTURE}.length]") == [True, 0]
    for _ in range(50):  # a picture of the chart arrives after it is drawn
        browser.press("Control+s")
        if '"image/png"' in path.read_text(encoding="utf-8") and not browser.evaluate(DIRTY):
            break
        time.sleep(0.2)
    outputs = nbformat.read(path, as_version=4).cells[0].outputs
    assert not any("widget" in kind for output in outputs for kind in output.get("data", ())), outputs
    assert [output.output_type for output in outputs if output.get("data") != {}] == ["display_data"] * 2, outputs

    settings = tmp_path / "settings" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"theme": "JupyterLab Dark"}), encoding="utf-8")
    for width in (390, 1280):
        browser.open(address, width=width)
        browser.wait_until(f"{READY} && {DARK} && {PICTURE}.length === 1")
        browser.screenshot(tmp_path / f"dark_{width}.png")
        assert browser.evaluate(f"[{IMAGE}.length, {CHART}.length]") == [0, 0]
        drawn, room = browser.evaluate(f"[{BOX}.width, {PICTURE}[0].parentElement.clientWidth]")
        assert drawn <= room
        assert browser.evaluate(f"getComputedStyle({PICTURE}[0].querySelector('text')).fill") == "rgb(154, 164, 176)"
    assert "Error displaying widget" not in browser.evaluate("document.body.innerText")
    x, y = browser.evaluate(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({BOX})")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)  # the chart itself replaces its picture
    browser.wait_until(f"{CHART}.length")
    browser.screenshot(tmp_path / "dark_live.png")
    assert browser.evaluate(f"{PICTURE}.length") == 0
    assert (browser.evaluate(TITLE), browser.evaluate(GROUND)) == ("rgb(232, 234, 237)", "rgba(0, 0, 0, 0)")
    assert browser.evaluate(f"[{SUBTITLE}.length, {REMARKS}.length]") == [1, 0]
    size = {"width": 700, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    browser.wait_until(f"{REMARKS}.length === 1 && {SUBTITLE}.length === 0")
    browser.screenshot(tmp_path / "narrow_live.png")
