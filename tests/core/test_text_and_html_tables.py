"""Tables as people see them: texts of cells, and HTML that needs nothing but itself."""

from decimal import Decimal
from html.parser import HTMLParser

import pandas as pd
import pytest

from accounting_analytics.core.text_and_html_tables import TABLE_STYLE, PrintedTable, cell_text, html_table


def frame():
    """Return a table with a hostile name, amounts as floats, a count, an instant and missing values."""
    columns = {
        "name": ["<Sales>", "\x1b[2Jgone"],
        "amount": [-1234.5, float("nan")],
        "count": [1000, 2],
        "at": [pd.Timestamp("2025-01-02T12:00Z"), pd.NaT],
    }
    return pd.DataFrame(columns)


class Tags(HTMLParser):
    """The tags of a page, and the text of each cell."""

    def __init__(self, page):
        super().__init__()
        self.opened, self.closed, self.cells = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.opened.append((tag, dict(attrs)))
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_endtag(self, tag):
        self.closed.append(tag)

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data.strip()


def test_cells_have_every_digit():
    columns, rows = PrintedTable.from_frame(frame())
    assert [column.is_numeric for column in columns] == [False, True, True, False]
    assert rows[0] == ("<Sales>", "-1,234.50", "1,000", "2025-01-02 12:00:00Z")
    assert rows[1] == ("\N{REPLACEMENT CHARACTER}[2Jgone", "", "2", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1E+3"), "1,000"),
        (True, "True"),
        (None, ""),
        (pd.NA, ""),
        ("a\nb", "a\ufffdb"),
        (pd.Timestamp("2025-01-02"), "2025-01-02"),
        (pd.Timestamp("2025-01-02T00:00Z"), "2025-01-02 00:00:00Z"),
    ],
)
def test_cell_text_is_one_line(value, text):
    assert cell_text(value) == text


def test_columns_and_rows_have_heads_and_tags_are_closed():
    page = html_table(frame())
    tags = Tags(page)
    scopes = [attrs["scope"] for tag, attrs in tags.opened if tag == "th"]
    assert scopes == ["col"] * 4 + ["row"] * 2
    assert sorted(tag for tag, _ in tags.opened) == sorted(tags.closed)
    assert tags.opened[0][1]["class"].split() == ["accounting-analytics", "tex2jax_ignore", "mathjax_ignore"]
    assert tags.cells[:5] == ["name", "amount", "count", "at", "<Sales>"]
    assert "<Sales>" not in page
    assert '<th scope="row"' not in html_table(frame()[["count", "name"]])


def test_a_long_table_says_what_is_left_out():
    page = html_table(frame(), max_rows=1, rest="ledgers; .frame has all")
    assert page.endswith("<p>1 of 2 ledgers; .frame has all</p>")
    assert page.count("<tr>") == 2
    assert html_table(frame()[:0]).count("<tr>") == 1


def test_a_table_takes_the_colours_of_its_page():
    """The style sets no colour and no height, so that a table is readable in light and dark, and printed whole."""
    assert "max-height" not in TABLE_STYLE
    assert "overflow" not in TABLE_STYLE
    assert "#" not in TABLE_STYLE


def test_days_stay_on_one_line_and_sentences_are_wide():
    """A browser breaks lines at hyphens, and makes columns of sentences narrow beside many others."""
    frame = pd.DataFrame({"day": [pd.Timestamp("2026-05-01")], "name": ["x" * 50], "why": ["a word " * 20]})
    page = html_table(frame)
    assert '<th scope="row" class="text short">2026-05-01</th>' in page
    assert '<td class="text">x' in page
    assert '<td class="text long">a word' in page
    assert ".long { min-width" in TABLE_STYLE
