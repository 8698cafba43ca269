"""Write the tables of the star schema and the questions into the page of the exports."""

import sys
from pathlib import Path

from accounting_analytics.exports.questions import QUESTIONS, Question
from accounting_analytics.exports.star_schema.tables import STAR_SCHEMA

PAGE = Path(__file__).parents[2] / "accounting_analytics" / "exports" / "tables.md"
START = "<!-- written by: python tests/exports/tables_page.py -->\n"
END = "<!-- end of the tables -->\n"


def markdown():
    return "\n".join([*(line for table in STAR_SCHEMA for line in describe(table)), *questions(), ""])


def describe(table):
    """Yield the lines of a table: its grain, its key, its columns with types and the tables they refer to."""
    yield from (
        f"## {table.name}",
        "",
        f"One row is {table.grain}. Key: {', '.join(f'`{name}`' for name in table.key)}.",
        "",
    )
    yield from ("| column | type | refers to |", "|---|---|---|")
    for name, dtype in table.columns.items():
        yield f"| `{name}` | {dtype} | {table.references.get(name, '')} |"
    yield ""


def questions():
    yield from ("## Questions", "", "| file | question | one row of the answer |", "|---|---|---|")
    for question in map(Question.named, QUESTIONS):
        yield f"| `{question.name}.sql` | {question.text} | {question.grain} |"


def with_tables(page):
    """Return the page with the tables between its two comments."""
    before, rest = page.split(START)
    return f"{before}{START}\n{markdown()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stderr.write(f"wrote the tables into {PAGE.name}\n")
