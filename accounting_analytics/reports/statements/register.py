"""The register of a ledger: its entries, opposing ledgers and running total."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import pandas as pd

from accounting_analytics.core.errors import IncompleteLoadError
from accounting_analytics.core.exact_sums import collect, is_on, lines_of_entries
from accounting_analytics.core.load_metadata import attach_notes
from accounting_analytics.core.money import from_minor_units
from accounting_analytics.core.periods import day_label, local_date, zone
from accounting_analytics.core.schemas import Register
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.selections import Span

if TYPE_CHECKING:
    from collections.abc import Collection

    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.books.value import Books, PeriodLike


def register(books: Books, ledger: str, period: PeriodLike = None) -> pd.DataFrame:
    """List the entries of a ledger and those below it, with a running total.

    Parameters
    ----------
    books : Books
        The books.
    ledger : str
        Id, unique name or path of the ledger.
    period : period-like, optional
        Days that are listed, such as ``"2026-05"``; by default the period of the books. The running total counts the
        lines before them too.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Register`, by (datetime, id): debits are positive. The running total
        starts at zero before the first loaded line, so that it is a balance only if the lines reach back to the
        beginning of the books; ``attrs["notes"]`` says since when it counts.

    Raises
    ------
    InputError
        No ledger or more than one matches.
    IncompleteLoadError
        The ledger or the days were not loaded.
    """
    books = to_books(books)
    books.require_loaded("a register")
    tree, source = books.tree, books.source
    ledger_id = books.names.find(ledger)
    ledger_ids = tree.hierarchy.with_descendants(ledger_id)
    source.require_each_once()
    if not ledger_ids <= set(tree.cash):
        source.require_all_entries()
    shown, opening = books.days_of(period), books.opening
    if why := source.missing(Span(shown.start_date, shown.end_date), ledger_ids):
        raise IncompleteLoadError(f"the register of {tree.names[ledger_id]!r} is not known: {why}")
    rows = _rows(source, ledger_ids)
    days = zone(books.time_zone)
    shown_rows = []
    supplied = opening.units if opening.of == "all" or ledger_ids <= set(tree.cash) else None
    first = opening.day if supplied else None
    total = sum(supplied.get(ledger_id, 0) for ledger_id in ledger_ids) if supplied else 0
    for row in rows:
        day = local_date(row["datetime"], days)
        if first and day < first:
            continue
        total += row["units"]
        if shown.start_date <= day <= shown.end_date:
            opposing = [tree.names.get(opposing_id, opposing_id) for opposing_id in row["opposing"]]
            shown_row = (
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
            shown_rows.append(shown_row)
    frame = Register.from_rows(shown_rows, source.scale)
    is_balance = "" if opening.is_movement or opening.units else ", the first day of the books, so it is the balance"
    since = f"The running total counts the lines since {day_label(source.loaded.start_date)}{is_balance}."
    if supplied:
        since = f"The running total starts from the supplied balances at the start of {opening.day_text}."
    if shown.start_date > source.loaded.start_date and (
        why := source.missing(Span(source.loaded.start_date, shown.end_date), ledger_ids)
    ):
        since = f"The running total lacks lines before {day_label(shown.start_date)}: {why}."
    attach_notes(frame, (since, *source.notes, *books.own_notes), source.frame)
    return frame


def _rows(source: LineSource, ledger_ids: Collection[str]) -> list[dict[str, Any]]:
    """Return the ordered lines, with units and opposing ledgers."""
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
    """Map line ids to the opposing ledgers that the lines state."""
    lines = nw.from_native(frame).lazy()
    if "opposing_ledger_ids" not in lines.collect_schema():
        return {}
    own = lines.filter(on_ledger).select("id", "opposing_ledger_ids")
    return {row["id"]: (row["opposing_ledger_ids"] or "").split("|") for row in collect(own).to_pylist()}
