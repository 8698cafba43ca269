"""Movements of cash: the lines of the report with their accounts, and the transfers between own accounts.

For each journal entry and account, flows and transfer add up to the movement of the account: a flow counts for the
account that the report names, and what an account moved beyond its flows came from, or went to, other own accounts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.chart_of_accounts import SubType, display_order
from accounting_analytics.exports.star_schema.exported_books import with_dates
from accounting_analytics.exports.star_schema.tables import FACT_CASH_FLOW_LINE, FACT_TRANSFER

if TYPE_CHECKING:
    from accounting_analytics.exports.star_schema.exported_books import ExportedBooks

_KEY = ["journal_entry_id", "cash_ledger_id"]
_SUM_DIGITS = 28
"""Digits of sums of amounts of 18 digits; few enough for Arrow to subtract them."""


class CashMovements(NamedTuple):
    """``fact_cash_flow_line`` and ``fact_transfer``."""

    flows: pa.Table
    transfers: pa.Table

    @classmethod
    def from_books(cls, books: ExportedBooks) -> Self:
        """Divide the movement of every account into flows and transfers; lines that pass a transfers ledger are one."""
        movements = _movements_of_accounts(books)
        lines = _report_lines(books)
        if lines.num_rows and movements.num_rows:
            accounts = _accounts_of_lines(lines, movements)
            lines = lines.join(accounts, ["journal_entry_id", "cash_flow_ledger_name"])
        else:
            absent = pa.nulls(lines.num_rows, pa.string())
            lines = lines.append_column("cash_ledger_id", absent).append_column("transaction_id", absent)
        lines = lines.filter(pc.invert(_is_in(lines["ledger_id"], _transfer_ledgers(books))))
        flows = FACT_CASH_FLOW_LINE.from_columns(_in_order(lines, "line_id"), books.scale)
        return cls(flows, FACT_TRANSFER.from_columns(_in_order(_transfers(movements, flows), *_KEY), books.scale))


def _movements_of_accounts(books: ExportedBooks) -> pa.Table:
    """Sum of the lines of each account in each journal entry, with the name and position of the account."""
    cash = books.cash_ledger_ids
    lines = books.lines.filter(_is_in(books.lines["ledger_id"], cash))
    sums = lines.group_by(["journal_entry_id", "ledger_id"]).aggregate(
        [("signed_amount", "sum"), ("datetime", "min"), ("date", "min"), ("month", "min"), ("transaction_id", "min"),
         ("journal_entry_description", "min")]
    )  # fmt: skip
    sums = sums.rename_columns([name.removesuffix("_min") for name in sums.column_names])
    sums = sums.rename_columns({"ledger_id": "cash_ledger_id", "signed_amount_sum": "movement"})
    accounts = [
        {"cash_ledger_id": ledger_id, "account_name": name, "position": position}
        for position, (_, ledger_id, name) in enumerate(
            sorted((display_order(code, one), one, name) for one, name, code in _accounts(books))
        )
    ]
    return _with_text(sums).join(pa.Table.from_pylist(accounts), "cash_ledger_id") if accounts else _with_text(sums)


def _accounts(books: ExportedBooks) -> list[tuple[str, str, str]]:
    """Id, name and sort_code of each account; the chart of accounts has precedence over the report."""
    balances, ledgers = books.report.starting_balances, books.ledgers[books.ledgers["report_cash_flow"]]
    listed = zip(balances["ledger_id"], balances["ledger_name"], balances["sort_code"], strict=True)
    known = zip(ledgers["id"], ledgers["name"], ledgers["sort_code"], strict=True)
    return list({account[0]: account for account in (*listed, *known)}.values())


def _report_lines(books: ExportedBooks) -> pa.Table:
    """Lines of the report; a line without the name of an account has an empty one, because null is equal to nothing."""
    lines = pa.Table.from_pandas(books.report.lines, preserve_index=False).replace_schema_metadata(None)
    lines = _with_text(with_dates(lines, books.period))
    name = pc.fill_null(lines["cash_flow_ledger_name"], "")
    return lines.set_column(lines.column_names.index("cash_flow_ledger_name"), "cash_flow_ledger_name", name)


def _accounts_of_lines(lines: pa.Table, movements: pa.Table) -> pa.Table:
    """Find the account of each journal entry and account name, else the one that moved most, and its transaction."""
    wanted = lines.group_by(["journal_entry_id", "cash_flow_ledger_name"]).aggregate([])
    candidates = wanted.join(movements, "journal_entry_id", join_type="inner")
    candidates = candidates.append_column(
        "is_named", pc.equal(candidates["account_name"], candidates["cash_flow_ledger_name"])
    ).append_column("size", pc.abs(candidates["movement"]))
    ranked = candidates.sort_by([("is_named", "descending"), ("size", "descending"), ("position", "ascending")])
    first = ranked.group_by(["journal_entry_id", "cash_flow_ledger_name"], use_threads=False).aggregate(
        [("cash_ledger_id", "first"), ("transaction_id", "first")]
    )
    return first.rename_columns([name.removesuffix("_first") for name in first.column_names])


def _transfers(movements: pa.Table, flows: pa.Table) -> pa.Table:
    """Movement of each account in a journal entry beyond its flows."""
    sums = flows.group_by(_KEY).aggregate([("amount", "sum")])
    joined = movements.join(sums, _KEY)
    wide = pa.decimal128(_SUM_DIGITS, movements["movement"].type.scale)
    flow = pc.fill_null(joined["amount_sum"].cast(wide), pa.scalar(0, wide))
    amount = pc.subtract(joined["movement"].cast(wide), flow)
    return joined.append_column("amount", amount).filter(pc.not_equal(amount, pa.scalar(0, wide)))


def _transfer_ledgers(books: ExportedBooks) -> list[str]:
    """Ids of the ledgers that money passes on its way from one own account to another."""
    ledgers = books.ledgers
    passes = (ledgers["sub_type"] == SubType.TRANSFERS_BETWEEN_ACCOUNTS).fillna(value=False)
    return ledgers.loc[passes & ~ledgers["report_cash_flow"], "id"].tolist()


def _in_order(table: pa.Table, *key: str) -> dict[str, pa.ChunkedArray]:
    """Columns of a table by (datetime, key), with the name that instants have in an export."""
    ordered = table.sort_by([(name, "ascending") for name in ("datetime", *key)])
    return {"datetime_utc" if name == "datetime" else name: ordered[name] for name in ordered.column_names}


def _is_in(ledger_ids: pa.ChunkedArray, values: list[str]) -> pa.ChunkedArray:
    return pc.is_in(ledger_ids, value_set=pa.array(values, ledger_ids.type))


def _with_text(table: pa.Table) -> pa.Table:
    """Table with text of 32-bit offsets, as the tables of an export have it."""
    fields = [field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields))
