"""The doctor asks hledger where it is installed; without it the check says so, and fails nothing."""

from decimal import Decimal

import pytest

from accounting_analytics.diagnosis.books_sample import BooksReader, BooksSample
from accounting_analytics.diagnosis.second_opinion_check import check_second_opinion
from accounting_analytics.periods import Period

DAYS = Period.of("2025-01-01", "2025-02-10")


@pytest.mark.hledger
def test_books_that_agree(diagnose_books, finding_of):
    """The finding counts the figures: two accounts at the end, and three categories of February."""
    finding = finding_of(diagnose_books(), "second opinion")
    assert finding.verdict == "ok"
    assert "hledger" in finding.message
    assert "flows and cash balances from the lines of 2025-02-01 to 2025-02-10" in finding.message


@pytest.mark.hledger
def test_a_flow_that_hledger_does_not_find(diagnose_books, distortion, books, finding_of):
    """A cent more in a category of every report is named."""

    def change_response(path, _params, body):
        if path.endswith("/cash-flow"):
            for ledger in body["cash_flow_ledgers"]:
                ledger["net_cash_flow"] += Decimal("0.01") * (ledger["ledger_id"] == books.rent)

    finding = finding_of(diagnose_books(distortion(response=change_response)), "second opinion")
    assert finding.verdict == "failed"
    assert finding.message.endswith("sums other figures than the report of 2025-02-01 to 2025-02-10 for Rent")
    assert "second_opinion(report, line_entries, ledgers)" in finding.next_step


def test_without_hledger(books, monkeypatch, tmp_path):
    """The check is not made, and says how to install the program."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with books.connect() as client:
        outcome = check_second_opinion(BooksSample(BooksReader(client), DAYS))
    assert outcome.verdict == "not checked"
    assert outcome.message.startswith("because hledger is not installed; install it, such as with: apt-get install")
