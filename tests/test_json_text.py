"""JSON text of results."""

import datetime as dt
import json
from decimal import Decimal

import pandas as pd

from accounting_analytics.json_text import to_json_text
from accounting_analytics.money import pandas_dtype


def test_values_of_every_kind():
    """Amounts are strings with every digit, dates ISO 8601, absent values null, lists lists."""
    frame = pd.DataFrame(
        {
            "amount": pd.Series([Decimal("12345678901234567890.12"), None], dtype=pandas_dtype(2)),
            "datetime": pd.Series([pd.Timestamp("2025-01-02T03:04Z"), None]),
            "number": [1.5, None],
            "flag": pd.Series([True, None], dtype="boolean"),
            "name": pd.Series(["Zoë", None], dtype="str"),
        }
    )
    content = {"frame": frame, "date": dt.date(2025, 1, 2), "total": Decimal("1E+2"), "notes": ("a", "b")}
    assert json.loads(to_json_text(content)) == {
        "frame": [
            {
                "amount": "12345678901234567890.12",
                "datetime": "2025-01-02T03:04:00+00:00",
                "number": 1.5,
                "flag": True,
                "name": "Zoë",
            },
            {"amount": None, "datetime": None, "number": None, "flag": None, "name": None},
        ],
        "date": "2025-01-02",
        "total": "100",
        "notes": ["a", "b"],
    }


def test_a_table_is_a_list_of_objects():
    """A frame alone is written as a list, also without rows."""
    assert json.loads(to_json_text(pd.DataFrame({"id": ["a"], "tags": [["x", "y"]]}))) == [
        {"id": "a", "tags": ["x", "y"]}
    ]
    assert json.loads(to_json_text(pd.DataFrame({"id": []}))) == []
