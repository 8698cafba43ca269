"""Figures of two reports, compared by kind: how many were compared, and which differ."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from accounting_analytics.core.messages import join_ids
from accounting_analytics.core.money import EXACT

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

    Amounts = Mapping[str | None, Decimal | None]

ZERO = Decimal(0)
CAUSE, CONSEQUENCE = "cause", "consequence"


class ComparedKind(NamedTuple):
    """A kind of figure: its title, its place in a report, and the kind that a total sums.

    A kind without a `table` is a sum of the report.
    """

    title: str
    table: str = ""
    column: str = ""
    total_of: str = ""


KINDS = {
    "net_cash_flow": ComparedKind("net cash flow per ledger", "ledgers", "net_cash_flow"),
    "line": ComparedKind("cash flow lines"),
    "starting_balance": ComparedKind("starting balance per cash ledger", "starting_balances", "cash_balance"),
    "ending_balance": ComparedKind("ending balance per cash ledger", "ending_balances", "cash_balance"),
    "starting_cash_balance": ComparedKind("starting cash balance", "", "starting_cash_balance"),
    "ending_cash_balance": ComparedKind("ending cash balance", "", "ending_cash_balance"),
    "identity": ComparedKind("net cash flow = change of cash", "", "identity_gap"),
    "starting_total_balance": ComparedKind(
        "starting balance with descendants", "starting_balances", "total_cash_balance", "starting_balance"
    ),
    "ending_total_balance": ComparedKind(
        "ending balance with descendants", "ending_balances", "total_cash_balance", "ending_balance"
    ),
    "total_net_cash_flow": ComparedKind(
        "net cash flow with descendants", "ledgers", "total_net_cash_flow", "net_cash_flow"
    ),
}
"""Kinds of figures that are compared, in the order in which they are shown."""
TOTALS = tuple(what for what, kind in KINDS.items() if kind.total_of)


class Difference(NamedTuple):
    """One figure that differs between the two reports. An amount is None if its report has no such row.

    The difference of a line also has, if known, the day, the text of its transaction or entry, the cash account that
    its entry moved, and its transaction.
    """

    what: str
    ledger_id: str | None
    line_id: str | None
    journal_entry_id: str | None
    reported: Decimal | None
    recomputed: Decimal | None
    explanation: str = ""
    role: str = CAUSE
    ledger_name: str | None = None
    category: str | None = None
    local_date: dt.date | None = None
    description: str | None = None
    cash_account: str | None = None
    transaction_id: str | None = None

    @property
    def amount(self) -> Decimal:
        """The reported amount minus the recomputed amount."""
        return EXACT.subtract(self.reported or ZERO, self.recomputed or ZERO)

    @property
    def cells(self) -> dict[str, Any]:
        """Values of the row in :class:`~accounting_analytics.schemas.Differences`, by column."""
        return {**self._asdict(), "difference": self.amount}


class Comparison(NamedTuple):
    """How many figures of a kind were compared, and how many differ.

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


class Compared(NamedTuple):
    """The comparison of one kind of figure, its differences, and notes on how the report was interpreted."""

    comparison: Comparison
    differences: Sequence[Difference] = ()
    notes: Sequence[str] = ()


def compare_figures(reported: CashFlowReport, recomputed: CashFlowReport) -> dict[str, Compared]:
    """Compare all figures but the lines, by kind."""
    stated, expected = _amounts(reported), _amounts(recomputed)
    expected["identity"] = {None: ZERO}
    notes: dict[str, list[str]] = {what: [] for what in expected}
    totals = expected["total_net_cash_flow"]
    parents = totals.keys() - _ledgers_with_lines(recomputed)
    if parents and parents.isdisjoint(stated["total_net_cash_flow"]):
        own = {ledger_id: amount for ledger_id, amount in totals.items() if ledger_id not in parents}
        expected["total_net_cash_flow"] = own
        notes["total_net_cash_flow"].append(
            f"The report does not list ledgers without lines of their own, such as parents: {join_ids(parents)}."
        )
    for what in TOTALS:  # if parents are not certain, a ledger that only the report lists may be a parent
        if None in expected[what].values() or not expected[what].keys().isdisjoint(recomputed.inferred_roots):
            expected[what] = {**dict.fromkeys(stated[what]), **expected[what]}
    cash, expected_cash = stated["ending_balance"].keys(), expected["ending_balance"].keys()
    for side, only in (("the report", cash - expected_cash), ("the given chart of accounts", expected_cash - cash)):
        if only:
            notes["ending_balance"].append(f"Ledgers that only {side} counts as cash: {join_ids(only)}.")
    return {
        what: _compare(
            what,
            stated[what],
            expected[what],
            notes[what],
            independent=not (recomputed.anchored and what.startswith("starting")),
        )
        for what in expected
    }


def _amounts(report: CashFlowReport) -> dict[str, Amounts]:
    """Read amounts by kind and ledger (None: sums of the report)."""
    exact = report.exact()
    amounts: dict[str, Amounts] = {}
    for what, kind in KINDS.items():
        if kind.table:
            table = getattr(exact, kind.table)
            amounts[what] = dict(zip(table["ledger_id"], pa.array(table[kind.column]).to_pylist(), strict=True))
        elif kind.column:
            amounts[what] = {None: getattr(exact, kind.column)}
    return amounts


def _ledgers_with_lines(report: CashFlowReport) -> set[str]:
    """Find ledgers that have lines in the report.

    In a report without lines, find ledgers with a net cash flow.
    """
    exact = report.exact()
    if report.totals_only:
        return set(exact.ledgers.loc[exact.ledgers["net_cash_flow"] != 0, "ledger_id"])
    return set(exact.lines["ledger_id"].unique())


def _compare(what: str, reported: Amounts, recomputed: Amounts, notes: Sequence[str], *, independent: bool) -> Compared:
    """Compare the known amounts by ledger.

    A missing row counts as zero. A report may leave out rows of zero, or list further rows, but not other rows instead.
    """
    listed = {**recomputed, **reported}
    without_parents = {ledger_id for ledger_id, amount in recomputed.items() if amount is None}
    unknown = without_parents | {ledger_id for ledger_id, amount in reported.items() if amount is None}
    more, fewer = reported.keys() - recomputed.keys(), recomputed.keys() - reported.keys()
    others = more if fewer and not KINDS[what].total_of else set()
    amounts = [
        Difference(what, ledger_id, None, None, reported.get(ledger_id), recomputed.get(ledger_id))
        for ledger_id in listed
        if ledger_id not in unknown
    ]
    differences = [difference for difference in amounts if difference.amount or difference.ledger_id in others]
    reasons = (
        (len(without_parents), "the parents of some ledgers are not known"),
        (len(unknown - without_parents), "the report does not state them"),
    )
    not_compared = [
        f"{KINDS[what].title.capitalize()}: {count} of {len(listed)} not compared, because {reason}."
        for count, reason in reasons
        if count
    ]
    comparison = Comparison(what, len(amounts), len(differences), independent, len(unknown))
    return Compared(comparison, differences, [*notes, *not_compared])
