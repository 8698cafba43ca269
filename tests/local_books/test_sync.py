"""A sync has the lines of the service again after any edit, also of entries without cash, earlier days and failures."""

import datetime as dt
import hashlib
import json
import random

import httpx
import msgspec
import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import BooksError, ServiceError
from accounting_analytics.local_books import reading_plan
from accounting_analytics.local_books import sync as sync_module
from accounting_analytics.local_books.reading_plan import plan_reading
from accounting_analytics.local_books.storage import table_schema
from accounting_analytics.local_books.versions import Version
from accounting_analytics.reconciliation.compared_report import compare_reports

QUARTER = aa.Period("2025-10-01", "2025-12-31", "America/New_York")


def assert_same_lines(books, service):
    """Assert that the books have exactly the lines that a load from the service has now."""
    fresh = service.load(books.ledgers())
    pd.testing.assert_frame_equal(books.line_entries(), fresh)
    return fresh


def assert_same_report(report, other):
    for name in ("ledgers", "starting_balances", "ending_balances"):
        pd.testing.assert_frame_equal(getattr(report, name), getattr(other, name), check_like=True)
    assert report.exact().sums == other.exact().sums


def changed_ids(before, after):
    """Return the ids of lines that only one frame has or that differ in it, without what follows from other lines."""
    following = ["ledger_name", "opposing_ledger_ids", "journal_entry_line_entry_ids"]
    rows = [
        {row["id"]: str(row) for row in frame.drop(columns=following).astype(object).to_dict("records")}
        for frame in (before, after)
    ]
    return {one for one in rows[0].keys() | rows[1].keys() if rows[0].get(one) != rows[1].get(one)}


def sync(books, service, **options):
    return books.sync(service.client, start_date=service.first, end_date="2025-12-31", **options)


@pytest.fixture
def first(soak_count):
    """Return the first day of the books: three months here, 36 in `make soak`."""
    return QUARTER.start_date if soak_count(10) == 1 else dt.date(2023, 1, 1)


@pytest.mark.soak
def test_edits_that_reports_show_are_found_without_rota(tmp_path, serve, first, soak_count):
    for seed in range(soak_count(50, 1)):
        with serve(seed, first) as service:
            books = aa.LocalBooks.open(tmp_path / f"books-{seed}")
            assert sync(books, service).ties
            before = assert_same_lines(books, service)
            reported = aa.load_cash_flow_report(service.client, QUARTER.start_date, QUARTER.end_date)
            shown = service.shown_edits()
            for edit in service.random.choices(shown, k=service.random.randint(1, 6)) if seed else shown:
                edit()
            result = sync(books, service, months_a_night=0)
            assert (result.ties, result.complete) == (True, True), (seed, result.explain())
            after = assert_same_lines(books, service)
            assert set(result.changes.lines["id"]) == changed_ids(before, after), seed
            assert_same_report(books.as_of(0).report(QUARTER), reported)
            now = aa.load_cash_flow_report(service.client, QUARTER.start_date, QUARTER.end_date)
            assert_same_report(books.report(QUARTER), now)
            types = books.ledgers().set_index("id")["type"]
            of_credit = set(types.index[types.isin(["liability", "equity", "revenue"])])
            changes = [(one.key.split("|")[1] in of_credit, one.exact()) for one in result.changes.figures]
            assert sum(-amount if is_credit else amount for is_credit, amount in changes) == 0


@pytest.mark.long
@pytest.mark.soak
def test_rota_finds_texts_and_entries_without_cash(tmp_path, serve, first, soak_count):
    for seed in range(100, 100 + soak_count(50, 1)):
        with serve(seed, first) as service:
            books = aa.LocalBooks.open(tmp_path / f"books-{seed}")
            sync(books, service)
            for edit in service.random.sample(service.hidden_edits(), 3):
                edit()
            found = [sync(books, service, months_a_night=12).changes for _ in range(3)]
            assert_same_lines(books, service)
            assert any(len(changes.frame) for changes in found)


