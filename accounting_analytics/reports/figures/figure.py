"""Figures: an amount, its label, and the line entries or figures behind it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.core.amount_units import AMOUNT_UNITS
from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.column_conversion import exact_amounts, exact_floats, in_floats, total
from accounting_analytics.core.errors import AmountError, BooksDoNotTieError, InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.money import (
    DEFAULT_SCALE,
    EXACT,
    format_amount,
    from_minor_units,
    to_float,
    to_minor_units,
)
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.core.text_and_html_tables import cell_text
from accounting_analytics.reports.figures.figure_workbook import FigurePart, write_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.reports.figures.selections import Selection

KEY_SEPARATOR = "|"
"""Separator of row and column in a key. No id of a load contains it."""
OWN = "own:"
"""Prefix of the key of a ledger's own amount, without its descendants."""
NOT_KNOWN, ZERO = "not known", "\N{EN DASH}"
"""Texts of a figure that is not known, and of zero."""

FigureKind = Literal["sum", "average", "change_pct", "quotient", "none"]


class Quotient(NamedTuple):
    """The form in which a quotient of two amounts is written.

    Attributes
    ----------
    times : int
        Its factor: 100 for a percentage.
    digits : int
        Its fraction digits, rounded half to even.
    suffix : str
        Text after its digits.
    """

    times: int = 100
    digits: int = 1
    suffix: str = "%"

    def of(self, part: int, whole: int) -> Decimal:
        """Divide two amounts in units."""
        return Decimal(round(Fraction(self.times * 10**self.digits * part, whole))).scaleb(-self.digits, EXACT)


PERCENT = Quotient()


