"""The section of a pack about its coding, and its line on page one."""

from decimal import Decimal

import pandas as pd
import pytest
from posted_books import Part

import accounting_analytics as aa

EXPENSE = {"type": "expense", "sub_type": "operating_expenses", "debit_credit": "debit", "report_cash_flow": False}
LEDGERS = {"bank": "bank_account", "software": EXPENSE, "advertising": EXPENSE}


@pytest.fixture
def miscoded_books(posted_books):
    """Return books of fourteen months of software, and one payment of the same supplier under advertising."""
    days = [*pd.date_range(end="2026-04-10", periods=14, freq=pd.DateOffset(months=1)), pd.Timestamp("2026-05-10")]
    entries = [
        (
            str(day.date()),
            {"bank": Part(Decimal(-15), description="ZOOM"), category: Decimal(15)},
            "ZOOM",
        )
        for day in days
        for category in ["advertising" if day.month == 5 and day.year == 2026 else "software"]
    ]
    return aa.load_books(posted_books(entries, LEDGERS), "2026-05", progress=False)


def test_findings_are_listed_with_their_entries(miscoded_books, tmp_path):
    pack = aa.monthly_pack(miscoded_books)
    (row,) = pack.content.tables["coding"].table.rows
    assert (row.label, [cell.text for cell in row.cells]) == (
        "ZOOM",
        [
            "10 May 2026",
            "Advertising",
            "another category than before: Software in 14 of its last 14",
            "(15.00)",
        ],
    )
    assert pack[f"coding:{row.cells[-1].key}"].entries["ledger_name"].tolist() == ["Bank"]
    assert pack.sentences[-1] == "1 finding in the coding: 1 another category than before."
    assert '<section id="coding">' in pack.html
    assert aa.verify_pack(pack.save(tmp_path / "pack.html")).differences == ()


def test_what_is_right_is_not_listed(miscoded_books):
    transaction = aa.check_coding(miscoded_books, "2026-05").frame["transaction_id"][0]
    pack = aa.monthly_pack(miscoded_books, decisions={transaction: "Advertising"})
    table = pack.content.tables["coding"].table
    assert table.rows == []
    assert table.notes[0] == "Nothing to look at was found."
    assert "1 finding not listed, because decisions say that the category is right." in table.notes
    assert not any("coding" in sentence for sentence in pack.sentences)


def test_lines_without_a_needed_column_say_that_the_coding_was_not_checked(miscoded_books):
    lines = miscoded_books.lines.drop(columns="opposing_ledger_ids")
    pack = aa.monthly_pack(aa.Books(lines, miscoded_books.ledgers, "2026-05"))
    assert "coding" not in pack.content.tables
    assert pack.content.assumptions[-1].startswith("The coding of the period was not checked: line_entries have no opp")
