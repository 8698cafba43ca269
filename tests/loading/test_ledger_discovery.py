"""Discovery: the chart of accounts found by references, in few requests, with its limits stated."""

import datetime as dt
import json
from collections import Counter

import httpx
import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, InvalidRequestError, NotFoundError, ProtocolError

MARCH = ("2025-03-01", "2025-03-31")


def deployment(*, parents=True, flows=(), more=0):
    """Return a handler: Bank pays Rent under Expenses, Rent is also accrued against Owed; parents may be hidden."""

    def ledger(ledger_id, kind, *, cash=False):
        return {
            "id": ledger_id,
            "name": ledger_id.title(),
            "debit_credit": "debit",
            "type": kind,
            "sub_type": "current_assets",
            "sort_code": ledger_id,
            "report_cash_flow": cash,
            "created_at": "2024-01-01T00:00:00",
        }

    expenses = ledger("expenses", "expense")
    ledgers = {
        "bank": ledger("bank", "asset", cash=True),
        "rent": ledger("rent", "expense"),
        "owed": ledger("owed", "liability"),
    }
    opposing = {"bank": ["rent"], "rent": ["bank", "owed"], "owed": ["rent"]}

    def answer(request):
        if "reports" in request.url.path:
            balance = {"ledger_id": "bank", "ledger_name": "Bank", "sort_code": "bank", "cash_balance": "0"}
            balances = {"starting_balances": [balance], "ending_balances": [balance]}
            sums = {"starting_cash_balance": 0, "ending_cash_balance": 0}
            return httpx.Response(200, json={"cash_flow_ledgers": flows} | balances | sums)
        ledger_id = request.url.path.split("/")[3]
        expand = request.url.params.get("expand", "")
        if "ledger.parent" in expand and not parents:
            return httpx.Response(422, json={"detail": [{"loc": ["expand"], "msg": "unknown", "type": "enum"}]})
        nested = dict(ledgers.get(ledger_id, {}))
        if "ledger.parent" in expand:
            nested["parent"] = expenses | {"parent": None} if ledger_id == "rent" else None
        records = [
            {
                "id": f"{ledger_id}-{at}",
                "amount": 1,
                "debit_credit": "debit",
                "datetime": "2025-03-02T00:00:00Z",
                "ledger_id": ledger_id,
                "journal_entry_id": "e",
                "ledger": nested,
                "opposing_ledger_ids": [other],
            }
            for at, other in enumerate(opposing.get(ledger_id, []) * (1 + more))
        ]
        if not request.url.params["start_date"] <= "2025-03-02" <= request.url.params["end_date"]:
            records = []
        if request.url.params.get("is_cashflow") == "false":
            records = [record for record in records if "bank" not in (ledger_id, *record["opposing_ledger_ids"])]
        limit = int(request.url.params["limit"])
        at = int(request.url.params.get("page_token", 0))
        page, following = records[at : at + limit], str(at + limit) if at + limit < len(records) else None
        return httpx.Response(200, json={"records": page, "next_page_token": following, "prev_page_token": None})

    return answer


def test_discovery_finds_ledgers_that_no_report_names(connected):
    ledgers = aa.discover_ledgers(connected(deployment()), *MARCH).set_index("id")
    assert sorted(ledgers.index) == ["bank", "expenses", "owed", "rent"]
    assert ledgers.loc["rent", "parent_id"] == "expenses"
    assert ledgers["parent_known"].all()
    assert ledgers.loc["owed", "found_by"] == "opposing ledger of Rent"
    assert ledgers.loc["bank", "created_at"] == pd.Timestamp(dt.datetime(2024, 1, 1, tzinfo=dt.UTC))
    claim = "4 ledgers are known from all entries since 2 Mar 2025; the service has no list of ledgers."
    assert ledgers.attrs["notes"][0] == claim


@pytest.mark.parametrize(("configured", "zone"), [(None, "UTC"), ("Asia/Tokyo", "Asia/Tokyo")])
def test_discovery_days_are_in_the_zone_or_utc_with_a_note(connected, configured, zone):
    client = connected(deployment(), time_zone=configured)
    notes = aa.discover_ledgers(client, *MARCH).attrs["notes"]
    assert {request.url.params["time_zone"] for request in client.requests} == {zone}
    assert ("No time zone was given, so the days are those of UTC." in notes) == (configured is None)


def test_unknown_parents_are_noted(connected):
    ledgers = aa.discover_ledgers(connected(deployment(parents=False)), *MARCH)
    assert not ledgers["parent_known"].any()
    assert "parents=" in ledgers.attrs["notes"][1]
    given = aa.discover_ledgers(
        connected(deployment(parents=False)), *MARCH, parents={"rent": "expenses", "bank": None}
    ).set_index("id")
    assert given.loc["rent", "parent_id"] == "expenses"
    assert given.loc["expenses", ["debit_credit", "found_by"]].isna().tolist() == [True, False]
    assert given["parent_known"].to_dict() == {"bank": True, "expenses": False, "owed": False, "rent": True}


