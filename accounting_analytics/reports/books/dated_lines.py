"""Line entries as exact rows with their local days and journal entries, until a last day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd

from accounting_analytics.core.column_conversion import exact_frame, local_midnights
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.core.exact_sums import repeated_message, require_columns, require_sides
from accounting_analytics.core.periods import Period, parse_date
from accounting_analytics.core.schemas import Ledgers, LineEntries
from accounting_analytics.reports.books.extent import missing_reasons, states_all_lines
from accounting_analytics.reports.books.lines_or_books import ledgers_of, lines_of
from accounting_analytics.reports.books.payees import entry_ids
from accounting_analytics.reports.books.zone_of_lines import zone_of_lines

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterator

    from accounting_analytics.core.periods import DateLike, ZoneLike

_NEEDED = ("id", "ledger_id", "journal_entry_id", "datetime", "signed_amount")
_MOST_QUIET_DAYS = 7


class DatedLines(NamedTuple):
    """Line entries until a day, and the ledgers that they are of.

    Attributes
    ----------
    given : DataFrame
        The line entries as they were given, which state their load.
    rows : DataFrame
        Those until the last day: exact amounts, ``local_date``, and ``_entry``, the journal entry or the line itself.
    ledgers : DataFrame
        The checked chart of accounts.
    last : date
        The last day.
    time_zone : str
        Zone that days are counted in.
    scale : int
        Fraction digits of the amounts.
    missing : tuple of str
        Why lines until the last day are certainly missing; empty if nothing shows it.
    notes : tuple of str
        What was assumed or normalized.
    """

    given: pd.DataFrame
    rows: pd.DataFrame
    ledgers: pd.DataFrame
    last: dt.date
    time_zone: str
    scale: int
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def read(
        cls,
        line_entries: Any,  # noqa: ANN401 (any but a frame is refused)
        ledgers: Any,  # noqa: ANN401 (any but a frame is refused)
        end_date: DateLike | None,
        time_zone: ZoneLike | None,
    ) -> Self:
        """Read a frame, or local books, until a day, by default that of the latest line."""
        lines, chart = lines_of(line_entries), ledgers_of(line_entries, ledgers)
        LineEntries.require_frame(lines)
        require_lines(lines, _NEEDED)
        if lines.empty and end_date is None:
            raise InputError("there are no line entries, so their last day is not known; pass end_date")
        day_zone, exact = zone_of_lines(lines, chart, time_zone), exact_frame(lines, ["signed_amount"])
        if not states_all_lines(lines):
            require_sides(lines, exact.scale)
        rows = exact.frame.reset_index(drop=True)
        rows = rows.assign(local_date=local_midnights(rows["datetime"], day_zone.name), _entry=entry_ids(rows))
        last = rows["local_date"].max().date() if end_date is None else parse_date(end_date, "end_date")
        rows = rows[rows["local_date"] <= pd.Timestamp(last)]
        return cls(
            lines,
            rows,
            Ledgers.checked(chart),
            last,
            day_zone.name,
            exact.scale,
            missing_reasons(lines, Period(last, last, day_zone.name)),
            (*_notes_of_quiet_days(rows, last), *exact.notes, *day_zone.notes),
        )

    @property
    def cash(self) -> set[str]:
        """Ids of the ledgers that report cash flow."""
        return set(self.ledgers.loc[self.ledgers["report_cash_flow"], "id"])

    def listed(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of cash with their ``figure_amount``."""
        shown = rows[rows["ledger_id"].isin(self.cash)]
        return shown.assign(figure_amount=shown["signed_amount"])


def _notes_of_quiet_days(rows: pd.DataFrame, last: dt.date) -> Iterator[str]:
    """Say that the last days have no line entry, where these are more than a week."""
    latest = last if rows.empty else rows["local_date"].max().date()
    if (days := (last - latest).days) > _MOST_QUIET_DAYS:
        yield (
            f"The latest line entry is of {latest}, {days:,} days before {last}: what is said of these days, and of "
            "those after them, rests on no entry."
        )


def has_lines(lines: pd.DataFrame, period: Period) -> bool:
    """Whether a line is of one of some days."""
    instants = [(lines["datetime"] >= one.start) & (lines["datetime"] < one.end) for one in period.instants()]
    return any(one.any() for one in instants)


def entries_among(lines: pd.DataFrame, is_chosen: pd.Series[bool]) -> pd.DataFrame:
    """Chosen rows of listed lines, with the columns of line entries and ``figure_amount``."""
    columns = [*(name for name in LineEntries.dtypes() if name in lines), "figure_amount"]
    return lines.loc[is_chosen, columns]


def require_lines(line_entries: pd.DataFrame, needed: Collection[str]) -> None:
    """Refuse line entries that lack a column, or that have a line twice, whose amount would be summed twice."""
    require_columns(line_entries.columns, needed, "line_entries")
    ids = line_entries["id"]
    repeated = ids[ids.duplicated()].drop_duplicates()
    if len(repeated):
        raise FrameError(repeated_message(repeated.tolist()))
