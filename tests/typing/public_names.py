"""What a type checker sees of the public names; mypy reads this file, nothing runs it."""

from decimal import Decimal
from pathlib import Path
from typing import assert_type
from zoneinfo import ZoneInfo

import pandas as pd

import accounting_analytics as aa


def names(client: aa.LedgerClient) -> None:
    """Public names besides the loop."""
    period = aa.Period.relative("last-month", as_of=pd.Timestamp("2025-03-10"))
    assert_type(period, aa.Period)
    lines = aa.load_line_entries(client, ["a"], period.start_date, period.end_date, time_zone=period.time_zone)
    assert_type(aa.notes(lines), tuple[str, ...])
    assert_type(aa.schemas.LineEntries.checked(lines), pd.DataFrame)
    assert_type(aa.read_line_entries("lines.csv", scale=2, time_zone=ZoneInfo("UTC"), expected_rows=9), pd.DataFrame)
    assert_type(aa.__version__, str)
    aa.LedgerClient("http://a", token=aa.TokenFile("t"), instance_id="i", time_zone="UTC")
    aa.LedgerClient("http://a", token=aa.ClientCredentials("http://a", "i", "s"), instance_id="i")


def loop(client: aa.LedgerClient) -> None:
    """One round of the loop."""
    ledgers = aa.discover_ledgers(client, "2025-01-01", "2025-12-31")
    assert_type(ledgers, pd.DataFrame)
    lines = aa.load_line_entries(client, ledgers["id"], "2025-01-01", "2025-12-31", time_zone="UTC")
    assert_type(lines, pd.DataFrame)
    reported = aa.load_cash_flow_report(client, "2025-01-01", "2025-12-31")
    assert_type(reported, aa.CashFlowReport)
    assert_type(aa.LedgerNames.from_frame(ledgers).find("Expenses:Meals"), str)
    aa.load_cash_flow_report(client, pd.Timestamp("2025-01-01"), pd.Period("2025-01"), time_zone=ZoneInfo("UTC"))
    assert_type(reported.ending_cash_balance, float)
    assert_type(reported.exact().ending_cash_balance, Decimal)
    recomputed = aa.recompute_cash_flow(lines, ledgers, "2025-01-01", "2025-12-31")
    assert_type(recomputed, aa.CashFlowReport)
    assert_type(aa.reconcile(reported, recomputed).ties, bool)
    months = aa.reconcile_months(client, "2025-01-01", "2025-12-31", time_zone="UTC")
    assert_type(months.frame, pd.DataFrame)
    assert_type(months.differences, pd.DataFrame)
    assert_type(months.reports, tuple[aa.CashFlowReport, ...])
    plan = aa.plan_recategorization(
        aa.propose(aa.uncategorized_queue(lines, ledgers), aa.load_rules("r"), ledgers), ledgers=ledgers
    )
    assert_type(aa.group_queue(aa.uncategorized_queue(lines, ledgers), as_of="2025-12-31"), pd.DataFrame)
    decided = aa.decide(aa.uncategorized_queue(lines, ledgers), {"txn_1": "Expenses:Meals"}, ledgers)
    assert_type(aa.decide(decided, Path("decisions.csv"), ledgers), pd.DataFrame)
    assert_type(aa.propose(decided, None, ledgers, decisions=["a.csv", {"txn": "Meals"}]), pd.DataFrame)
    suggested = aa.suggest(decided, lines, ledgers, precision=0.95)
    assert_type(aa.propose(decided, None, ledgers, suggestions=suggested, transfers=True), pd.DataFrame)
    assert_type(aa.report_rules(decided, aa.load_rules("r"), ledgers, lines), pd.DataFrame)
    assert_type(plan, aa.Plan)
    assert_type(aa.apply_plan(client, plan, journal="journal"), pd.DataFrame)
    assert_type(plan.summary(aa.verify_plan(client, plan)), str)
    report = aa.load_cash_flow_report(client, "2025-01-01", "2025-12-31")
    assert_type(plan.preview(report).check(report), aa.Effect)
    assert_type(aa.undo_plan(client, "journal"), aa.Plan)
    assert_type(aa.doctor(client, "2025-01-01", "2025-03-31", time_zone="UTC").frame, pd.DataFrame)


def offline() -> None:
    """Local books in the place of a client, of lines and of ledgers."""
    books = aa.LocalBooks.open(Path("local"))
    assert_type(books, aa.LocalBooks)
    assert_type(aa.connect(), aa.LedgerClient)
    lines = aa.load_line_entries(
        books, aa.discover_ledgers(books, "2025-01-01", "2025-03-31")["id"], "2025-01-01", "2025-03-31"
    )
    assert_type(lines, pd.DataFrame)
    assert_type(aa.load_cash_flow_report(books, "2025-01-01", "2025-03-31"), aa.CashFlowReport)
    assert_type(aa.income_statement(books), aa.Statement)
    assert_type(aa.uncategorized_queue(books), pd.DataFrame)
    assert_type(aa.check_completeness(books).complete, bool)