DEEP_TABLE = """entry_id,datetime,entry_description,ledger,debit_credit,amount
rent,2025-01-02,Rent,expenses:premises:london:office:rent:ground,debit,1450.00
rent,2025-01-02,Rent,assets:bank:checking,credit,1450.00
sale,2025-01-03,Sale,assets:bank:checking,debit,300.00
sale,2025-01-03,Sale,income,credit,300.00
"""


@pytest.fixture(scope="module")
def deep_table(posted_books, tmp_path_factory):
    """Return books whose ledgers with lines have one to six levels."""
    file = tmp_path_factory.mktemp("deep") / "lines.csv"
    file.write_text(DEEP_TABLE, encoding="utf-8")
    return posted_books.import_file(file, cash=["assets:bank*"])


def test_every_parent_of_imported_books_is_known(deep_table):
    with deep_table.client(time_zone="UTC") as client:
        ledgers = aa.discover_ledgers(client, *MARCH)
        books = aa.load_books(client, "2025-01")
    assert ledgers["parent_known"].all()
    assert ledgers["type"].notna().all()
    assert len(ledgers.attrs["notes"]) == 1  # the claim about the list of ledgers; nothing is asked of the reader
    parents = dict(zip(ledgers["id"], ledgers["parent_id"], strict=True))
    levels = {name: 1 for name in parents if pd.isna(parents[name])}
    while len(levels) < len(parents):
        levels |= {name: levels[parents[name]] + 1 for name in parents if parents[name] in levels}
    assert sorted(levels.values()) == [1, 1, 1, 2, 2, 3, 3, 4, 5, 6]
    assert dict(zip(books.ledgers["id"], books.ledgers["parent_id"], strict=True)) == parents


def test_a_service_that_shows_two_parents_is_asked_once_for_more(deep_table, distortion, forwarding):
    def refuse_higher_parents(_path, params):
        return 422 if "ledger.parent.parent.parent" in params.get("expand", "") else None

    through = distortion(status=refuse_higher_parents)
    with forwarding(deep_table.base_url, through) as base_url, deep_table.client(base_url, time_zone="UTC") as client:
        ledgers = aa.discover_ledgers(client, *MARCH)
    assert len([path for path, params in through.requests if refuse_higher_parents(path, params)]) == 1
    unknown = set(ledgers.loc[~ledgers["parent_known"], "name"])
    assert unknown == {"london", "premises", "assets", "expenses", "office"}
    assert "The parent of 5 ledgers is unknown" in ledgers.attrs["notes"][1]


def test_ledgers_of_one_tree_have_one_type(connected):
    parents = {"rent": "premises", "premises": "operating", "operating": "all costs", "bank": None}
    given = aa.discover_ledgers(connected(deployment(parents=False)), *MARCH, parents=parents).set_index("id")
    expense = {"rent": "expense", "premises": "expense", "operating": "expense", "all costs": "expense"}
    assert given["type"].to_dict() == expense | {"bank": "asset", "owed": "liability"}
    assert given.loc["all costs", "found_by"] == "given parents"
    mixed = aa.discover_ledgers(connected(deployment(parents=False)), *MARCH, parents={"rent": "x", "bank": "x"})
    assert mixed.set_index("id")["type"].isna().to_dict() == {"bank": False, "owed": False, "rent": False, "x": True}


def test_a_given_parent_must_exist(connected):
    def refuse(request):
        return httpx.Response(404) if "/costs/" in request.url.path else deployment()(request)

    with pytest.raises(InputError, match="parents: ledger 'costs' does not exist in this instance"):
        aa.discover_ledgers(connected(refuse), *MARCH, parents={"rent": "costs"})
    with pytest.raises(NotFoundError):
        aa.discover_ledgers(connected(refuse), *MARCH, inflow_ledger_id="costs")


def test_other_refusals_are_raised(connected):
    handler = deployment()

    def refuse_lines(request):
        return httpx.Response(422) if "line-entries" in request.url.path else handler(request)

    with pytest.raises(InvalidRequestError):
        aa.discover_ledgers(connected(refuse_lines), *MARCH)


FLOWS = [{"ledger_id": "rent", "name": "Rent", "net_cash_flow": 0}]


@pytest.mark.parametrize("in_flight", [1, 8])
def test_discovery_takes_few_requests(connected, in_flight):
    client = connected(deployment(flows=FLOWS))
    ledgers = aa.discover_ledgers(client, *MARCH, in_flight=in_flight)
    assert len(ledgers) == 4
    assert len(client.requests) == 1 + 1 + 4 + 1
    assert ledgers["found_by"].tolist() == ["cash balance", "parent of Rent", "opposing ledger of Rent", "cash flow"]


