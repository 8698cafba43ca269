"""Charts in pages, in JupyterLab and in exported files: no button sends figures to another service."""

import json
import re

import nbformat
import pytest
from nbformat import v4

import accounting_analytics as aa
from accounting_analytics.notebook_jobs.saved_notebook import PLOTLY_MIME

OTHER_CHART = "import plotly.express\nplotly.express.bar(x=['Sales'], y=[3])"
UPLOADS = re.compile("share|cloud|studio|upload|send|edit", re.IGNORECASE)
DOWNLOAD = "Download plot as a PNG"


@pytest.fixture(scope="module")
def figures(demo_company):
    """Return every chart of a month of the demo company."""
    report = aa.load_cash_flow_report(demo_company.client, "2026-05-01", "2026-05-31")
    return [chart(report) for chart in (aa.charts.inflow_outflow, aa.charts.running_balance, aa.charts.waterfall)]


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
@pytest.mark.browser
def test_charts_of_a_run_have_no_upload_button(notebook, lab, assert_no_uploads, figures, tmp_path):
    """Neither charts of other packages in the page and the notebook of a run, nor our charts in any notebook."""
    run = aa.run_notebook(notebook("x = 1", OTHER_CHART), tmp_path / "out")
    assert_no_uploads(run.html.as_uri(), 1)
    opened = nbformat.read(run.notebook, as_version=4)
    outputs = [v4.new_output("display_data", {PLOTLY_MIME: json.loads(figure.to_json())}) for figure in figures]
    opened.cells.append(v4.new_code_cell("figures", outputs=outputs))
    nbformat.write(opened, run.notebook)
    assert_no_uploads(lab(run.notebook), 1 + len(figures))


@pytest.mark.browser
@pytest.mark.long
def test_exported_charts_have_no_upload_button(assert_no_uploads, figures, tmp_path):
    """A chart written with the method of Plotly has no upload button either."""
    for number, figure in enumerate(figures):
        figure.write_html(tmp_path / f"{number}.html")
        assert_no_uploads((tmp_path / f"{number}.html").as_uri(), 1)
