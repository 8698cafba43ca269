"""Tables of figures in Chromium and JupyterLab: a press on a figure unfolds its entries, and nothing is loaded."""

import nbformat
import pandas as pd
import pytest
from nbconvert import HTMLExporter
from nbformat import v4

import accounting_analytics as aa
from accounting_analytics.notebook_jobs.saved_notebook import notebook_html
from accounting_analytics.reports.figures.figure_table import (
    EntriesData,
    FigureCell,
    FigureRow,
    FigureTable,
    TableHead,
    figure_table_html,
)
from accounting_analytics.reports.figures.numbered_lines import PageLines, ShownLine

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=document.title='owned'>$5$"
FIGURE = "[...document.querySelectorAll('td[data-key=\"{key}\"] > button')].at({number})"
UNFOLDED = "[...document.querySelectorAll('tr.entries')].map(row => row.innerText.split(/[\\t\\n]+/))"
FOREIGN = "performance.getEntriesByType('resource').map(one => one.name).filter(name => !/^(data|blob):/.test(name) \
&& new URL(name).hostname !== '127.0.0.1')"
CELL = "document.querySelector('.jp-CodeCell')"
HUGE = 123_456_789_012_345_678
CODE = """import pandas as pd
import accounting_analytics as aa
aa.cash_flow_statement(pd.read_pickle("books.pickle"), "2026-04/2026-05", compare="change")"""


def line(ledger_id, day, text, units, opposing="Operating Account"):
    return ShownLine(ledger_id, day, text, opposing, units)


def make_table(*, more=0):
    """Return rent and wages of April and May and their change; with `more` lines of wages."""
    lines = [
        line("5010", "2026-05-31", "Refund", -10_000, "Operating Account, Savings"),
        line("5010", "2026-05-01", HOSTILE, 790_000),
        line("5010", "2026-04-01", "Rent of April", 760_000),
        line("5020", "2026-05-15", "Payroll", HUGE),
        *(line("5020", "2026-04-15", f"Payroll {number}", 100) for number in range(more)),
    ]
    of_rent = {"2026-04": [(-1, 2, 2)], "2026-05": [(-1, 0, 1)], "2026-05 change": [(-1, 0, 1), (1, 2, 2)]}
    of_wages = {"2026-04": [(-1, 4, 3 + more)] if more else [], "2026-05": [(-1, 3, 3)]}
    of_wages["2026-05 change"] = [*of_wages["2026-05"], *((1, *one[1:]) for one in of_wages["2026-04"])]
    both = {column: [*of_rent[column], *of_wages[column]] for column in of_rent}
    figures = {"5010": of_rent, "5020": of_wages, "net": both}
    terms = {"5010|%": [("+", "Rent, change", "(200.00)"), ("/", "Rent, Apr 2026", "(7,600.00)")]}
    call = "statement[{row!r}, {column!r}].entries"
    april = f"({more:,}.00)" if more else "\N{EN DASH}"
    texts = {
        "5010": ("(7,600.00)", "(7,800.00)", "(200.00)", "(2.6%)"),
        "5020": (april, "(1,234,567,890,123,456.78)", "\N{EN DASH}", "\N{EN DASH}"),
        "net": ("(7,600.00)", "(1,234,567,890,131,256.78)", "\N{EN DASH}", "\N{EN DASH}"),
    }
    columns = ("2026-04", "2026-05", "2026-05 change", "%")
    cells = {
        row: [FigureCell(text, f"{row}|{column}") for text, column in zip(texts[row], columns, strict=True)]
        for row in texts
    }
    heads = [TableHead(text, is_comparison=text in {"Change", "%"}) for text in ("Apr 2026", "May 2026", "Change", "%")]
    return FigureTable(
        "Cash flow statement",
        "US dollars",
        heads,
        [
            FigureRow("Operating", 0, "heading", ()),
            FigureRow("Rent", 0, "ledger", cells["5010"]),
            FigureRow("Wages", 0, "ledger", cells["5020"]),
            FigureRow("Net cash flow", 0, "subtotal", cells["net"]),
        ],
        ("A note.",),
        EntriesData(2, PageLines.of(lines, {"5010": "Rent", "5020": "Wages"}.get), figures, terms, call),
    )


