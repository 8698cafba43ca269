"""The notebooks, run top to bottom against the demo company, and the files of your own books that one reads."""

import re
import shutil
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
    assert page.count('class="accounting-analytics-saved"') + page.count("Plotly.newPlot(") >= charts
    assert company.token not in page + run.notebook.read_text(encoding="utf-8")
    return outputs(run.notebook)


WITH_TESTS_OF_THEIR_OWN = {CASH_FLOW, RECATEGORIZE, STATEMENTS, LOCAL_BOOKS, OWN_BOOKS, REPORT}


@pytest.mark.parametrize("notebook", sorted({path.name for path in NOTEBOOKS} - WITH_TESTS_OF_THEIR_OWN))
def test_runs_top_to_bottom(notebook, checkout, demo_company):
    """Every cell of every notebook runs."""
    check_run(checkout / "notebooks" / notebook, demo_company)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_begins_with_a_question(path):
    """The first paragraph of each notebook asks what the notebook answers, and its first output comes right after."""
    cells = nbformat.read(path, as_version=4).cells
    _, question, *_ = cells[0].source.split("\n\n")
    assert "?" in question
    kinds = [cell.cell_type for cell in cells]
    assert kinds[:3] == ["markdown", "code", "markdown" if path.name == OWN_BOOKS else "code"]


def test_cash_flow_begins_with_the_last_month(checkout, demo_company):
    """The first output is a sentence on the last month; amounts have their currency, and only cash has payees."""
    text = check_run(checkout / "notebooks" / CASH_FLOW, demo_company)
    sentence = "Cash fell by 20,747.72 to 50,175.85 in Jul 2025, after a fall of 20,328.22 in Jun 2025."
    assert sentence in text.partition("display_data")[0]
    assert "Cash flow statement" in text
    assert "days in America/New_York, USD" in text
    assert "Movement of" not in text
    (payees,) = re.findall(r"<th>payee</th>.*?</table>", text)
    assert "GUSTO PAYROLL NET" in payees
    assert not re.search(r"COFFEE SOLD|DEPRECIATION|INVOICE<", payees)


def test_local_books_say_what_was_changed(checkout, demo_company):
    """The notebook of local books names the transaction that it changed, and the next sync finds it."""
    text = check_run(checkout / "notebooks" / LOCAL_BOOKS, demo_company)
    assert "GUSTO PAYROLL NET is now Utilities" in text
    assert "1 line of 1 journal entry in 1 month" in text
    assert "UNSET" not in text


@pytest.mark.long
def test_the_report_names_what_needs_attention(checkout, demo_company):
    """It lists what has no category, who owes, who became dearer, and that the service does not know closed months."""
    text = check_run(checkout / "notebooks" / REPORT, demo_company, **LAST_MONTHS)
    assert "have no category" in text
    assert "M ORTIZ" in text
    assert "Wholesale Receivables by age on 30 Jun 2026" in text
    assert re.search(r"KENT AVE PROPERTIES.*300\.00.*2026-01-01", text)
    assert "Not known: these books were read from the service." in text


def test_statements_are_exported_with_their_entries(checkout, demo_company):
    """The notebook of statements writes its workbook, in which the figures are linked to their entries."""
    text = check_run(checkout / "notebooks" / STATEMENTS, demo_company)
    assert "Income statement" in text
    book = openpyxl.load_workbook(checkout / "notebooks" / "income-statement.xlsx")
    assert book.sheetnames == ["Income statement", "Entries"]
    assert sum(cell.hyperlink is not None for row in book.worksheets[0].iter_rows() for cell in row) > 100


def uncategorized(client, start_date, end_date):
    """Return the ids of the uncategorized transactions of a period."""
    return set(aa.uncategorized_queue(aa.load_books(client, (start_date, end_date)))["transaction_id"])


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
    assert "1 of 2 transactions got a suggestion" in text
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
@pytest.mark.parametrize(
    ("year", "message"),
    [
        (1999, "the first entry of the books is of 2025-01-01, so there is none in 1999-01-01 to 1999-01-31"),
        (2030, r"no cash flow from 2030-01-01 to 2030-01-31 \(America/New_York\)"),
    ],
)
def test_a_period_without_cash_flow_is_named(checkout, demo_company, year, message):
    """The notebook of the export ends with the days before it exports nothing."""
    days = {"start_date": f"{year}-01-01", "end_date": f"{year}-01-31"}
    with pytest.raises(NotebookFailedError, match=message):
        check_run(checkout / "notebooks" / "05_bi_export.ipynb", demo_company, **days)


