"""Distorted reports and line entries fail the right check, which names the first counterexample."""

from decimal import Decimal

import pytest
from long_cases import also_long

import accounting_analytics as aa

CENT = Decimal("0.01")


def test_extra_cent_in_ending_balances_is_found(diagnose_books, failed_checks, distortion, small_books, finding_of):
    def change_response(path, _params, body):
        if path.endswith("/cash-flow"):
            for one in body["ending_balances"]:
                one["cash_balance"] += CENT * (one["ledger_id"] == small_books.bank)

    diagnosis = diagnose_books(distortion(response=change_response))
    assert failed_checks(diagnosis) == ["complete", "reconciled"]
    message = finding_of(diagnosis, "complete").message
    assert message.startswith("NOT COMPLETE: ")
    assert (
        f"the starting balance of ledger {small_books.bank} differs from its ending balance before by -0.01" in message
    )
    assert f"Bank ({small_books.bank})" in finding_of(diagnosis, "reconciled").message
    assert diagnosis.exit_code == 3


def test_flow_a_cent_too_large_is_named_by_its_ledger(diagnose_books, distortion, small_books, finding_of):
    def change_response(path, _params, body):
        if path.endswith("/cash-flow") and (rent := small_books.flow_of(body, small_books.rent)):
            rent["net_cash_flow"] -= CENT

    finding = finding_of(diagnose_books(distortion(response=change_response)), "reconciled")
    assert finding.verdict == "failed"
    assert f"net cash flow per ledger: Rent ({small_books.rent})" in finding.message


@pytest.mark.parametrize(
    "moved", [("2025-01-01/2025-02-10", "months add up"), *also_long(("2025-02-01/2025-02-10", "days add up"))]
)
def test_flow_moved_in_one_report_fails_the_sum(diagnose_books, distortion, small_books, finding_of, moved):
    days, check = moved

    def change_response(path, params, body):
        if path.endswith("/cash-flow") and f"{params['start_date']}/{params['end_date']}" == days:
            small_books.flow_of(body, small_books.rent)["net_cash_flow"] -= CENT
            small_books.flow_of(body, small_books.meals)["net_cash_flow"] += CENT

    diagnosis = diagnose_books(distortion(response=change_response))
    finding = finding_of(diagnosis, check)
    assert finding.verdict == "failed"
    assert f"(ledger {small_books.rent})" in finding.message or f"(ledger {small_books.meals})" in finding.message
    assert "sum to" in finding.message
    assert diagnosis.exit_code == 3


@pytest.mark.parametrize(("start", "verdict"), [("2025-02-01", "ok"), ("2025-02-10", "not checked")])
def test_month_is_split_in_two_but_not_one_day(diagnose_books, finding_of, start, verdict):
    diagnosis = diagnose_books(period=aa.Period.of(start, "2025-02-10"))
    assert diagnosis.failed == ()
    assert finding_of(diagnosis, "months add up").verdict == verdict


@pytest.mark.long
def test_flows_are_unchecked_in_a_period_without_entries(diagnose_books, finding_of):
    diagnosis = diagnose_books(period=aa.Period.of("2024-01-01", "2024-02-29"))
    assert diagnosis.failed == ()
    for check in ("months add up", "days add up", "complete", "reconciled"):
        assert finding_of(diagnosis, check).verdict == "not checked"
        assert finding_of(diagnosis, check).message.startswith("because")


def test_missing_line_is_named_by_entry_and_report(diagnose_books, failed_checks, distortion, small_books, finding_of):
    def change_response(path, _params, body):
        if small_books.rent in path:
            body["records"] = [line for line in body["records"] if line["amount"] != Decimal("1250.00")]

    diagnosis = diagnose_books(distortion(response=change_response))
    assert failed_checks(diagnosis) == ["complete", "reconciled"]
    assert "debits and credits differ by -1,250.00" in finding_of(diagnosis, "complete").message


@pytest.mark.long
def test_reports_without_lines_are_compared_by_ledger(diagnose_books, distortion):
    def change_response(_path, _params, body):
        for ledger in body.get("cash_flow_ledgers", ()):
            ledger["lines"] = []

    assert diagnose_books(distortion(response=change_response)).failed == ()


@pytest.mark.long
def test_reports_with_cash_line_ids_are_compared_by_entry(diagnose_books, distortion, small_books):
    with small_books.connect() as client:
        lines = [
            line
            for ledger_id in (small_books.bank, small_books.card)
            for line in client.iter_line_entries(ledger_id, "2025-01-01", "2025-02-10")
        ]
    cash_ids = {line.journal_entry_id: line.id for line in lines}

    def change_response(_path, _params, body):
        for ledger in body.get("cash_flow_ledgers", ()):
            for line in ledger["lines"]:
                line["line_id"] = cash_ids[line["journal_entry_id"]]

    assert diagnose_books(distortion(response=change_response)).failed == ()
