"""Books of a file without a service: what it states, the figures of the same file imported and loaded, and refusals."""

import csv
import datetime as dt
import hashlib
import io
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.errors import (
    AccountingAnalyticsError,
    ImportRefusedError,
    IncompleteLoadError,
    InputError,
)

DATA = Path(__file__).parents[2] / "data"
ZONE = "America/New_York"
CASH = ["assets:bank*", "liabilities:card"]
COLUMNS = ("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount")
SUFFIX = re.compile(r"-[0-9a-f]{12}(?=$|-)")
"""End of the ids that an import derives from a file."""
IDS = ["id", "ledger_id", "transaction_id", "related_line_entry_id", "opposing_ledger_ids", "tag_ids", "tag_group_ids"]
"""Columns with ids, which are others in each instance."""
SAMPLES = {
    "sample_lines.csv": CASH,
    "sample.journal": ["assets:bank*", "liabilities:credit card"],
    "imports/books.beancount": ["Assets:Bank*", "Liabilities:Card"],
}


def opened(file, cash, **options):
    is_table = file.suffix in {".csv", ".parquet"}
    return (aa.open_table if is_table else aa.open_journal)(file, time_zone=ZONE, cash=cash, **options)


def imported(posted_books, file, cash, currency=None, **options):
    """Import a file into new books of the embedded service, and load them."""
    access = posted_books.import_file(file, cash=cash, time_zone=ZONE, **options)
    with access.client(time_zone=ZONE, currency=currency) as client:
        return aa.load_books(client, progress=False)


def plain_lines(books):
    """Lines without what differs between instances: accounts by path, entries by the id in the file."""
    lines, path = books.lines, books.names.path
    plain = lines.assign(
        account=lines["ledger_id"].map(path),
        journal_entry_id=lines["journal_entry_id"].str.replace(SUFFIX, "", regex=True),
        entry_lines=lines["journal_entry_line_entry_ids"].str.replace(SUFFIX, "", regex=True),
        line=lines["id"].str.replace(SUFFIX, "", regex=True),
        opposing=lines["opposing_ledger_ids"].map(lambda text: "|".join(map(path, filter(None, text.split("|"))))),
        has_transaction=lines["transaction_id"].notna(),
        has_related=lines["related_line_entry_id"].notna(),
    ).drop(columns=[*IDS, "journal_entry_line_entry_ids"])
    plain.attrs = {}
    return plain.sort_values("line", ignore_index=True)


def plain_ledgers(books):
    """Ledgers by path, without ids and how they were found."""
    ledgers = books.ledgers
    plain = ledgers.assign(path=ledgers["id"].map(books.names.path))
    plain = plain.drop(columns=["id", "parent_id", "parent_known", "created_at", "found_by"])
    plain.attrs = {}
    return plain.sort_values("path", ignore_index=True)


def tables(books, period):
    """Texts of statements without their notes, or why there is none."""
    found = []
    for statement in (aa.income_statement, aa.balance_sheet, aa.cash_flow_statement, aa.trial_balance):
        try:
            found.append(statement(books, period, columns="month").explain().partition("\nNote:")[0])
        except AccountingAnalyticsError as error:
            found.append(str(error))
    return found


def assert_same(found, loaded, period):
    """Check lines, ledgers, opening and statements of opened books against those of a service."""
    pd.testing.assert_frame_equal(plain_lines(found), plain_lines(loaded))
    pd.testing.assert_frame_equal(plain_ledgers(found), plain_ledgers(loaded))
    assert found.opening._replace(equity=()) == loaded.opening._replace(equity=())
    names = [[books.names.path(one) for one in books.opening.equity] for books in (found, loaded)]
    assert names[0] == names[1]
    assert set(names[0]) <= {"Opening Balance Retained Earnings"}
    assert found.opening.basis == "first entry"
    assert tables(found, period) == tables(loaded, period)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_have_the_figures_of_an_import(name, posted_books):
    if name.endswith(".journal") and shutil.which("hledger") is None:
        pytest.skip("hledger is not installed")
    file, cash = DATA / name, SAMPLES[name]
    found = opened(file, cash)
    assert_same(found, imported(posted_books, file, cash, found.currency), found.period)


