"""Whether the journal entries of a month are complete: each balances, and every line that it names is there once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.books.queries import exact_lines
from accounting_analytics.column_conversion import LIST_SEPARATOR
from accounting_analytics.exact_sums import ExactLines
from accounting_analytics.messages import count_of, join_ids

if TYPE_CHECKING:
    from accounting_analytics.periods import Period


def find_incompleteness(lines: pa.Table, month: Period, scale: int) -> str:
    """Why the journal entries of a month are not complete; empty where they are."""
    counts = pc.value_counts(lines["id"])
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1)).to_pylist()
    if repeated:
        return f"{count_of(len(repeated), 'line is', 'lines are')} there more than once: {join_ids(repeated)}"
    entry_ids = find_open_entries(lines, month, scale).to_pylist()
    if entry_ids:
        lacking = count_of(len(entry_ids), "does not balance, or lacks", "do not balance, or lack")
        return f"{lacking} a line that is named: {join_ids(entry_ids)}"
    return ""


def find_open_entries(lines: pa.Table, month: Period, scale: int) -> pa.Array:
    """Ids of the journal entries of a month that do not balance, or name a line that is not there."""
    entries = ExactLines.from_frame(exact_lines(lines, month, scale=scale)).entries(month.instants())
    texts = lines["journal_entry_line_entry_ids"]  # the same in all lines of an entry
    distinct = pc.unique(texts)
    distinct = distinct.filter(pc.not_equal(distinct, ""))  # an entry that names no line
    named = pc.split_pattern(distinct, LIST_SEPARATOR)
    is_absent = pc.invert(pc.is_in(pc.list_flatten(named), value_set=lines["id"].combine_chunks()))
    with_absent = distinct.take(pc.unique(pc.list_parent_indices(named).filter(is_absent)))
    naming = lines["journal_entry_id"].filter(pc.is_in(texts, value_set=with_absent))
    return pc.unique(pa.chunked_array([*naming.chunks, pa.array(entries.unbalanced(), pa.string())], pa.string()))
