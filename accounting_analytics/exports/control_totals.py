"""Exact sums of amounts, which a reader can compare with a file."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_SUM_DIGITS = 38


def control_totals(rows: pa.Table) -> dict[str, str]:
    """Exact sum of each amount column, as text."""
    totals = {}
    for field in rows.schema:
        if pa.types.is_decimal(field.type):
            # summed with more digits, because sums of 18 digits may have more
            wide = rows[field.name].cast(pa.decimal128(_SUM_DIGITS, field.type.scale))
            totals[field.name] = f"{pc.sum(wide, min_count=0).as_py():f}"
    return totals
