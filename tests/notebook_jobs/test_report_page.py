"""The self-contained page of figures and tables."""

import stat
from decimal import Decimal

import pandas as pd
import plotly.graph_objects as go
import pytest

from accounting_analytics.errors import InputError
from accounting_analytics.money import pandas_dtype
from accounting_analytics.notebook_jobs.report_page import Section, write_page

HOSTILE = "<script>document.title='owned'</script>"


@pytest.fixture
def page(tmp_path):
    """Return a page with a figure, a table and hostile text everywhere."""
    table = pd.DataFrame(
        {"name": [HOSTILE], "amount": pd.Series([Decimal("-1234.50")], dtype=pandas_dtype(2)), "ties": [True]}
    )
    return write_page(
        tmp_path / "page.html",
        title=HOSTILE,
        summary=[HOSTILE],
        sections=[
            Section("Figure", figure=go.Figure(go.Bar(x=[HOSTILE], y=[1]))),
            Section("Table", HOSTILE, table=table),
        ],
    )


def test_page_is_escaped_and_self_contained(page):
    """Text of the books is escaped, amounts have all digits, Plotly is embedded once, nothing is loaded."""
    text = page.read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert "-1,234.50" in text
    assert text.count("plotly.js v") == 1
    assert 'src="http' not in text
    assert [path.name for path in page.parent.iterdir()] == ["page.html"]


def test_page_is_private(page):
    """A page has amounts of the books, so only its owner may read it."""
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


@pytest.mark.browser
def test_page_draws(page, rendered):
    """A browser draws the figure and does not execute hostile text."""
    document = rendered(page)
    assert "main-svg" in document
    assert "<title>owned" not in document


def test_a_page_that_cannot_be_written(tmp_path):
    """The error names the page, and no temporary file is left."""
    (tmp_path / "page.html").mkdir()
    with pytest.raises(
        InputError, match=r"page\.html cannot be written: Is a directory; the previous content is unchanged"
    ):
        write_page(tmp_path / "page.html", title="t", summary=(), sections=())
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
