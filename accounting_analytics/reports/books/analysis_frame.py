"""Line entries with columns to group them by, such as path, counterparty and month."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.core.chart_of_accounts import DebitCredit
from accounting_analytics.core.column_conversion import TEXT, local_midnights
from accounting_analytics.core.errors import FrameError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import attach_notes, notes
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.reports.books.payees import counterparties_of_entries, entry_ids
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.books.zone_of_lines import refuse_other_days

if TYPE_CHECKING:
    from accounting_analytics.reports.books.value import Books, PeriodLike


def analysis_frame(books: Books, period: PeriodLike = None) -> pd.DataFrame:
    """Add the columns that people group by, so that a pivot table is one call.

    Parameters
    ----------
    books : Books
        The books.
    period : period-like, optional
        Days of the lines; by default the period of the books, or all lines where they have none.

    Returns
    -------
    DataFrame
        The line entries with ``local_date``, ``month`` (``2026-05``), ``type`` and ``sub_type`` of the ledger, its
        ``path`` (``Expenses:Rent``), ``parent``, the name of the ledger above, null where there is none;
        ``counterparty``, who owes or is owed, else who was paid or pays, in upper case, empty of an adjustment;
        ``is_cash``, whether the ledger reports cash flow; and ``direction``: ``inflow`` for debits of cash ledgers and
        credits of others, which bring cash in, else ``outflow``.

    Raises
    ------
    InputError
        An argument is of another type, or ``local_date`` has days of another zone.
    FrameError
        A frame is not valid, or the ledger of a line is not among those of the books.

    Examples
    --------
    ::

        frame = aa.analysis_frame(books)
        expenses = frame[frame["type"] == "expense"]
        expenses.pivot_table(index="counterparty", columns="month", values="signed_amount", aggfunc="sum")
    """
    books = to_books(books)
    lines, chart = books.source.in_pandas("an analysis frame"), books.chart
    frame = LineEntries.checked(lines)
    unknown = frame.loc[~frame["ledger_id"].isin(chart["id"]), "ledger_id"].unique()
    if len(unknown):
        raise FrameError(
            f"ledgers do not contain {count_of(len(unknown), 'ledger')} of the line entries: {join_ids(unknown)}; "
            "discover the ledgers over the period of the line entries"
        )
    refuse_other_days(lines, books.time_zone)
    days = local_midnights(frame["datetime"], books.time_zone)
    if period is not None or books.has_given_period:
        shown = books.days_of(period)
        is_shown = days.dt.date.between(shown.start_date, shown.end_date)
        frame, days = frame[is_shown], days[is_shown]
    names, rows = LedgerNames.from_frame(chart), chart.set_index("id")
    cash = set(rows.index[rows["report_cash_flow"]])
    payees = counterparties_of_entries(frame, cash, books.source.open_items)
    is_cash = frame["ledger_id"].isin(cash)
    is_inflow = (frame["debit_credit"] == DebitCredit.DEBIT) == is_cash
    by_ledger = {
        "type": rows["type"],
        "sub_type": rows["sub_type"],
        "path": pd.Series({ledger_id: names.path(ledger_id) for ledger_id in rows.index}),
        "parent": rows["parent_id"].map(rows["name"], na_action="ignore"),
    }
    added: pd.DataFrame = frame.assign(
        local_date=days,
        month=days.dt.strftime("%Y-%m").astype(TEXT),
        **{name: frame["ledger_id"].map(values).astype(TEXT) for name, values in by_ledger.items()},
        counterparty=pd.Series([payees.get(entry_id, "") for entry_id in entry_ids(frame)], frame.index, dtype=TEXT),
        is_cash=is_cash,
        direction=pd.Series("outflow", frame.index, dtype=TEXT).mask(is_inflow, "inflow"),
    )
    attach_notes(added, [*notes(frame), *books.own_notes], lines)
    return added
