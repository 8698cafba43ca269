"""`load_books`: the same books as discovery and load apart, each page requested once; what it asks for and refuses."""

import httpx
import pandas as pd
import pytest
from figure_guard import UNUSUAL, UNUSUAL_LEDGERS, YOUNG, YOUNG_LEDGERS, numbered

import accounting_analytics as aa
from accounting_analytics.core.errors import ChangedWhileReadingError, EmptyPeriodError, InputError

DAYS = ("2025-01-01", "2026-06-30")
REPORTS = ("/v0/reports/cash-flow",)


def apart(client, days):
    """Return ledgers and lines as discovery and load return them."""
    ledgers = aa.discover_ledgers(client, *days, progress=False)
    return ledgers, aa.load_line_entries(client, ledgers["id"], *days, progress=False)


def require_same(books, ledgers, lines):
    """Require the same chart, lines and certificate, whatever found a ledger."""
    pd.testing.assert_frame_equal(books.lines, lines)
    pd.testing.assert_frame_equal(books.ledgers.drop(columns="found_by"), ledgers.drop(columns="found_by"))
    assert books.ledgers.attrs == ledgers.attrs
    stated = ("start_date", "end_date", "ledgers", "lines", "consistency", "of_one_moment", "sums")
    loads = [{name: one.attrs["load"][name] for name in stated} for one in (books.lines, lines)]
    assert loads[0] == loads[1]
    certificates = [aa.check_completeness(one) for one in (books.with_reports(()), aa.Books(lines, ledgers))]
    assert certificates[0] == certificates[1]


@pytest.fixture
def through(demo_company, distortion, forwarding):
    """Return a client of the demo company whose requests, and perhaps answers, go through a distortion."""
    recorder = distortion()
    with (
        forwarding(demo_company.base_url, recorder) as base_url,
        aa.LedgerClient(
            base_url, token=demo_company.token, instance_id=demo_company.instance_id, time_zone=demo_company.time_zone
        ) as client,
    ):
        yield client, recorder


def test_demo_takes_one_request_per_page_and_ledger(demo_company, through):
    client, recorder = through
    books = aa.load_books(client, DAYS, reports=(), progress=False)
    lines = books.lines
    asked = len(recorder.requests)
    ledgers, apart_lines = apart(demo_company.client, DAYS)
    load = apart_lines.attrs["load"]
    apart_lines.attrs["load"] = load | {"base_url": client.base_url}
    require_same(books, ledgers, apart_lines)
    assert len(lines) == len(apart_lines)
    assert asked <= 1.1 * max(load["pages"], len(ledgers))
    assert (books.opening.basis, str(books.opening.day)) == ("first entry", DAYS[0])


@pytest.mark.parametrize(
    ("entries", "ledgers", "zone", "days"),
    [
        (UNUSUAL, UNUSUAL_LEDGERS, "America/New_York", ("2024-11-05", "2025-04-30")),
        (YOUNG, YOUNG_LEDGERS, "UTC", ("2025-02-11", "2025-04-20")),
    ],
    ids=["unusual", "young"],
)
def test_other_books_equal_discovery_and_load_apart(posted_books, entries, ledgers, zone, days):
    client = posted_books(numbered(entries), ledgers, time_zone=zone)
    books = aa.load_books(client, days, time_zone=zone, progress=False)
    chart = aa.discover_ledgers(client, *days, time_zone=zone, progress=False)
    lines = aa.load_line_entries(client, chart["id"], *days, time_zone=zone, progress=False)
    require_same(books, chart, lines)
    earlier = aa.load_books(client, (days[0], days[0]), time_zone=zone, progress=False)
    assert list(earlier.ledgers["id"]) == list(chart["id"])
    assert earlier.lines["local_date"].max() <= pd.Timestamp(days[0])
    kept = aa.load_books(client, days, time_zone=zone, chart=chart.tail(3), progress=False)
    assert set(kept.ledgers["id"]) == set(chart["id"])