@pytest.mark.long
def test_unchanged_sync_takes_a_report_a_month_and_the_rota(tmp_path, serve, first, monkeypatch):
    with serve(300, first) as service:
        books = aa.LocalBooks.open(tmp_path / "books")
        sync(books, service)
        sent, call = [], aa.LedgerClient._call

        def count(client, subject, *arguments, **options):
            sent.append(subject)
            return call(client, subject, *arguments, **options)

        monkeypatch.setattr(aa.LedgerClient, "_call", count)
        ledgers, months = len(books.ledgers()), 12 * (2026 - first.year) - first.month + 1
        result = sync(books, service, months_a_night=0)
        assert result.requests == len(sent) <= months + 5
        assert result.summary().endswith(f" {len(sent)} requests.")
        assert json.loads(result.to_json())["requests"] == len(sent)
        rota = sync(books, service, months_a_night=2).requests
        without_cash = ledgers - len(service.cash)
        assert months + without_cash + 2 * ledgers < rota <= months + 5 + without_cash + 2 * ledgers + len(service.cash)


FIRST = dt.date(2025, 1, 1)
DAYS = {"start_date": FIRST, "end_date": "2025-12-31"}
MONTHS = aa.Period("2025-01-01", "2025-12-31", "UTC").months()
NAMES = [str(month.start_date)[:7] for month in MONTHS]


def test_late_entries_in_closed_months_are_found(tmp_path, serve):
    days = {"start_date": dt.date(2025, 10, 1), "end_date": "2025-12-31"}
    with serve(600, days["start_date"]) as service:
        books = aa.LocalBooks.open(tmp_path / "books")
        books.sync(service.client, **days)
        books.close(books.period)
        for edit in (service.insert, service.double_amounts, service.move, service.delete):
            edit(touches_cash=False)
        result = books.sync(service.client, **days)
        assert (result.ties, result.complete, result.unread_entries) == (True, True, ())
        assert len(result.alarms) == 1
        pd.testing.assert_frame_equal(books.line_entries(), service.load(books.ledgers()))
        books.close(books.period)
        result = books.sync(service.client, **days)
        assert (result.alarms, result.unread_entries) == ((), ())
        assert len(result.unread_months) == 2
        assert "No changed line was found. Texts, tags, and transfers " in result.summary()
        ledgers = len(books.ledgers())
        assert result.requests <= 3 + 5 + ledgers + ledgers + (ledgers - len(service.cash))


@pytest.fixture
def local_months(posted_books, tmp_path):
    """Return a function that syncs the books of three months, and the client."""
    ledgers = {"bank": "bank_account", "savings": "bank_account", "rent": "expense operating_expenses debit"}
    ledgers |= {"loan": "loan", "owed": "accounts_payable"}
    entries = [(f"2025-0{month}-10", {"bank": -5, "rent": 5}) for month in (1, 2, 3)]
    entries += [(f"2025-0{month}-11", {"owed": -7, "rent": 7}) for month in (1, 2, 3)]
    entries += [("2025-01-12", {"bank": -1, "savings": 1}, "sweep", "sweep")]
    client, local = posted_books(entries, ledgers), aa.LocalBooks.open(tmp_path / "books")
    days = {"start_date": "2025-01-01", "end_date": "2025-03-31", "progress": False}
    return local, client, lambda **options: local.sync(client, **days | options)


def test_what_no_report_shows_is_named(local_months, posted_books):
    """The other months are named with what was not read of them, so that nothing reads as if all were."""
    _, client, sync = local_months
    assert sync().unread_months == ()  # the first one reads all
    of_instance = "id = 'sweep' AND instance_pk = (SELECT pk FROM instances WHERE id = ?)"
    entry = f"(SELECT pk FROM journal_entries WHERE {of_instance})"  # noqa: S608
    for table, key in (("journal_entries", "pk"), ("line_entries", "journal_entry_pk")):
        moved = f"UPDATE {table} SET datetime = datetime + 86400000000 WHERE {key} = {entry}"  # noqa: S608
        posted_books.execute(moved, client.instance_id)
    result = sync(months_a_night=0)
    assert result.changes.frame.empty
    assert result.unread_months == result.unread_entries == ("2025-01", "2025-02", "2025-03")
    named = "Texts, tags, and transfers between cash accounts within 3 months, 2025-01 to 2025-03, were not read again."
    assert named in result.summary()
    assert named in result.explain()
    result = sync(months_a_night=3)
    assert result.changes.frame["kind"].tolist() == ["amended", "amended"]
    assert (result.unread_months, result.unread_entries) == ((), ())
    assert "not read again" not in result.summary()