@pytest.fixture
def shown(browser, tmp_path):
    """Return a function that opens a page with an HTML text."""

    def shown(html, **size):
        (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
        browser.open((tmp_path / "page.html").as_uri(), **size)

    return shown


@pytest.fixture
def unfolded(browser):
    """Return a function that presses a figure with the mouse or a key, and returns the texts of what is unfolded."""

    def unfolded(key, press="mouse", number=0):
        figure = FIGURE.format(key=key, number=number)
        browser.wait_until(figure)
        if press == "mouse":
            browser.click(figure)
        else:
            browser.evaluate(f"{figure}.focus()")
            browser.press(press)
        return browser.evaluate(UNFOLDED)

    return unfolded


def test_a_press_unfolds_the_entries(browser, shown, unfolded):
    shown(figure_table_html(make_table()))
    browser.wait_until(
        "document.querySelector('caption').innerText.endsWith('Press a figure to see what it is made of.')"
    )
    opened = unfolded("5010|2026-05")
    assert opened == [
        [
            *("Rent, May 2026", "Date", "Description", "Opposing ledgers", "Amount"),
            *("2026-05-01", HOSTILE, "Operating Account", "(7,900.00)"),
            *("2026-05-31", "Refund", "Operating Account, Savings", "100.00"),
            *("2 entries", "(7,800.00)"),
        ]
    ]
    expanded = f"{FIGURE.format(key='5010|2026-05', number=0)}.getAttribute('aria-expanded')"
    assert browser.evaluate(expanded) == "true"
    assert unfolded("5010|2026-05", "Enter") == []
    assert browser.evaluate(expanded) == "false"
    assert unfolded("5010|2026-05", "Enter") == opened
    assert unfolded("5010|2026-05", "Space") == []
    assert [text for (*_, text) in unfolded("net|2026-05", "Space")] == ["(1,234,567,890,131,256.78)"]
    assert browser.evaluate("document.title") != "owned"
    assert browser.evaluate(FOREIGN) == []


def test_changes_negate_earlier_months_and_derived_figures_have_terms(shown, unfolded):
    shown(figure_table_html(make_table()))
    (change,) = unfolded("5010|2026-05 change")
    assert change[5:] == [
        *("2026-04-01", "Rent of April", "Operating Account", "7,600.00"),
        *("2026-05-01", HOSTILE, "Operating Account", "(7,900.00)"),
        *("2026-05-31", "Refund", "Operating Account, Savings", "100.00"),
        *("3 entries", "(200.00)"),
    ]
    (percent,) = unfolded("5010|%")  # instead of the other figure of its row
    assert percent == [
        *("Rent, %", "+", "Rent, change", "(200.00)", "\u00f7", "Rent, Apr 2026", "(7,600.00)"),
        *("=", "(2.6%)"),
    ]
    _, net = unfolded("net|2026-05 change")
    assert net[:5] == ["Net cash flow, Change", "Date", "Description", "Ledger", "Opposing ledgers"]
    assert unfolded("5020|2026-05 change")[1][0] == "Wages, Change"  # rows unfold each on its own


def test_figure_of_many_entries_shows_200_and_the_call(shown, unfolded):
    shown(figure_table_html(make_table(more=1234)))
    (opened,) = unfolded("5020|2026-04")
    assert opened.count("2026-04-15") == 200
    call = 'All entries: statement["5020", "2026-04"].entries'
    assert opened[-3:] == ["1,234 entries, the first 200 shown", "(1,234.00)", call]
    shown(figure_table_html(make_table(more=15_000)))
    assert unfolded("5010|2026-05") == [['All entries: statement["5010", "2026-05"].entries']]
    assert unfolded("5010|%")[0][0] == "Rent, %"


def test_a_table_without_entries_has_no_buttons(browser, shown):
    shown(figure_table_html(make_table()._replace(entries=None)))
    browser.wait_until("document.querySelector('.accounting-analytics-figures.ready')")
    assert browser.evaluate("document.querySelectorAll('button, .hint').length") == 0


def test_two_tables_of_a_page_unfold_alone_and_scroll(browser, shown, unfolded):
    shown(2 * figure_table_html(make_table()), width=390)
    assert len(unfolded("5010|2026-05", number=0)) == 1
    assert len(unfolded("5010|2026-05", number=1)) == 2
    assert len(unfolded("5010|2026-05", number=0)) == 1
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = "[...document.querySelectorAll('.scrolled')]"
    assert browser.evaluate(f"{boxes}.every(box => box.scrollWidth > box.clientWidth)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_unfolded_table_is_accessible_in_light_and_dark(browser, shown, unfolded, scheme):
    colors = "<style>:root { color-scheme: light dark } body { background: Canvas; color: CanvasText }</style>"
    shown(f"<html lang=en><title>Page</title>{colors}{figure_table_html(make_table())}", scheme=scheme)
    unfolded("5010|2026-05")
    unfolded("net|%")
    assert browser.accessibility_faults() == []
    browser.evaluate("document.querySelector('thead th').outerHTML = '<th><img src=data:,></th>'")
    assert [rule for rule, *_ in browser.accessibility_faults()] == ["image-alt"]


@pytest.fixture
def notebook(demo_company, tmp_path):
    """Return a notebook of one cell, which shows a statement of the demo company, and the statement."""
    ledgers = aa.discover_ledgers(demo_company.client, "2026-03-01", "2026-05-31")
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], "2026-03-01", "2026-05-31")
    books = aa.Books(lines, ledgers)
    pd.to_pickle(books, tmp_path / "books.pickle")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [v4.new_code_cell(CODE)]
    nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), tmp_path / "statement.ipynb")
    return tmp_path / "statement.ipynb", aa.cash_flow_statement(books, "2026-04/2026-05")