def test_lines_begin_with_the_first_entry_end_with_the_period(demo_company):
    client = demo_company.client
    books = aa.load_books(client, "2025-03", progress=False)
    extent = books.extent
    assert (str(extent.days.start_date), str(extent.days.end_date)) == ("2025-01-01", "2025-03-31")
    assert [one.period for one in books.reports] == [books.period]
    assert (books.company, books.currency) == (client.company, "USD")
    everything = aa.load_books(client, progress=False)
    today = aa.Period.relative("this-month", time_zone=demo_company.time_zone)
    assert (everything.extent.days.end_date, everything.reports) == (today.end_date, ())
    assert everything.period == everything.extent.days
    early = aa.load_books(client, "2024-12/2025-01", reports=["2024-11", "2024-12/2025-01"], progress=False)
    assert str(early.extent.days.start_date) == "2024-12-01"
    assert [str(one.period.start_date) for one in early.reports] == ["2024-12-01"]
    assert aa.reconcile(early).ties


def test_a_later_first_day_has_the_reported_cash(demo_company):
    client = demo_company.client
    books = aa.load_books(client, "2025-05", since="2025-04-01", progress=False)
    whole = aa.load_books(client, "2025-05", progress=False)
    assert (books.opening.basis, books.opening.of, str(books.opening.day)) == ("reported", "cash", "2025-04-01")
    cash = [aa.cash_flow_statement(one)["ending_cash_balance", "2025-05"].exact() for one in (books, whole)]
    assert cash[0] == cash[1] != 0
    assert aa.balance_sheet(books).title == "Movement of assets, liabilities and equity since 1 Apr 2025"
    assert aa.balance_sheet(whole).title == "Balance sheet"
    assert aa.reconcile(books).ties
    given = aa.load_books(client, "2025-05", since="2025-04-01", opening={"Operating Account": 5}, progress=False)
    assert given.opening.basis == "given"


def test_named_ledgers_alone_are_loaded_others_are_stated(demo_company):
    books = aa.load_books(demo_company.client, "2025-05", ledgers=["Rent", "Operating Account"], progress=False)
    assert set(books.lines["ledger_name"]) == {"Rent", "Operating Account"}
    assert len(aa.register(books, "Rent")) == 1
    with pytest.raises(aa.errors.IncompleteLoadError, match="ledgers were not loaded"):
        aa.income_statement(books)
    with pytest.raises(InputError, match="did you mean 'Rent'"):
        aa.load_books(demo_company.client, "2025-05", ledgers=["Rnt"], progress=False)


def test_impossible_options_and_empty_books_are_refused(demo_company, connected):
    client = connected(lambda _: None)
    for options, message in (
        ({"since": "2025-06-01"}, "since is 2025-06-01, which is after the last day, 2025-05-31; nothing was loaded"),
        ({"engine": "polars"}, "engine='polars' reads local books: sync them"),
        ({"reports": ["May"]}, "'May' is not a period"),
        ({"time_zone": "localtime"}, "localtime"),
    ):
        with pytest.raises(InputError, match=message):
            aa.load_books(client, "2025-05", **options)
    assert client.requests == []
    with pytest.raises(InputError, match="source is of type str, not LedgerClient; connect"):
        aa.load_books("http://localhost", "2025-05")
    with pytest.raises(EmptyPeriodError, match="the first entry of the books is of 2025-01-01, so there is none"):
        aa.load_books(demo_company.client, "2024-05", progress=False)


def test_hidden_parents_are_given_and_checked(demo_company, distortion, forwarding):
    refuse = distortion(status=lambda _, params: 422 if "parent" in params.get("expand", "") else None)
    with forwarding(demo_company.base_url, refuse) as base_url:
        access = {"token": demo_company.token, "instance_id": demo_company.instance_id, "time_zone": "UTC"}
        with aa.LedgerClient(base_url, **access) as client:
            flat = aa.load_books(client, "2025-05", progress=False).ledgers
            assert not flat["parent_known"].any()
            assert flat["type"].notna().all()
            parents = {"led_rent": "led_premises", "led_premises": None}
            given = aa.load_books(client, "2025-05", parents=parents, progress=False).ledgers.set_index("id")
            assert given.loc["led_rent", "parent_id"] == "led_premises"
            with pytest.raises(InputError, match="parents: ledger 'led_nowhere' does not exist in this instance"):
                aa.load_books(client, "2025-05", parents={"led_rent": "led_nowhere"}, progress=False)


