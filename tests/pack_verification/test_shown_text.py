"""Texts of figures: what a page shows against what it has to show."""

import pytest

from accounting_analytics.pack.read_page import agrees, read_shown, value_text


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("1,234.50", (123450, 2)),
        ("(1,234.50)", (-123450, 2)),
        ("-0.05", (-5, 2)),
        ("(0.05)", (-5, 2)),
        ("+0.05\N{NO-BREAK SPACE}", (5, 2)),
        ("\N{EN DASH}", (0, 2)),
        ("0.00", (0, 2)),
        ("1,000", (1000, 0)),
        ("not known", (None, 2)),
    ],
)
def test_texts_that_agree(shown, value):
    """Signs and dashes are read as statements write them."""
    assert agrees(read_shown(shown), value_text(*value))


@pytest.mark.parametrize(
    "shown",
    [
        *("12.5%", "1234.50", "1,234.5", "12,34.50", "1,234.500", "1.234,50", "\u0661,234.50", "", "\N{EN DASH}"),
        *("(-1,234.50)", "(1,234.50", "1,234.50)", "-1,234.50", "1,234.50 EUR", "EUR 1,234.50"),
    ],
)  # fmt: skip
def test_texts_that_do_not_agree(shown):
    """Other digits, separators and signs, and currencies, are not the amount."""
    assert not agrees(read_shown(shown), value_text(123450, 2))


def test_a_size_has_no_sign():
    """A sentence that says that cash fell shows how much; what is not known has no size."""
    assert value_text(-123450, 2, form="magnitude") == "1,234.50"
    assert value_text(None, 2) == "not known"
