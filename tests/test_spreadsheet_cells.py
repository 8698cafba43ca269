"""Cells that a spreadsheet would compute or convert get an apostrophe, and are read back without it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.spreadsheet_cells import guard, unguard


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-x", "@a", "'", "00123", "1e5", "3-4", "12:30", "MAR1", "1-Mar", "2 May 2026", "TRUE", "5 pm"],
)
def test_converted_text_gets_an_apostrophe(text):
    """A formula, a number, a date and a boolean are marked as text."""
    assert guard(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "txn_12", "blue-bottle-245706", "march of dimes", "Expenses:Meals", "Marketing", "May"]
)
def test_other_text_is_unchanged(text):
    """Names and ids stay as they are."""
    assert guard(text) == text


@given(text=st.text(max_size=20))
def test_any_text_is_read_back(text):
    """Reading removes exactly what was added."""
    assert unguard(guard(text)) == text
