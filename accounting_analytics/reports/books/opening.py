"""`Opening`: from when the balances of the books are known, and what they rest on."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pandas as pd

from accounting_analytics.core.column_conversion import decimal_scale, exact_amounts, find_scale, parse_amounts
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.core.exact_sums import null_message, require_columns
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import Discovery, count_notes, read_load_metadata, stated_scales
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.core.periods import day_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from decimal import Decimal

    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.books.ledger_tree import LedgerTree

_DAY = dt.timedelta(days=1)


class Opening(NamedTuple):
    """From when the balances of the books are known, and what they rest on.

    Attributes
    ----------
    day : date or None
        Balances are known from the start of this day on; of an ``unknown`` opening it is the first day of the lines,
        and there are movements since then. None where sums are no balances: of a report, or of lines with tags.
    units : mapping or None
        Balances at the start of the day by ledger, in signed units; None where the books begin then.
    of : {"all", "cash"}
        Whose balances are known.
    basis : {"first entry", "given", "unknown"}
        The lines reach back to the first entry; or the day or balances were given; or neither.
    equity : tuple of str
        Names of the ledgers of equity that the cash of the first entries comes from: opening balances, capital.
    first_entry : date or None
        Day of the first entry of the books, where it is known: nothing is known of days before.
    notes : tuple of str
        Remarks on given balances.
    """

    day: dt.date | None = None
    units: Mapping[str, int] | None = None
    of: Literal["all", "cash"] = "all"
    basis: Literal["first entry", "given", "unknown"] = "unknown"
    equity: tuple[str, ...] = ()
    first_entry: dt.date | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_movement(self) -> bool:
        """Whether sums up to a day are movements since the first day of the lines, not balances."""
        return self.day is not None and self.basis == "unknown"

    @property
    def since(self) -> dt.date | None:
        """First day of sums up to a day; None where they reach back to the first entry."""
        return self.day if self.is_movement or self.units is not None else None

    @property
    def averaged_from(self) -> dt.date:
        """First day of a column that is counted in an average."""
        if self.first_entry is None:
            return dt.date.min
        return self.first_entry + _DAY if self.equity else self.first_entry

    def sentence(self) -> str:
        """State since when balances are sums, or why they are movements; empty where there are neither."""
        if self.day is None:
            return ""
        if self.units is not None:
            return f"Balances are the supplied ones at the start of {self.day}, and the movement since."
        if not self.is_movement:
            return f"Balances are sums since {self.day}, the first day of the books."
        movement = f"amounts up to a day are the movement since {self.day}"
        if self.first_entry is not None and self.first_entry < self.day:
            return (
                f"The lines begin on {self.day}, and the books on {self.first_entry}: {movement}. Load the lines since "
                f"{self.first_entry} for more."
            )
        return (
            f"The lines begin on {self.day}, and whether the books do is not known: {movement}. Load the lines since "
            "the first entry, and pass its day as books_start, for more."
        )

    def notes_on(self, periods: Iterable[Period]) -> Iterator[str]:
        """Say what is not known before the first entry, and that opening balances are in a column and in no average."""
        if self.first_entry is None:
            return
        first, periods = day_label(self.first_entry), list(periods)
        if any(one.start_date < self.first_entry for one in periods):
            yield f"There are no entries before {first}: what was before is not known."
        if self.equity and any(one.start_date <= self.first_entry <= one.end_date for one in periods):
            yield (
                f"Cash in from {' and '.join(self.equity)} on {first}, when the books begin, may have been there "
                "before: the column with that day is in no average."
            )


def find_opening(
    line_entries: Any,  # noqa: ANN401 (any frame)
    ledgers: Any,  # noqa: ANN401 (any frame)
    time_zone: str,
    loaded_from: dt.date,
    given: dt.date | None = None,
) -> Opening:
    """Find the opening of lines from a day on: the day that is given, or that of the first entry, if they reach back.

    A frame that states no load is taken to reach back to a given day.
    """
    metadata = read_load_metadata(line_entries)
    first = given or _first_entry(metadata, Discovery.stated(ledgers), time_zone)
    reaches_back = given is not None if metadata is None else first is not None and loaded_from <= first
    if reaches_back:
        return Opening(first, basis="given" if given else "first entry", first_entry=first)
    return Opening(loaded_from, first_entry=first)


def given_opening(
    balances: pd.DataFrame | Mapping[str, Decimal], day: dt.date, tree: LedgerTree, scale: int, *, of_cash: bool
) -> Opening:
    """Read balances at the start of a day: a frame (``ledger_id, cash_balance``) or a mapping of ledgers."""
    units, notes = _read_balances(balances, tree, scale)
    if of_cash and (missing := set(tree.cash) - units.keys()):
        at_zero = f"without a supplied balance, taken to start at zero: {join_ids(sorted(missing))}"
        notes = (*count_notes((len(missing), "cash ledger", at_zero)), *notes)
    return Opening(day, units, "cash" if of_cash else "all", "given", notes=notes)


def discovered_first_entry(ledgers: Any, time_zone: str) -> dt.date | None:  # noqa: ANN401 (any frame)
    """Day of the first entry, as the discovery of all ledgers found it; None where it could not see all days."""
    return _first_entry(None, Discovery.stated(ledgers), time_zone)


def _first_entry(metadata: Mapping[str, Any] | None, discovery: Discovery | None, time_zone: str) -> dt.date | None:
    """Day of the first entry: as local books state it, else as discovery found it, if it saw all days, in its zone."""
    if stated := (metadata or {}).get("books_start"):
        return dt.date.fromisoformat(stated)
    if discovery is None or discovery.accepted.time_zone != time_zone or discovery.accepted.start_date > dt.date.min:
        return None
    return discovery.first_day


def _read_balances(
    balances: pd.DataFrame | Mapping[str, Decimal], tree: LedgerTree, scale: int
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Read given balances in units, and notes on them; they must be exact at the scale, of known ledgers, each once."""
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
    units = dict(zip(ledger_ids, (to_minor_units(amount, scale) for amount in exact), strict=True))
    if others := sorted(units.keys() - tree.names.keys()):
        raise FrameError(f"starting_balances: {count_of(len(others), 'ledger')} not in ledgers: {join_ids(others)}")
    return units, count_notes((noise_removed, "supplied starting balance", "had float rounding noise removed"))


def _ids(texts: Iterable[str], tree: LedgerTree) -> list[str]:
    """Ids of ledgers that are given by id, unique name or path."""
    names = LedgerNames(tree.names, tree.hierarchy)
    try:
        return [names.find(text) for text in texts]
    except InputError as error:
        raise FrameError(f"starting_balances: {error}") from None