SECTIONS = {"bank_statement": 2, "quickbooks_journal": 3, "xero_journal": 4}
"""Code cell that reads each file, after the parameters and the checks."""
ESTIMATE = """02/20/2025,Estimate,77,Blue Door Cafe,Pending,Accounts Receivable (A/R),$50.00,
,,,Blue Door Cafe,Pending,Services,,$50.00
,,,,,,$50.00,$50.00
,,,,,,,
"""
WALK_IN = """02/14/2025,Sales Receipt,1044,Walk-in,,Checking,$96.25,
,,,Walk-in,5 bags,Sales of Product Income,,$96.25
,,,,,,$96.25,$96.25
,,,,,,,
"""
RENT = """ID 2043,,,,
11 Mar 2025,469,Rent,900.00,
11 Mar 2025,090,Business Bank Account,,900.00
Total,,,900.00,900.00
,,,,
"""
TOTAL = 'Total,,,"15,717.94"'
DRAFT = """ID 2048,,,,
30 Mar 2025,469,Rent,10.00,
30 Mar 2025,090,Business Bank Account,,10.00
Total,,,10.00,10.00
,,,,
"""
BANK_DAY = "date: expected a day like 03/31/2025, from 2025-03-01 to 2025-03-31, in order, found"
QUICKBOOKS_DAY = "date: expected a day like 02/28/2025, from 2025-01-01 to 2025-02-28, in order, found"
XERO_DAY = "date: expected a day like 31 Mar 2025, from 2025-03-01 to 2025-03-31, in order, found"


def changed(text, old, new):
    """Return a text with another text in the place of one that it has."""
    assert old in text
    return text.replace(old, new)


@pytest.fixture
def refusal(checkout, monkeypatch):
    """Return a function that runs the section of a file with a changed text, and returns why it is refused."""
    cells = nbformat.read(PROJECT / "notebooks" / OWN_BOOKS, as_version=4).cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    monkeypatch.chdir(checkout / "notebooks")

    def refusal(name, old, new, *, in_code=False):
        file = checkout / "data" / "imports" / f"{name}.csv"
        code = sources[SECTIONS[name]]
        if in_code:
            code = changed(code, old, new)
        else:
            file.write_text(changed(file.read_text(encoding="utf-8"), old, new), encoding="utf-8")
        names = {"books": {}}
        exec("\n".join(sources[:2]), names)  # noqa: S102 (our own notebook)
        with pytest.raises(ValueError, match="expected") as refused:
            exec(code, names)  # noqa: S102 (our own notebook)
        return str(refused.value)

    return refusal


def test_the_imported_books_are_what_the_files_state(checkout):
    """The notebook runs, and the services that serve its tables state the balances and lines of the files."""
    run = aa.run_notebook(checkout / "notebooks" / OWN_BOOKS, checkout / "out")
    (*_, last) = nbformat.read(run.notebook, as_version=4).cells
    rows = [line.split() for line in last.outputs[-1].data["text/plain"].splitlines()[-3:]]
    assert rows == [
        ["bank", "16", "16", "5034.11", "5034.11"],
        ["quickbooks", "22", "22", "22314.60", "22314.60"],
        ["xero", "13", "13", "12422.06", "12422.06"],
    ]


BANK = (
    # a missing row breaks a balance
    (
        '03/21/2025,Posted,STAPLES 0093,"POS, OAKLAND CA",-84.19,"2,902.51"\n',
        "",
        "line 9, balance: expected 5136.70, found '5052.51'",
    ),
    (
        '03/31/2025,Posted,SQ *BLUE BTTL 0423,SF CA,-18.40,"5,034.11"\n',
        "",
        "line 8, closing balance: expected 5034.11, found '5052.51'",
    ),
    # a date in another order, also one that can be read, is not of the period or not in the order of the file
    ("03/05/2025", "05/03/2025", f"line 14, {BANK_DAY} '05/03/2025'"),
    ("03/14/2025", "03/30/2025", f"line 10, {BANK_DAY} '03/21/2025'"),
    # a pending row is not taken for a posted one
    ("Pending", "Posted", "line 7, status: expected a balance, as posted rows have, found ''"),
    (
        "Pending,COSTCO GAS 0142,CARD 4471,-61.20,",
        'Posted,COSTCO GAS 0142,CARD 4471,-61.20,"5,034.11"',
        "line 7, balance: expected 4972.91, found '5034.11'",
    ),
    ("-18.40", '"-18,40"', "line 8, Amount: expected an amount like 1,234.50, found '-18,40'"),
    ("-84.19", "84.19", "line 10, balance: expected 3070.89, found '2902.51'"),
)
QUICKBOOKS = (
    (WALK_IN, "", "line 44, total debit: expected 32062.87, found '31966.62'"),
    ("01/08/2025", "08/01/2025", f"line 14, {QUICKBOOKS_DAY} '08/01/2025'"),
    ("TOTAL,", f"{ESTIMATE}TOTAL,", "line 52, total debit: expected 32062.87, found '32112.87'"),
    (",Supplies,", ",Packaging,", "line 37, account: expected an account of the table of paths, found 'Packaging'"),
    (",$68.40,", ",$68.40,$1.00", "line 16, amount: expected an amount like 1,234.50, found '$68.40$1.00'"),
)
XERO = (
    (RENT, "", "line 29, total debit: expected 15717.94, found '14817.94'"),
    ("11 Mar 2025", "Mar 11 2025", f"line 18, {XERO_DAY} 'Mar 11 2025'"),
    (TOTAL, f"{DRAFT}{TOTAL}", "line 39, total debit: expected 15717.94, found '15727.94'"),
    ("469,Rent,900.00,", "469,Rent,,900.00", "line 20, total debit: expected 900.00, found '0.00'"),
)
FILES = {"bank_statement": BANK, "quickbooks_journal": QUICKBOOKS, "xero_journal": XERO}


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name, faults in FILES.items() for fault in faults])
def test_a_damaged_file_is_refused(refusal, name, fault):
    """The line is named, with what was expected and what was found."""
    old, new, message = fault
    assert refusal(name, old, new) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bank_statement", f"line 14, {BANK_DAY} '03/05/2025'".replace("03/31/2025", "31/03/2025")),
        ("quickbooks_journal", f"line 10, {QUICKBOOKS_DAY} '01/03/2025'".replace("02/28/2025", "28/02/2025")),
    ],
)
def test_a_wrong_decision_about_the_day_is_named(refusal, name, message):
    """So is the first date that the other order puts outside the period."""
    assert refusal(name, "%m/%d/%Y", "%d/%m/%Y", in_code=True) == message


