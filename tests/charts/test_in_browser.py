"""Charts in a browser: days under the pointer, dark pages, and tables that unfold."""

import datetime as dt
import re

import plotly.io
import pytest

from accounting_analytics import charts
from accounting_analytics.charts.plotly_charts import LAB_STYLE

pytestmark = pytest.mark.browser
PLACE = """(() => {
  const chart = document.querySelector('.js-plotly-plot'), {xaxis, yaxis} = chart._fullLayout;
  const box = chart.getBoundingClientRect();
  return [box.x + xaxis._offset + xaxis.d2p('%s'), box.y + yaxis._offset + yaxis._length / 2];
})()"""
BAR = """(() => {
  const box = document.querySelector('.js-plotly-plot .barlayer .point path').getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
COLOURS = """[...document.querySelectorAll('.js-plotly-plot %s')].map(one => getComputedStyle(one).fill)"""


@pytest.fixture
def chart_page(make_report, four_lines, tmp_path):
    """Return the address of a page with the balance of a report, as the output of a cell in JupyterLab is."""
    figure = charts.running_balance(make_report(four_lines, start="10.00"))
    chart = plotly.io.to_html(figure, include_plotlyjs=True, full_html=False)
    style = f"<style>.jp-OutputArea {{ margin: 0 1rem }} {LAB_STYLE}</style>"
    table = f'<div class="accounting-analytics-chart">{figure.table_html()}</div>'
    path = tmp_path / "page.html"
    path.write_text(
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Chart</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<body data-jp-theme-light="true"><div class="jp-OutputArea">{style}{chart}{table}</div></body></html>',
        encoding="utf-8",
    )
    return path.as_uri()


@pytest.mark.parametrize("time", ["02:00", "09:00", "15:00", "22:00"])
@pytest.mark.long
def test_hover_text_is_of_the_day_under_the_pointer(browser, chart_page, time):
    browser.open(chart_page)
    x, y = browser.evaluate(PLACE % f"2025-02-10 {time}")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    browser.wait_until("document.querySelector('.hoverlayer text')")
    text = browser.evaluate("document.querySelector('.hoverlayer').textContent")
    assert "Mon 10 Feb 2025" in text
    assert "610.10" in text


@pytest.mark.parametrize("width", [390, 1280])
def test_charts_and_their_texts_are_within_the_page(browser, chart_page, width):
    browser.open(chart_page, width=width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    outside = "(one => one.right > innerWidth || one.left < 0)(one.getBoundingClientRect())"
    texts = f"[...document.querySelectorAll('.main-svg text')].filter(one => {outside}).map(one => one.textContent)"
    assert browser.evaluate(texts) == []
    last = browser.evaluate("document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range[1]")
    assert last.startswith(f"{dt.date(2025, 4, 1)}")


def test_charts_are_dark_on_a_dark_page(browser, chart_page):
    browser.open(chart_page)
    for scheme, title in (("light", "rgb(27, 31, 36)"), ("dark", "rgb(232, 234, 237)")):
        browser.evaluate(f"document.body.dataset.jpThemeLight = '{str(scheme == 'light').lower()}'")
        assert browser.evaluate(COLOURS % ".gtitle") == [title]
        ticks = {tuple(map(int, re.findall(r"\d+", one))) for one in browser.evaluate(COLOURS % ".xtick text")}
        assert ticks == {(91, 100, 112) if scheme == "light" else (154, 164, 176)}


def test_tables_below_charts_unfold_and_are_accessible(browser, chart_page):
    browser.open(chart_page)
    assert browser.evaluate("document.querySelector('details').open") is False
    browser.click("document.querySelector('summary')")
    assert browser.accessibility_faults("details") == []
    browser.click("document.querySelector('td[data-key^=net_cash_flow] button')")
    browser.wait_until("document.querySelector('tr.entries table')")
    assert "2 entries600.10" in browser.evaluate("document.querySelector('tr.entries').textContent")


def test_a_press_on_a_bar_unfolds_its_figure(browser, make_report, four_lines, tmp_path):
    figure = charts.inflow_outflow(make_report(four_lines))
    chart = plotly.io.to_html(figure, include_plotlyjs=True, full_html=False)
    path = tmp_path / "page.html"
    path.write_text(f'<!DOCTYPE html><meta charset="utf-8">{chart}{figure.table_html()}', encoding="utf-8")
    browser.open(path.as_uri())
    x, y = browser.evaluate(BAR)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    browser.wait_until("document.querySelector('.hoverlayer text')")
    for event in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=event, x=x, y=y, button="left", clickCount=1)
    browser.wait_until("document.querySelector('tr.entries table')")
    assert "15 to 31 Jan 2025, Inflow" in browser.evaluate("document.querySelector('tr.entries').textContent")
    assert "1,000.10" in browser.evaluate("document.querySelector('tr.entries').textContent")
