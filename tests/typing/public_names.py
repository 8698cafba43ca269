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
    assert_type(aa.open_journal("a.journal", "2025", time_zone="UTC", cash="assets:bank*"), aa.Books)
    assert_type(aa.open_table(Path("lines.csv"), time_zone=ZoneInfo("UTC"), cash=[], midnights="days"), aa.Books)
    assert_type(aa.__version__, str)
    aa.LedgerClient("http://a", token=aa.TokenFile("t"), instance_id="i", time_zone="UTC")
    aa.LedgerClient("http://a", token=aa.ClientCredentials("http://a", "i", "s"), instance_id="i")


def loop(client: aa.LedgerClient) -> None:
    """One round of the loop."""
    books = aa.load_books(client, ("2025-01-01", "2025-12-31"), reports=["2025", aa.Period("2025-12-01", "2025-12-31")])
    assert_type(books, aa.Books)
    assert_type(books.ledgers, pd.DataFrame)
    assert_type(books.names.find("Expenses:Meals"), str)
    assert_type(books.of("2025-Q4").period, aa.Period)
    assert_type(books.with_lines(books.lines, label="all"), aa.Books)
    assert_type(aa.income_statement(books, "2025-12", compare="prior_year"), aa.Statement)
    reported = aa.load_cash_flow_report(client, "2025-01-01", "2025-12-31")
    assert_type(reported, aa.CashFlowReport)
    aa.load_cash_flow_report(client, pd.Timestamp("2025-01-01"), pd.Period("2025-01"), time_zone=ZoneInfo("UTC"))
    assert_type(reported.ending_cash_balance, float)
    assert_type(reported.exact().ending_cash_balance, Decimal)
    recomputed = aa.recompute_cash_flow(books)
    assert_type(recomputed, aa.CashFlowReport)
    months = aa.reconcile(books)
    assert_type(months, aa.Reconciliation)
    assert_type(months.compared[-1].ties, bool)
    assert_type(months.frame, pd.DataFrame)
    assert_type(months.differences, pd.DataFrame)
    assert_type(months.reports, tuple[aa.CashFlowReport, ...])
    queue = aa.uncategorized_queue(books)
    plan = aa.plan_recategorization(aa.propose(queue, aa.load_rules("r"), books), books)
    assert_type(aa.group_queue(queue, as_of="2025-12-31"), pd.DataFrame)
    decided = aa.decide(queue, {"txn_1": "Expenses:Meals"}, books)
    assert_type(aa.decide(decided, Path("decisions.csv"), books), pd.DataFrame)
    assert_type(aa.propose(decided, None, books, decisions=["a.csv", {"txn": "Meals"}]), pd.DataFrame)
    suggested = aa.suggest(decided, books, precision=0.95)
    assert_type(aa.propose(decided, None, books, suggestions=suggested, transfers=True), pd.DataFrame)
    assert_type(aa.report_rules(decided, aa.load_rules("r"), books), pd.DataFrame)
    assert_type(aa.review(books, queue, proposals=suggested), aa.Review)
    assert_type(plan, aa.Plan)
    assert_type(aa.apply_plan(client, plan, journal="journal"), pd.DataFrame)
    assert_type(plan.summary(aa.verify_plan(client, plan)), str)
    assert_type(plan.preview(reported).check(reported), aa.Effect)
    assert_type(aa.undo_plan(client, "journal"), aa.Plan)
    assert_type(aa.monthly_pack(books), aa.MonthlyPack)
    assert_type(aa.doctor(client, "2025-01-01", "2025-03-31", time_zone="UTC").frame, pd.DataFrame)


def frames(client: aa.LedgerClient) -> None:
    """Books of frames."""
    ledgers = aa.discover_ledgers(client, "2025-01-01", "2025-12-31")
    assert_type(ledgers, pd.DataFrame)
    lines = aa.load_line_entries(client, ledgers["id"], "2025-01-01", "2025-12-31", time_zone="UTC")
    assert_type(lines, pd.DataFrame)
    assert_type(aa.LedgerNames.from_frame(ledgers).find("Expenses:Meals"), str)
    books = aa.Books(lines, ledgers, "2025", opening=(pd.Timestamp("2025-01-01"), {"cash": Decimal(1)}))
    assert_type(aa.check_completeness(books).complete, bool)


def offline() -> None:
    """Local books in the place of a client."""
    local = aa.LocalBooks.open(Path("local"))
    assert_type(local, aa.LocalBooks)
    assert_type(aa.connect(), aa.LedgerClient)
    books = aa.load_books(local, "2025-01", engine="polars")
    assert_type(books, aa.Books)
    assert_type(aa.uncategorized_queue(books), pd.DataFrame)
