"""Whether the journal entries of a month are complete: checked on exact lines, and described where one is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.books.frames import exact_lines, line_frame
from accounting_analytics.column_conversion import LIST_SEPARATOR
from accounting_analytics.completeness import check_completeness
from accounting_analytics.exact_sums import ExactLines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.periods import Period


def find_incompleteness(lines: pa.Table, month: Period, ledger_ids: Iterable[str], scale: int) -> str:
    """Why the journal entries of a month are not complete; empty where they are."""
    certificate = check_completeness(line_frame(lines, month, ledger_ids, scale=scale, source={}))
    return "" if certificate.complete else certificate.summary()


def find_open_entries(lines: pa.Table, month: Period, scale: int) -> pa.Array:
    """Ids of the journal entries of a month that do not balance, or name a line that is not there."""
    entries = ExactLines.from_frame(exact_lines(lines, month, scale=scale)).entries(month.instants())
    named = pc.split_pattern(lines["journal_entry_line_entry_ids"].combine_chunks(), LIST_SEPARATOR)
    is_absent = pc.invert(pc.is_in(pc.list_flatten(named), value_set=lines["id"].combine_chunks()))
    naming = lines["journal_entry_id"].take(pc.list_parent_indices(named).filter(is_absent))
    return pc.unique(pa.chunked_array([*naming.chunks, pa.array(entries.unbalanced(), pa.string())], pa.string()))
