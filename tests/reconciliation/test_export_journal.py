"""Line entries as a journal: hledger reads every line back, whatever the names; what is incomplete is refused."""

import datetime as dt
from decimal import Decimal
from urllib.parse import unquote

import duckdb
import pandas as pd
import polars as pl
import pytest
from books_strategy import CASH, ledger_frame, line_table
from hledger_journals import AWKWARD, account_balances, awkward_books, printed, run
from hypothesis import given, settings
from naive_statements import NaiveBooks, NaiveLedger, NaiveLine

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, IncompleteLoadError, InputError
from accounting_analytics.reconciliation.hledger_journal import account_names
from accounting_analytics.reports.ledger_tree import LedgerTree

NOON = dt.datetime(2025, 1, 31, 12, tzinfo=dt.UTC)
RENT = NaiveLedger("rent", "Rent", "expense", "operating_expenses")


def entry(*lines, ledgers=(*CASH, RENT)):
    """Books with one entry of (ledger, units, hours after noon) lines, in New York."""
    rows = [
        NaiveLine(f"le{number}", ledger, "je,1", NOON + dt.timedelta(hours=hours), units)
        for number, (ledger, units, hours) in enumerate(lines)
    ]
    return NaiveBooks(ledgers, rows, "America/New_York")


def journal_of(naive, **options):
    """Journal of naive books, of which the frame states nothing."""
    return aa.export_journal(line_table(naive), ledger_frame(naive), time_zone=naive.zone, **options)


PAID = entry(("bank", -100, 0), ("rent", 100, 0))


def test_the_text():
    """Accounts have types and ids, entries their day, id and description, lines all digits and their ids."""
    text = journal_of(entry(("bank", -123450, 0), ("rent", 100000, 0), ("card", 23450, 16)), scale=2)
    assert text == (
        "; Days in America/New_York; debits are positive.\n"
        "\ndecimal-mark .\n\n"
        "account Bank  ; type: C, ledger_id: bank\n"
        "account Card  ; type: L, ledger_id: card\n"
        "account Rent  ; type: X, ledger_id: rent\n"
        "\n2025-01-31 (je%2C1) Entry je,1\n"
        "    Bank    -1234.50  ; id: le0\n"
        "    Rent    1000.00  ; id: le1\n"
        "    Card    234.50  ; id: le2\n"
    )


def test_a_line_of_a_later_local_day_has_a_posting_date():
    """An entry over midnight is dated by its first line; which day that is depends on the zone."""
    naive = entry(("bank", -100, 0), ("rent", 100, 17))
    assert "    Rent    1.00  ; id: le1, date: 2025-02-01\n" in journal_of(naive)
    assert "date:" not in aa.export_journal(line_table(naive), ledger_frame(naive), time_zone="Pacific/Auckland")
    assert "\n2025-01-31 (" in journal_of(naive)


@pytest.mark.hledger
def test_hledger_counts_a_posting_on_its_own_day(tmp_path):
    """The balance at the end of January has one line of the entry, that of February both."""
    (tmp_path / "a.journal").write_text(journal_of(entry(("bank", -100, 0), ("rent", 100, 17))), encoding="utf-8")
    for end, expected in (("2025-02-01", "-1.00  Bank"), ("2025-02-02", "-1.00  Bank\n                1.00  Rent")):
        assert run("hledger", "-f", str(tmp_path / "a.journal"), "balance", "-N", "-e", end).strip() == expected


