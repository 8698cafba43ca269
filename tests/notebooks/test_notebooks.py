"""The notebooks, run top to bottom against the demo company."""

import re
import shutil
from pathlib import Path

import nbformat
import openpyxl
import pytest
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core.errors import NotebookFailedError

PROJECT = Path(__file__).parent.parent.parent
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
RECATEGORIZE, STATEMENTS, OWN_BOOKS = "03_recategorize.ipynb", "04_statements.ipynb", "07_your_own_books.ipynb"
REPORT = "scheduled_report.ipynb"  # the README's commands run it
MONTHS = {"start_date": "2025-06-01", "end_date": "2025-07-31", "time_zone": "America/New_York"}
"""More than half a year after the first day of the books, which an outlook needs; the later, the more is loaded."""
LAST_MONTHS = {"start_date": "2026-05-01", "end_date": "2026-06-30"}


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with the notebooks and the files they read."""
    for folder in ("data", "notebooks"):
        shutil.copytree(PROJECT / folder, tmp_path / folder)
    return tmp_path


def outputs(path):
    """Return the text of all outputs of an executed notebook."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(str(output) for cell in cells for output in cell.get("outputs", ()))


def check_run(path, company, **parameters):
    """Run a notebook and check that every cell ran, charts are in the page, and the token is in no file."""
    run = aa.run_notebook(path, path.parent / "out", parameters=MONTHS | parameters, environment=company.environment())
    page = run.html.read_text(encoding="utf-8")
    charts = sum("aa.charts." in cell.source for cell in nbformat.read(run.notebook, as_version=4).cells)
    assert page.count("Plotly.newPlot(") >= charts
    assert company.token not in page + run.notebook.read_text(encoding="utf-8")
    return outputs(run.notebook)


WITH_TESTS_OF_THEIR_OWN = {RECATEGORIZE, STATEMENTS, OWN_BOOKS, REPORT}


@pytest.mark.parametrize(
    "notebook", [*sorted({path.name for path in NOTEBOOKS} - WITH_TESTS_OF_THEIR_OWN), *also_long(REPORT)]
)
def test_runs_top_to_bottom(notebook, checkout, demo_company):
    """Every cell of every notebook runs."""
    check_run(checkout / "notebooks" / notebook, demo_company)


def test_statements_are_exported_with_their_entries(checkout, demo_company):
    """The notebook of statements writes its workbook, in which the figures are linked to their entries."""
    text = check_run(checkout / "notebooks" / STATEMENTS, demo_company)
    assert "Income statement" in text
    book = openpyxl.load_workbook(checkout / "notebooks" / "income-statement.xlsx")
    assert book.sheetnames == ["Income statement", "Entries"]
    assert sum(cell.hyperlink is not None for row in book.worksheets[0].iter_rows() for cell in row) > 100


def uncategorized(client, start_date, end_date):
    """Return the ids of the uncategorized transactions of a period."""
    ledgers = aa.discover_ledgers(client, start_date, end_date)
    lines = aa.load_line_entries(client, ledgers["id"], start_date, end_date)
    return set(aa.uncategorized_queue(lines, ledgers)["transaction_id"])


@pytest.mark.long
def test_run_all_changes_nothing(checkout, demo_company):
    """The recategorization notebook as committed runs, changes no category and writes no journal."""
    before = uncategorized(demo_company.client, **LAST_MONTHS)
    assert before
    text = check_run(checkout / "notebooks" / RECATEGORIZE, demo_company, **LAST_MONTHS)
    assert "would_change" in text
    assert "There is no journal yet" in text
    assert "transactions are decided by hand" in text
    assert "Not in the queue, because categorized already or misspelt: mobile-deposit-0f44df" in text
    assert "is dead: it matches no transaction" in text
    assert "There are no suggestions: a precision of 98.0% can be checked from" in text
    assert re.search(r"Review: \d+ of \d+ transactions decided", text)
    assert "widget-view" not in text
    assert uncategorized(demo_company.client, **LAST_MONTHS) == before
    assert [path.name for path in (checkout / "notebooks").iterdir() if "journal" in path.name] == []


def test_confirmed_recategorization_changes_as_previewed_and_is_taken_back(checkout):
    """With confirm the notebook applies the plan and compares the reports; with confirm_undo it takes that back."""
    days = MONTHS["start_date"], MONTHS["end_date"]
    with aa.demo() as company:
        before = uncategorized(company.client, *days)
        text = check_run(checkout / "notebooks" / RECATEGORIZE, company, confirm=True, confirm_undo=True)
        assert uncategorized(company.client, *days) == before
    assert "every figure is as predicted, to the last digit" in text
    assert re.search(r"\d+ done", text)
    assert "Taken back." in text


@pytest.mark.long
def test_a_period_without_cash_flow_is_named(checkout, demo_company):
    """The notebook of the export ends with the days before it exports nothing."""
    days = {"start_date": "1999-01-01", "end_date": "1999-01-31"}
    with pytest.raises(NotebookFailedError, match=r"no cash flow from 1999-01-01 to 1999-01-31 \(America/New_York\)"):
        check_run(checkout / "notebooks" / "05_bi_export.ipynb", demo_company, **days)
