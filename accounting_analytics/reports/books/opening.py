"""`Opening`: the day from which balances are known, and their basis."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.column_conversion import decimal_scale, exact_amounts, find_scale, parse_amounts
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.core.exact_sums import null_message, require_columns
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import count_notes, stated_scales
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import from_minor_units, to_minor_units
from accounting_analytics.core.periods import DAY, day_label, parse_date
from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from decimal import Decimal

    from accounting_analytics.core.load_metadata import Discovery
    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.books.extent_of_load import Extent
    from accounting_analytics.reports.books.ledger_tree import LedgerTree

_DAY_TYPES = (str, dt.date, np.datetime64, pd.Period)


class GivenOpening(NamedTuple):
    """The opening that a caller gave: a day, balances, or both."""

    day: dt.date | None = None
    balances: pd.DataFrame | Mapping[str, Decimal] | None = None
    is_reported: bool = False

    @classmethod
    def of(cls, given: object) -> GivenOpening:
        """Read the argument `opening`: a day, balances or both. Refuse other types."""
        if given is None:
            return cls()
        if isinstance(given, CashFlowReport):
            return cls(given.period.start_date, given.exact().starting_balances, is_reported=True)
        if isinstance(given, _DAY_TYPES):
            return cls(parse_date(given, "opening"))
        pair = given if isinstance(given, tuple) else (None, given)
        if len(pair) != 2:  # noqa: PLR2004 (a day and balances)
            raise InputError(f"opening is a tuple of {len(pair)}; pass (day, balances)")
        day, balances = pair
        hint = "pass {ledger: balance}, starting_balances of a report, or the day of the first entry"
        require_type(balances, (pd.DataFrame, Mapping), "opening", hint)
        return cls(day if day is None else parse_date(day, "opening"), balances)


class Opening(NamedTuple):
    """The day from which balances are known, and their basis.

    Attributes
    ----------
    day : date or None
        Balances are known from the start of this day on; of an ``unknown`` opening it is the first day of the lines,
        and there are movements since then. None where sums are no balances: of a report, or of lines with tags.
    units : mapping or None
        Balances at the start of the day by ledger, in signed units; None where the books begin then.
    of : {"all", "cash"}
        The ledgers whose balances are known.
    basis : {"first entry", "reported", "given", "unknown"}
        The lines reach back to the first entry; or the service reported the balances of cash; or the day or balances
        were given; or none of these.
    equity : tuple of str
        Ids of the ledgers of opening balances, which the chart of accounts states: entries against them are no inflow,
        on any day. Names are not unique.
    capital : tuple of str
        Names of other ledgers of equity that the cash of the first entries comes from, in a cash flow statement: an
        inflow, which may have been there before the books begin.
    first_entry : date or None
        Day of the first entry of the books, where it is known: nothing is known of days before.
    notes : tuple of str
        Remarks on given balances.
    """

    day: dt.date | None = None
    units: Mapping[str, int] | None = None
    of: Literal["all", "cash"] = "all"
    basis: Literal["first entry", "reported", "given", "unknown"] = "unknown"
    equity: tuple[str, ...] = ()
    capital: tuple[str, ...] = ()
    first_entry: dt.date | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_movement(self) -> bool:
        """True if sums up to a day are movements since `day`, not balances."""
        return self.day is not None and self.basis == "unknown"

    @property
    def since(self) -> dt.date | None:
        """First day that sums count, or None if they begin with the first entry."""
        return self.day if self.is_movement or self.units is not None else None

    @property
    def day_text(self) -> str:
        """The day as sentences write it, or "" if it is not known."""
        return day_label(self.day) if self.day else ""

    @property
    def averaged_from(self) -> dt.date:
        """Earliest first day of columns that count in averages."""
        if self.first_entry is None:
            return dt.date.min
        return self.first_entry + DAY if self.capital else self.first_entry

    def sentence(self) -> str:
        """Say since when balances are sums, or why they are movements."""
        if self.day is None:
            return ""
        day = self.day_text
        if self.basis == "reported":
            return f"Cash is what the service reported at the start of {day}, and the movement since."
        if self.units is not None:
            return f"Balances are the supplied ones at the start of {day}, and the movement since."
        if not self.is_movement:
            return f"Balances are sums since {day}, the first day of the books."
        movement = f"amounts up to a day are the movement since {day}"
        if self.first_entry is not None and self.first_entry < self.day:
            first = day_label(self.first_entry)
            return (
                f"The lines begin on {day}, and the books on {first}: {movement}. Load the lines since {first} for "
                "more."
            )
        return (
            f"The lines begin on {day}, and whether the books do is not known: {movement}. Load the lines since "
            "the first entry, and pass its day as opening, for more."
        )

    def notes_on(self, periods: Iterable[Period]) -> Iterator[str]:
        """Yield notes about days before the first entry, and about averages."""
        if self.first_entry is None:
            return
        first, periods = day_label(self.first_entry), list(periods)
        if any(period.start_date < self.first_entry for period in periods):
            yield f"There are no entries before {first}: what was before is not known."
        if self.capital and any(period.start_date <= self.first_entry <= period.end_date for period in periods):
            yield (
                f"Cash in from {' and '.join(self.capital)} on {first}, when the books begin, may have been there "
                "before: the column with that day is in no average."
            )


def find_opening(extent: Extent, discovery: Discovery | None, time_zone: str, given: dt.date | None = None) -> Opening:
    """Find the opening: the given day, else the day of the first entry.

    The day is not known if the load begins after the first entry. Lines that state no load are assumed to reach back
    to the given day.
    """
    first = given or extent.first_entry or discovered_first_entry(discovery, time_zone)
    loaded_from = extent.days.start_date
    reaches_back = first is not None and loaded_from <= first if extent.is_stated else given is not None
    if reaches_back:
        return Opening(first, basis="given" if given else "first entry", first_entry=first)
    return Opening(loaded_from, first_entry=first)


def discovered_first_entry(discovery: Discovery | None, time_zone: str) -> dt.date | None:
    """Return the day of the first entry, if discovery saw all days."""
    if discovery is None or discovery.accepted.time_zone != time_zone or discovery.accepted.start_date > dt.date.min:
        return None
    return discovery.first_day


def given_opening(
    balances: pd.DataFrame | Mapping[str, Decimal], day: dt.date, tree: LedgerTree, scale: int
) -> Opening:
    """Read the balances that a caller gave for cash ledgers or for all ledgers."""
    units, notes = _read_balances(balances, tree, scale)
    others = sorted(units.keys() - set(tree.cash))
    if others and (gap := sum(units.values())):
        raise FrameError(
            f"opening: the balances are of all ledgers, and debits less credits are {from_minor_units(gap, scale)}; "
            f"give those of all ledgers, or those of cash alone, without {join_ids(others)}"
        )
    if missing := sorted(set(tree.cash) - units.keys()):
        at_zero = f"without a supplied balance, taken to start at zero: {join_ids(missing)}"
        notes = (*count_notes((len(missing), "cash ledger", at_zero)), *notes)
    return Opening(day, units, "all" if others else "cash", "given", notes=notes)


def _read_balances(
    balances: pd.DataFrame | Mapping[str, Decimal], tree: LedgerTree, scale: int
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Read given balances in units. Refuse unknown and repeated ledgers."""
    if isinstance(balances, pd.DataFrame):
        require_columns(balances.columns, ("ledger_id", "cash_balance"), "opening")
        ledger_ids, amounts = balances["ledger_id"], balances["cash_balance"]
        find_scale([scale, *stated_scales(balances), decimal_scale(amounts)])
        convert = exact_amounts
    else:
        ledger_ids = pd.Series(_ids(balances, tree), name="ledger_id")
        amounts = pd.Series(list(balances.values()), dtype=object, name="cash_balance")
        convert = parse_amounts
    if ledger_ids.duplicated().any():
        raise FrameError("opening: a ledger occurs more than once")
    if amounts.isna().any():
        raise FrameError(null_message("opening", "cash_balance"))
    exact, noise_removed = convert(amounts, scale, ledger_ids)
    units = dict(zip(ledger_ids, (to_minor_units(amount, scale) for amount in exact), strict=True))
    if others := sorted(units.keys() - tree.names.keys()):
        raise FrameError(f"opening: {count_of(len(others), 'ledger')} not in ledgers: {join_ids(others)}")
    return units, count_notes((noise_removed, "supplied balance", "had float rounding noise removed"))


def _ids(texts: Iterable[str], tree: LedgerTree) -> list[str]:
    """Find ledgers by id, unique name or path."""
    names = LedgerNames(tree.names, tree.hierarchy)
    try:
        return [names.find(text) for text in texts]
    except InputError as error:
        raise FrameError(f"opening: {error}") from None