def test_cash_ledgers_with_many_lines_take_one_page(connected):
    client = connected(deployment(flows=FLOWS, more=3000))
    ledgers = aa.discover_ledgers(client, *MARCH)
    assert len(ledgers) == 4
    bank_pages = [request for request in client.requests if "/bank/" in request.url.path]
    assert max(int(request.url.params["limit"]) for request in bank_pages) == 200
    assert len(bank_pages) == 4  # accepted days, one page, and nothing before and after its year
    assert len(client.requests) < 20


def test_all_cash_lines_are_read_where_the_report_is_incomplete(connected):
    client = connected(deployment(more=3000))
    assert len(aa.discover_ledgers(client, *MARCH)) == 4
    whole = [request for request in client.requests if request.url.params.get("limit") == "1000"]
    assert len([request for request in whole if "/bank/" in request.url.path]) == 4


def test_required_roles_may_be_given(connected):
    ledgers = aa.discover_ledgers(connected(deployment()), *MARCH)
    assert ledgers.attrs["required"] == {}
    assert "transfers between accounts" in ledgers.attrs["notes"][-1]
    given = aa.discover_ledgers(connected(deployment()), *MARCH, inflow_ledger_id="owed", outflow_ledger_id="rent")
    assert given.attrs["required"] == {"uncategorized cash inflow": "owed", "uncategorized cash outflow": "rent"}
    assert given.set_index("id").loc["owed", "found_by"] == "given as uncategorized cash inflow"


def test_required_ledgers_are_recognised(demo_company):
    days = (demo_company.start_date, demo_company.end_date)
    ledgers = aa.discover_ledgers(demo_company.client, *days, time_zone=demo_company.time_zone, progress=False)
    by_id = ledgers.set_index("id")
    assert set(ledgers.attrs["required"].values()) == set(ledgers.loc[ledgers["is_required"].fillna(value=False), "id"])
    inflow = by_id.loc[ledgers.attrs["required"]["uncategorized cash inflow"]]
    assert (inflow["debit_credit"], inflow["sub_type"]) == ("credit", "uncategorized_assets")


def test_empty_pages_are_not_the_end(connected):
    handler = deployment(flows=FLOWS)

    def empty_first(tokens):
        def answer(request):
            following = tokens.get(request.url.params.get("page_token"))
            if "reports" in request.url.path or following is None:
                return handler(httpx.Request(request.method, request.url.copy_remove_param("page_token")))
            return httpx.Response(200, json={"records": [], "next_page_token": following, "prev_page_token": None})

        return answer

    truth = aa.discover_ledgers(connected(handler), *MARCH)
    found = aa.discover_ledgers(connected(empty_first({None: "a", "a": "b"})), *MARCH)
    assert found.equals(truth)
    with pytest.raises(ProtocolError, match="pagination loop"):
        aa.discover_ledgers(connected(empty_first({None: "a", "a": "b", "b": "a"})), *MARCH)


def test_an_expired_page_token_restarts_the_probe(connected):
    handler, expired = deployment(flows=FLOWS), {"error_code": "page_token_expired", "message": "expired"}

    def expire(first_requests):
        requested = Counter()

        def answer(request):
            token, ledger = request.url.params.get("page_token"), request.url.path
            requested[ledger, token] += 1
            if "reports" in ledger or (token is None and requested[ledger, token] > first_requests):
                return handler(httpx.Request(request.method, request.url.copy_remove_param("page_token")))
            if token is None:
                return httpx.Response(200, json={"records": [], "next_page_token": "a", "prev_page_token": None})
            return httpx.Response(400, json=expired)

        return answer

    truth = aa.discover_ledgers(connected(handler), *MARCH)
    assert aa.discover_ledgers(connected(expire(2)), *MARCH).equals(truth)
    with pytest.raises(InvalidRequestError, match="expired"):
        aa.discover_ledgers(connected(expire(1000)), *MARCH)


CHART = {
    "bank": "bank_account",
    "owed": "liability current_liabilities credit",
    "bonus": "expense operating_expenses debit",
    "machine": "asset non-current_assets debit",
    "worn": "asset non-current_assets credit",
    "wear": "expense operating_expenses debit",
}
ENTRIES = [
    ("2023-05-02", {"machine": 900, "bank": -900}),
    ("2024-12-31", {"wear": 300, "worn": -300}),
    ("2023-12-31", {"worn": 1, "machine": -1}),  # the only entry that connects depreciation to cash
    ("2026-06-30", {"bonus": 500, "owed": -500}),
    ("2026-07-15", {"owed": 200, "bank": -200}),
    ("2026-07-16", {"owed": 300, "bonus": -300}),
]
"""An accrual that connects only through its later payment, and depreciation only through an entry of years before."""


