"""Lines of both sides of a bridge: payments by category and payee, and which step each line belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.bridges.causes import Payment
from accounting_analytics.categorization.merchants import merchants
from accounting_analytics.column_conversion import exact_amounts
from accounting_analytics.money import to_minor_units

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    import numpy.typing as npt


class BridgedLines(NamedTuple):
    """Lines of both sides, those before negated.

    Attributes
    ----------
    frame : DataFrame
        The lines, with ``figure_amount``.
    is_after : array of bool
        Which side each line is of.
    steps : array of int
        Rank of the step that each line is part of; -1 where nothing changed.
    before_units, after_units : int
        The bridged total of each side.
    """

    frame: pd.DataFrame
    is_after: npt.NDArray[np.bool_]
    steps: npt.NDArray[np.int64]
    before_units: int
    after_units: int


class SideLines(NamedTuple):
    """Lines of one side: as they are, their exact units in the bridged total, and the payee of each."""

    frame: pd.DataFrame
    units: list[int]
    payees: list[str]

    @classmethod
    def of_entries(cls, entries: pd.DataFrame, sign: int, payees: dict[str, str], scale: int) -> SideLines:
        """Read lines whose ``figure_amount`` counts in the total with a sign."""
        exact = exact_amounts(entries["figure_amount"], scale, entries["id"]).column
        units = [sign * to_minor_units(one, scale) for one in exact]
        return cls(entries, units, [payees.get(one, "") for one in entry_ids(entries)])

    def payments(self, keys: Sequence[Hashable]) -> dict[Any, tuple[Payment, ...]]:
        """Payments by key, one key for each line: the lines of a journal entry together, in order of their days."""
        found: dict[Hashable, dict[str, list[Any]]] = {}
        days = self.frame["local_date"].dt.date
        for key, entry, day, units in zip(keys, entry_ids(self.frame), days, self.units, strict=True):
            payment = found.setdefault(key, {}).setdefault(entry, [day, 0])
            payment[0] = min(payment[0], day)
            payment[1] += units
        return {
            key: tuple(sorted((Payment(one, day, units) for one, (day, units) in of_key.items()), key=_in_order))
            for key, of_key in found.items()
        }

    def entry_units(self) -> dict[str, int]:
        """Sum of the lines of each journal entry."""
        sums: dict[str, int] = {}
        for entry, units in zip(entry_ids(self.frame), self.units, strict=True):
            sums[entry] = sums.get(entry, 0) + units
        return sums


def _in_order(payment: Payment) -> tuple[Any, ...]:
    return payment.date, payment.units, payment.entry_id


def entry_ids(lines: pd.DataFrame) -> list[str]:
    """Journal entry of each line; of a line that names none, the line itself."""
    entries = lines["journal_entry_id"].astype(object)
    return list(entries.where(entries.notna(), lines["id"].astype(object)))


def payees_of_entries(lines: pd.DataFrame, cash: Collection[str]) -> dict[str, str]:
    """Payee of each journal entry: the merchant of its transaction, else of its own description; empty without text.

    Of several transactions that on a cash ledger counts, and of these the one whose line has the first id.
    """
    texts: dict[str, str] = {}
    is_cash = lines["ledger_id"].isin(list(cash)).to_numpy(dtype=bool)
    ordered = lines.assign(_other=~is_cash).sort_values(["_other", "id"], kind="stable")
    for name in ("transaction_description", "journal_entry_description"):
        if name not in ordered:
            continue
        given = ordered[name].astype(object)
        for entry, text in zip(entry_ids(ordered), given.where(given.notna(), ""), strict=True):
            if str(text).strip():
                texts.setdefault(entry, str(text))
    return dict(zip(texts, merchants(texts.values()), strict=True))


def join_sides(sides: Sequence[SideLines], ranks: Sequence[Sequence[int]]) -> BridgedLines:
    """Lines of both sides, with the step that each belongs to."""
    before, after = sides
    frame = pd.concat([before.frame, after.frame], ignore_index=True)
    frame.attrs = dict(after.frame.attrs)
    return BridgedLines(
        frame,
        np.repeat([False, True], [len(before.frame), len(after.frame)]),
        np.array([rank for of_side in ranks for rank in of_side], dtype=np.int64),
        sum(before.units),
        sum(after.units),
    )