@pytest.mark.parametrize("name", SECTIONS)
def test_a_wrong_closing_balance_is_named(refusal, name):
    """The balance that a person takes from the program is compared."""
    assert "balance" in refusal(name, "\nrows = ", "\nclosing += 1\nrows = ", in_code=True)


STATEMENT = "Bank\n\n\n\n\nDate,Status,Payee,Details,Amount,Balance\n"
IMPORT = 5
"""Code cell that imports the tables."""


@pytest.fixture
def bank_file(checkout, monkeypatch):
    """Return a function that imports a bank statement into books that stay, and returns the results and the table."""
    cells = nbformat.read(PROJECT / "notebooks" / OWN_BOOKS, as_version=4).cells
    parameters, checks, section, *_, importing = [cell.source for cell in cells if cell.cell_type == "code"]
    monkeypatch.chdir(checkout / "notebooks")

    def import_bank(days, opening, *rows):
        """Import rows of (day, text, amount), the earliest first, whose balances follow from the opening one."""
        balance, written = Decimal(opening), []
        for day, text, amount in rows:
            balance += Decimal(amount)
            written.insert(0, f"{day},Posted,{text},,{amount},{balance}\n")
        (checkout / "bank.csv").write_text(STATEMENT + "".join(written), encoding="utf-8")
        code = re.sub('"2025-03-01", "2025-03-31"', '"{}", "{}"'.format(*days), section)
        code = code.replace("4210.33", opening).replace("5034.11", str(balance))
        names = {}
        exec(parameters + "\n" + checks, names)  # noqa: S102 (our own notebook)
        names |= {"bank_file": checkout / "bank.csv", "folder": str(checkout)}
        exec(code + "\n" + importing, names)  # noqa: S102 (our own notebook)
        return names["results"].loc["bank"].tolist()

    return import_bank


JANUARY, FEBRUARY, MARCH = (("2025-01-01", "2025-01-31"), ("2025-02-01", "2025-02-28"), ("2025-03-01", "2025-03-31"))
COFFEE, RENT_PAID = ("01/20/2025", "COFFEE", "-4.00"), ("01/20/2025", "RENT", "-900.00")


def test_a_late_row_is_the_only_new_entry(bank_file):
    """A row that a bank adds before others of its day is imported once, and the others, also equal ones, not again."""
    assert bank_file(JANUARY, "1000.00", COFFEE, COFFEE, RENT_PAID) == [8, 8, Decimal("92.00"), Decimal("92.00")]
    late = ("01/20/2025", "A LATE ROW", "-10.00")
    assert bank_file(JANUARY, "1000.00", late, COFFEE, COFFEE, RENT_PAID) == [8, 2, Decimal("82.00"), Decimal("82.00")]
    more = (late, COFFEE, RENT_PAID, COFFEE, COFFEE)
    assert bank_file(JANUARY, "1000.00", *more) == [10, 2, Decimal("78.00"), Decimal("78.00")]


def test_a_month_that_is_missing_between_two_statements(bank_file):
    """The balance that a file begins with is compared with the books before anything of it is imported."""
    bank_file(JANUARY, "1000.00", RENT_PAID)
    march = ("03/05/2025", "COFFEE", "-4.00")
    message = "bank: the file begins with 60.00, but the books have 100.00 on 2025-02-28"
    with pytest.raises(ValueError, match=message):
        bank_file(MARCH, "60.00", march)
    bank_file(FEBRUARY, "100.00", ("02/20/2025", "POWER", "-40.00"))
    assert bank_file(MARCH, "60.00", march) == [2, 2, Decimal("56.00"), Decimal("56.00")]