@pytest.mark.parametrize(
    "days", [("2026-06-01", "2026-06-30"), ("2024-12-01", "2024-12-31"), ("2022-01-01", "2026-12-31")]
)
def test_the_ledgers_do_not_depend_on_the_days(posted_books, days):
    client = posted_books(ENTRIES, CHART)
    ledgers = aa.discover_ledgers(client, *days)
    assert {"bank", "bonus", "machine", "owed", "wear", "worn"} <= set(ledgers["id"])
    pd.testing.assert_frame_equal(ledgers, aa.discover_ledgers(client, "2025-01-01", "2025-01-01"))
    assert "from all entries since 2 May 2023; the service has no list" in aa.notes(ledgers)[0]


@pytest.mark.parametrize(
    ("days", "net_income"), [(("2026-06-01", "2026-06-30"), -500), (("2024-12-01", "2024-12-31"), -300)]
)
def test_an_income_statement_of_a_month_has_entries_without_cash(posted_books, days, net_income):
    client = posted_books(ENTRIES, CHART)
    ledgers = aa.discover_ledgers(client, *days)
    lines = aa.load_line_entries(client, ledgers["id"], *days)
    assert aa.income_statement(aa.Books(lines, ledgers), days)["net_income"].amount == net_income


@pytest.mark.parametrize("first", ["2023-05-01", "2023-01-01", "1999-07-04"])
def test_days_that_the_service_refuses_are_found_by_halving(connected, first):
    handler = deployment(flows=FLOWS)
    last = "2025-12-24"

    def refuse(request):
        params = request.url.params
        refused = params["start_date"] < first or params["end_date"] > last
        return httpx.Response(422, json={"message": "before the books begin"}) if refused else handler(request)

    client = connected(refuse)
    ledgers = aa.discover_ledgers(client, *MARCH)
    assert ledgers["id"].tolist() == aa.discover_ledgers(connected(handler), *MARCH)["id"].tolist()
    assert f"days before {pd.Timestamp(first):%-d %b %Y} and after 24 Dec 2025 are refused" in aa.notes(ledgers)[0]
    assert len(client.requests) < 7 + 3 + 2 * 14 + 10


def test_the_books_of_a_service_that_begin_within_a_year(posted_books):
    client = posted_books(ENTRIES[3:], CHART, entries_start=dt.date(2026, 6, 17))
    ledgers = aa.discover_ledgers(client, "2026-07-01", "2026-07-31")
    assert {"bank", "bonus", "owed"} <= set(ledgers["id"])


@pytest.mark.long
def test_many_requests_are_announced(connected, monkeypatch, capsys):
    handler, day = deployment(flows=FLOWS), dt.timedelta(days=1)
    start = dt.datetime(2023, 1, 1, tzinfo=dt.UTC)

    def answer(request):
        response = handler(httpx.Request("GET", request.url.copy_remove_param("page_token")))
        if "/owed/" not in request.url.path:
            return response
        (record,) = json.loads(response.read())["records"]
        first = int(request.url.params.get("page_token", 0))
        numbers = range(first, min(first + int(request.url.params["limit"]), 130_000))
        records = [record | {"id": f"o{one}", "datetime": (start + one * day / 130).isoformat()} for one in numbers]
        following = str(numbers.stop) if numbers.stop < 130_000 else None
        return httpx.Response(200, json={"records": records, "next_page_token": following, "prev_page_token": None})

    client = connected(answer)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    ledgers = aa.discover_ledgers(client, *MARCH, progress=False)
    announced = (
        "finding the ledgers takes up to 104 requests, because the service has no list of them; local books (sync)"
    )
    assert announced in capsys.readouterr().err
    assert 130 < len(client.requests) < 150
    assert "since 1 Jan 2023" in aa.notes(ledgers)[0]


def test_lines_in_any_order_show_every_year(connected):
    handler = deployment(flows=FLOWS, more=3000)
    asked = []

    def answer(request):
        if "reports" in request.url.path:
            asked.append((request.url.params["start_date"], request.url.params["end_date"]))
        return handler(request)

    aa.discover_ledgers(connected(answer), *MARCH)
    assert asked == [(MARCH[1], MARCH[1]), ("2025-01-01", "2025-12-31")]  # one of all days may not fit in memory

    def ignore_days(request):
        params = dict(request.url.params) | {"start_date": "2025-01-01", "end_date": "2025-12-31"}
        return handler(httpx.Request(request.method, request.url.copy_with(params=params)))

    with pytest.raises(ProtocolError, match="line 'bank-0' of 2025-03-02 is outside these days"):
        aa.discover_ledgers(connected(ignore_days), *MARCH)
