"""Requests, row by row of `interface_table.toml`: required, allowed, default and refused values."""

import datetime as dt
import itertools
import tomllib
from decimal import Decimal
from importlib import resources
from pathlib import Path

import pytest

from accounting_analytics.journals.entries import NewJournalEntry, NewLine, NewTag, NewTransaction
from accounting_analytics.service.post_entries import post_entries

TABLE = tomllib.loads((Path(__file__).parent / "interface_table.toml").read_text(encoding="utf-8"))
ENUM, REQUESTS = TABLE["enum"], TABLE["request"]
YEAR = {"start_date": "2025-01-01", "end_date": "2025-12-31"}


@pytest.fixture
def world(books):
    """Return books in which every request of `plain` succeeds."""
    books.bank(id="bank")
    books.category(id="rent")
    books.category("Food", id="food")
    transaction = NewTransaction(id="T", source_account_id="source", review_status="reviewed")
    books.post("2025-03-01T12:00:00Z", ("bank", -5, transaction, NewTag("class", "north")), ("rent", 5))
    books.post("2025-03-02T12:00:00Z", ("bank", 7, NewTag("class", "north")), ("food", -3), ("rent", -4))
    books.tag = books.lines("bank")["records"][0]["tags"][0]["id"]
    return books


def plain(operation, world):
    """Return the parts of a request with everything that an operation requires, and nothing else."""
    parts = {"header": dict(world.headers), "path": {}, "query": {}, "body": {}}
    if operation == "create_ledger":
        parts["body"] = {
            "name": "x", "editable": True, "debit_credit": "debit", "report_cash_flow": False, "sort_code": "7",
            "type": "expense", "sub_type": "other_expenses",
        }  # fmt: skip
    elif operation == "recategorize_transaction":
        parts["path"] = {"ledger_id": "bank", "transaction_id": "T"}
        parts["body"] = {"updated_category_ledger_id": "food"}
    else:
        parts["query"] = dict(YEAR)
        parts["path"] = {"ledger_id": "bank"} if operation == "list_line_entries" else {}
    return parts


def sent(world, operation, parts):
    one = TABLE["operation"][operation]
    body = {"json": parts["body"]} if one["method"] != "GET" else {}
    path = one["path"].format(**parts["path"])
    return world.http.request(one["method"], path, params=parts["query"], headers=parts["header"], **body)


def named_wrong(response, row):
    """Whether a response is 422 and names the field of a row."""
    return response.status_code == 422 and [row["in"], row["name"]] in [
        detail["loc"][:2] for detail in response.json()["detail"]
    ]


def right_values(row, world):
    """Return the values to send that a row allows."""
    kind = row["type"]
    if kind.startswith(("enum ", "array of enum ")):
        return list(ENUM[kind.rpartition(" ")[2]])
    if kind == "time zone":
        return ["UTC", "America/New_York", "localtime"]
    texts = {
        "start_date": ["2025-03-01"], "end_date": ["2025-03-01"], "ledger_id": ["bank"], "transaction_id": ["T"],
        "updated_category_ledger_id": ["food", "rent"], "category_ledger_id": ["rent"], "tag_ids": [world.tag],
        "modified-by": ["me", "x" * 200], "parent_id": ["rent"], "sort_code": ["0", "x" * 20],
        "page_token": [world.lines("bank", *YEAR.values(), limit=1)["next_page_token"]],
    }  # fmt: skip
    if kind == "boolean":
        return ["true", "false", "True", "FALSE", "tRuE"] if row["in"] == "query" else [True, False]
    if kind == "integer":
        return [row["minimum"], row["maximum"], row["default"]]
    return texts.get(row["name"], ["x"])


def wrong_values(row):
    """Return values that a row does not allow, except null."""
    kind = row["type"]
    wrong = {
        "boolean": ["1", "yes", "true "] if row["in"] == "query" else ["true", 1, 0, [], {}],
        "date": ["", "2025-3-1", "20250301", "2025-W01-1", "2025-02-29", "2025-03-01T00:00:00Z", "1.3.2025"],
        "integer": ["x", "1.5", "1e2", "-1", "+5", "9" * 5000, "\N{ARABIC-INDIC DIGIT ONE}"],
        "time zone": ["", "utc", "Mars/Olympus", "Etc/GMT+13", "../../etc/passwd"],
        "array of string": ["a,,b"],
    }.get(kind, [])
    wrong += ["2024-12-31"] if row["name"] == "end_date" else []  # before the start
    if kind.startswith(("enum ", "array of enum ")):
        value = ENUM[kind.rpartition(" ")[2]][0]
        wrong = [value.upper(), f"{value};", "nothing"]
        wrong += ["", f"{value} ", 1, True, [value]] if row["in"] == "body" else [",", f"{value},", f",{value}"]
    if kind == "string" and row["in"] == "body":
        wrong = [5, True, [], {}]
    if kind == "integer":
        wrong += [str(row["minimum"] - 1), str(row["maximum"] + 1)]
    return wrong + (["x" * (row["max_length"] + 1)] if "max_length" in row else [])


