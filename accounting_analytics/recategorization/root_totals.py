"""Totals of the roots of the chart of accounts, before and as a plan predicts them."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.messages import join_ids
from accounting_analytics.money import EXACT
from accounting_analytics.schemas import Ledgers, RootTotals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport


class Roots:
    """Roots of ledgers, by their parents in the chart of accounts.

    Parameters
    ----------
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    """

    def __init__(self, ledgers: pd.DataFrame) -> None:
        ledgers = Ledgers.checked(ledgers)
        self._hierarchy = LedgerNames.from_frame(ledgers).hierarchy
        self._names: dict[str, str] = dict(zip(ledgers["id"], ledgers["name"], strict=True))
        known = ledgers.get("parent_known", default=True)
        self._known = set(ledgers.loc[ledgers["parent_id"].notna() | known, "id"])

    def root(self, ledger_id: str) -> str:
        """Root of a ledger; the ledger itself where its parent is not known."""
        return self._hierarchy.root(ledger_id)

    def name(self, ledger_id: str) -> str:
        """Name of a ledger; its id where it is not in the chart of accounts."""
        return self._names.get(ledger_id, ledger_id)

    def is_known(self, ledger_id: str) -> bool:
        """Whether the parents of a ledger are known, up to the root."""
        return {ledger_id, *self._hierarchy.ancestors(ledger_id)} <= self._known


def predict_root_totals(changes: Mapping[str, Decimal], report: CashFlowReport, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Predict the totals of the roots of ledgers that change.

    Parameters
    ----------
    changes : mapping of str to Decimal
        Change of the net cash flow of each ledger.
    report : CashFlowReport
        The report before the change.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.RootTotals`, the largest decrease first. ``attrs["notes"]`` names ledgers
        whose parents are not known.
    """
    as_decimals, report = report.as_decimals, report.exact()
    roots = Roots(ledgers)
    sums: dict[str, Decimal] = defaultdict(lambda: Decimal(0).scaleb(-report.scale))
    with localcontext(EXACT):
        for ledger_id, change in changes.items():
            sums[roots.root(ledger_id)] += change
        before = _totals_before(report, roots)
        rows = sorted((change, root, before.get(root, change - change)) for root, change in sums.items())
        columns: dict[str, list[Any]] = {
            "ledger_id": [root for _, root, _ in rows],
            "name": [roots.name(root) for _, root, _ in rows],
            "total_net_cash_flow": [was for _, _, was in rows],
            "change": [change for change, _, _ in rows],
            "total_net_cash_flow_after": [was + change for change, _, was in rows],
        }
    totals = RootTotals.from_columns(columns, report.scale, as_decimals=as_decimals)
    totals.attrs["notes"] = tuple(_notes(changes, roots))
    return totals


def _totals_before(report: CashFlowReport, roots: Roots) -> dict[str, Decimal]:
    """Total of each root: the one in the report, or the sum of its ledgers where the report has none."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for ledger_id, own in zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True):
        sums[roots.root(ledger_id)] += own
    stated = report.ledgers.dropna(subset=["total_net_cash_flow"])
    totals = dict(zip(stated["ledger_id"], stated["total_net_cash_flow"], strict=True))
    return {root: totals.get(root, amount) for root, amount in sums.items()}


def _notes(changes: Mapping[str, Decimal], roots: Roots) -> Iterator[str]:
    unknown = [ledger_id for ledger_id in changes if not roots.is_known(ledger_id)]
    if unknown:
        yield (
            f"The parents of {len(unknown)} ledger(s) that change are not known, so each is a total of its own, and "
            f"the totals above them may be incomplete: {join_ids(map(roots.name, unknown))}."
        )
