"""JSON text of results: amounts are strings, so that no digit is lost, dates are ISO 8601, absent values are null."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping


def to_json_text(content: Mapping[str, Any] | pd.DataFrame) -> str:
    """Write a mapping or a table as JSON; a table becomes a list of objects."""
    return json.dumps(content, default=_to_json_value, ensure_ascii=False, indent=2, allow_nan=False)


def _to_json_value(value: object) -> Any:  # noqa: ANN401 (any JSON value)
    if isinstance(value, pd.DataFrame):
        return value.astype(object).where(value.notna(), None).to_dict("records")
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.date):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)
