"""JSON of single values: the encoder of every response, and exact numbers for amounts."""

from __future__ import annotations

import msgspec

from accounting_analytics.service.wire.stored_amounts import number_text

encode = msgspec.json.Encoder().encode
"""JSON of a struct or a plain value."""


def number(units: int, scale: int) -> msgspec.Raw:
    """Exact JSON number of minor units."""
    return msgspec.Raw(number_text(units, scale))