def test_months_that_are_the_same_are_not_calculated_again(local_months, posted_books, monkeypatch):
    local, client, sync = local_months
    sync()
    compared, compare_month = [], sync_module.compare_month

    def compare(reported, *arguments, **options):
        compared.append(reported.period.month)
        return compare_month(reported, *arguments, **options)

    monkeypatch.setattr(sync_module, "compare_month", compare)

    def months_compared(**options):
        compared.clear()
        assert sync(**options).ties
        return sorted({*compared})

    assert months_compared() == []
    posted_books.post(client.instance_id, ("2025-02-20", {"owed": -3, "rent": 3}))
    assert months_compared() == ["2025-02"]
    posted_books.post(client.instance_id, ("2025-02-21", {"bank": -3, "rent": 3}))
    assert months_compared(months_a_night=0) == ["2025-02", "2025-03"]
    posted_books.rename_ledger(client.instance_id, "rent", "Costs")
    assert months_compared() == ["2025-01", "2025-02", "2025-03"]
    path = max((local.folder / "lines").glob("2025-01-*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BooksError, match="was changed after it was written"):
        sync(months_a_night=0)


def test_one_group_of_ledgers_is_not_all(local_months, monkeypatch):
    _, _, sync = local_months
    sync()
    monkeypatch.setattr(reading_plan, "MOST_REQUESTS", 1)
    for _ in range(3):
        result = sync(months_a_night=1)
        assert len(result.unread_entries) == 2
        assert "Entries without cash of 2 months" in result.summary()
    monkeypatch.setattr(reading_plan, "MOST_REQUESTS", 100)
    assert sync(months_a_night=1).unread_entries == ()


def test_books_were_read_when_their_oldest_month_was(local_months):
    local, _, sync = local_months
    sync()
    first = local.synced_at
    read_at = sync(months_a_night=1).months["read_at"]
    assert read_at.nunique() == 2
    periods = (aa.Period("2025-01-01", "2025-01-31"), local.period)
    january, all_days = (local.line_entries(days).attrs["load"]["read_at"] for days in periods)
    assert dt.datetime.fromisoformat(january) == read_at.max()
    assert dt.datetime.fromisoformat(all_days) == first == read_at.min()
    assert aa.load_books(local, engine="pyarrow").extent.read_at == first


@pytest.mark.long
def test_ledgers_take_turns_where_requests_are_few(tmp_path, serve, monkeypatch):
    monkeypatch.setattr(reading_plan, "MOST_REQUESTS", 3)
    with serve(601, FIRST) as service:
        books = aa.LocalBooks.open(tmp_path / "books")
        books.sync(service.client, **DAYS)
        service.delete(touches_cash=False)
        service.insert(touches_cash=False)
        result = books.sync(service.client, **DAYS)
        assert len(result.unread_entries) == 11
        unread = "Entries without cash of 11 months, 2025-02 to 2025-12, were not all read again."
        assert unread in result.summary()
        result = books.sync(service.client, **DAYS)
        assert (result.ties, result.complete) == (True, True)
        pd.testing.assert_frame_equal(books.line_entries(), service.load(books.ledgers()))


def plan(lines, ledgers, closed=(), turn=0):
    """Plan what to read of ledgers with so many lines a month: the number of ledgers, and the days."""
    ids = [f"ledger-{number:03}" for number in range(ledgers)]
    counts = pd.DataFrame(lines, index=NAMES, columns=ids)
    periods = [aa.Period.parse(name, time_zone="UTC") for name in closed]
    readings = plan_reading(counts, MONTHS, ids, periods, turn)
    return [(one.ledger_ids, str(one.days.start_date)[:7], str(one.days.end_date)[:7]) for one in readings]


def test_closed_months_come_first():
    ((ids, *days),) = plan(80, 100)
    assert (len(ids), *days) == (100, "2025-01", "2025-12")
    ((ids, *days),) = plan(500, 40, closed=["2025-03", "2025-04"])
    assert (len(ids), *days) == (40, "2025-03", "2025-04")
    apart = plan(500, 40, closed=["2025-03", "2025-06", "2025-09"])
    assert [(first, last) for _, first, last in apart] == [("2025-03", "2025-03"), ("2025-06", "2025-06")]
    taken = [plan(10, 120, closed=["2025-03"], turn=turn) for turn in range(2)]
    assert [len(ids) for ((ids, *_),) in taken] == [100, 20]
    assert len({one for ((ids, *_),) in taken for one in ids}) == 120
    assert plan(10, 120, turn=2) == taken[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_plan_never_exceeds_the_requests(seed):
    draw = random.Random(seed)  # noqa: S311 (a test)
    ids = [f"ledger-{number}" for number in range(draw.randint(1, 300))]
    counts = pd.DataFrame({one: draw.choices([0, 1, 900, 5000, 20_000], k=len(NAMES)) for one in ids}, index=NAMES)
    closed = [aa.Period.parse(name, time_zone="UTC") for name in draw.sample(NAMES, draw.randint(0, 12))]
    readings = plan_reading(counts, MONTHS, ids, closed, draw.randint(0, 50))
    requests = 0
    for one in readings:
        lines = counts.loc[[month.month for month in one.days.months()]].sum()
        requests += sum(max(1, -(-lines[ledger_id] // 1000)) for ledger_id in one.ledger_ids)
    assert requests <= 100


def test_books_that_are_extended_reach_back(tmp_path, serve):
    with serve(7, dt.date(2025, 10, 1)) as service:
        books = aa.LocalBooks.open(tmp_path / "books")
        books.sync(service.client, start_date="2025-12-01", end_date="2025-12-31")
        assert books.books_start is None
        assert books.sync(service.client, start_date="2025-10-01", end_date="2025-12-31").ties
        assert books.books_start == dt.date(2025, 10, 1)
        fresh = service.load(books.ledgers())
        held = books.line_entries()
        pd.testing.assert_frame_equal(held[held["local_date"] <= "2025-12-31"], fresh)


def test_a_new_name_changes_no_line(tmp_path, serve):
    with serve(9) as service:
        books = aa.LocalBooks.open(tmp_path / "books")
        books.sync(service.client, start_date="2025-12-01", end_date="2025-12-31")
        books.close(books.period)
        service.rename_ledger()
        result = books.sync(service.client, months_a_night=12, end_date="2025-12-31")
        assert result.changes.frame.empty
        assert result.alarms == ()


def post_in_november(service, id_, day, debit, credit):
    service.post((dt.datetime(2025, 11, day, 17, tzinfo=dt.UTC), {debit: 5, credit: -5}, id_, id_))


def sync_since_december(books, service):
    """Delete all lines before December 2025, and sync the rest."""
    service.execute("DELETE FROM transactions")
    service.execute("DELETE FROM line_entry_tags")
    early = "(SELECT pk FROM line_entries WHERE datetime < 1764568800000000)"  # before December 2025
    service.execute(f"DELETE FROM line_entries WHERE pk IN {early}")  # noqa: S608
    service.execute("DELETE FROM journal_entries WHERE datetime < 1764568800000000")
    assert books.sync(service.client, start_date="2025-12-01", end_date="2025-12-31").ties
    assert books.books_start == dt.date(2025, 12, 1)


@pytest.mark.parametrize("touches_cash", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_sync_looks_before_the_first_day(tmp_path, serve, touches_cash):
    """The line of each ledger that is read again is its first one: if that is too early, no sum is a balance."""
    with serve(11) as service:
        books = aa.LocalBooks.open(tmp_path / "books")
        sync_since_december(books, service)
        assert books.sync(service.client, end_date="2025-12-31").notes == ()
        debit = service.cash[0] if touches_cash else service.receivable
        post_in_november(service, "late", 10, debit, service.categories[0])
        post_in_november(service, "later", 12, debit, service.categories[0])
        result = books.sync(service.client, end_date="2025-12-31")
        assert result.ties
        (note,) = result.notes
        assert note == (
            "There are lines before 1 Dec 2025 now, the first on 10 Nov 2025: balances of the books begin with those "
            "that the service reports for 1 Dec 2025. Sync with start_date=2025-11-01 to read them."
        )
        assert note in result.explain()
        assert books.books_start is None
        assert "books_start" not in books.line_entries().attrs["load"]
        december = aa.load_cash_flow_report(service.client, "2025-12-01", "2025-12-31")
        assert compare_reports(december, books.report(december.period)).ties
        assert books.sync(service.client, end_date="2025-12-31").notes == ()
        assert books.sync(service.client, start_date="2025-11-01", end_date="2025-12-31").ties
        assert books.books_start == dt.date(2025, 11, 1)
        assert len(books.line_entries(aa.Period("2025-11-01", "2025-11-30", books.time_zone))) == 4


class Interrupted(httpx.HTTPTransport):
    """Counts the requests, and refuses one of them for good."""

    count = refused = 0

    def handle_request(self, request):
        self.count += 1
        return httpx.Response(501, json={}) if self.count == self.refused else super().handle_request(request)


@pytest.mark.parametrize("days", [{"start_date": "2025-03-01", "end_date": "2025-03-31"}, {"end_date": "2025-03-31"}])
def test_an_interrupted_first_sync_continues(posted_books, tmp_path, days):
    categories = [f"category-{number}" for number in range(20)]
    entries = [("2025-03-10", {"bank": -1, one: 1}) for one in categories]
    ledgers = {"bank": "bank_account"} | dict.fromkeys(categories, "expense operating_expenses debit")
    days, transport = days | {"progress": False}, Interrupted()
    client = posted_books(entries, ledgers, transport=transport)
    needed = aa.LocalBooks.open(tmp_path / "whole").sync(client, **days).requests
    transport.count, transport.refused = 0, needed - 1
    local = aa.LocalBooks.open(tmp_path / "books")
    with pytest.raises(ServiceError):
        local.sync(client, **days)
    assert local.version is None
    result = local.sync(client, **days)
    assert result.ties
    assert result.requests < needed - 10
    assert sorted(path.name for path in local.folder.iterdir()) == ["books.lock", "ledgers", "lines"]
    ledgers = (one.ledgers().drop(columns="created_at") for one in (local, aa.LocalBooks.open(tmp_path / "whole")))
    pd.testing.assert_frame_equal(*ledgers)


class EmptyFirstPage(httpx.HTTPTransport):
    """Leaves the first page of the days before the books empty, as a service may that has further pages."""

    def handle_request(self, request):
        response = super().handle_request(request)
        asked = request.url.params
        if asked.get("start_date") != "0001-01-01" or asked.get("limit") != "1" or "page_token" in asked:
            return response
        return httpx.Response(response.status_code, json=json.loads(response.read()) | {"records": []})


def test_lines_on_a_later_page_are_lines_before_the_first_day(posted_books, tmp_path):
    days = ("2025-01-10", "2025-01-11", "2025-02-10", "2025-03-10")
    entries = [(day, {"bank": -1, "rent": 1}) for day in days]
    ledgers = {"bank": "bank_account", "rent": "expense operating_expenses debit"}
    local = aa.LocalBooks.open(tmp_path / "books")
    client = posted_books(entries, ledgers, transport=EmptyFirstPage())
    local.sync(client, start_date="2025-03-01", end_date="2025-03-31", progress=False)
    assert local.sync(client, start_date="2025-02-01", end_date="2025-03-31", progress=False).ties
    assert local.books_start is None


def test_a_change_of_the_files_raises_the_format():
    fields = {
        name: struct.get("properties") or struct["prefixItems"]
        for name, struct in msgspec.json.schema(Version)["$defs"].items()
    }
    digest = hashlib.sha256(f"{table_schema(2)} {fields}".encode()).hexdigest()[:12]
    current = fields["Version"]["format"]["default"]
    assert (current, digest) == (3, "3177d3370ec3"), "raise the format of local_books/versions.py, and write both here"
