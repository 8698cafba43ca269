"""`Bridge`: the steps from a total of one period to that of another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from accounting_analytics.bridges.payments import SMALLER_CHANGES, BridgeStep, Cause
from accounting_analytics.bridges.sentences import (
    AmountWriter,
    BridgeWords,
    StepFigures,
    others_sentence,
    step_sentence,
    total_sentence,
    write_amount,
)
from accounting_analytics.chart_of_accounts import Hierarchy
from accounting_analytics.column_conversion import exact_amounts, in_floats, is_decimal, negated
from accounting_analytics.errors import InputError
from accounting_analytics.figure_tables import entries_behind, figure_table_html, table_of_figures
from accounting_analytics.figures import KEY_SEPARATOR, Figure, checked_entries, find_row
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.messages import count_of, quote
from accounting_analytics.money import from_minor_units, pandas_dtype
from accounting_analytics.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from accounting_analytics.bridges.payments import BridgedLines
    from accounting_analytics.figure_tables import FigureTable

BEFORE, AFTER, CHANGE = "before", "after", "change"
_OTHERS = "smaller_changes"
_MAX_SENTENCES = 5


@dataclass(frozen=True, repr=False, eq=False)
class Bridge(Result):
    """What :func:`bridge` returns: why a total changed, in steps that sum exactly to the change.

    Amounts are positive where they increase the total: cash that comes in, or net income. ``bridge["before"]``,
    ``bridge["after"]``, ``bridge["change"]`` and ``bridge[step.key]`` are figures with their line entries; the sides of
    a step are ``bridge[f"{step.key}|before"]`` and ``|after``, and ``bridge["smaller_changes|5"]`` is all but the five
    largest steps.

    Parameters
    ----------
    title : str
        The total.
    before, after : str
        The two periods.
    steps : tuple of BridgeStep
        The largest changes by absolute amount, then one step for all others.
    scale : int
        Fraction digits of the amounts.
    time_zone : str
        Zone that days are counted in.
    currency : str or None
        What the caller of the statement named.
    notes : tuple of str
        Remarks for the reader.
    """

    title: str
    before: str
    after: str
    steps: tuple[BridgeStep, ...]
    scale: int
    time_zone: str
    currency: str | None
    notes: tuple[str, ...]
    _words: BridgeWords
    _all: tuple[BridgeStep, ...]
    _lines: BridgedLines

    @property
    def frame(self) -> pd.DataFrame:
        """One row for each step; the amounts sum to the change."""
        rows = [(one, self[one.key]) for one in self.steps]
        sides = [self._sides(one) for one in self.steps]
        columns: dict[str, Any] = {
            "label": [one.label for one, _ in rows],
            "category": [one.category for one, _ in rows],
            "payee": [one.payee or None for one, _ in rows],
            "cause": [one.cause.name for one, _ in rows],
            "amount": self._amounts([figure.exact() for _, figure in rows]),
            "before": self._amounts([one.before.exact() for one in sides]),
            "after": self._amounts([one.after.exact() for one in sides]),
            "payments_before": [len(one.before) for one, _ in rows],
            "payments_after": [len(one.after) for one, _ in rows],
            "days": [", ".join(f"{day.date}" for day in one.cause.payments) or None for one, _ in rows],
            "key": [one.key for one, _ in rows],
        }
        texts = ("label", "category", "payee", "cause", "days", "key")
        frame = pd.DataFrame(columns).astype(dict.fromkeys(texts, "str"))
        frame.attrs |= {"scale": self.scale, "notes": self.notes}
        return frame

    def __getitem__(self, key: str) -> Figure:
        """Figure of a side, of the change, or of a step, by key or label."""
        if isinstance(key, str):
            name, _, side = key.rpartition(KEY_SEPARATOR)
            if name in self._ranks and side in {BEFORE, AFTER}:
                return self._side(name, side)
            if name == _OTHERS and side.isdecimal():
                return self._others(int(side))
        names = {BEFORE: self.before, AFTER: self.after, CHANGE: "Change", **{one.key: one.label for one in self._all}}
        known = ", ".join(quote(one) for one in (BEFORE, AFTER, CHANGE))
        found = find_row(LedgerNames(names, Hierarchy({})), key, f"give {known}, or the key or label of a step")
        if found in {BEFORE, AFTER, CHANGE}:
            return self._total(found)
        rank = self._ranks[found]
        return self._figure(found, f"{self._all[rank].label}, change", self._lines.steps == rank, self._all[rank].units)

    def summary(self) -> str:
        """One line: the total on both sides, and its change."""
        return self._total_sentence(self._words)

    def sentences(self, write: AmountWriter = write_amount) -> list[str]:
        """Sentences about the total, the largest steps, and all others together: seven at most.

        `write` is called with each figure whose amount they name; by default it writes the amount.
        """
        words = self._words._replace(write=write)
        count = len(self._all) if len(self._all) <= _MAX_SENTENCES + 1 else _MAX_SENTENCES
        shown = self._all[: min(count, len([one for one in self.steps if one.cause.name != SMALLER_CHANGES]))]
        texts = [step_sentence(one, words, self._sides(one)) for one in shown]
        if rest := len(self._all) - len(shown):
            texts.append(others_sentence(rest, words, self._others(len(shown))))
        return [self._total_sentence(words), *texts]

    def _total_sentence(self, words: BridgeWords) -> str:
        return total_sentence(words, StepFigures(self[CHANGE], self[BEFORE], self[AFTER]))

    def _parts(self) -> Iterator[ResultPart]:
        yield ResultPart(self.sentences()[1:])
        yield ResultPart(html=lambda: figure_table_html(self.table('bridge[{row!r} + "|" + {column!r}].entries')))

    def table(self, call: str, subtitle: Sequence[str] = ()) -> FigureTable:
        """Make the table of both sides and the change of each step; `call` gives the entries of a figure."""
        sides = [(step.label, self.sides(step.key)) for step in self.steps]
        rows = [(label, [one.before, one.after, one.change]) for label, one in sides]
        rows.append((self.title, [self[BEFORE], self[AFTER], self[CHANGE]]))
        heads = [self.before, self.after, "Change"]
        return table_of_figures(
            self.title, subtitle, heads, rows, entries_behind(rows), scale=self.scale, call=call, ends_in_total=True
        )

    def _content(self) -> dict[str, Any]:
        amounts = {name: self[name].exact() for name in (BEFORE, AFTER, CHANGE)}
        return {
            "title": self.title,
            "before": {"label": self.before, "amount": amounts[BEFORE]},
            "after": {"label": self.after, "amount": amounts[AFTER]},
            "change": amounts[CHANGE],
            "steps": [self._step_content(one) for one in self.steps],
            "sentences": self.sentences(),
            "time_zone": self.time_zone,
            "notes": self.notes,
        }

    def _step_content(self, step: BridgeStep) -> dict[str, Any]:
        entries = self[step.key].entries
        return {
            "key": step.key,
            "label": step.label,
            "cause": step.cause.name,
            "amount": from_minor_units(self._units(step), self.scale),
            "payments": [{"journal_entry_id": one.entry_id, "date": one.date} for one in step.cause.payments],
            "line_ids": list(entries["id"]),
        }

    @cached_property
    def _ranks(self) -> dict[str, int]:
        """Rank of each step by its key."""
        return {one.key: rank for rank, one in enumerate(self._all)}

    def _units(self, step: BridgeStep) -> int:
        if step.cause.name != SMALLER_CHANGES:
            return step.units
        return sum(one.units for one in self._all[int(step.key.rpartition(KEY_SEPARATOR)[2]) :])

    def sides(self, key: str) -> StepFigures:
        """Figures of a step of `steps` and of its two sides, by its key."""
        return self._sides(next(one for one in self.steps if one.key == key))

    def _sides(self, step: BridgeStep) -> StepFigures:
        """Figures of a step and of its sides."""
        if step.cause.name != SMALLER_CHANGES:
            return StepFigures(self[step.key], self._side(step.key, BEFORE), self._side(step.key, AFTER))
        first = int(step.key.rpartition(KEY_SEPARATOR)[2])
        chosen = self._lines.steps >= first
        others = self._all[first:]
        sums = {BEFORE: sum(one.before_units for one in others), AFTER: sum(one.after_units for one in others)}
        sides = [
            self._figure(f"{step.key}|{side}", f"{step.label}, {side}", chosen, units, side)
            for side, units in sums.items()
        ]
        return StepFigures(self[step.key], *sides)

    def _side(self, key: str, side: str) -> Figure:
        """Figure of one side of a step."""
        rank = self._ranks[key]
        step = self._all[rank]
        units = step.before_units if side == BEFORE else step.after_units
        label = f"{step.label}, {self.before if side == BEFORE else self.after}"
        return self._figure(f"{key}{KEY_SEPARATOR}{side}", label, self._lines.steps == rank, units, side)

    def _total(self, key: str) -> Figure:
        """Figure of the whole: one side of it, or the change."""
        every = np.ones(len(self._lines.steps), dtype=bool)
        units = {BEFORE: self._lines.before_units, AFTER: self._lines.after_units}
        if key == CHANGE:
            change = self._lines.after_units - self._lines.before_units
            return self._figure(key, f"{self.title}, change", every, change)
        label = f"{self.title}, {self.before if key == BEFORE else self.after}"
        return self._figure(key, label, every, units[key], key)

    def _others(self, first: int) -> Figure:
        """Figure of all steps but the first."""
        units = sum(one.units for one in self._all[first:])
        label = others_label(len(self._all[first:]))
        return self._figure(f"{_OTHERS}{KEY_SEPARATOR}{first}", label, self._lines.steps >= first, units)

    def _figure(
        self, key: str, label: str, chosen: npt.NDArray[np.bool_], units: int, side: str | None = None
    ) -> Figure:
        """Figure of some lines: their change, or one side of them."""
        calculation = {
            None: f"the line entries {self._words.phrase_after} less those {self._words.phrase_before}",
            BEFORE: f"the sum of line entries {self._words.phrase_before}",
            AFTER: f"the sum of line entries {self._words.phrase_after}",
        }[side]
        return Figure(
            key,
            label,
            units,
            calculation,
            scale=self.scale,
            as_decimals=self._as_decimals,
            _load_entries=partial(self._entries, chosen, units, side),
        )

    def _entries(self, chosen: npt.NDArray[np.bool_], units: int, side: str | None) -> pd.DataFrame:
        """Lines of a figure, with the sign that they are summed with."""
        if side is not None:
            chosen = chosen & (self._lines.is_after == (side == AFTER))
        entries = self._lines.frame[chosen].reset_index(drop=True)
        if side == BEFORE:
            amounts = exact_amounts(entries["figure_amount"], self.scale, entries["id"]).column
            opposite = negated(amounts)
            entries["figure_amount"] = opposite if self._as_decimals else in_floats(opposite)
        return checked_entries(entries, units, self.scale)

    @property
    def _as_decimals(self) -> bool:
        return is_decimal(self._lines.frame["figure_amount"].dtype)

    def _amounts(self, values: list[Any]) -> pd.Series[Any]:
        exact = pd.Series(values, dtype=pandas_dtype(self.scale))
        return exact if self._as_decimals else in_floats(exact)


def shown_steps(steps: tuple[BridgeStep, ...], largest: int) -> tuple[BridgeStep, ...]:
    """Return the largest steps, and one step for all others."""
    rest = steps[largest:]
    if not rest:
        return steps
    key = f"{_OTHERS}{KEY_SEPARATOR}{largest}"
    return (*steps[:largest], BridgeStep(key, "", others_label(len(rest)), "", Cause(SMALLER_CHANGES), (), ()))


def others_label(count: int) -> str:
    """Name of the step for all but the largest."""
    return count_of(count, "smaller change")


def check_largest(largest: int) -> None:
    """Refuse a count of steps that is not a positive whole number."""
    if not isinstance(largest, int) or largest < 1:
        raise InputError(f"largest must be a whole number of at least 1, not {quote(largest)}")