def test_refused_early_days_take_the_reported_cash(demo_company, distortion, forwarding):
    def status(_, params):
        return 422 if params["start_date"] < "2025-03-01" else None

    with forwarding(demo_company.base_url, distortion(status=status)) as base_url:
        access = {"token": demo_company.token, "instance_id": demo_company.instance_id}
        with aa.LedgerClient(base_url, **access, time_zone=demo_company.time_zone) as client:
            books = aa.load_books(client, "2025-05", progress=False)
    assert (books.opening.basis, str(books.opening.day)) == ("reported", "2025-03-01")
    assert "Cash is what the service reported at the start of 1 Mar 2025" in books.explain()
    assert "movement" in aa.balance_sheet(books).heading()
    assert aa.reconcile(books).ties


def test_failing_ledger_ends_the_load_or_is_stated_first(demo_company, distortion, forwarding):
    def status(path, _):
        return 400 if "led_rent" in path else None

    with forwarding(demo_company.base_url, distortion(status=status)) as base_url:
        access = {"token": demo_company.token, "instance_id": demo_company.instance_id}
        with aa.LedgerClient(base_url, **access, time_zone=demo_company.time_zone, max_attempts=1) as client:
            with pytest.raises(aa.errors.ServiceError, match="led_rent"):
                aa.load_books(client, "2025-05", progress=False)
            books = aa.load_books(client, "2025-05", allow_partial=True, progress=False)
    assert repr(books).startswith("INCOMPLETE: Books: ")
    assert "Missing" in repr(books)
    with pytest.raises(aa.errors.IncompleteLoadError, match="led_rent"):
        aa.income_statement(books)
    assert aa.recompute_cash_flow(books, allow_partial=True).partial


def test_a_long_ledger_is_split(connected, make_ledgers, spread, capsys):
    days = [f"2025-{month:02}-{day:02}" for month in (1, 2, 3) for day in range(1, 29)]
    served = make_ledgers(spread({"led_1": dict.fromkeys(days, 40)}), page_size=100)
    client = connected(cash_service(served, "led_1"))
    books = aa.load_books(client, ("2025-01-01", "2025-03-28"), reports=(), progress=False)
    assert len(books.lines) == 40 * len(days)
    assert served.requests < 3 * 40 * len(days) / 100
    assert "requests or more are to come" not in capsys.readouterr().err


def cash_service(served, ledger_id):
    """Return a handler of lines, and of reports with one cash ledger."""
    balance = {"ledger_id": ledger_id, "ledger_name": "Bank", "sort_code": "1", "cash_balance": 0}
    balances = [balance | {"total_cash_balance": 0}]
    report = {"starting_balances": balances, "ending_balances": balances, "cash_flow_ledgers": []}
    report |= {"starting_cash_balance": 0, "ending_cash_balance": 0}

    def handle(request):
        if "reports" in request.url.path:
            return httpx.Response(200, json=report)
        return served(request)

    return handle


def test_a_change_of_the_newest_lines_is_found(connected, make_ledgers, spread, line):
    days = [f"2025-01-{day:02}" for day in range(1, 29)]
    served = make_ledgers(spread({"led_1": dict.fromkeys(days, 10)}), page_size=100)

    def add_one_at_the_end(request):
        answer = cash_service(served, "led_1")(request)
        if request.url.params.get("page_token") == "at-200":  # the last page
            late = line("late", ledger_id="led_1", datetime="2025-01-28T23:59:00.000000+00:00", amount="1.00")
            served.change(lambda lines: lines.append(late))
        return answer

    client = connected(add_one_at_the_end)
    with pytest.raises(
        ChangedWhileReadingError, match=r"1 line of 2025-01-28 to 2025-01-31 added, removed or changed: lin_late"
    ):
        aa.load_books(client, "2025-01", reports=(), progress=False)
