"""The interface, row by row: service, OpenAPI document and tests agree with every row of `interface_table.toml`."""

import itertools
import re
import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WRITER = runpy.run_path(str(HERE / "interface_table.py"))
TABLE = WRITER["read_table"]()
ENUM, OBJECTS, REQUESTS, STATEMENTS = (TABLE[part] for part in ("enum", "object", "request", "statements"))
OBJECTS["categorized_transaction"] = OBJECTS["transaction"] + OBJECTS["categorized_transaction"]
# number of rows of the tables of the interface; requests start with the two headers of every request
ROWS = {
    "ledger": 13, "categorized_transaction": 13, "category": 3, "line_entry": 17, "line_entry_page": 3,
    "cash_flow_report": 5, "cash_flow_ledger": 5, "cash_flow_line": 6, "cash_ledger_balance": 5,
    "recategorized_transaction": 4, "nested_ledger": 11 + 1, "transaction": 11, "journal_entry": 4, "tag": 3,
    "create_ledger": 2 + 1 + 9, "recategorize_transaction": 2 + 2 + 1 + 2, "list_line_entries": 2 + 1 + 8,
    "retrieve_cash_flow_report": 2 + 4, "statements": 41,
}  # fmt: skip
VALUES = {
    "debit_credit": 2, "financial_account_type": 8, "sub_type": 12, "type": 5, "ledger_path": 2, "line_entry_path": 13,
    "posted_status": 1, "review_status": 2,
}  # fmt: skip


def test_no_row_is_missing():
    tables = {**OBJECTS, **REQUESTS, "statements": STATEMENTS["rows"]}
    assert {name: len(rows) for name, rows in tables.items()} == ROWS
    for rows in tables.values():
        assert len({row.get("name", row.get("rule")) for row in rows}) == len(rows)
    assert {name: len(set(values)) for name, values in ENUM.items()} == VALUES
    assert sorted(itertools.chain(*TABLE["sub_types_of"].values())) == sorted(ENUM["sub_type"])


def test_every_row_has_its_tests():
    rows = [*itertools.chain(*OBJECTS.values(), *REQUESTS.values()), *STATEMENTS["rows"], *TABLE["rulings"]["rows"]]
    assert [row for row in rows if not row.get("tests")] == []


def test_the_page_has_the_table():
    """`python tests/service/interface_table.py` writes the rows."""
    page = WRITER["PAGE"].read_text(encoding="utf-8")
    assert page == WRITER["with_table"](page)
    rows = [*itertools.chain(*REQUESTS.values()), *STATEMENTS["rows"], *TABLE["rulings"]["rows"]]
    for row in [*rows, *itertools.chain(*TABLE["object"].values())]:
        assert row.get("rule", f"| `{row.get('name')}`: ") in page


@pytest.fixture(scope="module")
def document(served):
    _, http = served
    return http.get("/openapi.json").json()


def test_paths(document):
    found = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert found == {name: (one["method"], one["path"]) for name, one in TABLE["operation"].items()}
    assert all(path.startswith("/v0/") for _, path in found.values())


def documented(document, schema):
    """Return a schema of the document in the terms of the table: type, nullable, and the rest."""
    schema = dict(schema)
    if "anyOf" in schema and {"type": "null"} in schema["anyOf"]:
        (schema,) = [one for one in schema["anyOf"] if one != {"type": "null"}]
        return documented(document, schema) | {"nullable": True}
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        target = document["components"]["schemas"][name]
        return documented(document, target) if "enum" in target else {"type": f"object {snake(name)}"}
    if "const" in schema:
        return {"type": f"enum {enum_named([schema['const']])}"}
    if "enum" in schema:
        return {"type": f"enum {enum_named(schema['enum'])}"} | limits_of(schema)
    if schema["type"] == "array":
        return {"type": f"array of {documented(document, schema['items'])['type']}"}
    return {"type": schema.get("format", schema["type"])} | limits_of(schema)


def limits_of(schema):
    named = {"maxLength": "max_length", "maximum": "maximum", "minimum": "minimum", "default": "default"}
    return {named[key]: value for key, value in schema.items() if key in named and value is not None}


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def enum_named(values):
    """Return the name of the enumeration of the table with exactly these values."""
    if TABLE["time_zone"]["localtime"] in values:  # test_time_zones checks each
        return "time zone"
    (name,) = [name for name, known in ENUM.items() if sorted(known) == sorted(values)]
    return name


def in_table(row):
    """Return the type, nullability, limits and default of a row of the table."""
    keys = ("type", "nullable", "max_length", "minimum", "maximum", "default")
    described = {key: row[key] for key in keys if key in row}
    return described | {"type": described["type"].replace("local date-time", "string")}


def test_document_has_the_fields_of_the_requests(document):
    for name, operation in TABLE["operation"].items():
        described = document["paths"][operation["path"]][operation["method"].lower()]
        found = {
            (one["in"], one["name"]): documented(document, one["schema"])
            | {"required": one["required"]}
            | ({"nullable": True} if one.get("allowEmptyValue") else {})
            for one in described["parameters"]
        }
        body = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        if body:
            body = document["components"]["schemas"][body["$ref"].rpartition("/")[2]]
        for field, schema in body.get("properties", {}).items():
            found["body", field] = documented(document, schema) | {"required": field in body["required"]}
        for one in found.values():  # a query parameter that is null has an empty value
            one["type"] = one["type"].replace("enum time zone", "time zone")
            one.pop("default", None) if one.get("default") is None else None
        expected = {}
        for row in REQUESTS[name]:
            described = in_table(row) | {"required": row["required"] == "yes"}
            if row["in"] == "header":  # which has no null
                described.pop("nullable", None)
            expected[row["in"], row["name"]] = described
        assert expected.pop(("header", "authorization")) == {"type": "string", "required": True}
        assert {"bearer": []} in document["security"]
        assert found == expected


def test_document_has_the_fields_of_the_responses(document):
    described = document["components"]["schemas"]
    names = {snake(name): name for name in described}
    for name, rows in OBJECTS.items():
        schema = described[names[name]]
        found = {
            field: documented(document, one) | {"required": field in schema["required"]}
            for field, one in schema["properties"].items()
        }
        for one in found.values():
            one.pop("minimum", None)  # of the amount of a line entry, which is a magnitude
        if name == "recategorized_transaction":  # the document promises one field more than the interface
            assert found["journal_entry_id"].pop("required")
            found["journal_entry_id"]["required"] = False
        assert found == {row["name"]: in_table(row) | {"required": row["required"]} for row in rows}, name
    for name, operation in TABLE["operation"].items():
        responses = document["paths"][operation["path"]][operation["method"].lower()]["responses"]
        response = responses[str(operation["status"])]["content"]["application/json"]["schema"]["$ref"]
        assert snake(response.rpartition("/")[2]) == operation["response"], name