@pytest.mark.hledger
@settings.get_profile("slow")
@given(awkward_books())
def test_hledger_reads_every_line_back(tmp_path_factory, naive):
    """Lines, days, amounts, ids and account names are those of the books; balances are the sums of `signed`."""
    path = tmp_path_factory.mktemp("journal") / "books.journal"
    frames = line_table(naive), ledger_frame(naive)
    assert aa.export_journal(*frames, path, time_zone=naive.zone) is None
    accounts = account_names(LedgerTree.from_frame(frames[1]))
    ledger_ids = {account: ledger_id for ledger_id, account in accounts.items()}
    declared = run("hledger", "-f", str(path), "accounts", "--declared").splitlines()
    assert {unquote(one) for one in declared} == {unquote(one) for one in accounts.values()}
    found = {}
    for transaction in printed(path):
        for posting in transaction["tpostings"]:
            (amount,) = posting["pamount"]
            day = posting["pdate"] or transaction["tdate"]
            line_id = unquote(dict(posting["ptags"])["id"])
            units = amount["aquantity"]["decimalMantissa"] * 10 ** (2 - amount["aquantity"]["decimalPlaces"])
            found[line_id] = (ledger_ids[posting["paccount"]], unquote(transaction["tcode"]), day, units)
    assert found == {one.id: (one.ledger, one.entry, str(naive.days[one.id]), one.units) for one in naive.lines}
    sums = dict.fromkeys(accounts, Decimal(0))
    for one in naive.lines:
        sums[one.ledger] += Decimal(one.units) / 100
    balances = {ledger_ids[account]: amount for account, amount in account_balances(path).items()}
    assert {key: amount for key, amount in balances.items() if amount} == {key: one for key, one in sums.items() if one}


@pytest.mark.hledger
def test_awkward_names_stay_apart(tmp_path):
    """Each awkward name is one account for hledger, as a root and below another; none is another in upper case."""
    chart = [NaiveLedger(f"r{number}", name, "asset", "x") for number, name in enumerate(AWKWARD)]
    chart += [NaiveLedger(f"c{number}", name, "asset", "x", parent="r0") for number, name in enumerate(AWKWARD)]
    lines = [NaiveLine(f"le{place}", one.id, "je", NOON, place) for place, one in enumerate(chart, 1)]
    total = sum(line.units for line in lines)
    naive = NaiveBooks([*chart, RENT], [*lines, NaiveLine("le0", "rent", "je", NOON, -total)], "UTC")
    (tmp_path / "a.journal").write_text(journal_of(naive), encoding="utf-8")
    accounts = account_names(LedgerTree.from_frame(ledger_frame(naive)))
    assert len({one.upper().lower() for one in accounts.values()}) == len(chart) + 1
    expected = {accounts[one.ledger]: Decimal(one.units) / 100 for one in naive.lines}
    assert account_balances(tmp_path / "a.journal") == expected


def test_siblings_with_the_same_name_have_their_ids():
    """Only siblings that differ in nothing but case have ids; their children are below the right one."""
    chart = [
        *(NaiveLedger("a", "Fees", "expense", "x"), NaiveLedger("b", "FEES", "expense", "x")),
        *(NaiveLedger("c", "Fees", "expense", "x", parent="b"), NaiveLedger("d", "Fees a", "expense", "x")),
    ]
    accounts = account_names(LedgerTree.from_frame(ledger_frame(NaiveBooks(chart, [], "UTC"))))
    assert accounts == {"a": "Fees a_", "b": "FEES b", "c": "FEES b:Fees", "d": "Fees a"}


def test_entries_that_do_not_balance_are_refused(tmp_path):
    """Where lines of an entry are missing nothing is written, and the message names the entries."""
    frames = line_table(entry(("bank", -100, 0))), ledger_frame(entry())
    with pytest.raises(
        IncompleteLoadError, match=r"1 journal entry does not balance, .* je,1; load the lines of every"
    ):
        aa.export_journal(*frames, tmp_path / "a.journal", time_zone="UTC")
    assert not list(tmp_path.iterdir())


def test_lines_that_cannot_be_told_apart_are_refused():
    """A line that occurs twice, a missing id and a ledger that is not in the chart are refused."""
    lines, ledgers = line_table(PAID).to_pandas(), ledger_frame(PAID)
    with pytest.raises(FrameError, match="occurs more than once: le0, le1"):
        aa.export_journal(pd.concat([lines, lines]), ledgers, time_zone="UTC")
    with pytest.raises(FrameError, match="'id' is null"):
        aa.export_journal(lines.assign(id=["le0", None]), ledgers, time_zone="UTC")
    with pytest.raises(FrameError, match="1 ledger of the line entries not in ledgers: rent"):
        aa.export_journal(lines, ledgers[ledgers["id"] != "rent"], time_zone="UTC")


def test_a_file_has_the_same_text(tmp_path):
    """With a path the text is written completely; a folder that does not exist is named."""
    frames = line_table(PAID), ledger_frame(PAID)
    assert aa.export_journal(*frames, tmp_path / "a.journal", time_zone="UTC") is None
    assert (tmp_path / "a.journal").read_text(encoding="utf-8") == aa.export_journal(*frames, time_zone="UTC")
    with pytest.raises(InputError, match=r"absent.*cannot be written"):
        aa.export_journal(*frames, tmp_path / "absent" / "a.journal", time_zone="UTC")