def test_opened_books_state_source_days_and_opening(tmp_path):
    file = tmp_path / "lines.csv"
    shutil.copy(DATA / "sample_lines.csv", file)
    books = opened(file, CASH, company="Kent Ltd", currency="USD", fiscal_year_start_month=4)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert books.extent.source == f"lines.csv (sha256 {digest})"
    assert books.extent.is_file
    assert books.extent.rows == len(books.lines) == 19
    assert (books.extent.days.start_date, books.extent.days.end_date) == (dt.date(2025, 1, 1), dt.date(2025, 2, 28))
    assert books.opening.sentence() == "Balances are sums since 1 Jan 2025, the first day of the books."
    assert (books.scale, books.time_zone, books.fiscal_year_start_month) == (2, ZONE, 4)
    assert {"open-1", "rent-1-2"} < set(books.lines["id"])
    assert "txn-rent-1" in set(books.lines["transaction_id"])
    pd.testing.assert_frame_equal(opened(file, CASH).lines, books.lines)
    text = aa.balance_sheet(books, "2025-02").explain()
    assert "Kent Ltd" in text
    assert "USD" in text
    note = f"The 17 ledgers are those with entries in lines.csv (sha256 {digest}), and their parents."
    assert note in aa.balance_sheet(books, "2025-02").notes
    assert aa.check_completeness(books).complete


@pytest.mark.hledger
def test_a_journal_states_its_currency(tmp_path):
    file = tmp_path / "books.journal"
    file.write_text("2025-01-01 Rent\n    expenses:rent   EUR 5.00\n    assets:bank\n", encoding="utf-8")
    assert opened(file, ["assets:bank"]).currency == "EUR"
    assert opened(file, ["assets:bank"], currency="euro").currency == "euro"
    with pytest.raises(ImportRefusedError, match="its amounts are in EUR, and --currency"):
        opened(file, ["assets:bank"], currency="USD")
    file.write_text(file.read_text(encoding="utf-8").replace("EUR ", "$"), encoding="utf-8")
    assert opened(file, ["assets:bank"]).currency is None


def test_days_around_the_entries_are_known():
    file = DATA / "sample_lines.csv"
    months = aa.income_statement(opened(file, CASH, period="2024-12/2025-12"), columns="month")
    assert [str(months.value("net_income", one.key)) for one in months.columns] == ["None", "2064.30", *["0.00"] * 11]
    with pytest.raises(IncompleteLoadError, match=r"the load covers Jan 2025 to Feb 2025.* opened with period="):
        aa.income_statement(opened(file, CASH), "2025-03")