def with_value(parts, row, value, world):
    """Set a value in a request, and the values that must agree with it."""
    parts = {part: dict(fields) for part, fields in parts.items()}
    parts[row["in"]][row["name"]] = value
    if row["name"] == "type" and isinstance(value, str) and value in ENUM["type"]:
        parts["body"]["sub_type"] = TABLE["sub_types_of"][value][0]
    if row["name"] == "sub_type" and value in ENUM["sub_type"]:
        parts["body"]["type"] = next(kind for kind, subs in TABLE["sub_types_of"].items() if value in subs)
    if row["name"] == "page_token" and value:
        parts["query"]["limit"] = 1
    if row["name"] == "category_ledger_id" and value == "rent":  # its current category
        world.recategorize("bank", "T", value)
    return parts


def rows(condition):
    """Return the rows of all requests that meet a condition, as cases of a test."""
    return pytest.mark.parametrize(
        ("operation", "row"),
        [
            pytest.param(operation, row, id=f"{operation}-{row['in']}-{row['name']}")
            for operation, of_operation in REQUESTS.items()
            for row in of_operation
            if condition(row)
        ],
    )


def is_credential(row):
    """Whether a row is a header whose values other tests cover."""
    return row["name"] in {"authorization", "service-instance-id"}


@rows(lambda row: row["in"] != "path")
def test_what_is_required(world, operation, row):
    """Without a required value the request is refused and the value named; without any other it succeeds."""
    status, parts = TABLE["operation"][operation]["status"], plain(operation, world)
    fields = {name: value for name, value in parts[row["in"]].items() if name != row["name"]}
    response = sent(world, operation, parts | {row["in"]: fields})
    if row["name"] == "authorization":
        assert response.status_code == 401
    else:
        assert response.status_code == status if row["required"] == "no" else named_wrong(response, row)


@rows(lambda row: not is_credential(row))
def test_what_is_allowed(world, operation, row):
    """Every value of an enumeration, both ends of a range and either boolean is accepted; anything else is refused."""
    status, parts = TABLE["operation"][operation]["status"], plain(operation, world)
    for value in right_values(row, world):
        response = sent(world, operation, with_value(parts, row, value, world))
        assert response.status_code == status, (value, response.text)
    for value in wrong_values(row):
        assert named_wrong(sent(world, operation, with_value(parts, row, value, world)), row), value


@rows(lambda row: row["in"] == "body")
def test_null_means_omitted(world, operation, row):
    response = sent(world, operation, with_value(plain(operation, world), row, None, world))
    if row["required"] == "no":
        assert row["nullable"]
        assert response.status_code == TABLE["operation"][operation]["status"]
    else:
        assert named_wrong(response, row)


@rows(lambda row: row["in"] == "query")
def test_empty_means_omitted(world, operation, row):
    parts = plain(operation, world)
    response = sent(world, operation, with_value(parts, row, "", world))
    if row.get("nullable"):
        assert response.status_code == TABLE["operation"][operation]["status"]
        assert operation == "create_ledger" or response.json() == sent(world, operation, parts).json()
    else:
        assert named_wrong(response, row)
    twice = [*parts["query"].items(), (row["name"], ""), (row["name"], "")]
    assert named_wrong(sent(world, operation, parts | {"query": twice}), row)


@rows(lambda row: row["in"] == "query" and row["type"].startswith("array"))
def test_blanks_around_commas_are_ignored(world, operation, row):
    values = [value for value in right_values(row, world) if value != "ledger"]
    without, with_blanks = (
        sent(world, operation, with_value(plain(operation, world), row, text, world))
        for text in (",".join(values), " " + " ,\t".join(values) + " ")
    )
    if operation == "create_ledger":
        assert without.json()["parent"] is with_blanks.json()["parent"] is None
    else:
        assert without.json() == with_blanks.json()


@rows(lambda row: row["required"] == "conditional")
def test_fields_with_a_financial_account_type(world, operation, row):
    """With a financial account type the field may be omitted or null, alone or with the others."""
    account = {"name": "x", "editable": True, "financial_account_type": "bank_account"}
    complete = account | {"debit_credit": "debit", "report_cash_flow": True, "sort_code": "1", "type": "asset"}
    complete |= {"sub_type": "current_assets"}
    lacking = {name: value for name, value in complete.items() if name != row["name"]}
    for body in (account, account | {row["name"]: None}, lacking, lacking | {row["name"]: None}):
        response = sent(world, operation, plain(operation, world) | {"body": body})
        assert response.status_code == TABLE["operation"][operation]["status"]
        assert response.json()[row["name"]] is not None


