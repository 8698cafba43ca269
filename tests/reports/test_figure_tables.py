"""Tables of figures in HTML: their structure, their texts, and the entries that they carry."""

import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from accounting_analytics.reports.figures.figure import figure_of_entries
from accounting_analytics.reports.figures.figure_table import (
    MAX_ENTRIES_BYTES,
    EntriesData,
    FigureCell,
    FigureRow,
    FigureTable,
    TableHead,
    figure_table_html,
    shared_figure_table_html,
)
from accounting_analytics.reports.figures.numbered_lines import EntryTable, PageLines, ShownLine

HOSTILE = "</script><!--<img src=x onerror=\"document.title='owned'\">\u2028$5$"
JSON = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)


def make_lines(lines, names):
    """Return lines of a page: the number of a ledger, day, description, opposing ledgers and units of each."""
    shown = [ShownLine(str(one), day, text, others, units) for one, day, text, others, units in lines]
    return PageLines.of(shown, lambda ledger_id: names[int(ledger_id)])


def make_entries(lines=(), *, name="Rent", terms=None):
    """Return the entries of two ledgers and a figure that has the first and subtracts the last of them."""
    call = "statement[{row!r}, {column!r}].entries"
    figures = {"5010": {"2026-05": [(-1, 0, 0)], "change": [(-1, 0, 0), (1, 1, 1)]}}
    return EntriesData(2, make_lines(lines, [name, "Wages"]), figures, terms or {}, call)


def make_table(entries=None, *, name="Rent", key="5010|2026-05"):
    """Return a table of one section, its subtotal and a total, with every kind of mark."""
    texts = ("(7,900.00)", "\N{EN DASH}", "not known", "1,200.00", "(32.0%)")
    marks = ("", "zero", "unknown", "favourable", "unfavourable")
    keys = (key, "", "", "5010|change", "")
    cells = [FigureCell(*cell) for cell in zip(texts, keys, marks, strict=True)]
    rows = [
        FigureRow("Operating", 0, "heading", ()),
        FigureRow("Premises", 0, "ledger", cells),
        FigureRow(name, 1, "ledger", cells, title=name),
        FigureRow("Net cash flow from operating", 0, "subtotal", cells),
        FigureRow("Net change in cash", 0, "total", cells),
    ]
    heads = [TableHead(text, text.startswith("C")) for text in ("Apr 2026", "May 2026", "Jun 2026", "Change", "C %")]
    return FigureTable("Cash flow statement", f"{name} · US dollars", heads, rows, [f"A note on {name}."], entries)