def write(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    return path


ACCOUNTS = (
    "assets:bank:checking",
    "assets:bank:savings",
    "assets:receivable",
    "equity:opening",
    "equity:owner",
    "expenses:food",
    "expenses:premises:rent",
    "income:interest",
    "income:sales",
    "liabilities:card",
    "liabilities:loan",
)
MONTHS = "2024-11/2025-03"
DAYS = st.dates(dt.date(2024, 11, 1), dt.date(2025, 3, 31))
ENTRIES = st.lists(
    st.tuples(
        DAYS,
        st.integers(0, 1439),
        st.lists(st.tuples(st.sampled_from(ACCOUNTS), st.integers(-(10**7), 10**7)), min_size=1, max_size=4),
        st.sampled_from(ACCOUNTS),
    ),
    max_size=8,
)
CONNECTED = (dt.date(2024, 11, 5), 720, [(account, 100) for account in ACCOUNTS[1:]], ACCOUNTS[0])
"""An entry with every account: a service shows only those that entries connect to cash."""


def posted(entries):
    """Legs of each entry, which balance, without entries on one side only."""
    for day, minute, legs, last in entries:
        yield day, minute, [*legs, (last, -sum(cents for _, cents in legs))]


@settings(settings.get_profile("slow"))
@given(entries=ENTRIES)
def test_any_table_has_the_figures_of_an_import(entries, posted_books, tmp_path_factory):
    rows = []
    for number, (day, minute, legs) in enumerate(posted([CONNECTED, *entries])):
        instant = f"{day}T{minute // 60:02}:{minute % 60:02}:00Z"
        for account, cents in legs:
            side = "debit" if cents >= 0 else "credit"
            rows.append((f"e{number:02}", instant, f"entry {number}", account, side, f"{abs(cents)}e-2"))
    file = write(tmp_path_factory.mktemp("tables") / "lines.csv", rows)
    assert_same(opened(file, CASH, period=MONTHS), imported(posted_books, file, CASH), MONTHS)


@pytest.mark.hledger
@settings(settings.get_profile("slow"))
@given(entries=ENTRIES)
def test_any_journal_has_the_figures_of_an_import(entries, posted_books, tmp_path_factory):
    text = io.StringIO()
    for day, _, legs in posted([CONNECTED, *entries]):
        postings = "".join(f"    {account}  ${cents / 100:.2f}\n" for account, cents in legs)
        text.write(f"{day} * Entry\n{postings}\n")
    file = tmp_path_factory.mktemp("journals") / "books.journal"
    file.write_text(text.getvalue(), encoding="utf-8")
    assert_same(opened(file, CASH, period=MONTHS), imported(posted_books, file, CASH), MONTHS)


def test_what_only_a_service_can_do_is_refused():
    books = opened(DATA / "sample_lines.csv", CASH)
    queue = aa.uncategorized_queue(books)
    assert list(queue["description"]) == ["SQ *BLUE BTTL 0423 SF CA"]
    proposals = aa.decide(queue, {"txn-card-1": "supplies"}, books)
    review = aa.review(books, queue, proposals=proposals)
    for attempt in (
        lambda: aa.reconcile(books),
        lambda: books.refresh(None),
        lambda: aa.plan_recategorization(proposals, books),
        review.plan,
    ):
        with pytest.raises(InputError, match=r"read from sample_lines.csv \(sha256 .*import the file and serve it"):
            attempt()


def test_results_work_without_a_service(tmp_path):
    books = opened(DATA / "sample_lines.csv", CASH)
    assert "2025" in aa.bridge(books, "2025-02", against="2025-01").summary()
    assert len(aa.register(books, "checking")) == 5
    aa.export(books, tmp_path / "bi", "2025-02")
    assert aa.verify_export(tmp_path / "bi").verified
    notes = pd.read_parquet(tmp_path / "bi" / "current" / "dim_load.parquet").astype(str).to_string()
    assert "calculated from sample_lines.csv (sha256 " in notes
    assert "receivable" in aa.charts.waterfall(aa.recompute_cash_flow(books, "2025-02")).to_html()


def test_a_pack_claims_no_proof(tmp_path):
    books = opened(DATA / "sample_lines.csv", CASH, company="Kent Ltd")
    pack = aa.monthly_pack(books, "2025-02")
    assert not pack.proven
    assert pack.proof == f"calculated from {books.extent.source}"
    assert pack.verdict.startswith("Calculated from sample_lines.csv (sha256 ")
    pack.save(tmp_path / "february.html")
    page = (tmp_path / "february.html").read_text(encoding="utf-8")
    assert "proven" not in re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    checked = aa.verify_pack(tmp_path / "february.html")
    assert checked.verified
    assert checked.figures > 100
    assert checked.verdict == pack.proof
    (tmp_path / "forged.html").write_text(page.replace(f"{pack.proof}</strong>", "cash flow proven</strong>"))
    assert not aa.verify_pack(tmp_path / "forged.html").verified


ROW = ("e1", "2025-01-02", "Sale", "assets:bank", "debit", "1.00")
OTHER = ("e1", "2025-01-02", "Sale", "income:sales", "credit", "1.00")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [ROW, (*OTHER[:5], "0.99")],
            r"line 2: entry 'e1' \(2 lines\) does not balance: .* by 0.01",
        ),
        ([ROW, (*OTHER[:5], "1,00")], r"line 3: '1,00' is not an amount"),
        ([("a|b", *ROW[1:]), ("a|b", *OTHER[1:])], r"line 2: entry id 'a\|b' contains '\|'"),
        (
            [(*ROW[:5], "1e14"), (*OTHER[:5], "1e14")],
            r"line 2: amount 100,000,000,000,000.00 is too large",
        ),
        (
            [(*ROW[:2], "a\0b", *ROW[3:]), (*OTHER[:2], "a\0b", *OTHER[3:])],
            r"line 2: description must be Unicode text",
        ),
        (
            [(*ROW[:1], "0001-01-01", *ROW[2:]), (*OTHER[:1], "0001-01-01", *OTHER[2:])],
            "too close to the end",
        ),
        ([(*ROW[:3], "bank", *ROW[4:]), OTHER], r"line 2: account 'bank' is neither a ledger of the books nor a path"),
        ([ROW, OTHER], r"no account reports cash flow, .* likely: assets:bank: give .*cash=\['assets:bank'\]"),
    ],
)
def test_bad_rows_are_refused(rows, message, tmp_path):
    with pytest.raises(ImportRefusedError, match=rf"^lines.csv: nothing was read: .*{message}"):
        aa.open_table(write(tmp_path / "lines.csv", rows), time_zone=ZONE)


