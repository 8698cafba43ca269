"""Ten questions about exported books, in SQL over the tables of the star schema.

Each question is a file ``NAME.sql`` in this folder: a comment with the question and the meaning of a row of the answer,
and one query. The queries run in DuckDB unchanged, and use standard SQL if possible. ``$name`` is a parameter.
"""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple, Self

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote

QUESTIONS = (
    "cash_by_month",
    "in_against_out",
    "top_expenses_by_parent",
    "balance_by_day",
    "uncategorized_ageing",
    "cash_flow_by_tag",
    "cash_flow_by_counterparty",
    "month_over_month",
    "amounts_by_statement_section",
    "entries_of_category",
)
"""Names of the questions."""


class Question(NamedTuple):
    """A question with its query.

    Attributes
    ----------
    name : str
        One of ``QUESTIONS``.
    text : str
        The question.
    grain : str
        What one row of the answer is, and what to know about it.
    sql : str
        The query, with the comment.
    """

    name: str
    text: str
    grain: str
    sql: str

    @classmethod
    def named(cls, name: str) -> Self:
        """Read a question."""
        if name not in QUESTIONS:
            raise InputError(f"there is no question {quote(name)}; the questions are: {', '.join(QUESTIONS)}")
        sql = files(__name__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
        comment = [line.removeprefix("-- ") for line in sql.splitlines() if line.startswith("--")]
        return cls(name, comment[0], " ".join(comment[1:]).removeprefix("Grain: "), sql)
