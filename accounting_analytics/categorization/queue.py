"""The queue: transactions of cash ledgers that stand opposite an uncategorized ledger."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.chart_of_accounts import RequiredLedger, required_ledger
from accounting_analytics.errors import FrameError
from accounting_analytics.schemas import Ledgers, Queue

_UNCATEGORIZED = {RequiredLedger.UNCATEGORIZED_INFLOW, RequiredLedger.UNCATEGORIZED_OUTFLOW}


def uncategorized_queue(
    line_entries: pd.DataFrame,
    ledgers: pd.DataFrame,
    *,
    inflow_ledger_id: str | None = None,
    outflow_ledger_id: str | None = None,
) -> pd.DataFrame:
    """Queue of the uncategorized transactions, largest first.

    Parameters
    ----------
    line_entries : DataFrame
        :class:`~accounting_analytics.schemas.LineEntries` of the ledgers that report cash flow, with
        ``opposing_ledger_ids``. With the lines of the uncategorized ledgers too, the uncategorized part of a split
        is known exactly.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    inflow_ledger_id, outflow_ledger_id : str, optional
        The uncategorized ledgers, where they are not to be recognised among the required ones.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Queue`, one row a transaction and uncategorized ledger. ``amount`` is into
        cash (positive) or out of it (negative), from the line's side. ``category_amount`` is the uncategorized part,
        in the same sense; null where its line was not loaded, or where several transactions of one entry share it.

    Raises
    ------
    FrameError
        ``opposing_ledger_ids`` was not loaded.
    """
    if "opposing_ledger_ids" not in line_entries:
        msg = "line_entries have no opposing_ledger_ids; load them with expand=('opposing_ledger_ids', ...)"
        raise FrameError(msg)
    wanted = _uncategorized(ledgers, inflow_ledger_id, outflow_ledger_id)
    cash = set(ledgers.loc[ledgers["report_cash_flow"], "id"])
    on_cash = line_entries[line_entries["ledger_id"].isin(cash) & line_entries["transaction_id"].notna()]
    waiting = on_cash.explode("opposing_ledger_ids")
    waiting = waiting.assign(category_ledger_id=waiting["opposing_ledger_ids"].astype("str"))
    waiting = waiting[waiting["category_ledger_id"].isin(wanted)]
    waiting = waiting.drop_duplicates(["transaction_id", "category_ledger_id"])
    amount = waiting["signed_amount"]
    queue = pd.DataFrame(
        {
            "transaction_id": waiting["transaction_id"],
            "ledger_id": waiting["ledger_id"],
            "ledger_name": waiting["ledger_name"],
            "line_entry_id": waiting["id"],
            "journal_entry_id": waiting["journal_entry_id"],
            "datetime": waiting["datetime"],
            "amount": amount,
            "direction": pd.Series("inflow", index=waiting.index, dtype="str").where(amount >= 0, "outflow"),
            "description": _description(waiting),
            "category_ledger_id": waiting["category_ledger_id"],
            "category_amount": _category_amounts(waiting, line_entries),
            "review_status": waiting.get("transaction_review_status", pd.Series(None, waiting.index, dtype="str")),
            "tag_ids": waiting["tag_ids"],
        }
    )
    size = queue["amount"].abs()
    order = queue.assign(size=size).sort_values(["size", "datetime", "transaction_id"], ascending=[False, True, True])
    queue = Queue.checked(order.drop(columns="size").reset_index(drop=True))
    queue.attrs["notes"] = _notes(queue)
    return queue


def _uncategorized(ledgers: pd.DataFrame, *pinned: str | None) -> set[str]:
    """Ids of the uncategorized ledgers: the pinned ones, or those recognised."""
    Ledgers.checked(ledgers)
    given = {ledger_id for ledger_id in pinned if ledger_id is not None}
    if given:
        return given
    required = ledgers[ledgers["is_required"].fillna(value=False)]
    return {
        ledger_id
        for ledger_id, sub_type, side in zip(
            required["id"], required["sub_type"], required["debit_credit"], strict=True
        )
        if required_ledger(is_required=True, sub_type=sub_type, debit_credit=side) in _UNCATEGORIZED
    }


def _description(lines: pd.DataFrame) -> pd.Series[Any]:
    """Describe by the transaction, else of its line, else of its entry; empty ones do not count."""
    described = pd.Series(None, index=lines.index, dtype="str")
    for name in ("transaction_description", "description", "journal_entry_description"):
        if name in lines:
            text = lines[name]
            described = described.fillna(text.where(text.str.strip() != ""))
    return described.fillna("")


def _category_amounts(waiting: pd.DataFrame, line_entries: pd.DataFrame) -> pd.Series[Any]:
    """Uncategorized part of each transaction, into cash positive; null where it is not certain."""
    on_category = line_entries[line_entries["ledger_id"].isin(waiting["category_ledger_id"])]
    parts = on_category.groupby(["journal_entry_id", "ledger_id"])["signed_amount"].sum()
    keys = pd.MultiIndex.from_frame(waiting[["journal_entry_id", "category_ledger_id"]])
    shared = waiting.duplicated(["journal_entry_id", "category_ledger_id"], keep=False)
    found = parts.reindex(keys)
    negated = pc.negate(pa.array(found.array))
    amounts = pd.Series(pd.arrays.ArrowExtensionArray(negated), index=waiting.index)
    return amounts.mask(shared)


def _notes(queue: pd.DataFrame) -> tuple[str, ...]:
    unknown = int(queue["category_amount"].isna().sum())
    if not unknown:
        return ()
    said = (
        f"The uncategorized part of {unknown} transaction(s) is not known: the lines of the uncategorized ledgers were "
        "not loaded, or several transactions of one entry share them."
    )
    return (said,)