def test_bad_arguments_are_refused(tmp_path):
    file = write(tmp_path / "lines.csv", [ROW, OTHER])
    for attempt, message in (
        (lambda: aa.open_journal(file, time_zone=ZONE), "is not a journal by the end of its name .* with open_table"),
        (lambda: aa.open_table("a.journal", time_zone=ZONE), "it is a journal .*: open it with open_journal"),
        (lambda: aa.open_table(tmp_path / "none.csv", time_zone=ZONE), "it cannot be read"),
        (lambda: aa.open_table(file, time_zone=ZONE, cash="assets:till"), "matches no account; the accounts are"),
        (lambda: aa.open_table(file, time_zone="New York", cash=[]), "New York"),
        (lambda: aa.open_table(file, time_zone=ZONE, cash=[], scale=11), "scale must be a whole number"),
        (lambda: aa.open_table(file, time_zone=ZONE, cash=[], midnights="noon"), "midnights is 'noon'"),
        (lambda: aa.open_journal("a.journal", time_zone=ZONE, roots=[("a", "b")]), "roots is of type list"),
    ):
        with pytest.raises(InputError, match=message):
            attempt()
    assert not aa.open_table(file, time_zone=ZONE, cash=[]).ledgers["report_cash_flow"].any()


@pytest.mark.hledger
def test_included_files_are_named(tmp_path):
    (tmp_path / "more.journal").write_text("2025-01-03 B\n    assets:bank  $1.00\n    income:sales\n")
    file = tmp_path / "books.journal"
    file.write_text("include more.journal\n2025-01-02 A\n    assets:bank  $2.00\n    income:sales\n")
    note = "Entries of included files, which the sha256 does not cover: more.journal."
    assert opened(file, "assets:bank").notes == (note,)


OPENED = (
    "2025-01-01 * Start\n    assets:bank  $10,000.00\n    {}\n\n"
    "2025-01-09 * Sale\n    assets:bank  $2,500.00\n    income:sales\n"
)


def inflow_of_january(books):
    """Cash in of January, as the chart draws it."""
    report = aa.recompute_cash_flow(books, "2025-01")
    return aa.charts.inflow_outflow(report, by="month", ledgers=books.ledgers).frame["Inflow"].sum()


@pytest.mark.hledger
def test_opening_balances_are_no_inflow(tmp_path):
    file = tmp_path / "books.journal"
    file.write_text(OPENED.format("equity:opening balances"), encoding="utf-8")
    assert inflow_of_january(opened(file, "assets:bank")) == 2500
    assert inflow_of_january(opened(file, "assets:bank", opening_ledgers=[])) == 12_500
    file.write_text(OPENED.format("equity:start"), encoding="utf-8")
    assert inflow_of_january(opened(file, "assets:bank")) == 12_500
    assert inflow_of_january(opened(file, "assets:bank", opening_ledgers="equity:start")) == 2500
    with pytest.raises(ImportRefusedError, match="opening pattern 'equity:none' matches no account"):
        opened(file, "assets:bank", opening_ledgers="equity:none")
    with pytest.raises(ImportRefusedError, match="an opening pattern matches 'assets:bank': only accounts of equity"):
        opened(file, "assets:bank", opening_ledgers="assets:*")


def test_what_a_pad_takes_is_an_opening_balance(tmp_path):
    """The account of equity that beancount pads from is that of opening balances, whatever its name."""
    file = tmp_path / "books.beancount"
    file.write_text(
        "".join(f"2025-01-01 open {one} USD\n" for one in ("Assets:Bank", "Equity:Start", "Income:Sales"))
        + "2025-01-01 pad Assets:Bank Equity:Start\n2025-01-02 balance Assets:Bank 10000.00 USD\n"
        + '2025-01-09 * "Sale"\n  Assets:Bank  2500.00 USD\n  Income:Sales\n',
        encoding="utf-8",
    )
    books = opened(file, "Assets:Bank")
    assert inflow_of_january(books) == 2500
    assert inflow_of_january(opened(file, "Assets:Bank", opening_ledgers=[])) == 12_500
