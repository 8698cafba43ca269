"""What a sync requests, by kind: the first one, one of unchanged books, and one after changes; and how far it reads."""

import datetime as dt
from collections import Counter

import httpx
import pandas as pd
import pytest

import accounting_analytics as aa

CASH, LEDGERS, MONTHS = 4, 71, 18
"""Of the demo company."""


class Recorder(httpx.HTTPTransport):
    """Records the requests by kind."""

    def __init__(self):
        super().__init__()
        self.kinds = Counter()

    def handle_request(self, request):
        self.kinds[_kind(request)] += 1
        return super().handle_request(request)


def _kind(request):
    """Kind of a request: a report, or lines: one of them, those without cash, of a day, or of more days."""
    asked = request.url.params
    if request.url.path.endswith("/cash-flow"):
        return "report"
    if request.method != "GET":
        return "change"
    if asked.get("limit") == "1":
        return "first line"
    if asked.get("is_cashflow") == "false":
        return "without cash"
    return "day" if asked["start_date"] == asked["end_date"] else "days"


@pytest.fixture(scope="module")
def synced(tmp_path_factory):
    """Return local books of a demo company of their own after a first sync, a client that records, and what it sent."""
    recorder = Recorder()
    with aa.demo() as demo:
        own = {"token": demo.token, "instance_id": demo.instance_id, "time_zone": demo.time_zone}
        with aa.LedgerClient(demo.base_url, **own, transport=recorder, requests_per_minute=10**6) as client:
            local = aa.LocalBooks.open(tmp_path_factory.mktemp("demo") / "books")

            def sync(**options):
                recorder.kinds.clear()
                result = local.sync(client, progress=False, **options)
                assert result.ties
                assert result.requests == recorder.kinds.total()
                return result, dict(recorder.kinds)

            yield local, client, sync, sync()[1]


def test_first_sync_requests_each_page_once(synced):
    *_, kinds = synced
    assert kinds.pop("report") == 1 + MONTHS  # the first names the cash ledgers
    assert kinds.pop("first line") == 1  # of all days, to see whether the service accepts them
    assert set(kinds) == {"days"}
    assert LEDGERS < kinds["days"] <= LEDGERS + 3


def test_a_sync_without_changes(synced):
    """A report a month, entries without cash of each ledger, each ledger of a month, and a few for lines elsewhere."""
    local, _, sync, _ = synced
    assert (str(local.period.start_date), str(local.period.end_date)) == ("2025-01-01", "2026-06-30")
    for _ in range(2):
        result, kinds = sync()
        assert result.changes.frame.empty
        later = {"report": MONTHS + 1, "days": LEDGERS + CASH}
        assert kinds == {"without cash": LEDGERS - CASH, "first line": CASH} | later
    _, kinds = sync(end_date="2026-06-30")
    assert kinds == {"report": MONTHS, "days": LEDGERS, "without cash": LEDGERS - CASH, "first line": CASH}
    assert len(local.period.months()) == MONTHS


def test_a_sync_after_nine_changes(synced):
    """Each day that differs takes the cash ledgers and the two categories of its line; texts of others stay."""
    local, client, sync, _ = synced
    unchanged = sync()[1]
    lines, ledgers = local.line_entries(), local.ledgers()
    cash, is_expense = ledgers.loc[ledgers["report_cash_flow"], "id"], ledgers["type"] == "expense"
    expenses = list(ledgers.loc[is_expense, "id"])
    chosen = lines[lines["ledger_id"].isin(cash) & lines["opposing_ledger_ids"].isin(expenses)]
    days = sorted(chosen.loc[chosen["transaction_id"].notna(), "local_date"].unique())
    for number in range(9):
        line = chosen[chosen["local_date"] == days[len(days) * (2 * number + 1) // 18]].iloc[0]
        category = line["opposing_ledger_ids"]
        target = expenses[(expenses.index(category) + 1) % len(expenses)]
        client.recategorize_transaction(
            line["ledger_id"], line["transaction_id"], updated_category_ledger_id=target, category_ledger_id=category
        )
    result, kinds = sync()
    assert result.changes.line_counts == {"added": 0, "removed": 0, "recategorized": 9, "amended": 0}
    assert kinds.pop("day") <= 9 * (CASH + 2) < 60
    assert kinds == unchanged
    fresh = aa.load_line_entries(client, ledgers["id"], local.period.start_date, local.period.end_date)
    pd.testing.assert_frame_equal(local.line_entries(), fresh)


def month_before(months):
    """Return the tenth day of a month before this one."""
    today = dt.datetime.now(dt.UTC).date()
    year, month = divmod(today.year * 12 + today.month - 1 - months, 12)
    return dt.date(year, month + 1, 10)


def month_of(day):
    return f"{day:%Y-%m}"


@pytest.fixture
def local(posted_books, tmp_path):
    """Return local books whose latest line is of four months ago, and a function that posts, then syncs without end."""
    ledgers = {"bank": "bank_account", "savings": "bank_account", "rent": "expense operating_expenses debit"}
    ledgers |= {"loan": "loan", "owed": "accounts_payable"}
    first, latest = month_before(6), month_before(4)
    entries = [(first, {"bank": -5, "rent": 5}), (latest, {"owed": -7, "rent": 7}), (latest, {"loan": -1, "bank": 1})]
    access = posted_books.create(entries, ledgers)
    local = aa.LocalBooks.open(tmp_path / "books")
    with access.client(time_zone="UTC") as client:

        def sync(*entries):
            posted_books.post(access.instance_id, *entries)
            result = local.sync(client, progress=False)
            assert (result.ties, result.complete) == (True, True)
            fresh = aa.load_line_entries(client, local.ledgers()["id"], local.period.start_date, local.period.end_date)
            pd.testing.assert_frame_equal(local.line_entries(), fresh)
            return list(result.months["month"])

        def add(id_, kind):
            posted_books.add_ledger(access.instance_id, id_, kind)

        yield local, sync, add


def test_no_month_follows_the_latest_line(local):
    local, sync, _ = local
    assert sync() == [month_of(month_before(months)) for months in (6, 5, 4)]
    assert sync((month_before(-1), {"bank": -2, "rent": 2}))[-1] == month_of(month_before(4))
    assert sync((month_before(3), {"bank": -3, "rent": 3}))[-1] == month_of(month_before(3))
    two = [month_of(month_before(months)) for months in (2, 1)]
    assert sync((month_before(1), {"loan": -2, "rent": 2}))[-2:] == two
    assert sync((month_before(0), {"bank": -2, "rent": 2}))[-1] == month_of(month_before(0))
    assert local.line_entries()["signed_amount"].sum() == 0


@pytest.mark.parametrize(
    ("kind", "amounts"),
    [
        ("bank_account", {"new": -2, "rent": 2}),
        ("expense operating_expenses debit", {"new": 2, "bank": -2}),
        ("expense operating_expenses debit", {"new": 2, "owed": -2}),
    ],
)
def test_ledgers_and_lines_after_the_last_month_are_found(local, kind, amounts):
    _, sync, add = local
    sync()
    add("new", kind)
    assert sync((month_before(2), amounts))[-1] == month_of(month_before(2))


def test_transfers_after_the_latest_line(local):
    """Transfers that leave every balance as it was add their month: no report of all these days shows them."""
    _, sync, _ = local
    sync()
    there = (month_before(2), {"bank": -2, "savings": 2})
    assert sync(there, (month_before(2), {"bank": 2, "savings": -2}))[-1] == month_of(month_before(2))
