"""The dimensions of ledgers, transactions, tags and exported months."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.categorization.categories import uncategorized_ledgers
from accounting_analytics.categorization.merchants import merchants
from accounting_analytics.chart_of_accounts import LedgerType, SubType, display_order
from accounting_analytics.exports.star_schema.tables import (
    BRIDGE_LINE_ENTRY_TAG,
    DIM_CASH_LEDGER,
    DIM_LEDGER,
    DIM_LOAD,
    DIM_TAG,
    DIM_TRANSACTION,
)
from accounting_analytics.frame_columns import LIST_SEPARATOR
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.schemas import Ledgers
from accounting_analytics.version import __version__

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from accounting_analytics.exports.star_schema.exported_books import ExportedBooks

_BALANCE_SHEET = {LedgerType.ASSET, LedgerType.LIABILITY, LedgerType.EQUITY}
_OPTIONAL_TRANSACTION_COLUMNS = ("review_status", "posted_status", "personal")


def ledger_dimension(books: ExportedBooks) -> pa.Table:
    """``dim_ledger``: the chart of accounts, and ledgers that only lines or the report name."""
    ledgers = _all_ledgers(books)
    ids, is_cash = ledgers["id"], ledgers["id"].isin(books.cash_ledger_ids)
    by_id = dict(zip(ids, ledgers["name"], strict=True))
    names = LedgerNames.from_frame(ledgers)
    upwards = {ledger_id: [ledger_id, *names.hierarchy.ancestors(ledger_id)] for ledger_id in ids}
    is_transfer = (ledgers["sub_type"] == SubType.TRANSFERS_BETWEEN_ACCOUNTS).fillna(value=False)
    added = {
        "ledger_id": ids,
        "path": ids.map(names.path),
        "level": ids.map(lambda ledger_id: len(upwards[ledger_id])),
        "root_name": ids.map(lambda ledger_id: names.name(upwards[ledger_id][-1])),
        "parent_ledger_id": ledgers["parent_id"],
        "parent_name": ledgers["parent_id"].map(by_id),
        "statement": ledgers["type"].map(_statement, na_action="ignore"),
        "statement_section": ledgers["sub_type"].map(_section, na_action="ignore"),
        "display_order": display_positions(ledgers["sort_code"], ids),
        "is_cash": is_cash,
        "is_transfer": is_transfer,
        "is_uncategorized": ids.isin(uncategorized_ledgers(ledgers)),
        "created_at_utc": ledgers["created_at"],
    }
    return DIM_LEDGER.from_columns({**ledgers, **added}, books.scale)


def display_positions(sort_codes: Iterable[str], ledger_ids: Iterable[str]) -> list[int]:
    """Position of each ledger in display order, from 1."""
    keys = [display_order(*key) for key in zip(sort_codes, ledger_ids, strict=True)]
    position = {key: number for number, key in enumerate(sorted(keys), start=1)}
    return [position[key] for key in keys]


def cash_ledger_dimension(ledgers: pa.Table, scale: int) -> pa.Table:
    """``dim_cash_ledger``: the rows of ``dim_ledger`` that report cash flow, for a second relation of the facts."""
    cash = ledgers.filter(ledgers["is_cash"])
    renamed = {"cash_ledger_id": "ledger_id", "cash_ledger_name": "name", "cash_ledger_path": "path"}
    return DIM_CASH_LEDGER.from_columns(
        {name: cash[renamed.get(name, name)] for name in DIM_CASH_LEDGER.columns}, scale
    )


def transaction_dimension(books: ExportedBooks) -> pa.Table:
    """``dim_transaction``: transactions of the period; fields that were not expanded are null."""
    batches = (_transactions(batch, books.period.end_date) for batch in books.in_batches())
    ordered = pa.concat_tables(batches).sort_by("transaction_id")  # stable: of several lines the first remains first
    ids = ordered["transaction_id"]
    repeated = pa.concat_arrays([pa.array([False] * min(1, len(ids)), pa.bool_()), *pc.equal(ids[1:], ids[:-1]).chunks])
    return ordered.filter(pc.invert(repeated)) if pc.any(repeated).as_py() else ordered  # a filter copies all columns


def _transactions(books: ExportedBooks, last_day: dt.date) -> pa.Table:
    """Transactions of a batch, with their age on the last day of the period."""
    lines = _own_lines(books)
    uncategorized = pa.array(list(uncategorized_ledgers(books.ledgers)), books.lines["ledger_id"].type)
    entries = books.lines.filter(pc.is_in(books.lines["ledger_id"], value_set=uncategorized))["journal_entry_id"]
    described = "transaction_description" if "transaction_description" in lines.column_names else "description"
    names = dict(zip(books.ledgers["id"], books.ledgers["name"], strict=True))
    amount = lines["signed_amount"]
    columns: dict[str, Any] = {
        "transaction_id": lines["transaction_id"],
        "transaction_date": lines["date"],
        "description": lines[described],
        "merchant": merchants(lines[described].to_pandas().fillna("")),
        "account_name": lines["ledger_id"].to_pandas().map(names),
        "is_cash": pc.is_in(lines["ledger_id"], value_set=pa.array(books.cash_ledger_ids, lines["ledger_id"].type)),
        "transaction_amount": amount,
        "direction": pc.if_else(pc.greater_equal(amount, pa.scalar(0, amount.type)), "inflow", "outflow"),
        "is_uncategorized": pc.is_in(lines["journal_entry_id"], value_set=entries.combine_chunks()),
        "age_in_days": pc.days_between(lines["date"], pa.scalar(last_day, pa.date32())),
        "source_account_id": _column_or_nulls(lines, "source_account_id"),
    }
    columns |= {name: _column_or_nulls(lines, f"transaction_{name}") for name in _OPTIONAL_TRANSACTION_COLUMNS}
    return DIM_TRANSACTION.from_columns(columns, books.scale)


def tag_dimension(books: ExportedBooks) -> pa.Table:
    """``dim_tag``: the tags that lines of the period carry; the latest name counts."""
    batches = [_tagged_lines(batch).drop_duplicates("tag_id", keep="last") for batch in books.in_batches()]
    tags = pd.concat(batches).drop_duplicates("tag_id", keep="last").sort_values("tag_id")
    absent = pd.Series(None, index=tags.index, dtype="object")
    dimension = {
        "tag_id": tags["tag_id"],
        "tag_name": tags.get("tag_names", absent).replace("", None),
        "tag_group_id": tags.get("tag_group_ids", absent).replace("", None),
    }
    return DIM_TAG.from_columns(dimension, books.scale)


def line_entry_tags(books: ExportedBooks) -> pa.Table:
    """``bridge_line_entry_tag``: the tags of each line."""
    tagged = _tagged_lines(books)
    return BRIDGE_LINE_ENTRY_TAG.from_columns(
        {name: tagged[name] for name in BRIDGE_LINE_ENTRY_TAG.columns}, books.scale
    )


def load_dimension(
    books: ExportedBooks, *, currency: str | None, verdict: str, proven_at: dt.datetime | None
) -> pa.Table:
    """``dim_load``: a row for each calendar month of the period, also for one without lines."""
    counts = books.lines_by_month()
    months = list(counts)
    columns = {
        "month": months,
        "start_date": [month.start_date for month in books.period.months()],
        "end_date": [month.end_date for month in books.period.months()],
        "line_entries": list(counts.values()),
    }
    same = {
        "time_zone": books.period.time_zone,
        "currency": currency,
        "scale": books.scale,
        "read_at_utc": books.read_at,
        "is_partial": books.is_partial,
        "verdict": verdict,
        "proven_at_utc": proven_at,
        "notes": " ".join(books.notes) or None,
        "package_version": __version__,
    }
    return DIM_LOAD.from_columns(columns | {name: [value] * len(months) for name, value in same.items()}, books.scale)


def _all_ledgers(books: ExportedBooks) -> pd.DataFrame:
    """Ledgers of the chart of accounts, and a row with id and name for each other ledger of a line or the report."""
    report, lines = books.report, books.lines.select(["ledger_id", "ledger_name"]).group_by(["ledger_id"])
    in_lines = lines.aggregate([("ledger_name", "min")]).to_pandas()
    named = {
        **dict(zip(in_lines["ledger_id"], in_lines["ledger_name_min"], strict=True)),
        **dict(zip(report.starting_balances["ledger_id"], report.starting_balances["ledger_name"], strict=True)),
        **dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True)),
    }
    known = set(books.ledgers["id"])
    others = {ledger_id: name for ledger_id, name in named.items() if ledger_id not in known}
    if not others:
        return books.ledgers
    columns: dict[str, list[object]] = {name: [None] * len(others) for name in books.ledgers.columns}
    columns |= {"id": list(others), "name": list(others.values()), "sort_code": [""] * len(others)}
    columns["report_cash_flow"] = [ledger_id in books.cash_ledger_ids for ledger_id in others]
    rows = Ledgers.from_columns({name: columns[name] for name in Ledgers.dtypes() if name in columns})
    return pd.concat([books.ledgers, rows], ignore_index=True)


def _tagged_lines(books: ExportedBooks) -> pd.DataFrame:
    """Return a row for each tag of each line, by (datetime, id) of the lines."""
    columns = [
        name for name in ("id", "month", "tag_ids", "tag_names", "tag_group_ids") if name in books.lines.column_names
    ]
    lines = books.lines.filter(pc.not_equal(pc.fill_null(books.lines["tag_ids"], ""), ""))
    frame: pd.DataFrame = lines.sort_by([("datetime", "ascending"), ("id", "ascending")]).select(columns).to_pandas()
    split = {name: frame[name].str.split(LIST_SEPARATOR) for name in columns if name.startswith("tag_")}
    return frame.assign(**split).explode([*split]).rename(columns={"id": "line_entry_id", "tag_ids": "tag_id"})


def _own_lines(books: ExportedBooks) -> pa.Table:
    """Line of each transaction on its account; the first if there are several."""
    lines = books.lines.filter(pc.is_valid(books.lines["transaction_id"]))
    ordered = lines.sort_by([("datetime", "ascending"), ("id", "ascending")])
    return ordered.filter(pa.array(~ordered["transaction_id"].to_pandas().duplicated()))


def _column_or_nulls(lines: pa.Table, name: str) -> pa.ChunkedArray:
    return lines[name] if name in lines.column_names else pa.chunked_array([pa.nulls(lines.num_rows)])


def _statement(ledger_type: str) -> str:
    return "balance sheet" if ledger_type in _BALANCE_SHEET else "income statement"


def _section(sub_type: str) -> str:
    """Heading of a group of ledgers in a statement: ``Operating expenses``."""
    return sub_type.replace("_", " ").capitalize()
