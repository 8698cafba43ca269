"""Pages of notebooks: all is on the paper, and no button of a chart sends figures to another service."""

import json
import re
import subprocess

import nbformat
import pandas as pd
import pytest
from nbformat import v4

import accounting_analytics as aa
from accounting_analytics.notebook_jobs.saved_notebook import PLOTLY_MIME, notebook_html

pytestmark = pytest.mark.browser
PAPERS = {"A4": {"paperWidth": 8.27, "paperHeight": 11.69}, "letter": {"paperWidth": 8.5, "paperHeight": 11}}
WIDE = pd.DataFrame({f"column_{number}": [f"{number}000000.00"] * 3 for number in range(20)})
CODE = f"report = load({', '.join(f'argument_{number}=None' for number in range(15))})"
CHART_ENDS = ("End 31 May 2026", "end 96,945", "May 2026", "Net")


@pytest.fixture(scope="module")
def long_report(demo_company):
    """Return a report of a month, of more ledgers than fit on a screen."""
    report = aa.load_cash_flow_report(demo_company.client, "2026-05-01", "2026-05-31", time_zone="America/New_York")
    assert len(report.ledgers) > 40
    return report


@pytest.fixture(scope="module")
def figures(long_report):
    return [chart(long_report) for chart in (aa.charts.inflow_outflow, aa.charts.running_balance, aa.charts.waterfall)]


@pytest.fixture
def notebook_page(long_report, figures, tmp_path):
    """Return a page of an executed notebook, with charts and tables."""
    bundles = [{PLOTLY_MIME: json.loads(figure.to_json())} for figure in figures]
    bundles += [{"text/html": table._repr_html_()} for table in (long_report, WIDE)]
    outputs = [v4.new_output("display_data", bundle) for bundle in bundles]
    page = tmp_path / "page.html"
    notebook = v4.new_notebook(cells=[v4.new_code_cell(CODE, outputs=outputs)])
    page.write_text(notebook_html(notebook, title="page", has_code=True), encoding="utf-8")
    return page


@pytest.fixture
def printed(browser, tmp_path):
    """Return a function that prints the open page and returns its text without white space."""

    def printed(paper):
        pdf = browser.pdf(tmp_path / "page.pdf", **PAPERS[paper])
        command = ["pdftotext", "-raw", pdf, "-"]  # text outside of the visible part of the paper is not in the PDF
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 (our own file)
        return "".join(text.split())

    return printed


@pytest.mark.long
@pytest.mark.pdftotext
def test_nothing_is_cut_in_print(browser, notebook_page, printed, long_report):
    narrowest = "Math.min(...[...document.querySelectorAll('.js-plotly-plot')].map(chart => chart._fullLayout.width))"
    expected = [*long_report.ledgers["name"], *WIDE.columns, *WIDE.loc[0], *CODE.split(), *CHART_ENDS]
    for paper, width in (("A4", 1280), ("letter", 480)):
        browser.open(notebook_page.as_uri(), width=width)
        before = browser.evaluate(narrowest)
        text = printed(paper)
        assert [name for name in expected if name.replace(" ", "") not in text] == []
        browser.wait_until(f"Math.abs({narrowest} - {before}) < 20")  # a scroll bar may take some pixels


SHOWN = "[...document.querySelectorAll('.accounting-analytics-picture')].filter(one => one.checkVisibility())"


def test_a_page_shows_the_pictures_of_charts(browser, notebook, demo_company, tmp_path):
    code = [
        "import accounting_analytics as aa",
        "report = aa.load_cash_flow_report(aa.connect(), '2026-05-01', '2026-05-31')",
        "aa.charts.inflow_outflow(report)",
        "aa.charts.waterfall(report)",
    ]
    run = aa.run_notebook(notebook(*code), tmp_path / "out", environment=demo_company.environment())
    page = run.html.read_text(encoding="utf-8")
    assert "Plotly.newPlot" not in page
    assert len(page) < 1_000_000
    assert [page.count(one) for one in ("const MAX_SHOWN = ", ".accounting-analytics-figures {\n")] == [1, 1]
    for width, scheme, ink in ((1280, "light", "rgb(91, 100, 112)"), (390, "dark", "rgb(154, 164, 176)")):
        browser.open(run.html.as_uri(), width=width, scheme=scheme)
        assert browser.evaluate(f"{SHOWN}.length") == 2
        assert browser.evaluate(f"getComputedStyle({SHOWN}[0].querySelector('text')).fill") == ink
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        browser.screenshot(tmp_path / f"{width}.png")
    browser.click("document.querySelectorAll('details.accounting-analytics-marks > summary')[1]")
    browser.click("[...document.querySelectorAll('details[open] td[data-key] button')].pop()")
    browser.wait_until("document.querySelector('tr.entries')")
    changed = notebook(*code[:2], "aa.charts.waterfall(report).update_layout(title_text='Mine')")
    run = aa.run_notebook(changed, tmp_path / "changed", environment=demo_company.environment())
    browser.open(run.html.as_uri())
    assert browser.evaluate("document.querySelector('.js-plotly-plot .gtitle').textContent").startswith("Mine")
    assert browser.evaluate(f"{SHOWN}.length") == 0


OTHER_CHART = "import plotly.express\nplotly.express.bar(x=['Sales'], y=[3])"
UPLOADS = re.compile("share|cloud|studio|upload|send|edit", re.IGNORECASE)
DOWNLOAD = "Download plot as a PNG"


@pytest.fixture
def assert_no_uploads(browser):
    """Return a function that opens a page and checks the buttons above its charts."""

    def assert_no_uploads(address, charts):
        browser.open(address)
        titles = browser.mode_bars(charts)
        assert titles.count(DOWNLOAD) == charts
        assert [title for title in titles if UPLOADS.search(title)] == []

    return assert_no_uploads


@pytest.mark.long
def test_charts_of_a_run_have_no_upload_button(notebook, lab, assert_no_uploads, figures, tmp_path):
    run = aa.run_notebook(notebook("x = 1", OTHER_CHART), tmp_path / "out")
    assert_no_uploads(run.html.as_uri(), 1)
    opened = nbformat.read(run.notebook, as_version=4)
    outputs = [v4.new_output("display_data", {PLOTLY_MIME: json.loads(figure.to_json())}) for figure in figures]
    opened.cells.append(v4.new_code_cell("figures", outputs=outputs))
    nbformat.write(opened, run.notebook)
    assert_no_uploads(lab(run.notebook), 1 + len(figures))


@pytest.mark.long
def test_exported_charts_have_no_upload_button(assert_no_uploads, figures, tmp_path):
    for number, figure in enumerate(figures):
        figure.write_html(tmp_path / f"{number}.html")
        assert_no_uploads((tmp_path / f"{number}.html").as_uri(), 1)
