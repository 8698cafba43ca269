"""The notebooks, run top to bottom against the demo company."""

import re
from decimal import Decimal
from pathlib import Path

import nbformat
import openpyxl
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import NotebookFailedError

PROJECT = Path(__file__).parent.parent.parent
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
CASH_FLOW, RECATEGORIZE, STATEMENTS = "01_cash_flow.ipynb", "03_recategorize.ipynb", "04_statements.ipynb"
LOCAL_BOOKS, OWN_BOOKS = "06_local_books.ipynb", "07_your_own_books.ipynb"
REPORT = "scheduled_report.ipynb"  # the README's commands run it
MONTHS = {"start_date": "2025-06-01", "end_date": "2025-07-31", "time_zone": "America/New_York"}
"""More than half a year after the first day of the books, which an outlook needs; the later, the more is loaded."""
LAST_MONTHS = {"start_date": "2026-05-01", "end_date": "2026-06-30"}


def outputs(path):
    """Return the text of all outputs of an executed notebook."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(str(output) for cell in cells for output in cell.get("outputs", ()))


def check_run(path, company, **parameters):
    """Run a notebook and check that every cell ran, charts are in the page, and the token is in no file."""
    run = aa.run_notebook(path, path.parent / "out", parameters=MONTHS | parameters, environment=company.environment())
    page = run.html.read_text(encoding="utf-8")
    charts = sum("aa.charts." in cell.source for cell in nbformat.read(run.notebook, as_version=4).cells)
    assert page.count('class="accounting-analytics-saved"') + page.count("Plotly.newPlot(") >= charts
    assert company.token not in page + run.notebook.read_text(encoding="utf-8")
    return outputs(run.notebook)


WITH_TESTS_OF_THEIR_OWN = {CASH_FLOW, RECATEGORIZE, STATEMENTS, LOCAL_BOOKS, OWN_BOOKS, REPORT}


@pytest.mark.parametrize("notebook", sorted({path.name for path in NOTEBOOKS} - WITH_TESTS_OF_THEIR_OWN))
def test_every_cell_of_every_notebook_runs(notebook, checkout, demo_company):
    check_run(checkout / "notebooks" / notebook, demo_company)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_begins_with_a_question(path):
    cells = nbformat.read(path, as_version=4).cells
    _, question, *_ = cells[0].source.split("\n\n")
    assert "?" in question
    kinds = [cell.cell_type for cell in cells]
    assert kinds[:3] == ["markdown", "code", "code"]


def test_cash_flow_begins_with_the_last_month(checkout, demo_company):
    text = check_run(checkout / "notebooks" / CASH_FLOW, demo_company)
    sentence = "Cash fell by 20,747.72 to 50,175.85 in Jul 2025, after a fall of 20,328.22 in Jun 2025."
    assert sentence in text.partition("display_data")[0]
    assert "Cash flow statement" in text
    assert "days in America/New_York, USD" in text
    assert "Movement of" not in text
    (payees,) = re.findall(r"<th>counterparty</th>.*?</table>", text)
    assert "GUSTO PAYROLL NET" in payees
    assert not re.search(r"COFFEE SOLD|DEPRECIATION|INVOICE<", payees)


def test_local_books_say_what_was_changed(checkout, demo_company):
    text = check_run(checkout / "notebooks" / LOCAL_BOOKS, demo_company)
    assert "GUSTO PAYROLL NET is now Utilities" in text
    assert "1 line of 1 journal entry in 1 month" in text
    assert "UNSET" not in text


@pytest.mark.long
def test_the_report_names_what_needs_attention(checkout, demo_company):
    text = check_run(checkout / "notebooks" / REPORT, demo_company, **LAST_MONTHS)
    assert "have no category" in text
    assert "M ORTIZ" in text
    assert "Wholesale Receivables by age on 30 Jun 2026" in text
    assert re.search(r"KENT AVE PROPERTIES.*300\.00.*2026-01-01", text)
    assert "Not known: these books were read from the service." in text


def test_statements_are_exported_with_their_entries(checkout, demo_company):
    text = check_run(checkout / "notebooks" / STATEMENTS, demo_company)
    assert "Income statement" in text
    book = openpyxl.load_workbook(checkout / "notebooks" / "income-statement.xlsx")
    assert book.sheetnames == ["Income statement", "Entries"]
    assert sum(cell.hyperlink is not None for row in book.worksheets[0].iter_rows() for cell in row) > 100


def uncategorized(client, start_date, end_date):
    """Return the ids of the uncategorized transactions of a period."""
    return set(aa.uncategorized_queue(aa.load_books(client, (start_date, end_date)))["transaction_id"])


@pytest.mark.long
def test_recategorization_notebook_as_committed_changes_nothing(checkout, demo_company):
    before = uncategorized(demo_company.client, **LAST_MONTHS)
    assert before
    text = check_run(checkout / "notebooks" / RECATEGORIZE, demo_company, **LAST_MONTHS)
    assert "would_change" in text
    assert "There is no journal yet" in text
    assert "transactions are decided by hand" in text
    assert "Not in the queue, because categorized already or misspelt: mobile-deposit-d321f8" in text
    assert "1 of 2 transactions got a suggestion" in text
    assert re.search(r"Review: \d+ of \d+ transactions decided", text)
    assert "widget-view" not in text
    assert uncategorized(demo_company.client, **LAST_MONTHS) == before
    assert [path.name for path in (checkout / "notebooks").iterdir() if "journal" in path.name] == []


def test_confirmed_recategorization_changes_as_previewed_and_is_taken_back(checkout):
    days = MONTHS["start_date"], MONTHS["end_date"]
    with aa.demo() as company:
        before = uncategorized(company.client, *days)
        text = check_run(checkout / "notebooks" / RECATEGORIZE, company, confirm=True, confirm_undo=True)
        assert uncategorized(company.client, *days) == before
    assert "every figure is as predicted, to the last digit" in text
    assert re.search(r"\d+ done", text)
    assert "Taken back." in text


@pytest.mark.long
@pytest.mark.parametrize(
    ("year", "message"),
    [
        (1999, "the first entry of the books is of 2025-01-01, so there is none in 1999-01-01 to 1999-01-31"),
        (2030, r"no cash flow from 2030-01-01 to 2030-01-31 \(America/New_York\)"),
    ],
)
def test_a_period_without_cash_flow_is_named(checkout, demo_company, year, message):
    days = {"start_date": f"{year}-01-01", "end_date": f"{year}-01-31"}
    with pytest.raises(NotebookFailedError, match=message):
        check_run(checkout / "notebooks" / "05_bi_export.ipynb", demo_company, **days)


def test_files_of_your_own_are_books(checkout):
    run = aa.run_notebook(
        checkout / "notebooks" / OWN_BOOKS, checkout / "out", parameters={"folder": str(checkout / "out")}
    )
    text = outputs(run.notebook)
    assert re.search("Cash at the end.{0,400}5,034.11", text)
    assert "Compared with the rows, and equal: the opening balance, the balance in 7 rows, the closing balance." in text
    assert "Review: 0 of 4 transactions decided" in text
    assert re.search(r"Net income.{0,400}\(2,877.90\)", text)
    assert re.search("Total assets.{0,400}12,422.06", text)
    assert "entries: 8" in text
    found = aa.open_table(checkout / "out" / "bank.csv", time_zone="America/New_York", cash="assets:bank:checking")
    statement = aa.cash_flow_statement(found, "2025-03")
    assert statement.value("ending_cash_balance", statement.columns[0].key) == Decimal("5034.11")