@dataclass(frozen=True, repr=False)
class Figure(Result):
    """An amount of a statement or report, and the lines or figures behind it.

    A figure is the sum of line entries, which are its `entries`, or it is made of other figures, its `terms`; a figure
    that adds and subtracts sums of line entries has both.

    Parameters
    ----------
    key : str
        Row and column, separated by ``|``, by which its statement finds the figure again.
    label : str
        Its name, as the statement writes it.
    units : int, Decimal or None
        Whole minor units of an amount, or a percentage or another quotient; None where it is not known.
    calculation : str
        How it was calculated, or why it is not known.
    terms : tuple of Figure
        The figures that it is made of; empty for a sum of line entries alone.
    signs : tuple of str
        Sign of each of its terms: ``+``, ``-``, or ``/`` of a divisor.
    kind : {"sum", "average", "change_pct", "quotient", "none"}
        How it follows from its terms or lines; ``none`` where the statement has no amount in this place.
    scale : int
        Fraction digits of the amount.
    selections : sequence of Selection
        Ledgers and days of its lines, where it is a sum of lines of a statement.
    quotient : Quotient
        Its form, where it is a percentage or another quotient.
    """

    key: str
    label: str
    units: int | Decimal | None
    calculation: str
    terms: tuple[Figure, ...] = ()
    signs: tuple[str, ...] = ()
    kind: FigureKind = "sum"
    scale: int = field(default=DEFAULT_SCALE, kw_only=True)
    selections: Sequence[Selection] = field(default=(), kw_only=True)
    quotient: Quotient = field(default=PERCENT, kw_only=True)
    _load_entries: Callable[[], pd.DataFrame] | None = field(default=None, kw_only=True, compare=False)

    @property
    def amount(self) -> float | None:
        """The amount as the frames have it; None where it is not known.

        Raises
        ------
        AmountError
            The amount is too large for a float; `exact` returns it.
        """
        exact = self.exact()
        if exact is None:
            return None
        try:
            return to_float(exact, self.scale) if isinstance(self.units, int) else float(exact)
        except AmountError as error:
            raise AmountError(f"{self.label}: {error}") from None

    @property
    def text(self) -> str:
        """The amount as text: negative in parentheses, zero as a dash."""
        return self.text_in(None)

    def text_in(self, amounts_in: AmountsIn | None) -> str:
        """Return the text in thousands (``k``) or millions (``M``).

        Amounts are rounded half to even. A quotient is not converted.
        """
        if self.kind == "none":
            return ""
        return text_of(self.exact(), quotient=self._shown_quotient, amounts_in=amounts_in)

    @property
    def _shown_quotient(self) -> Quotient | None:
        """The form in which the quotient is written, or None."""
        return self.quotient if isinstance(self.units, Decimal) else None

    @property
    def is_additive(self) -> bool:
        """The figure is a sum of line entries, which `entries` returns."""
        return self._load_entries is not None

    def exact(self) -> Decimal | None:
        """Return the amount as a Decimal, or None if it is not known."""
        return from_minor_units(self.units, self.scale) if isinstance(self.units, int) else self.units

    def signed_terms(self, amounts_in: AmountsIn | None = None) -> list[tuple[str, str, str]]:
        """Return sign, label and text of each term, a divisor last."""
        terms = zip(self.signs, self.terms, strict=True)
        found = [(sign, term.label, term.text_in(amounts_in)) for sign, term in terms]
        if self.kind == "average" and found:
            found.append(("/", "Number of columns", str(len(found))))
        if self.kind == "change_pct":
            base = self.terms[1].exact()
            is_negative = base is not None and base < 0
            label = self.terms[1].label + (" without its sign" if is_negative else "")
            found.append(("/", label, text_of(base and abs(base), amounts_in=amounts_in)))
        return found

    @property
    def entries(self) -> pd.DataFrame:
        """The line entries behind the figure, with their signed amounts as ``figure_amount``.

        Raises
        ------
        InputError
            The figure is made of other figures, is not known, or was only reported; the message says which, and
            where the entries are.
        AmountError
            An amount is too large for a float.
        """
        entries = self.exact_entries()
        ids = entries["id"] if "id" in entries else entries["line_id"]
        exact = [name for name in _AMOUNTS if name in entries and entries[name].dtype != np.float64]
        return entries.assign(
            **{name: in_floats(exact_amounts(entries[name], self.scale, ids).column) for name in exact}
        )

    def exact_entries(self) -> pd.DataFrame:
        """Return the entries with Arrow decimals as ``figure_amount``, for calculations and text."""
        if self._load_entries is None:
            terms = ", ".join(quote(term.label) for term in self.terms)
            where = f"; the figures that it is made of have them: {terms} (in .terms)" if terms else ""
            raise InputError(f"{self.label} has no line entries of its own: {self.calculation}{where}")
        return self._load_entries()

    @property
    def frame(self) -> pd.DataFrame:
        """The entries, or the terms if the figure is made of other figures."""
        if not self.terms and self.is_additive:
            return self.entries
        rows = [{"label": term.label, "amount": term.exact(), "key": term.key} for term in self.terms]
        return pd.DataFrame(rows, columns=["label", "amount", "key"])

    def to_excel(self, path: str | Path) -> None:
        """Write an Excel workbook: the figure with its terms, and the entries behind it.

        Pandas cannot write `entries` to Excel, which has no time zones: their days here are those of the books.

        Parameters
        ----------
        path : str or Path
            A file that ends in ``.xlsx``, which is replaced completely or left unchanged.

        Raises
        ------
        InputError
            xlsxwriter (the extra ``excel``) is missing, the entries are more than a sheet has rows, or the file cannot
            be written.
        """
        write_figure(list(_with_terms(self, 1)), self.scale, to_path(path, "path"))

    def summary(self) -> str:
        """Return one line of text: the label and the amount."""
        exact = self.exact()
        if exact is None:
            return f"{self.label}: {NOT_KNOWN}"
        return f"{self.label}: {_plain_text(exact, self._shown_quotient)}"

    def _parts(self) -> Iterator[ResultPart]:
        sentence = f"{self.calculation[:1].upper()}{self.calculation[1:]}."
        lines = [sentence, *(f"- {term.summary()}" for term in self.terms)]
        yield ResultPart(lines)
        if not self.terms and self.is_additive:
            entries = self.exact_entries()
            shown = [name for name in _SHOWN if name in entries.columns]
            yield ResultPart(_entry_lines(entries), entries[shown], rest="entries; .entries has all")

    def _content(self) -> dict[str, Any]:
        terms = [{"key": term.key, "label": term.label, "amount": term.exact()} for term in self.terms]
        return {
            "key": self.key,
            "label": self.label,
            "amount": self.exact(),
            "calculation": self.calculation,
            "terms": terms,
            "entries": self.exact_entries() if not self.terms and self.is_additive else None,
        }


def _with_terms(figure: Figure, factor: int) -> Iterator[FigurePart]:
    """Yield a figure and all its terms, each with its sign."""
    amount = _plain_text(figure.units, figure.quotient) if isinstance(figure.units, Decimal) else figure.exact()
    entries = figure.exact_entries() if figure.is_additive and not figure.terms else None
    yield FigurePart(figure.label, amount, factor, figure.calculation, entries)
    for sign, term in zip(figure.signs, figure.terms, strict=True):
        yield from _with_terms(term, -factor if sign == "-" else factor)