@pytest.mark.parametrize("engine", ["pandas", "decimal", "polars", "lazy", "duckdb"])
def test_engines_write_the_same(engine):
    """The journal is the same for every engine, and for float64 as for decimals."""
    naive = entry(("bank", -123450, 0), ("rent", 100000, 0), ("card", 23450, 16))
    table = line_table(naive, decimals=engine in {"decimal", "duckdb"})
    frame = {
        "pandas": table.to_pandas,
        "decimal": lambda: table,
        "polars": lambda: pl.from_arrow(table),
        "lazy": lambda: pl.from_arrow(table).lazy(),
        "duckdb": lambda: duckdb.from_arrow(table),
    }[engine]()
    assert aa.export_journal(frame, ledger_frame(naive), time_zone=naive.zone, scale=2) == journal_of(naive, scale=2)


@pytest.mark.parametrize(("scale", "text"), [(0, "123450"), (3, "123.450"), (10, "0.0000123450")])
def test_amounts_have_the_digits_of_the_scale(scale, text):
    """Amounts are whole units, and have neither more nor fewer fraction digits than the scale."""
    naive = entry(("bank", -123450, 0), ("rent", 123450, 0))
    lines = line_table(naive).to_pandas().assign(signed_amount=[-123450 / 10**scale, 123450 / 10**scale])
    text_of_journal = aa.export_journal(lines, ledger_frame(naive), time_zone="UTC", scale=scale)
    assert f"    Rent    {text}  ; id: le1\n" in text_of_journal
    assert f"    Bank    -{text}  ; id: le0\n" in text_of_journal


def test_descriptions():
    """An entry without a description has that of its bank transaction or of a line, on one line without comments."""
    lines, ledgers = line_table(PAID).to_pandas(), ledger_frame(PAID)
    lines = lines.assign(journal_entry_description=["Paid; in\ncash", None])
    assert "(je%2C1) Paid, in cash\n" in aa.export_journal(lines, ledgers, time_zone="UTC")
    lines = lines.assign(journal_entry_description="", description=["a line", None])
    assert "(je%2C1) a line\n" in aa.export_journal(lines, ledgers, time_zone="UTC")
    lines = lines.assign(transaction_description=["CARD 42", None])
    assert "(je%2C1) CARD 42\n" in aa.export_journal(lines, ledgers, time_zone="UTC")


def test_types_that_are_not_known_are_not_declared():
    """Without types only cash is declared; hledger then takes the type from an account above."""
    text = aa.export_journal(line_table(PAID), ledger_frame(PAID).drop(columns="type"), time_zone="UTC")
    assert "account Rent  ; ledger_id: rent\n" in text
    assert "account Bank  ; type: C, ledger_id: bank\n" in text


def test_the_journal_says_what_is_missing(demo_company):
    """The first lines are the zone, the days of the load and its filters, and lines that were removed since."""
    client, days = demo_company.client, ("2025-02-01", "2025-02-28")
    ledgers = aa.discover_ledgers(client, *days, progress=False)
    options = {"is_cashflow": True, "progress": False, "time_zone": "UTC"}
    lines = aa.load_line_entries(client, ledgers["id"], *days, **options)
    head = aa.export_journal(lines, ledgers).split("\n\n")[0].splitlines()
    assert head == [
        "; Days in UTC; debits are positive.",
        "; Line entries of 2025-02-01 to 2025-02-28.",
        "; Only lines with is_cashflow=True were loaded.",
    ]
    fewer = lines[lines["journal_entry_id"] != lines["journal_entry_id"].iloc[0]]
    assert f"; PARTIAL: {len(lines) - len(fewer)} lines were removed" in aa.export_journal(fewer, ledgers)


def test_local_books_are_line_entries_and_ledgers(demo_books):
    """Local books are enough; the journal states their age."""
    books = aa.connect(books=demo_books)
    text = aa.export_journal(books)
    assert "; Local books, version 0, as of " in text
    assert text.count("  ; id: ") == len(books.line_entries())
