"""Figures of a cash flow report by key, with the lines or figures behind them.

A key is the id of a ledger (its total), ``own:`` and an id (without its descendants), several of these separated by
``|`` (their sum), the name of a sum (``net_cash_flow``), or a name and days: ``inflow|2026-03``, ``outflow|2026-03``,
``net_cash_flow|2026-03``, ``cash_balance|2026-03-15``. At the end of flows of days, ``|without:`` and the id of a
ledger leave out its lines, and ``|without_entries:`` and an id all lines of journal entries with that ledger.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from accounting_analytics.core.chart_of_accounts import Hierarchy
from accounting_analytics.core.column_conversion import local_midnights
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.messages import quote
from accounting_analytics.core.money import EXACT, exact_sum, from_minor_units, to_minor_units
from accounting_analytics.core.periods import Period, days_label, period_label
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, OWN, Figure, checked_entries, find_row
from accounting_analytics.reports.figures.numbered_lines import ShownLine
from accounting_analytics.reports.figures.selections import Selection, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

STARTING, NET, ENDING, UNEXPLAINED = (
    "starting_cash_balance",
    "net_cash_flow",
    "ending_cash_balance",
    "unexplained_change",
)
INFLOW, OUTFLOW, BALANCE = "inflow", "outflow", "cash_balance"
WITHOUT = "without:"
"""In a key of flows of days, this text is before the id of a ledger whose lines are left out."""
WITHOUT_ENTRIES = "without_entries:"
"""In a key of flows of days, this text is before the id of a ledger whose journal entries are left out."""
_SUMS = {
    STARTING: "Starting cash balance",
    NET: "Net cash flow",
    ENDING: "Ending cash balance",
    UNEXPLAINED: "Not explained by the flows",
}
_OF_DAYS = (INFLOW, OUTFLOW, NET, BALANCE)
_BELOW = "a report does not say which ledgers are below it: cash_flow_statement(report, ledgers=ledgers) has them"


@dataclass(frozen=True, eq=False)
class CashFlowReportFigures:
    """The figures of a cash flow report, from its lines and ledgers.

    Attributes
    ----------
    period : Period
        The reported days.
    ledgers : DataFrame
        Its ledgers, with exact amounts.
    lines : DataFrame
        Its lines, with exact amounts.
    starting, ending : Decimal
        Its cash balances.
    scale : int
        Fraction digits of the amounts.
    totals_only : bool
        Whether the report was recomputed without its lines.
    """

    period: Period
    ledgers: pd.DataFrame
    lines: pd.DataFrame
    starting: Decimal
    ending: Decimal
    scale: int
    totals_only: bool

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of the ledgers by id."""
        return dict(zip(self.ledgers["ledger_id"], self.ledgers["name"], strict=True))

    @cached_property
    def days(self) -> npt.NDArray[np.datetime64]:
        """Local day of each line."""
        days = local_midnights(self.lines["datetime"], self.period.time_zone)
        return days.to_numpy().astype("datetime64[D]")

    @cached_property
    def units(self) -> npt.NDArray[Any]:
        """Units of each line, positive into cash."""
        return np.array([to_minor_units(amount, self.scale) for amount in self.lines["amount"]], dtype=object)

    @cached_property
    def _rows(self) -> LedgerNames:
        return LedgerNames({**_SUMS, **self.names}, Hierarchy({}))

    def figure(self, name: str, *, own: bool = False) -> Figure:
        """Return a figure by name or key, which may name days and left-out ledgers."""
        ledgers = self.names
        names = self._rows
        if isinstance(name, str) and name not in names:
            parts = name.split(KEY_SEPARATOR)
            ids = [part.removeprefix(OWN) for part in parts if part.startswith(OWN)]
            if len(ids) == len(parts) and set(ids) <= ledgers.keys():
                return self._own(ids)
            without = [part for part in parts[2:] if part.startswith((WITHOUT, WITHOUT_ENTRIES))]
            if len(parts) - len(without) == 2 and parts[0] in _OF_DAYS:  # noqa: PLR2004 (a name and days)
                return self._of_days(parts[0], parts[1], without)
        key = find_row(names, name)
        if key in _SUMS and key not in ledgers:
            return self._sum(key)
        return self._own([key]) if own else self._total(key)

    def _total(self, ledger_id: str) -> Figure:
        """Make the figure of a ledger's total. It has lines if it equals the own amount."""
        row = self.ledgers.set_index("ledger_id").loc[ledger_id]
        stated: Decimal | None = None if pd.isna(row["total_net_cash_flow"]) else row["total_net_cash_flow"]
        label = f"{row['name']}, {period_label(self.period)}"
        if stated == row["net_cash_flow"]:
            return self._of_lines(ledger_id, label, self.of_ledgers([ledger_id]), stated)
        return self._made(ledger_id, label, stated, _BELOW, [self._own([ledger_id])])

    def _own(self, ledger_ids: Sequence[str]) -> Figure:
        """Sum ledgers without their descendants."""
        rows = self.ledgers[self.ledgers["ledger_id"].isin(ledger_ids)]
        name = f"{rows['name'].iloc[0]} (own)" if len(rows) == 1 else f"{len(rows)} other ledgers"
        key = KEY_SEPARATOR.join(f"{OWN}{ledger_id}" for ledger_id in ledger_ids)
        amount = exact_sum(rows["net_cash_flow"])
        figure = self._of_lines(key, f"{name}, {period_label(self.period)}", self.of_ledgers(ledger_ids), amount)
        days = Span(self.period.start_date, self.period.end_date, is_flow=True)
        return replace(figure, selections=[Selection(-1, days, tuple(ledger_ids))])

    def _sum(self, key: str) -> Figure:
        """Make one of the sums of the report."""
        label, net = f"{_SUMS[key]}, {period_label(self.period)}", exact_sum(self.ledgers["net_cash_flow"])
        with localcontext(EXACT):
            gap = self.ending - self.starting - net
        if key == NET:
            return self._of_lines(key, label, np.ones(len(self.lines), dtype=bool), net)
        if key == STARTING:
            stated = "a report states it without its lines; the line entries before the period have them"
            return self._made(key, label, self.starting, stated)
        if key == UNEXPLAINED:
            made_of = "the ending less the starting cash balance, less the net cash flow"
            return self._made(
                key, label, gap, made_of, [self._sum(term_key) for term_key in (ENDING, STARTING, NET)], signs="+--"
            )
        if gap:
            return self._made(key, label, self.ending, "a report states it, and its flows do not lead to it")
        made_of = "the starting cash balance and the net cash flow"
        return self._made(key, label, self.ending, made_of, [self._sum(STARTING), self._sum(NET)])

    def _of_days(self, name: str, days: str, without: Sequence[str] = ()) -> Figure:
        """Make the flows of some days, or the balance at their end."""
        period = Period.parse(days, time_zone=self.period.time_zone)
        if not self.period.covers(period):
            raise InputError(f"{quote(days)} is not within the report's period, {self.period}")
        first, last = period.start_date, period.end_date
        key = KEY_SEPARATOR.join([name, days, *without])
        label = f"{name.replace('_', ' ').capitalize()}, {days_label(period)}"
        if name == BALANCE:
            if without:
                raise InputError("a cash balance has no part without some ledgers; name it and a day")
            flows = self._of_days(NET, f"{self.period.start_date}/{last}")
            made_of = "the starting cash balance and the net cash flow since"
            balance = exact_sum([self.starting, flows.exact() or Decimal(0)])
            return self._made(key, label, balance, made_of, [self._sum(STARTING), flows])
        chosen = (self.days >= np.datetime64(first)) & (self.days <= np.datetime64(last)) & ~self._left_out(without)
        if name != NET:
            chosen &= self._moves(chosen, 1 if name == INFLOW else -1)
        return self._of_lines(key, label, chosen, from_minor_units(sum(self.units[chosen].tolist()), self.scale))

    def _left_out(self, without: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Mark the lines that are not counted."""
        lines = self.of_ledgers([part.removeprefix(WITHOUT) for part in without])
        return lines | self.of_entries_with([part.removeprefix(WITHOUT_ENTRIES) for part in without])

    def _moves(self, chosen: npt.NDArray[np.bool_], sign: int) -> npt.NDArray[np.bool_]:
        """Mark lines of entries that move cash in (1) or out (-1)."""
        entries = self.lines["journal_entry_id"].to_numpy(dtype=object)
        moved: dict[Any, int] = defaultdict(int)
        for entry, units in zip(entries[chosen], self.units[chosen], strict=True):
            moved[entry] += units
        return np.array([sign * moved.get(entry, 0) > 0 for entry in entries], dtype=bool)

    def _of_lines(self, key: str, label: str, chosen: npt.NDArray[np.bool_], exact: Decimal) -> Figure:
        """Make the figure of some lines."""
        return Figure(
            key,
            label,
            to_minor_units(exact, self.scale),
            "the sum of the report's lines",
            scale=self.scale,
            _load_entries=partial(self.entries_among, chosen, exact),
        )

    def entries_among(self, chosen: npt.NDArray[np.bool_], exact: Decimal) -> pd.DataFrame:
        """Return the chosen lines, if they sum to an amount."""
        if self.totals_only and exact:
            raise IncompleteLoadError(
                "the report was recomputed without its lines (lines=False), so no figure has entries; recompute it "
                "with lines=True"
            )
        lines = self.lines[chosen].reset_index(drop=True)
        entries = lines.assign(figure_amount=lines["amount"])
        entries["local_date"] = self.days[chosen].astype("datetime64[us]")
        return checked_entries(entries, to_minor_units(exact, self.scale), self.scale)

    def shown_lines(self, ledger_ids: Collection[str], limit: int) -> list[ShownLine] | None:
        """Return the lines of ledgers, unless they are missing or exceed `limit`."""
        chosen = self.of_ledgers(ledger_ids)
        if self.totals_only or chosen.sum() > limit:
            return None
        places = np.flatnonzero(chosen)
        times = self.lines[["datetime", "line_id"]].iloc[places].reset_index(drop=True)
        order = places[times.sort_values(["datetime", "line_id"], kind="stable").index]
        names = ("ledger_id", "journal_entry_description", "cash_flow_ledger_name", "line_id", "journal_entry_id")
        texts = [[text if isinstance(text, str) else "" for text in self.lines[name].iloc[order]] for name in names]
        days = np.datetime_as_string(self.days[order]).tolist()
        return [
            ShownLine(ledger_id, day, text, opposing, -units, line_id, entry, is_flow=True)
            for ledger_id, text, opposing, line_id, entry, day, units in zip(
                *texts, days, self.units[order], strict=True
            )
        ]

    def of_entries_with(self, ledger_ids: Collection[str]) -> npt.NDArray[np.bool_]:
        """Mark the lines of journal entries that contain some ledgers."""
        entries = self.lines["journal_entry_id"]
        return entries.isin(entries[self.of_ledgers(ledger_ids)]).to_numpy(dtype=bool)

    def of_ledgers(self, ledger_ids: Collection[str]) -> npt.NDArray[np.bool_]:
        """Mark the lines of some ledgers."""
        return self.lines["ledger_id"].isin(ledger_ids).to_numpy(dtype=bool)

    def _made(
        self,
        key: str,
        label: str,
        exact: Decimal | None,
        calculation: str,
        terms: Collection[Figure] = (),
        *,
        signs: str = "",
    ) -> Figure:
        """Make a figure of an exact amount.

        The report states the amount, or other figures add up to it.
        """
        units = None if exact is None else to_minor_units(exact, self.scale)
        return Figure(
            key,
            label,
            units,
            calculation,
            tuple(terms),
            tuple(signs) or ("+",) * len(terms),
            scale=self.scale,
        )
