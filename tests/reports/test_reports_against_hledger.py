"""Cash flow reports against hledger, which sums a journal of the same lines and shares no code with the package."""

import datetime as dt
import json
from pathlib import Path

import pytest
from books_strategy import ledger_frame, line_table, requests
from hledger_journals import awkward_books, journal_of_frames, output_of, quantities
from hypothesis import given, settings
from long_cases import also_long

import accounting_analytics as aa

pytestmark = pytest.mark.hledger

SAMPLE = Path(__file__).parents[2] / "data" / "sample.journal"
PERIODS = [("2025-01-01", "2026-06-30"), ("2025-11-05", "2026-03-10"), ("2026-02-28", "2026-02-28")]


def sums_of_hledger(line_entries, ledgers, period, folder):
    """Flows by category, and cash balances before the period and at its end; end dates of hledger are exclusive."""
    path = folder / "books.journal"
    text, accounts = journal_of_frames(line_entries, ledgers, period.time_zone)
    path.write_text(text, encoding="utf-8")
    ledger_ids = {account: ledger_id for ledger_id, account in accounts.items()}
    cash = [f"acct:^{accounts[one]}$" for one in ledgers["id"][ledgers["report_cash_flow"]]]
    start, until = str(period.start_date), str(period.end_date + dt.timedelta(days=1))

    def balances(*options):
        arguments = ("balance", "--flat", "--no-total", "--output-format", "json", *options, *cash)
        rows, _ = json.loads(output_of("hledger", "-f", str(path), *arguments))
        return {ledger_ids[row[0]]: amount for row in rows if (amount := quantities(row[3]))}

    flows = balances("--related", "--invert", "--begin", start, "--end", until)
    return flows, balances("--historical", "--end", start), balances("--historical", "--end", until)


def sums_of_report(report):
    exact = report.exact()
    tables = (
        (exact.ledgers, "net_cash_flow"),
        (exact.starting_balances, "cash_balance"),
        (exact.ending_balances, "cash_balance"),
    )
    return tuple(
        {one: amount for one, amount in zip(table["ledger_id"], table[column], strict=True) if amount}
        for table, column in tables
    )


def assert_agrees(report, line_entries, ledgers, folder):
    assert sums_of_report(report) == sums_of_hledger(line_entries, ledgers, report.period, folder)


@pytest.mark.parametrize("days", PERIODS[1:2] + also_long(PERIODS[0], PERIODS[2]))
def test_hledger_agrees_on_the_demo_books(demo_company, days, tmp_path):
    all_days = (demo_company.start_date, demo_company.end_date)
    ledgers = aa.discover_ledgers(demo_company.client, *all_days, progress=False)
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], *all_days, progress=False)
    reported = aa.load_cash_flow_report(demo_company.client, *days)
    recomputed = aa.recompute_cash_flow(aa.Books(lines, ledgers), days)
    for report in (reported, recomputed):
        assert_agrees(report, lines, ledgers, tmp_path)
    flows, _, ending = sums_of_report(reported)
    assert flows
    assert len(ending) == 4


def test_hledger_agrees_on_the_sample(posted_books, tmp_path):
    with posted_books.import_file(SAMPLE, cash=("assets:bank*", "liabilities:credit card")).client() as client:
        days = ("2025-01-01", "2025-02-28")
        ledgers = aa.discover_ledgers(client, *days, progress=False)
        lines = aa.load_line_entries(client, ledgers["id"], *days, progress=False)
        for first in ("2025-01-01", "2025-02-01"):
            report = aa.load_cash_flow_report(client, first, days[1])
            assert len(sums_of_report(report)[0]) >= 3
            assert_agrees(report, lines, ledgers, tmp_path)


@settings.get_profile("slow")
@given(awkward_books(), requests())
def test_hledger_agrees_on_random_books(tmp_path_factory, naive, request_):
    lines, ledgers, days = line_table(naive), ledger_frame(naive), (request_.start, request_.end)
    report = aa.recompute_cash_flow(aa.Books(lines, ledgers, time_zone=naive.zone), days)
    assert_agrees(report, lines.to_pandas(), ledgers, tmp_path_factory.mktemp("journal"))
