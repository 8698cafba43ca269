"""The register of a ledger and those below it: its entries with their opposing ledgers, and a running total."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import IncompleteLoadError
from accounting_analytics.core.exact_sums import collect, is_on, lines_of_entries
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import attach_notes, native_frame
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.periods import Period, local_date, zone
from accounting_analytics.core.schemas import Register
from accounting_analytics.reports.books.book_lines import LineSource
from accounting_analytics.reports.books.ledger_tree import LedgerTree
from accounting_analytics.reports.books.lines_or_books import ledgers_of, lines_of
from accounting_analytics.reports.books.opening import find_opening
from accounting_analytics.reports.books.zone_of_lines import zone_of_lines
from accounting_analytics.reports.figures.selections import Span

if TYPE_CHECKING:
    from collections.abc import Collection


def register(
    lines: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledger: str,
    *,
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    period: Period | str | None = None,
) -> pd.DataFrame:
    """Entries of a ledger and those below it, with their opposing ledgers and a running total.

    Parameters
    ----------
    lines : frame or LocalBooks
        Line entries of any engine, as :func:`~accounting_analytics.cash_flow_statement` takes them, or local books.
    ledger : str
        Id, unique name or path of the ledger.
    ledgers : frame, optional
        The chart of accounts; local books have their own.
    period : Period or str, optional
        Days that are listed, such as ``"2026-05"``; by default all. The running total counts the lines before them too.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Register`, by (datetime, id): debits are positive. The running total
        starts at zero before the first given line, so that it is a balance only if the lines reach back to the
        beginning of the books; ``attrs["notes"]`` says since when it counts.

    Raises
    ------
    InputError
        No ledger or more than one matches.
    IncompleteLoadError
        The ledger or the days were not loaded.
    """
    lines, ledgers = lines_of(lines), ledgers_of(lines, ledgers)
    tree = LedgerTree.from_frame(ledgers)
    ledger_id = LedgerNames(tree.names, tree.hierarchy).find(ledger)
    day_zone = zone_of_lines(lines, ledgers, period.time_zone if isinstance(period, Period) else None)
    if isinstance(period, str):
        period = Period.parse(period, time_zone=day_zone.name)
    elif period is not None:
        require_type(period, Period, "period", 'pass Period("2026-05-01", "2026-05-31") or "2026-05"')
    ledger_ids = tree.hierarchy.with_descendants(ledger_id)
    source = LineSource(lines, tree.cash, ledger_ids, day_zone.name)
    if source.is_tagged or not ledger_ids <= set(tree.cash):
        source.require_all_entries()
    shown = source.loaded if period is None else period
    if why := source.missing(Span(shown.start_date, shown.end_date)):
        raise IncompleteLoadError(f"the register of {tree.names[ledger_id]!r} is not known: {why}")
    rows = _rows(source, ledger_ids)
    days = zone(day_zone.name)
    columns: dict[str, list[Any]] = {name: [] for name in Register.dtypes()}
    total = 0
    for row in rows:
        total += row["units"]
        day = local_date(row["datetime"], days)
        if shown.start_date <= day <= shown.end_date:
            opposing = [tree.names.get(one, one) for one in row["opposing"]]
            values = (
                row["id"],
                row["datetime"],
                pd.Timestamp(day),
                row["journal_entry_id"],
                row["journal_entry_description"],
                tree.names.get(row["ledger_id"], row["ledger_id"]),
                ", ".join(dict.fromkeys(opposing)),
                from_minor_units(row["units"], source.scale),
                from_minor_units(total, source.scale),
            )
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
    frame = Register.from_columns(columns, source.scale)
    since = f"The running total counts the lines since {source.loaded.start_date}{_describe_start(source, ledgers)}."
    if shown.start_date > source.loaded.start_date and (
        why := source.missing(Span(source.loaded.start_date, shown.end_date))
    ):
        since = f"The running total lacks lines before {shown.start_date}: {why}."
    attach_notes(frame, (since, *source.notes, *day_zone.notes), source.frame)
    return frame


def _describe_start(source: LineSource, ledgers: Any) -> str:  # noqa: ANN401 (any frame)
    """State that a running total is the balance, where the lines are known to reach back to the first entry."""
    opening = find_opening(source.frame, ledgers, source.time_zone, source.loaded.start_date)
    return "" if opening.is_movement else ", the first day of the books, so it is the balance"


def _rows(source: LineSource, ledger_ids: Collection[str]) -> list[dict[str, Any]]:
    """Lines of some ledgers in order, with units, and the ids of the other ledgers of their entries."""
    exact, on_ledger = source.exact, is_on(ledger_ids)
    own = collect(exact.lines.filter(on_ledger)).to_pylist()
    own.sort(key=lambda row: (row["datetime"], row["id"]))
    others = lines_of_entries(exact.lines, ~on_ledger, on_ledger, "id", "ledger_id")
    opposing: dict[str, list[str]] = {}
    for row in collect(others).sort_by("id").to_pylist():
        opposing.setdefault(row["journal_entry_id"], []).append(row["ledger_id"])
    stated = _stated_opposing(source.frame, on_ledger)
    return [
        row
        | {
            "units": exact.to_units(row["units"]),
            "opposing": opposing.get(row["journal_entry_id"]) or stated.get(row["id"], []),
        }
        for row in own
    ]


def _stated_opposing(frame: Any, on_ledger: nw.Expr) -> dict[str, list[str]]:  # noqa: ANN401 (any frame narwhals knows)
    """Opposing ledgers that lines name themselves, by line id: those of entries whose other lines were not loaded."""
    lines = nw.from_native(native_frame(frame)).lazy()
    if "opposing_ledger_ids" not in lines.collect_schema():
        return {}
    own = lines.filter(on_ledger).select("id", "opposing_ledger_ids")
    return {row["id"]: (row["opposing_ledger_ids"] or "").split("|") for row in collect(own).to_pylist()}
