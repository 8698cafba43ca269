"""Figures: an amount, what it is of, and what is behind it: line entries, or the figures that it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.column_conversion import exact_amounts, exact_floats, total
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.html_tables import cell_text
from accounting_analytics.messages import quote
from accounting_analytics.money import format_amount, to_minor_units
from accounting_analytics.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from decimal import Decimal

    from accounting_analytics.ledger_names import LedgerNames

KEY_SEPARATOR = "|"
"""Between the row and the column of a key; no id of a load contains it."""
OWN = "own:"
"""Before the ledger id in a key that is a ledger's own amount, without its descendants."""


@dataclass(frozen=True, repr=False)
class Figure(Result):
    """An amount of a statement or report, and what is behind it.

    A figure is the sum of line entries, which are its `entries`, or it is made of other figures, its `terms`.

    Parameters
    ----------
    key : str
        Row and column, separated by ``|``: what finds the figure again in its statement.
    label : str
        What the figure is, as the statement writes it.
    amount : float, Decimal or None
        The amount in the form that the frames have; None where it is not known.
    calculation : str
        How it was calculated, or why it is not known.
    terms : tuple of Figure
        The figures that a derived figure is made of; empty for a sum of line entries.
    """

    key: str
    label: str
    amount: float | Decimal | None
    calculation: str
    terms: tuple[Figure, ...] = ()
    _exact: Decimal | None = field(default=None, kw_only=True)
    _load_entries: Callable[[], pd.DataFrame] | None = field(default=None, kw_only=True, compare=False)

    @property
    def is_additive(self) -> bool:
        """Whether the figure is a sum of line entries, which `entries` returns."""
        return self._load_entries is not None

    def exact(self) -> Decimal | None:
        """Return the amount as a Decimal; None where it is not known."""
        return self._exact

    @property
    def entries(self) -> pd.DataFrame:
        """The line entries behind the figure, and ``figure_amount``: each amount with the sign it was summed with.

        Raises
        ------
        InputError
            The figure is made of other figures, is not known, or was only reported; the message says which, and
            where the entries are.
        """
        if self._load_entries is None:
            terms = ", ".join(quote(term.label) for term in self.terms)
            where = f"; the figures that it is made of have them: {terms} (in .terms)" if terms else ""
            raise InputError(f"{self.label} has no line entries of its own: {self.calculation}{where}")
        return self._load_entries()

    @property
    def frame(self) -> pd.DataFrame:
        """The entries, or the terms of a figure that is made of others."""
        if self.is_additive:
            return self.entries
        rows = [{"label": term.label, "amount": term.exact(), "key": term.key} for term in self.terms]
        return pd.DataFrame(rows, columns=["label", "amount", "key"])

    def summary(self) -> str:
        """One line: what the figure is, and its amount."""
        return f"{self.label}: {_amount_text(self._exact)}"

    def _parts(self) -> Iterator[ResultPart]:
        sentence = f"{self.calculation[:1].upper()}{self.calculation[1:]}."
        lines = [sentence, *(f"- {term.summary()}" for term in self.terms)]
        yield ResultPart(lines)
        if self.is_additive:
            entries = self.entries
            shown = [name for name in _SHOWN if name in entries.columns]
            yield ResultPart(_entry_lines(entries), entries[shown], rest="entries; .entries has all")

    def _content(self) -> dict[str, Any]:
        terms = [{"key": term.key, "label": term.label, "amount": term.exact()} for term in self.terms]
        return {
            "key": self.key,
            "label": self.label,
            "amount": self._exact,
            "calculation": self.calculation,
            "terms": terms,
            "entries": self.entries if self.is_additive else None,
        }


_SHOWN = ("local_date", "journal_entry_description", "description", "ledger_name", "figure_amount")
_LISTED = 20


def _entry_lines(entries: pd.DataFrame) -> list[str]:
    """Write the first entries as text."""
    first = exact_floats(entries.head(_LISTED))
    days = first["local_date" if "local_date" in first else "datetime"]
    rows = zip(days, first["figure_amount"], first["journal_entry_description"], strict=True)
    texts = [f"- {day:%Y-%m-%d}  {format_amount(amount):>18}  {cell_text(text)}" for day, amount, text in rows]
    more = len(entries) - len(first)
    return [*texts, f"and {more:,} more; .entries has all"] if more > 0 else texts


def _amount_text(amount: Decimal | None) -> str:
    return "not known" if amount is None else format_amount(amount)


_IN_ROWS = "give the id, unique name or path of one of its rows (in .rows)"


def find_row(names: LedgerNames, text: object, hint: str = _IN_ROWS) -> str:
    """Key of the row with this id, unique name or path; an unknown one is refused with suggestions, or a hint."""
    found = names.matches(text)
    if len(found) > 1:
        raise InputError(names.ambiguity(text, found))
    if found:
        return next(iter(found))
    raise InputError(f"no row matches {quote(text)}; {names.suggestion(text) or hint}")


def checked_entries(entries: pd.DataFrame, units: int, scale: int) -> pd.DataFrame:
    """Entries, if they sum to the figure."""
    ids = entries["id"] if "id" in entries else entries["line_id"]
    found = to_minor_units(total(exact_amounts(entries["figure_amount"], scale, ids).column), scale)
    if found != units:
        raise BooksDoNotTieError(
            f"the line entries sum to {found} minor units, but the figure is {units}: the lines have changed since the "
            "statement was made; make it again"
        )
    return entries