_AMOUNTS = (*LineEntries.amount_columns(), "figure_amount")
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


def _plain_text(value: Decimal, quotient: Quotient | None) -> str:
    """Write an amount or a quotient with its minus sign."""
    return f"{format_amount(value)}{quotient.suffix if quotient else ''}"


def text_of(value: Decimal | None, *, quotient: Quotient | None = None, amounts_in: AmountsIn | None = None) -> str:
    """Write an amount: negative in parentheses, zero as a dash."""
    if value is None:
        return NOT_KNOWN
    if not value:
        return ZERO
    size = value.copy_abs()
    text = AMOUNT_UNITS[amounts_in].text(size) if amounts_in and not quotient else _plain_text(size, quotient)
    return f"({text})" if value < 0 else text


def figure_of_entries(
    key: str, label: str, entries: pd.DataFrame, *, scale: int, calculation: str = "line entries"
) -> Figure:
    """Make the figure of line entries with their ``figure_amount``."""
    amounts = exact_amounts(entries["figure_amount"], scale, entries["id"]).column
    units = to_minor_units(total(amounts), scale)

    def load() -> pd.DataFrame:
        return entries.assign(figure_amount=amounts).reset_index(drop=True)

    return Figure(key, label, units, f"the sum of {calculation}", scale=scale, _load_entries=load)


def figure_of_terms(key: str, label: str, terms: Sequence[tuple[str, Figure]]) -> Figure:
    """Make a figure that adds and subtracts other figures. It is known if they all are."""
    signs, figures = zip(*terms, strict=True)
    calculation = " ".join(f"{sign} {term.label}" for sign, term in terms).removeprefix("+ ")
    make = partial(Figure, key, label, scale=figures[0].scale, terms=figures, signs=signs)
    if any(figure.units is None for figure in figures):
        return make(None, "it is not known: a figure that it is made of is not known")
    units = sum((-1 if sign == "-" else 1) * int(term.units or 0) for sign, term in terms)
    return make(units, f"calculated: {calculation}")


def renamed(figure: Figure, key: str, label: str) -> Figure:
    """Copy a figure under another key and label, also in terms that have its key."""
    terms = tuple(replace(term, key=key) if term.key == figure.key else term for term in figure.terms)
    return replace(figure, key=key, label=label, terms=terms)


def figure_of_quotient(
    make: Callable[..., Figure], part: int, whole: int, name: str, form: Quotient = PERCENT
) -> Figure:
    """Make a quotient. It is known only if the divisor is positive.

    Any other divisor would give a wrong sign, or no number.
    """
    written = partial(make, kind="quotient", quotient=form)
    if whole <= 0:
        why = "zero" if whole == 0 else "negative"
        nothing = "be in percent of" if form == PERCENT else "divide by"
        return written(None, f"it is not known: {name} is {why}, so there is nothing to {nothing}")
    of = (
        f"percent of {name}"
        if form == PERCENT
        else f"the quotient by {name}{f', times {form.times}' * (form.times > 1)}"
    )
    return written(form.of(part, whole), of)


_IN_ROWS = "give the id, unique name or path of one of its rows (in .rows)"


def find_row(names: LedgerNames, text: object, hint: str = _IN_ROWS) -> str:
    """Find the key of a row by id, unique name or path."""
    found = names.matches(text)
    if len(found) > 1:
        raise InputError(names.ambiguity(text, found))
    if found:
        return next(iter(found))
    raise InputError(f"no row matches {quote(text)}; {names.suggestion(text) or hint}")


def float_amounts(figures: Sequence[Figure]) -> pd.Series[float]:
    """Return the amounts of figures as a column, NaN where not known."""
    return pd.Series([figure.amount for figure in figures], dtype="float64")


def checked_entries(entries: pd.DataFrame, units: int, scale: int) -> pd.DataFrame:
    """Return entries that sum to the figure. Refuse entries that do not."""
    ids = entries["id"] if "id" in entries else entries["line_id"]
    found = to_minor_units(total(exact_amounts(entries["figure_amount"], scale, ids).column), scale)
    if found != units:
        raise BooksDoNotTieError(
            f"the line entries sum to {found} minor units, but the figure is {units}: the lines have changed since the "
            "statement was made; make it again"
        )
    return entries