@rows(lambda row: "default" in row)
def test_omitted_means_the_default(world, operation, row):
    moment = dt.datetime(2025, 12, 31, 23, 30, tzinfo=dt.UTC)
    entries = [NewJournalEntry(moment, "entry", (NewLine("bank", n), NewLine("food", -n))) for n in range(60)]
    post_entries(world.store, world.instance_id, entries)
    parts = plain(operation, world)
    responses = [
        sent(world, operation, with_value(parts, row, value, world)).json()
        for value in (row["default"], {"limit": 51, "time_zone": "Asia/Tokyo"}[row["name"]])
    ]
    left_out = sent(world, operation, parts).json()
    for response in (left_out, *responses):
        response.pop("next_page_token", None)  # bound to the query as sent
    assert left_out == responses[0] != responses[1]


def test_sub_types_agree_with_exactly_one_type(world):
    accounts = itertools.cycle([None, *ENUM["financial_account_type"]])
    for number, chosen in enumerate(itertools.product(ENUM["type"], ENUM["sub_type"], ENUM["debit_credit"])):
        body = dict(zip(("type", "sub_type", "debit_credit"), chosen, strict=True))
        body |= {"name": "x", "editable": bool(number % 2), "report_cash_flow": bool(number % 3), "sort_code": "7"}
        if body["sub_type"] in TABLE["sub_types_of"][body["type"]]:
            body |= {"parent_id": None, "financial_account_type": next(accounts)}
            assert body.items() <= world.create(**body).items()
        else:
            assert world.create(422, **body)["detail"][0]["loc"] == ["body", "sub_type"]


def test_names_are_free(world):
    for name in ("x", "x", " ", "5010", "Kasse \u00e4\u00f6\u4e2d\U0001f4b6", '"\\/<b>&', "n" * 5000, "null"):
        assert world.create(name=name, editable=False, financial_account_type="payments")["name"] == name


def test_sort_codes_are_free(world):
    for code in ("1", "9", "0005", "ABC", "-", "1"):
        assert plain("create_ledger", world)["body"]["type"] == "expense"
        assert world.create(**plain("create_ledger", world)["body"] | {"sort_code": code})["sort_code"] == code


def test_lists_are_separated_by_commas(world):
    (first, *_) = world.lines("bank", expand="transaction,journal_entry,ledger")["records"]
    assert {"transaction", "journal_entry", "ledger"} <= set(first)
    world.post("2025-03-03T12:00:00Z", ("bank", 1, NewTag("class", "north"), NewTag("class", "south")), ("food", -1))
    tags = [tag["id"] for tag in world.lines("bank")["records"][-1]["tags"]]
    for order in itertools.permutations(tags):
        assert len(world.lines("bank", tag_ids=",".join(order))["records"]) == 1


def time_zones():
    """Return every name that the interface says is a time zone: names of areas are those of the time zone database."""
    told = TABLE["time_zone"]
    database = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    areas = (*told["areas"], *told["legacy_areas"])
    named = {name for name in database if name.partition("/")[0] in areas and "/" in name}
    for sign, (first, last) in (("+", told["etc_gmt_plus"]), ("-", told["etc_gmt_minus"])):
        named |= {f"Etc/GMT{sign}{hours}" for hours in range(first, last + 1)}
    return named | {*told["legacy"], *told["etc"], *told["short"], told["localtime"]}


@pytest.mark.parametrize("served", ["sqlite"], indirect=True)
def test_time_zones(world, soak_count):
    """Both operations accept the time zones of the interface, each in a long run, and the document lists just these."""
    names = sorted(time_zones())
    paths = world.http.get("/openapi.json").json()["paths"]
    for operation in ("list_line_entries", "retrieve_cash_flow_report"):
        parameters = paths[TABLE["operation"][operation]["path"]]["get"]["parameters"]
        listed = next(one["schema"]["enum"] for one in parameters if one["name"] == "time_zone")
        assert sorted(listed) == names
    assert len(names) > 590
    assert {name.partition("/")[0] for name in names} >= {*TABLE["time_zone"]["areas"]}
    days = {"start": "2025-03-01", "end": "9999-12-31"}
    for name in names[:: 11 - soak_count(10)]:
        assert len(world.lines("bank", **days, time_zone=name, limit=1)["records"]) == 1
        assert world.report(**days, time_zone=name)["ending_cash_balance"] == Decimal(2)


@pytest.mark.parametrize("operation", ["list_line_entries", "retrieve_cash_flow_report"])
def test_other_time_zones_are_refused(world, operation):
    row = next(row for row in REQUESTS[operation] if row["name"] == "time_zone")
    database = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    for name in {*TABLE["time_zone"]["others"], *database} - time_zones():
        response = sent(world, operation, with_value(plain(operation, world), row, name, world))
        assert named_wrong(response, row), name
