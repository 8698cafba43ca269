"""Sentences about differences: each cause with the figures it is about, what causes sum to, and what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.money import exact_sum, format_amount
from accounting_analytics.reconciliation.differences import CAUSE, TITLES, TOTALS
from accounting_analytics.reconciliation.figure_explanations import EXPLAINED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from decimal import Decimal

    Row = Mapping[Any, Any]

_GROUPS = (
    (("net_cash_flow", "line"), "net cash flow", "net_cash_flow"),
    (("starting_balance",), "the starting cash balance", "starting_cash_balance"),
    (("ending_balance",), "the ending cash balance", "ending_cash_balance"),
    (("starting_cash_balance", "ending_cash_balance", "identity", *TOTALS), "", ""),
)
"""Kinds of causes that are shown together, and the figure whose gap they sum to."""


def describe(row: Row) -> str:
    """One difference as a line of text."""
    places = [_ledger(row)] if isinstance(row["ledger_id"], str) else []
    if isinstance(row["line_id"], str):
        places.append(f"line {row['line_id']} of entry {row['journal_entry_id']}")
    if _is_known(row["transaction_id"]):
        places.append(f"transaction {row['transaction_id']}")
    figures = [
        f"{side} {'nothing' if pd.isna(row[side]) else format_amount(row[side])}" for side in ("reported", "recomputed")
    ]
    title = " ".join([TITLES[row["what"]], *_line_facts(row)])
    subject = ": ".join([title, *([", ".join(places)] if places else [])])
    return f"{subject}: {', '.join(figures)}, difference {format_amount(row['difference'])}: {row['explanation']}."


class CauseGroup(NamedTuple):
    """Causes that are shown together, and what they sum to."""

    rows: list[Row]
    sums: list[str]


def group_causes(rows: Sequence[Row]) -> Iterator[CauseGroup]:
    """Group the causes, and compare what those of flows and of balances sum to with the gaps of the report."""
    causes = [row for row in rows if row["role"] == CAUSE]
    for kinds, figure, gap in _GROUPS:
        group = [row for row in causes if row["what"] in kinds]
        if "line" in kinds:
            sums = _sum_of_flows(rows, group)
        else:
            sums = [_sum_sentence(group, _sum(group), _sum(row for row in rows if row["what"] == gap), figure)]
        if group:
            yield CauseGroup(group, sums if figure else [])


def _sum_of_flows(rows: Sequence[Row], causes: list[Row]) -> list[str]:
    """State what the lines that differ, and ledgers that one report lacks, sum to."""
    lines = [row for row in rows if row["what"] == "line"]
    counted = [row for row in causes if not _is_rest(row, lines)]
    if not counted:
        return []
    gap = _sum(row for row in rows if row["what"] == "net_cash_flow")
    found = _sum(lines) + _sum(row for row in counted if row["what"] != "line" and not _lines_of(row, lines))
    return [_sum_sentence(counted, found, gap, "net cash flow")]


def describe_unexplained(rows: Sequence[Row]) -> Iterator[str]:
    """Name each amount that no line explains."""
    lines = [row for row in rows if row["what"] == "line"]
    for row in rows:
        if row["role"] != CAUSE or row["what"] == "line" or row["explanation"] in EXPLAINED:
            continue
        if row["what"] == "net_cash_flow" and not _is_rest(row, lines):
            continue
        amount = (
            row["difference"] - _sum(_lines_of(row, lines)) if row["what"] == "net_cash_flow" else row["difference"]
        )
        of_ledger = f" of {_ledger(row)}" if isinstance(row["ledger_id"], str) else ""
        yield f"Unexplained: {format_amount(amount)}, {TITLES[row['what']]}{of_ledger}."


def _is_rest(row: Row, lines: list[Row]) -> bool:
    """Whether a net cash flow of a ledger that both reports list differs by something else than its lines."""
    if row["what"] != "net_cash_flow" or pd.isna(row["reported"]) or pd.isna(row["recomputed"]):
        return False
    difference: Decimal = row["difference"]
    return difference != _sum(_lines_of(row, lines))


def _lines_of(row: Row, lines: list[Row]) -> list[Row]:
    return [line for line in lines if line["ledger_id"] == row["ledger_id"]]


def _sum_sentence(rows: Sequence[Row], found: Decimal, gap: Decimal, figure: str) -> str:
    """Compare the sum of some causes with the gap of a figure."""
    subject = f"These {len(rows)} differences sum" if len(rows) > 1 else "This difference amounts"
    text = f"{subject} to {format_amount(found)}"
    if found == gap:
        return f"{text}, the gap of {figure}." if gap else f"{text}: {figure} as a whole agrees."
    if not gap:
        return f"{text}, but {figure} agrees: the report's own figures do not sum up."
    rest = format_amount(gap - found)
    return f"{text}; the gap of {figure} is {format_amount(gap)}, so {rest} of it is unexplained."


def describe_consequences(rows: Sequence[Row]) -> Iterator[str]:
    """Count what follows from the causes."""
    followers = [row for row in rows if row["role"] != CAUSE]
    lines = sum(row["what"] == "line" for row in followers)
    figures = len(followers) - lines
    counted = [
        *([f"{lines} line{'' if lines == 1 else 's'}"] if lines else []),
        *([f"{figures} balance or total" if figures == 1 else f"{figures} balances and totals"] if figures else []),
    ]
    if counted:
        verb = "follows" if len(followers) == 1 else "follow"
        yield f"{' and '.join(counted)} {verb} from {'this' if len(rows) - len(followers) == 1 else 'these'}."


def _ledger(row: Row) -> str:
    return f"{row['category'] if _is_known(row['category']) else row['ledger_name']} ({row['ledger_id']})"


def _line_facts(row: Row) -> list[str]:
    """Day, text and cash account of a line, where they are known."""
    date = row["local_date"]
    return [
        *([] if pd.isna(date) else [f"of {date:%Y-%m-%d}"]),
        *([f'"{row["description"]}"'] if _is_known(row["description"]) else []),
        *([f"on {row['cash_account']}"] if _is_known(row["cash_account"]) else []),
    ]


def _is_known(text: object) -> bool:
    return isinstance(text, str) and bool(text)


def _sum(rows: Any) -> Decimal:  # noqa: ANN401 (rows of a table)
    return exact_sum(row["difference"] for row in rows)
