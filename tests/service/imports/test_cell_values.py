"""Amounts and dates as other programs write them."""

from decimal import Decimal

import pytest

from accounting_analytics.errors import AmountError
from accounting_analytics.service.imports.cell_values import find_decimal, read_amount


@pytest.mark.parametrize(
    ("text", "decimal", "amount"),
    [
        ("$1,234.50", ".", "1234.50"),
        ("(1,234.50)", ".", "-1234.50"),
        ("-$5", ".", "-5"),
        ("$ -5.00", ".", "-5"),
        ("12.00-", ".", "-12"),
        ("1.234,50 €", ",", "1234.50"),
        ("EUR 1.234,50", ",", "1234.50"),
        ("1 234,50", ",", "1234.50"),
        ("1\N{NO-BREAK SPACE}234,50", ",", "1234.50"),
        ("CHF 1'234.50", ".", "1234.50"),
        ("\N{MINUS SIGN}3.00", ".", "-3"),
        ("1,00,000.00", ".", "100000"),
        ("+7", ".", "7"),
        ("-", ".", "0"),
        (Decimal("-1.5"), ".", "-1.5"),
    ],
)
def test_amounts(text, decimal, amount):
    """Currency signs and codes, separators and signs of all places are read."""
    assert read_amount(text, decimal, 2) == Decimal(amount)


@pytest.mark.parametrize("text", ["1,23", "1.2.3", "12,34,5", "1O.00", "abc", "EUR", "1.005", "--1", "1e5", "12 34.00"])
def test_damaged_amounts(text):
    """What is not certainly an amount with this decimal mark is refused."""
    with pytest.raises(AmountError):
        read_amount(text, ".", 2)


def test_the_decimal_mark_is_that_of_most_cells():
    """One damaged amount does not change the mark; amounts that fit both have the same value."""
    assert find_decimal(["1.234,50", "3,00", "4.00"], 2) == ","
    assert find_decimal(["1,234", "3.00"], 2) == "."
    assert find_decimal(["3", "4"], 2) == "."
