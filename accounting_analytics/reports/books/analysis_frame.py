"""Line entries with what people group them by: type and path of the ledger, payee, month, direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.core.chart_of_accounts import DebitCredit
from accounting_analytics.core.column_conversion import TEXT, local_midnights
from accounting_analytics.core.errors import FrameError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import attach_notes, notes
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.schemas import Ledgers, LineEntries
from accounting_analytics.reports.books.lines_or_books import ledgers_of, lines_of
from accounting_analytics.reports.books.payees import entry_ids, payees_of_entries
from accounting_analytics.reports.books.zone_of_lines import refuse_other_days, zone_of_lines

if TYPE_CHECKING:
    from accounting_analytics.core.periods import ZoneLike
    from accounting_analytics.reports.books.lines_or_books import AnyBooks


def analysis_frame(
    line_entries: pd.DataFrame | AnyBooks,
    ledgers: pd.DataFrame | None = None,
    *,
    time_zone: ZoneLike | None = None,
) -> pd.DataFrame:
    """Add to line entries what people group them by, so that a pivot table is one line.

    Parameters
    ----------
    line_entries : DataFrame or LocalBooks
        :class:`~accounting_analytics.schemas.LineEntries` of all ledgers, or local books.
    ledgers : DataFrame, optional
        :class:`~accounting_analytics.schemas.Ledgers`; local books have their own.
    time_zone : str or ZoneInfo, optional
        Zone that days and months are counted in; by default that of the load, else that of the ledgers if every
        ``local_date`` is a day of it.

    Returns
    -------
    DataFrame
        The line entries with ``local_date``, ``month`` (``2026-05``), ``type`` and ``sub_type`` of the ledger, its
        ``path`` (``Expenses:Rent``), ``parent``, the name of the ledger above, null where there is none; ``payee``, the
        merchant of the entry in upper case, empty without text; ``is_cash``, whether the ledger reports cash flow; and
        ``direction``: ``inflow`` for debits of cash ledgers and credits of others, which bring cash in, else
        ``outflow``.

    Raises
    ------
    InputError
        An argument is of another type, no zone is stated, or ``local_date`` has days of another one.
    FrameError
        A frame is not valid, or the ledger of a line is not in `ledgers`.

    Examples
    --------
    ::

        frame = aa.analysis_frame(lines, ledgers)
        expenses = frame[frame["type"] == "expense"]
        expenses.pivot_table(index="payee", columns="month", values="signed_amount", aggfunc="sum")
    """
    lines, chart = lines_of(line_entries), ledgers_of(line_entries, ledgers)
    frame, chart = LineEntries.checked(lines), Ledgers.checked(chart)
    unknown = frame.loc[~frame["ledger_id"].isin(chart["id"]), "ledger_id"].unique()
    if len(unknown):
        raise FrameError(
            f"ledgers do not contain {count_of(len(unknown), 'ledger')} of the line entries: {join_ids(unknown)}; "
            "discover the ledgers over the period of the line entries"
        )
    day_zone = zone_of_lines(lines, chart, time_zone)
    refuse_other_days(lines, day_zone.name)
    names, rows = LedgerNames.from_frame(chart), chart.set_index("id")
    cash = set(rows.index[rows["report_cash_flow"]])
    payees = payees_of_entries(frame, cash)
    days = local_midnights(frame["datetime"], day_zone.name)
    is_cash = frame["ledger_id"].isin(cash)
    is_inflow = (frame["debit_credit"] == DebitCredit.DEBIT) == is_cash
    by_ledger = {
        "type": rows["type"],
        "sub_type": rows["sub_type"],
        "path": pd.Series({one: names.path(one) for one in rows.index}),
        "parent": rows["parent_id"].map(rows["name"], na_action="ignore"),
    }
    added = frame.assign(
        local_date=days,
        month=days.dt.strftime("%Y-%m").astype(TEXT),
        **{name: frame["ledger_id"].map(values).astype(TEXT) for name, values in by_ledger.items()},
        payee=pd.Series([payees.get(one, "") for one in entry_ids(frame)], frame.index, dtype=TEXT),
        is_cash=is_cash,
        direction=pd.Series("outflow", frame.index, dtype=TEXT).mask(is_inflow, "inflow"),
    )
    attach_notes(added, [*notes(frame), *day_zone.notes], lines)
    return added
