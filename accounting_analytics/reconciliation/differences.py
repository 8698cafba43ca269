"""Differences between two reports: one figure that differs, what was compared, and the table of both."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.schemas import Differences

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Amounts = Mapping[str, Decimal | None]
    Explain = Callable[[str, Decimal], str]

TITLES = {
    "line": "cash flow lines",
    "net_cash_flow": "net cash flow per ledger",
    "total_net_cash_flow": "net cash flow with descendants",
    "starting_balance": "starting balance per cash ledger",
    "starting_total_balance": "starting balance with descendants",
    "ending_balance": "ending balance per cash ledger",
    "ending_total_balance": "ending balance with descendants",
    "starting_cash_balance": "starting cash balance",
    "ending_cash_balance": "ending cash balance",
    "identity": "net cash flow = change of cash",
}
LINES = ("line",)
TOTALS = ("total_net_cash_flow", "starting_total_balance", "ending_total_balance")
CAUSE, CONSEQUENCE = "cause", "consequence"


class LineFacts(NamedTuple):
    """What a person knows a line by."""

    local_date: dt.date | None = None
    description: str | None = None
    cash_account: str | None = None
    transaction_id: str | None = None


class Difference(NamedTuple):
    """One figure that differs between the two reports; an amount is None where that report has no such row."""

    what: str
    ledger_id: str | None
    line_id: str | None
    journal_entry_id: str | None
    reported: Decimal | None
    recomputed: Decimal | None
    explanation: str
    role: str = CAUSE
    facts: LineFacts = LineFacts()
    ledger_name: str | None = None
    category: str | None = None

    @property
    def amount(self) -> Decimal:
        """Reported minus recomputed."""
        return (self.reported or Decimal(0)) - (self.recomputed or Decimal(0))

    def as_consequence(self) -> Difference:
        """Return it as one that follows from others."""
        return self._replace(role=CONSEQUENCE)


class Comparison(NamedTuple):
    """How many figures of one kind were compared, how many differ, and whether the comparison proves anything.

    Attributes
    ----------
    what : str
        As in :class:`~accounting_analytics.schemas.Differences`.
    compared, differing : int
        How many figures were compared, and how many differ.
    independent : bool
        False where the recomputed figure was itself supplied from a report: agreement then proves nothing.
    not_compared : int
        How many figures could not be compared, because one side does not know them.
    """

    what: str
    compared: int
    differing: int
    independent: bool = True
    not_compared: int = 0

    @property
    def total(self) -> int:
        """How many figures there are, compared or not."""
        return self.compared + self.not_compared


class Compared(NamedTuple):
    """One comparison, its differences and notes."""

    comparison: Comparison
    differences: list[Difference]
    notes: list[str]


def describe_not_compared(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """How many lines and totals were not compared, and how many there are; empty where everything was compared."""
    texts = []
    comparisons = list(comparisons)
    for name, kinds in (("lines", LINES), ("totals", TOTALS)):
        chosen = [one for one in comparisons if one.what in kinds]
        if left := sum(one.not_compared for one in chosen):
            texts.append(f"{name} not compared ({left} of {sum(one.total for one in chosen)})")
    return tuple(texts)


def differences_frame(differences: Sequence[Difference], scale: int, *, as_decimals: bool) -> pd.DataFrame:
    """Table of differences."""
    columns: dict[str, list[Any]] = {
        name: [getattr(one, name) for one in differences] for name in Difference._fields if name != "facts"
    }
    columns |= {name: [getattr(one.facts, name) for one in differences] for name in LineFacts._fields}
    columns["difference"] = [one.amount for one in differences]
    return Differences.from_columns(columns, scale, as_decimals=as_decimals)


def amounts_by_ledger(frame: pd.DataFrame, column: str) -> dict[str, Decimal | None]:
    """Amounts of a report table by ledger; None where unknown."""
    known = (None if pd.isna(amount) else amount for amount in frame[column])
    return dict(zip(frame["ledger_id"], known, strict=True))


def amount_or_zero(amounts: Amounts, ledger_id: str) -> Decimal:
    """Amount of a ledger; zero where it is absent or unknown."""
    return amounts.get(ledger_id) or Decimal(0)
