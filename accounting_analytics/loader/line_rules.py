"""The rules of :class:`~accounting_analytics.schemas.LineEntries`, for lines that are still an Arrow table.

The Pandera model takes as long to import as a hundred pages to load, and a load needs it for nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from accounting_analytics.errors import FrameError

if TYPE_CHECKING:
    import pyarrow as pa

REQUIRED = frozenset({"id", "ledger_id", "journal_entry_id", "datetime", "amount", "debit_credit", "signed_amount"})
"""Columns without nulls."""


def require_rules(table: pa.Table, schema: pa.Schema) -> None:
    """Refuse lines that are no LineEntries: exactly the columns of `schema`, and the rules of the model."""
    if table.schema != schema:
        msg = f"line entries have the columns {table.schema.names}, not {schema.names}, or other types"
        raise FrameError(msg)
    broken = [f"{name}: null" for name in schema.names if name in REQUIRED and table[name].null_count]
    if pc.count_distinct(table["id"]).as_py() != table.num_rows:
        broken.append("id: not unique")
    debit = pc.equal(table["debit_credit"], "debit")
    if not _all(pc.or_(debit, pc.equal(table["debit_credit"], "credit"))):
        broken.append("debit_credit: neither debit nor credit")
    amount, signed = table["amount"], table["signed_amount"]
    if not _all(pc.equal(signed, pc.if_else(debit, amount, pc.negate(amount)))):
        broken.append("signed_amount is not +amount on the debit side, -amount on the credit side")
    if broken:
        msg = f"line entries are not valid: {'; '.join(broken)}"
        raise FrameError(msg)


def _all(true: pa.ChunkedArray) -> bool:
    return bool(pc.all(true, min_count=0).as_py())
