"""Counterparties of exported books are those of the analysis frame: of the demo company, and of random books."""

from contextlib import contextmanager

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.schemas import Ledgers
from accounting_analytics.exports.books_to_export import ExportedBooks
from accounting_analytics.exports.star_schema.build import build_star_schema, connect

LEDGERS = pd.DataFrame(
    [
        ("bank", "Bank", "asset", "current_assets", "debit", "bank_account", True, None),
        ("card", "Card", "liability", "current_liabilities", "credit", "credit_card", True, None),
        ("owed", "Receivables", "asset", "current_assets", "debit", "accounts_receivable", False, None),
        ("birch", "Birch Café", "asset", "current_assets", "debit", None, False, "owed"),
        ("box", "Cash box", "asset", "current_assets", "debit", "bank_account", True, "owed"),
        ("bills", "Payables", "liability", "current_liabilities", "credit", "accounts_payable", False, None),
        ("rent", "Rent", "expense", "operating_expenses", "debit", None, False, None),
        ("sales", "Sales", "revenue", "operating_revenues", "credit", None, False, None),
        ("own", "Transfers", "asset", "transfers_between_accounts", "debit", None, False, None),
        ("in", "Uncategorized in", "asset", "uncategorized_assets", "credit", None, False, None),
    ],
    columns=[
        *("id", "name", "type", "sub_type", "debit_credit", "financial_account_type", "report_cash_flow", "parent_id"),
    ],
)
CHART = Ledgers.from_columns(
    {name: [None] * len(LEDGERS) for name in Ledgers.dtypes() if name not in {"found_by", "parent_known"}}
    | LEDGERS.to_dict("list")
    | {"is_required": LEDGERS["id"].isin(["own", "in"]).tolist(), "sort_code": list("0123456789")}
)
TEXTS = (
    *(None, "", " ", "\N{NO-BREAK SPACE}\t", "\x1f", "\N{ZERO WIDTH SPACE}", "Invoice", "CHECK 101", "***"),
    *("Invoice 7 to Oak Cafe", "Payment of invoice 7 from Oak Cafe", "Bill 12 from Mill & Sons", "Correction of May"),
    *("SHELL OIL 0412", "Shell Oil #77", "SQ *BLUE BOTTLE", "POS PURCHASE BLUE BOTTLE", "Joe\u2019s  Pizza LLC"),
)
REQUIRED = {"transaction_id", "related_line_entry_id", "editable", "tag_ids"}
DAYS = ("2025-01-01", "2025-02-28")


@st.composite
def line_entries(draw):
    """Draw entries of two to four lines, some with several transactions, whose ids are in no order."""
    texts, rows = st.sampled_from(TEXTS), []
    numbers = iter(draw(st.permutations(range(40))))
    for entry in range(draw(st.integers(1, 9))):
        day, text = draw(st.sampled_from(["2025-01-31", "2025-02-01", "2025-02-20"])), draw(texts)
        amounts = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
        for amount in (*amounts, -sum(amounts)):
            number, is_transaction = next(numbers), draw(st.booleans())
            rows.append(
                {
                    "id": f"le{number}",
                    "ledger_id": draw(st.sampled_from(list(CHART["id"]))),
                    "journal_entry_id": f"je{entry}",
                    "journal_entry_description": text,
                    "datetime": pd.Timestamp(day, tz="UTC"),
                    "amount": float(abs(amount)),
                    "debit_credit": "credit" if amount < 0 else "debit",
                    "signed_amount": float(amount),
                    "description": draw(texts),
                    "transaction_id": f"t{number}" if is_transaction else None,
                    "transaction_description": draw(texts) if is_transaction else None,
                }
            )
    return frame_of(rows)


def frame_of(rows):
    """Line entries with all columns that a load has."""
    frame = pd.DataFrame(rows)
    dtypes = aa.schemas.LineEntries.dtypes()
    frame["ledger_name"] = frame["ledger_id"]
    frame = frame.reindex(columns=[*frame, *(REQUIRED - set(frame))])
    return frame.astype({name: dtypes[name] for name in frame})


@contextmanager
def star_schema(books):
    """Open a DuckDB connection with the tables of some books."""
    with connect() as database:
        build_star_schema(database, ExportedBooks.from_books(books, books.days_of(None)))
        yield database


def check(books):
    """Compare every table that has counterparties with the analysis frame; return how many lines have one."""
    frame = aa.analysis_frame(books)
    of_line = dict(zip(frame["id"], frame["counterparty"], strict=True))
    of_entry = dict(zip(frame["journal_entry_id"], frame["counterparty"], strict=True))
    transactions = frame.dropna(subset="transaction_id").drop_duplicates("transaction_id")
    with star_schema(books) as database:

        def found(table, key):
            query = f"select {key}, coalesce(counterparty, '') from {table}"  # noqa: S608 (our own names)
            return dict(database.sql(query).fetchall())

        def joined(table):
            return f"{table} left join dim_counterparty using (counterparty_id)"

        assert found("line_entries", "line_entry_id") == of_line
        lines = database.sql("select line_entry_id from fact_line_entry").fetchall()
        assert [one for (one,) in lines] == list(frame["id"])
        flows = found(joined("fact_cash_flow_line"), "journal_entry_id")
        flows |= found(joined("fact_transfer"), "journal_entry_id")
        assert flows.items() <= of_entry.items()
        expected = dict(zip(transactions["transaction_id"], transactions["counterparty"], strict=True))
        assert found("dim_transaction", "transaction_id") == expected
        names = [one for (one,) in database.sql("select counterparty from dim_counterparty").fetchall()]
        assert names == sorted(set(of_line.values()) - {""})
        ((count,),) = database.sql("select count(distinct counterparty_id) from dim_counterparty").fetchall()
        assert count == len(names)
    return sum(name != "" for name in of_line.values())


@given(frame=line_entries())
@settings(max_examples=25)
def test_random_books_have_the_counterparties_of_the_frame(frame):
    check(aa.Books(frame, CHART, DAYS, time_zone="UTC"))


def test_demo_company_has_the_counterparties_of_the_frame(demo_company):
    books = aa.load_books(demo_company.client, "2025-01/2026-06", progress=False)
    assert check(books) > 1000


def test_texts_of_lines_then_entries_replace_unloaded_ones():
    rows = [
        ("le1", "bank", "je1", 9.0, "SHELL OIL 0412", "Fuel"),
        ("le0", "rent", "je1", -9.0, "Rent", "Fuel"),
        ("le3", "birch", "je2", 5.0, "Invoice", "Invoice 7 to Oak Cafe"),
        ("le2", "sales", "je2", -5.0, "Sale", "Invoice 7 to Oak Cafe"),
        ("le5", "card", "je3", -2.0, None, "SQ *BLUE BOTTLE"),
        ("le4", "rent", "je3", 2.0, "Coffee", "SQ *BLUE BOTTLE"),
    ]
    columns = ["id", "ledger_id", "journal_entry_id", "signed_amount", "description", "journal_entry_description"]
    frame = pd.DataFrame(rows, columns=columns).assign(
        datetime=pd.Timestamp("2025-01-31", tz="UTC"),
        amount=lambda lines: lines["signed_amount"].abs(),
        debit_credit=lambda lines: lines["signed_amount"].lt(0).map({True: "credit", False: "debit"}),
    )
    books = aa.Books(frame_of(frame), CHART, DAYS, time_zone="UTC")
    assert check(books) == 6
    assert set(aa.analysis_frame(books)["counterparty"]) == {"SHELL OIL", "BIRCH CAFÉ", "BLUE BOTTLE"}
