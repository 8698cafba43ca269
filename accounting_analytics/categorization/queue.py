"""The queue: transactions of cash ledgers that stand opposite an uncategorized ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.categorization.uncategorized import uncategorized_ledgers
from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.dtypes import TEXT_LIST
from accounting_analytics.errors import FrameError
from accounting_analytics.schemas import Ledgers, Queue

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 3


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
        The uncategorized ledger of that direction, where it is not to be recognised among the required ones.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Queue`, one row a transaction and uncategorized ledger. ``amount`` is into
        cash (positive) or out of it (negative), from the line's side. ``category_amount`` is the uncategorized part,
        in the same sense; null where its line was not loaded, or where several transactions of one entry share it.
        ``attrs["notes"]`` says what could not be told.

    Raises
    ------
    FrameError
        ``opposing_ledger_ids`` was not loaded, or a transaction stands on a ledger that is not in `ledgers`.
    """
    if "opposing_ledger_ids" not in line_entries:
        msg = "line_entries have no opposing_ledger_ids; load them with expand=('opposing_ledger_ids', ...)"
        raise FrameError(msg)
    Ledgers.checked(ledgers)
    wanted = uncategorized_ledgers(ledgers, inflow_ledger_id=inflow_ledger_id, outflow_ledger_id=outflow_ledger_id)
    transactions = _cash_transactions(line_entries, ledgers)
    waiting = _opposite(transactions, wanted)
    queue = Queue.checked(_largest_first(_described(waiting, line_entries)))
    queue.attrs["notes"] = tuple(_notes(queue, transactions, ledgers, wanted))
    return queue


def _cash_transactions(line_entries: pd.DataFrame, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Lines that carry a transaction of a ledger that reports cash flow."""
    transactions = line_entries[line_entries["transaction_id"].notna()]
    unknown = transactions.loc[~transactions["ledger_id"].isin(ledgers["id"]), "ledger_id"]
    if len(unknown):
        msg = (
            f"ledgers do not hold {unknown.iloc[0]!r}, which has {len(unknown)} transaction(s); discover the ledgers "
            "over the period of the line entries"
        )
        raise FrameError(msg)
    cash = ledgers.loc[ledgers["report_cash_flow"], "id"]
    return transactions[transactions["ledger_id"].isin(cash)]


def _opposite(transactions: pd.DataFrame, wanted: set[str]) -> pd.DataFrame:
    """One row a transaction and uncategorized ledger opposite it, as ``category_ledger_id``."""
    waiting = transactions.assign(category_ledger_id=transactions["opposing_ledger_ids"]).explode("category_ledger_id")
    waiting = waiting.assign(category_ledger_id=waiting["category_ledger_id"].astype("str")).reset_index(drop=True)
    waiting = waiting[waiting["category_ledger_id"].isin(wanted)]
    return waiting.drop_duplicates(["transaction_id", "category_ledger_id"])


def _described(waiting: pd.DataFrame, line_entries: pd.DataFrame) -> pd.DataFrame:
    """Columns of the queue."""
    amount, side = waiting["signed_amount"], waiting["debit_credit"]
    into_cash = (amount > 0) | ((amount == 0) & (side == DebitCredit.DEBIT))
    return pd.DataFrame(
        {
            "transaction_id": waiting["transaction_id"],
            "ledger_id": waiting["ledger_id"],
            "ledger_name": waiting["ledger_name"],
            "line_entry_id": waiting["id"],
            "journal_entry_id": waiting["journal_entry_id"],
            "datetime": waiting["datetime"],
            "amount": amount,
            "direction": pd.Series("inflow", index=waiting.index, dtype="str").where(into_cash, "outflow"),
            "description": _description(waiting),
            "category_ledger_id": waiting["category_ledger_id"],
            "category_amount": _category_amounts(waiting, line_entries),
            "opposing_ledger_ids": waiting["opposing_ledger_ids"].astype(TEXT_LIST),
            "review_status": waiting.get("transaction_review_status", pd.Series(None, waiting.index, dtype="str")),
            "tag_ids": waiting["tag_ids"],
        }
    )


def _largest_first(queue: pd.DataFrame) -> pd.DataFrame:
    sized = queue.assign(size=queue["amount"].abs())
    order = ["size", "datetime", "transaction_id", "category_ledger_id"]
    ordered = sized.sort_values(order, ascending=[False, True, True, True])
    return ordered.drop(columns="size").reset_index(drop=True)


def _description(lines: pd.DataFrame) -> pd.Series[Any]:
    """Describe by the transaction, else by its line, else by its entry; empty ones do not count."""
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


def _notes(queue: pd.DataFrame, transactions: pd.DataFrame, ledgers: pd.DataFrame, wanted: set[str]) -> Iterator[str]:
    """Yield what could not be told: an empty queue must not look like a clean one."""
    if not wanted:
        yield (
            "No uncategorized ledger is among these ledgers, so the queue is empty: either every transaction of the "
            "period has a category, or they cannot be recognised; then give inflow_ledger_id and outflow_ledger_id."
        )
    unheard = wanted - set(ledgers["id"])
    if unheard:
        yield f"The pinned ledger(s) {', '.join(sorted(unheard))} are not among these ledgers."
    blind = int(transactions["opposing_ledger_ids"].isna().sum())
    if blind:
        yield f"{blind} transaction(s) came without opposing_ledger_ids; whether they are uncategorized is not known."
    opposing = set(transactions["opposing_ledger_ids"].explode().dropna()) - set(ledgers["id"]) - wanted
    if opposing:
        shown = ", ".join(sorted(opposing)[:_SHOWN])
        yield f"{len(opposing)} ledger(s) opposite cash are not among these ledgers and count as categories: {shown}."
    unknown = int(queue["category_amount"].isna().sum())
    if unknown:
        yield (
            f"The uncategorized part of {unknown} transaction(s) is not known: the lines of the uncategorized ledgers "
            "were not loaded, or several transactions of one entry share them."
        )
