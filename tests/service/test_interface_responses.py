"""Responses, by schemas that are made from `interface_table.toml`: every field is seen, of its type, and no other."""

import datetime as dt
import re
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from accounting_analytics.journals.entries import NewTag, NewTransaction

TABLE = tomllib.loads((Path(__file__).parent / "interface_table.toml").read_text(encoding="utf-8"))
ENUM, OBJECTS = TABLE["enum"], TABLE["object"]
OBJECTS["categorized_transaction"] = OBJECTS["transaction"] + OBJECTS["categorized_transaction"]
FORMATS = FormatChecker(formats=())
LOCAL = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?"


@FORMATS.checks("date-time", raises=ValueError)
def is_date_time(text):
    """Whether text is an instant of RFC 3339."""
    return re.fullmatch(LOCAL + r"(Z|[+-]\d\d:\d\d)", text) is not None and dt.datetime.fromisoformat(text)


@FORMATS.checks("local date-time", raises=ValueError)
def is_local_date_time(text):
    """Whether text is an instant of RFC 3339, or one without a zone."""
    return re.fullmatch(LOCAL + r"(Z|[+-]\d\d:\d\d)?", text) is not None and dt.datetime.fromisoformat(text)


def schema_of(row):
    schema = schema_of_type(row["type"])
    if "max_length" in row:
        schema |= {"maxLength": row["max_length"]}
    if "values" in row:
        schema |= {"enum": ENUM[row["values"]]}
    return {"anyOf": [schema, {"type": "null"}]} if row.get("nullable") else schema


def schema_of_type(kind):
    first, _, rest = kind.partition(" ")
    if first == "enum":
        return {"enum": ENUM[rest]}
    if first == "object":
        return {"$ref": f"#/$defs/{rest}"}
    if first == "array":
        return {"type": "array", "items": schema_of_type(rest.removeprefix("of "))}
    return {"type": "string", "format": kind} if kind.endswith("date-time") else {"type": kind}


SCHEMAS = {
    name: {
        "type": "object",
        "properties": {row["name"]: schema_of(row) for row in rows},
        "required": [row["name"] for row in rows if row["required"]],
        "additionalProperties": False,
    }
    for name, rows in OBJECTS.items()
}


class Seen:
    """Checks responses, and collects the fields with a value, the fields that were null, and the values of enums."""

    def __init__(self):
        self.fields, self.nulls, self.values = set(), set(), set()

    def check(self, response, name):
        """Check a response against the schema of an object of the interface."""
        validator = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMAS}, format_checker=FORMATS)
        assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(response)] == []
        self.collect(response, name)
        return response

    def collect(self, response, name):
        for row in OBJECTS[name]:
            value = response.get(row["name"], self)
            if value is None:
                self.nulls.add((name, row["name"]))
            elif value is not self:
                self.fields.add((name, row["name"]))
                if row["type"].startswith("enum ") or "values" in row:
                    self.values.add((row.get("values") or row["type"].removeprefix("enum "), value))
                nested = row["type"].rpartition("object ")[2] if "object " in row["type"] else None
                for one in value if isinstance(value, list) else [value]:
                    if nested:
                        self.collect(one, nested)


@pytest.fixture
def world(books):
    """Return books with an entry of every kind that responses can have."""
    costs = books.create(
        name="Costs", editable=True, debit_credit="debit", type="expense", sub_type="operating_expenses",
        report_cash_flow=False, sort_code="5",
    )["id"]  # fmt: skip
    books.costs, books.rent, books.food = costs, books.category(parent_id=costs), books.category("Food")
    books.account = books.bank()
    tags = (NewTag("class", "north"), NewTag("class", "south"))
    reviewed = NewTransaction("RENT", personal=True, review_status="reviewed", source_account_id="src", id="T1")
    books.post("2025-03-01T12:00:00.000001Z", (books.account, -10, reviewed, *tags), (books.rent, 10, *tags))
    books.post("2025-03-02T12:00:00Z", (books.account, 3, NewTransaction(id="T2")), (books.food, -1), (books.rent, -2))
    return books


def test_responses_have_the_fields_of_the_interface(world):
    seen = Seen()
    for kind, sub_types in TABLE["sub_types_of"].items():
        for number, sub_type in enumerate(sub_types):
            fields = {"type": kind, "sub_type": sub_type, "debit_credit": ENUM["debit_credit"][number % 2]}
            fields |= {"report_cash_flow": False, "sort_code": "0", "name": "x", "editable": True}
            root = seen.check(world.create(**fields, expand="parent,parent.parent"), "ledger")
            child = world.create(**fields, parent_id=root["id"], expand="parent.parent")
            assert seen.check(child, "ledger")["parent"]["id"] == root["id"]
    for account in ENUM["financial_account_type"]:
        seen.check(world.create(name="x", editable=False, financial_account_type=account), "ledger")
    for ledger in (world.account, world.rent, world.costs):
        seen.check(world.lines(ledger), "line_entry_page")
        first = world.lines(ledger, limit=1, expand=",".join(ENUM["line_entry_path"]))
        seen.check(first, "line_entry_page")
        if token := first["next_page_token"]:
            after = world.lines(ledger, limit=1, expand=",".join(ENUM["line_entry_path"]), page_token=token)
            seen.check(after, "line_entry_page")
    for transaction in ("T1", "T2"):
        seen.check(world.recategorize(world.account, transaction, world.food), "recategorized_transaction")
    seen.check(world.report(), "cash_flow_report")
    assert {(name, row["name"]) for name, rows in OBJECTS.items() for row in rows} == seen.fields
    nullable = {(name, row["name"]) for name, rows in OBJECTS.items() for row in rows if row.get("nullable")}
    # the entry of a transaction is always known here
    assert nullable - {("recategorized_transaction", "journal_entry_id")} == seen.nulls
    shown = ("debit_credit", "financial_account_type", "sub_type", "type", "posted_status", "review_status")
    assert {(name, value) for name in shown for value in ENUM[name]} == seen.values


def test_responses_are_json(world):
    year = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
    for path, params in (
        (f"/v0/ledgers/{world.account}/line-entries", year),
        ("/v0/reports/cash-flow", year),
        ("/v0/reports/cash-flow", {}),
        ("/v0/ledgers/none/line-entries", year),
        ("/v0/none", {}),
    ):
        response = world.request("GET", path, params=params)
        assert response.headers["content-type"] == "application/json"
        assert int(response.headers["content-length"]) == len(response.content)
        assert re.search(rb":-?\d+(?![\d.])|[eE]\+?\d", re.sub(rb'"[^"]*"', b'""', response.content)) is None
    assert world.report()["ending_cash_balance"] == Decimal(-7)