@pytest.mark.long
def test_figures_unfold_in_jupyterlab_and_after_saving(browser, lab, unfolded, notebook):
    path, statement = notebook
    figure = statement["Wages", "2026-05"]
    address = lab(path)
    browser.open(address)
    browser.wait_until(f"{CELL} && !document.querySelector('#jupyterlab-splash')")
    browser.wait_until("document.querySelector('#jp-main-statusbar').innerText.includes('(ipykernel) | Idle')")
    browser.wait_until(f"({CELL}.querySelector('.cm-content')?.focus(), {CELL}.querySelector('.cm-focused'))")
    browser.press("Shift+Enter")
    opened = unfolded(figure.key)
    assert opened[0][-2:] == [f"{len(figure.entries)} entries", statement.text(*figure.key.split("|"))]
    assert unfolded(figure.key, "Enter") == []
    browser.press("Control+s")
    browser.wait_until("!document.querySelector('.jp-mod-dirty')")
    assert figure.key in path.read_text(encoding="utf-8")
    browser.open(address)
    assert unfolded(figure.key, "Space") == opened
    assert browser.evaluate(FOREIGN) == []


@pytest.mark.parametrize("exporter", ["ours", "nbconvert"])
def test_figures_unfold_in_exported_notebooks(browser, shown, unfolded, exporter):
    outputs = [v4.new_output("display_data", {"text/html": figure_table_html(make_table())})]
    notebook = v4.new_notebook(cells=[v4.new_code_cell("statement", outputs=outputs)])
    is_ours = exporter == "ours"
    shown(notebook_html(notebook, title="page") if is_ours else HTMLExporter().from_notebook_node(notebook)[0])
    assert unfolded("5010|2026-05")[0][-2:] == ["2 entries", "(7,800.00)"]
    assert browser.evaluate("document.title") != "owned"
    assert not is_ours or browser.evaluate(FOREIGN) == []
