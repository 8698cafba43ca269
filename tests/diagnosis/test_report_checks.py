"""Distorted reports fail the right check, which names the first counterexample."""

from decimal import Decimal

import pytest

from accounting_analytics.periods import Period

CENT = Decimal("0.01")


def test_a_wrong_ending_balance(diagnose_books, failed_checks, distortion, books, finding_of):
    """An extra cent at the end of each report fails sum and chain; both amounts are named."""

    def change_response(path, _params, body):
        if path.endswith("/cash-flow"):
            for one in body["ending_balances"]:
                one["cash_balance"] += CENT * (one["ledger_id"] == books.bank)

    diagnosis = diagnose_books(distortion(response=change_response))
    assert failed_checks(diagnosis) == ["identity", "balances chain"]
    message = finding_of(diagnosis, "balances chain").message
    assert f"Bank (ledger {books.bank}) ends 2025-01-01 to 2025-01-31 (UTC) with -618.79" in message
    assert "starts 2025-02-01 to 2025-02-10 (UTC) with -618.80" in message
    assert "ending_cash_balance is" in finding_of(diagnosis, "identity").message
    assert diagnosis.exit_code == 3


def test_flows_that_are_not_the_change_of_cash(diagnose_books, distortion, books, finding_of):
    """A flow that is a cent too large in every report fails the identity."""

    def change_response(path, _params, body):
        if path.endswith("/cash-flow") and (rent := books.flow_of(body, books.rent)):
            rent["net_cash_flow"] -= CENT

    finding = finding_of(diagnose_books(distortion(response=change_response)), "identity")
    assert finding.verdict == "failed"
    assert "cash changed by" in finding.message


@pytest.mark.parametrize(
    "moved", [("2025-02-01/2025-02-10", "days add up"), ("2025-01-01/2025-02-10", "months add up")]
)
def test_a_flow_moved_to_another_ledger_in_one_report(diagnose_books, distortion, books, finding_of, moved):
    """A flow that one report has on another category passes the identity, and fails the sum of its parts."""
    days, check = moved

    def change_response(path, params, body):
        if (
            path.endswith("/cash-flow")
            and f"{params['start_date']}/{params['end_date']}" == days
            and "tag_ids" not in params
        ):
            books.flow_of(body, books.rent)["net_cash_flow"] -= CENT
            books.flow_of(body, books.meals)["net_cash_flow"] += CENT

    diagnosis = diagnose_books(distortion(response=change_response))
    assert finding_of(diagnosis, "identity").verdict == "ok"
    finding = finding_of(diagnosis, check)
    assert finding.verdict == "failed"
    assert f"(ledger {books.rent})" in finding.message or f"(ledger {books.meals})" in finding.message
    assert "sum to" in finding.message
    assert diagnosis.exit_code == 3


@pytest.mark.parametrize(("start", "end"), [("2025-02-01", "2025-02-10"), ("2025-02-05", "2025-02-05")])
def test_short_periods(diagnose_books, finding_of, start, end):
    """A month is split in two; one day cannot be split, and is not checked."""
    diagnosis = diagnose_books(period=Period.of(start, end))
    assert diagnosis.failed == ()
    assert finding_of(diagnosis, "months add up").verdict == ("ok" if start != end else "not checked")


def test_a_period_without_entries(diagnose_books, finding_of):
    """Without cash flow, checks of flows are not made, and say so."""
    diagnosis = diagnose_books(period=Period.of("2024-01-01", "2024-02-29"))
    assert diagnosis.failed == ()
    for check in ("months add up", "days add up", "lines = report", "cash filter", "page size"):
        assert finding_of(diagnosis, check).verdict == "not checked"
        assert finding_of(diagnosis, check).message.startswith("because")
