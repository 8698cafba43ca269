"""A plan: which transaction gets which category; a table to read, a file to edit, and no effect of its own."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Self

import pandas as pd

from accounting_analytics.errors import PlanError
from accounting_analytics.money import EXACT
from accounting_analytics.recategorization.plan_file import read_items, write_items
from accounting_analytics.schemas import Ledgers, PlanItems, Proposals

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.schemas import CashFlowReport

_IDENTITY = ("transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id")


@dataclass(frozen=True)
class Plan:
    """A recategorization plan.

    Parameters
    ----------
    frame : DataFrame
        :class:`~accounting_analytics.schemas.PlanItems`, in the order they will be carried out.
    """

    frame: pd.DataFrame

    def __post_init__(self) -> None:
        PlanItems.checked(self.frame)
        _require_consistent(self.frame)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def plan_id(self) -> str:
        """Fingerprint of what the plan does; a journal belongs to one plan."""
        content = self.frame[list(_IDENTITY)].to_numpy().tolist()
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    def preview(self, report: CashFlowReport) -> pd.DataFrame:
        """Predict what the plan does to the net cash flow of each ledger of a report.

        Parameters
        ----------
        report : CashFlowReport
            The report before; untagged.

        Returns
        -------
        DataFrame
            ``ledger_id, name, net_cash_flow, change, net_cash_flow_after``, one row a ledger that changes. The changes
            sum to zero. ``attrs["notes"]`` says how many items have no line in the report's period.
        """
        moves = self._moves(report)
        names = dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
        names |= dict(
            zip(self.frame["updated_category_ledger_id"], self.frame["updated_category_ledger_name"], strict=True)
        )
        before = dict(zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True))
        zero = Decimal(0).scaleb(-report.scale)
        changes: dict[str, Decimal] = defaultdict(lambda: zero)
        with localcontext(EXACT):
            for category, updated, amount in zip(moves["ledger_id"], moves["updated"], moves["amount"], strict=True):
                changes[category] -= amount
                changes[updated] += amount
            rows = [
                (ledger_id, names.get(ledger_id, ledger_id), own, change, own + change)
                for ledger_id, own, change in ((key, before.get(key, zero), value) for key, value in changes.items())
                if change
            ]
        dtype = report.ledgers["net_cash_flow"].dtype
        preview = pd.DataFrame(
            {
                "ledger_id": pd.Series([row[0] for row in rows], dtype="str"),
                "name": pd.Series([row[1] for row in rows], dtype="str"),
                "net_cash_flow": pd.Series([row[2] for row in rows], dtype=dtype),
                "change": pd.Series([row[3] for row in rows], dtype=dtype),
                "net_cash_flow_after": pd.Series([row[4] for row in rows], dtype=dtype),
            }
        ).sort_values("change", kind="stable", ignore_index=True)
        absent = len(self.frame) - int(self.frame["journal_entry_id"].isin(moves["journal_entry_id"]).sum())
        preview.attrs["notes"] = (
            (f"{absent} of {len(self.frame)} item(s) have no line in the report of {report.period}.",) if absent else ()
        )
        return preview

    def save(self, path: str | Path) -> None:
        """Write the plan as a CSV file that a spreadsheet can open and edit; whole or not at all."""
        write_items(self.frame, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan file back; rows may have been deleted or categories changed.

        Raises
        ------
        PlanError
            The file is not a plan, or a row of it cannot be used; the message names the line.
        """
        return cls(read_items(path))

    def _moves(self, report: CashFlowReport) -> pd.DataFrame:
        """Report lines that the plan moves, with the ledger they move to."""
        keys = self.frame[["journal_entry_id", "category_ledger_id", "updated_category_ledger_id"]].drop_duplicates()
        keys = keys.set_axis(["journal_entry_id", "ledger_id", "updated"], axis="columns")
        return report.lines.merge(keys, on=["journal_entry_id", "ledger_id"])

    def _repr_html_(self) -> str:
        shown = self.frame.to_html(index=False, escape=True, max_rows=50)
        return f"<p>Recategorization plan {self.plan_id}: {len(self.frame):,} item(s)</p>{shown}"


def plan_recategorization(proposals: pd.DataFrame, *, ledgers: pd.DataFrame) -> Plan:
    """Make a plan of proposals; nothing is sent to the service.

    Parameters
    ----------
    proposals : DataFrame
        :class:`~accounting_analytics.schemas.Proposals`; drop the rows you do not want.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`; every new category must be in it.

    Raises
    ------
    PlanError
        A new category is not in `ledgers`, equals the present one, or two items contradict each other.
    """
    Proposals.checked(proposals)
    Ledgers.checked(ledgers)
    unknown = set(proposals["updated_category_ledger_id"]) - set(ledgers["id"])
    if unknown:
        msg = f"{len(unknown)} new categories are not in ledgers: {', '.join(sorted(unknown)[:5])}"
        raise PlanError(msg)
    columns = list(PlanItems.to_schema().columns)
    return Plan(proposals[columns].reset_index(drop=True))


def _require_consistent(items: pd.DataFrame) -> None:
    """Refuse items that do nothing, come twice, or pull one entry's category two ways."""
    idle = items[items["category_ledger_id"] == items["updated_category_ledger_id"]]
    if len(idle):
        msg = f"transaction {idle['transaction_id'].iloc[0]} already has the category it is to get; drop the item"
        raise PlanError(msg)
    repeated = items[items.duplicated(["transaction_id", "category_ledger_id"])]
    if len(repeated):
        msg = f"transaction {repeated['transaction_id'].iloc[0]} stands in the plan twice; keep one of its items"
        raise PlanError(msg)
    targets = items.groupby(["journal_entry_id", "category_ledger_id"])["updated_category_ledger_id"].nunique()
    if (targets > 1).any():
        entry = targets[targets > 1].index[0][0]
        msg = (
            f"journal entry {entry} has several transactions with one category, and the plan gives them different new "
            "ones; give them the same"
        )
        raise PlanError(msg)
