"""Balances that a caller supplies, to be rolled forward by line entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from accounting_analytics.core.column_conversion import decimal_scale, exact_amounts, find_scale, parse_amounts
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.core.exact_sums import null_message, require_columns
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import count_notes, stated_scales
from accounting_analytics.core.money import to_minor_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from accounting_analytics.reports.books.ledger_tree import LedgerTree


class SuppliedBalances(NamedTuple):
    """Supplied balances in units, debits positive, by ledger id, and notes on them."""

    units: dict[str, int]
    notes: tuple[str, ...]


def read_balances(balances: pd.DataFrame | Mapping[str, Decimal], tree: LedgerTree, scale: int) -> SuppliedBalances:
    """Balances of a frame (``ledger_id, cash_balance``) or a mapping of ledgers; they must be exact at the scale."""
    if isinstance(balances, pd.DataFrame):
        require_columns(balances.columns, ("ledger_id", "cash_balance"), "starting_balances")
        ledger_ids, amounts = balances["ledger_id"], balances["cash_balance"]
        find_scale([scale, *stated_scales(balances), decimal_scale(amounts)])
        convert = exact_amounts
    else:
        ledger_ids = pd.Series(_ids(balances, tree), name="ledger_id")
        amounts = pd.Series(list(balances.values()), dtype=object, name="cash_balance")
        convert = parse_amounts
    if ledger_ids.duplicated().any():
        raise FrameError("starting_balances: a ledger occurs more than once")
    if amounts.isna().any():
        raise FrameError(null_message("starting_balances", "cash_balance"))
    exact, noise_removed = convert(amounts, scale, ledger_ids)
    units = [to_minor_units(amount, scale) for amount in exact]
    notes = count_notes((noise_removed, "supplied starting balance", "had float rounding noise removed"))
    return SuppliedBalances(dict(zip(ledger_ids, units, strict=True)), notes)


def _ids(texts: Iterable[str], tree: LedgerTree) -> list[str]:
    """Ids of ledgers that are given by id, unique name or path."""
    names = LedgerNames(tree.names, tree.hierarchy)
    try:
        return [names.find(text) for text in texts]
    except InputError as error:
        raise FrameError(f"starting_balances: {error}") from None
