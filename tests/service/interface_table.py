"""Write the table of the interface, with the tests of each row, into its page of the service."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "accounting_analytics" / "service" / "interface.md"
START = "<!-- written by: python tests/service/interface_table.py -->\n"
END = "<!-- end of the table -->\n"
EVERY_VALUE = "test_responses_have_the_fields_of_the_interface"
LIMITS = ("default", "minimum", "maximum", "max_length")


def read_table():
    return tomllib.loads((HERE / "interface_table.toml").read_text(encoding="utf-8"))


def markdown(table):
    """Return the table as Markdown: one row for each statement of the interface, with its tests."""
    parts = []
    for name, rows in table["request"].items():
        one = table["operation"][name]
        parts += [
            f"## {name}: `{one['method']} {one['path']}`",
            *table_lines("Parameter or field", map(request_row, rows)),
        ]
    for name, rows in table["object"].items():
        parts += [f"## Object {name}", *table_lines("Field", map(object_row, rows))]
    parts += ["## Enumerations", *table_lines("Values", map(enum_row, table["enum"], table["enum"].values()))]
    stated = ((row["rule"], "yes", row) for row in table["statements"]["rows"])
    parts += ["## Statements", *table_lines("Statement", stated)]
    ruled = ((row["rule"], row["ruling"], row) for row in table["rulings"]["rows"])
    parts += ["## What the interface leaves open", *table_lines("Question", ruled, "This service")]
    return "\n".join(parts)


def table_lines(title, rows, answer="Holds"):
    table = [f"| {title} | {answer} | Tests |", "|---|---|---|"]
    table += [f"| {text} | {holds} | {', '.join(f'`{test}`' for test in row['tests'])} |" for text, holds, row in rows]
    return ["", *table, ""]


def request_row(row):
    """Return text, answer and source of a parameter, header or field of a request."""
    required = {"yes": "required", "no": "optional", "conditional": "required without financial_account_type"}
    return described(row, row["in"], required[row["required"]]), "yes", row


def enum_row(name, values):
    """Return text, answer and source of an enumeration."""
    test = "requests.py::test_what_is_allowed" if name.endswith("path") else f"responses.py::{EVERY_VALUE}"
    return f"`{name}`: {', '.join(values)}", "yes", {"tests": [f"test_interface_{test}"]}


def object_row(row):
    """Return text, answer and source of a field of a response."""
    return described(row, "always present" if row["required"] else "may be absent"), "yes", row


def described(row, *properties):
    nullable = ["may be null"] if row.get("nullable") else []
    limits = [f"{name.replace('_', ' ')} {row[name]}" for name in LIMITS if name in row]
    return f"`{row['name']}`: {', '.join([*properties, row['type'], *nullable, *limits])}"


def with_table(readme):
    """Return the text of the page with the current table."""
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{markdown(read_table())}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stderr.write(f"wrote the table of the interface into {PAGE.name}\n")
