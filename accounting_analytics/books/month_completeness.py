"""Whether the journal entries of a month are complete: checked on exact lines, and described where one is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.books.frames import exact_lines, line_frame
from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.column_conversion import LIST_SEPARATOR
from accounting_analytics.completeness import check_completeness
from accounting_analytics.exact_sums import ExactLines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.periods import Period

_NEEDED = ("id", "ledger_id", "journal_entry_id", "datetime", "amount", "debit_credit", "signed_amount")


def find_incompleteness(lines: pa.Table, month: Period, ledger_ids: Iterable[str], scale: int) -> str:
    """Why the journal entries of a month are not complete; empty where they are."""
    if _are_complete(lines, month, scale):  # the certificate checks the same on a frame, in ten times the time
        return ""
    certificate = check_completeness(line_frame(lines, month, ledger_ids, scale=scale, source={}))
    return "" if certificate.complete else certificate.summary()


def _are_complete(lines: pa.Table, month: Period, scale: int) -> bool:
    """Whether lines are valid and appear once, and their entries balance and name no other line."""
    if any(lines[name].null_count for name in _NEEDED) or not _have_signs_of_their_sides(lines):
        return False
    if len(pc.unique(lines["id"])) != lines.num_rows:
        return False
    named = pc.list_flatten(
        pc.split_pattern(pc.drop_null(pc.unique(lines["journal_entry_line_entry_ids"])), LIST_SEPARATOR)
    )
    if not pc.all(pc.is_in(named, value_set=lines["id"].combine_chunks()), min_count=0).as_py():
        return False
    entries = ExactLines.from_frame(exact_lines(lines, month, scale=scale)).entries(month.instants())
    return len(entries.units) == lines.num_rows and not entries.unbalanced()


def find_open_entries(lines: pa.Table, month: Period, scale: int) -> pa.Array:
    """Ids of the journal entries of a month that do not balance, or name a line that is not there."""
    entries = ExactLines.from_frame(exact_lines(lines, month, scale=scale)).entries(month.instants())
    named = pc.split_pattern(lines["journal_entry_line_entry_ids"].combine_chunks(), LIST_SEPARATOR)
    is_absent = pc.invert(pc.is_in(pc.list_flatten(named), value_set=lines["id"].combine_chunks()))
    naming = lines["journal_entry_id"].take(pc.list_parent_indices(named).filter(is_absent))
    return pc.unique(pa.chunked_array([*naming.chunks, pa.array(entries.unbalanced(), pa.string())], pa.string()))


def _have_signs_of_their_sides(lines: pa.Table) -> bool:
    """Whether each signed amount is +amount on the debit side, and -amount on the credit side."""
    is_debit = pc.equal(lines["debit_credit"], DebitCredit.DEBIT)
    is_side = pc.or_(is_debit, pc.equal(lines["debit_credit"], DebitCredit.CREDIT))
    expected = pc.if_else(is_debit, lines["amount"], pc.negate(lines["amount"]))
    return bool(pc.all(pc.and_(is_side, pc.equal(expected, lines["signed_amount"])), min_count=0).as_py())