class Page(HTMLParser):
    """The tags of a page with their attributes, and its texts outside of styles and scripts."""

    def __init__(self, page):
        super().__init__()
        self.opened, self.closed, self.texts, self._raw = [], [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.opened.append((tag, dict(attrs)))
        self._raw = tag in {"style", "script"}

    def handle_endtag(self, tag):
        self.closed.append(tag)
        self._raw = False

    def handle_data(self, data):
        if data.strip() and not self._raw:
            self.texts.append(data.replace("\xa0", " ").strip())


def carried(page):
    return json.loads(JSON.search(page).group(1))


def test_a_table_without_scripts_is_a_normal_table():
    page = Page(figure_table_html(make_table(make_entries())))
    assert sorted(tag for tag, _ in page.opened if tag != "br") == sorted(page.closed)
    scopes = [attrs["scope"] for tag, attrs in page.opened if tag == "th"]
    assert scopes == ["col"] * 5 + ["rowgroup"] + ["row"] * 4
    assert [attrs["colspan"] for tag, attrs in page.opened if attrs.get("scope") == "rowgroup"] == ["6"]
    assert [tag for tag, _ in page.opened].count("tbody") == 2
    assert page.texts[:2] == ["Cash flow statement", "Rent · US dollars"]
    assert page.texts[-2:] == ["A note on Rent.", "F favourable, U unfavourable"]
    assert "button" not in {tag for tag, _ in page.opened}
    figures = [attrs for tag, attrs in page.opened if tag == "td" and "amount" in attrs.get("class", "")][:5]
    assert [attrs["class"] for attrs in figures] == [
        "amount negative",
        "amount zero",
        "amount unknown",
        "amount other up",
        "amount other negative down",
    ]
    assert [attrs.get("data-key") for attrs in figures] == ["5010|2026-05", None, None, "5010|change", None]
    row = page.texts.index("Premises")
    assert page.texts[row : row + 8] == [
        "Premises", "(7,900.00)", "\N{EN DASH}", "not known", "F", "1,200.00", "U", "(32.0%)",
    ]  # fmt: skip
    named = [attrs["title"] for tag, attrs in page.opened if tag == "abbr"]
    assert named[:2] == ["favourable", "unfavourable"]


def test_markup_in_texts_does_nothing():
    lines = [(0, "2026-05-01", HOSTILE, HOSTILE, -1)]
    terms = {"5010|change": [("+", HOSTILE, "1.00")]}
    text = figure_table_html(make_table(make_entries(lines, name=HOSTILE, terms=terms), name=HOSTILE, key=HOSTILE))
    assert HOSTILE not in text
    assert "<img" not in text
    assert text.count("<!--") == 0
    assert "\u2028" not in JSON.search(text).group(1)
    page = Page(text)
    assert [tag for tag, _ in page.opened].count("script") == 2
    shown = HOSTILE.replace("\u2028", "\ufffd")
    assert page.texts.count(shown) == 1
    assert carried(text)["ledgers"][0] == carried(text)["texts"][0] == carried(text)["labels"][0] == shown


def test_entries_are_carried_once():
    lines = [(0, "2026-05-02", "Rent", "Bank", 2**60), (0, "2026-05-01", "Rent", "Bank", -5)]
    terms = {"5020|total": [("+", "Rent", "1.00"), ("-", "Wages", "2.00")], "5020|change": [("+", "Rent", "1.00")]}
    data = carried(figure_table_html(make_table(make_entries(lines, terms=terms))))
    assert data["lines"] == [[0, 0, 0, 1, str(2**60)], [0, 1, 0, 1, -5]]
    assert (data["dates"], data["texts"]) == (["2026-05-02", "2026-05-01"], ["Rent", "Bank"])
    assert data["columns"] == ["2026-05", "change", "total"]
    assert data["figures"] == {"5010": [[-1, 0, 0], [-1, 0, 0, 1, 1, 1], None]}
    assert data["terms"] == {"5020": {"2": [["+", 0, "1.00"], ["-", 1, "2.00"]], "1": [["+", 0, "1.00"]]}}
    assert data["labels"] == ["Rent", "Wages"]


@pytest.mark.parametrize(
    ("line_count", "term_count", "parts"),
    [(10, 10, {"lines", "terms", "call"}), (9000, 10, {"terms", "call"}), (9000, 9000, {"call"})],
)
def test_what_is_too_large_is_replaced_by_the_call(line_count, term_count, parts):
    lines = [(0, "2026-05-01", f"Payment of invoice {number}", "Bank", number) for number in range(line_count)]
    terms = {f"5010|{number}": [("+", "Rent, May 2026", "7,900.00")] for number in range(term_count)}
    text = figure_table_html(make_table(make_entries(lines, terms=terms)))
    assert {"lines", "terms", "call"} & carried(text).keys() == parts
    assert len(JSON.search(text).group(1).encode()) <= MAX_ENTRIES_BYTES


def test_large_table_is_below_400_000_bytes():
    columns = [f"{2024 + month // 12}-{month % 12 + 1:02}" for month in range(24)]
    heads = [TableHead(column, is_comparison=False) for column in columns]
    names = [f"{number:08x}-7c1f-4d55-9a3e-{number:012x}" for number in range(60)]
    rows = [
        FigureRow(f"Ledger {name}", 1, "ledger", [FigureCell("(1,234,567.89)", f"{name}|{one}") for one in columns])
        for name in names
    ]
    texts = "Payment of invoice {} by Dumbo Co-Working"
    lines = [
        (number % 60, f"{columns[number % 24]}-15", texts.format(number), "Operating Account", number)
        for number in range(3000)
    ]
    places = iter(range(0, 2 * 60 * 24, 2))
    figures = {name: {column: [(-1, place := next(places), place + 1)] for column in columns} for name in names}
    entries = EntriesData(2, make_lines(lines, names), figures, {}, "statement[{row!r}, {column!r}].entries")
    table = FigureTable("Cash flow statement", "US dollars", heads, rows, (), entries)
    text = figure_table_html(table)
    assert len(text.encode()) < 400_000
    assert len(carried(text)["lines"]) == 3000


def test_a_table_of_a_page_has_a_name_and_no_data_of_its_own():
    table = make_table()
    text_cells = list(table.rows[1].cells[:4])
    heads = [*table.heads[:4], TableHead("Why", is_comparison=False, is_text=True)]
    rows = [FigureRow("Rent", 0, "ledger", [*text_cells, FigureCell("new counterparty")])]
    page = Page(shared_figure_table_html(table._replace(heads=heads, rows=rows), "bridge"))
    tags = [tag for tag, _ in page.opened]
    assert not {"style", "script", "caption"} & set(tags)
    assert [attrs["aria-label"] for tag, attrs in page.opened if tag == "table"] == ["Cash flow statement"]
    assert [attrs["data-table"] for _, attrs in page.opened if "data-table" in attrs] == ["bridge"]
    assert [tag for tag, attrs in page.opened if "data-text" in attrs] == ["div", "td"]
    assert [attrs["class"] for tag, attrs in page.opened if tag == "th" and "class" in attrs][4:5] == ["text"]


def test_lines_have_the_text_of_their_entry_or_their_own():
    entries = pd.DataFrame(
        {
            "id": ["1", "2", "3", "4"],
            "ledger_id": "rent",
            "figure_amount": [1.0, 2.0, 4.0, 8.0],
            "journal_entry_description": ["Rent of May", None, "", None],
            "description": ["May", "Coffee", "Tea", None],
        }
    )
    figure = figure_of_entries("rent|2026-05", "Rent", entries, scale=2)
    assert [one.description for one in EntryTable([figure]).lines] == ["Rent of May", "Coffee", "Tea", ""]
