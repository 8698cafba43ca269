"""Margins and shares: known where their base is positive, and by tag where every cost has a tag of the group."""

from decimal import ROUND_HALF_EVEN, Decimal

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from payee_books import LEDGERS, BookEntry, frame_of, paid

import accounting_analytics as aa

DAYS = ("2025-01-01", "2025-01-31")
UNITS = st.integers(-100_000, 100_000)


def lines_of_sales_and_rent(sales, rent):
    """Return lines of sales and rent of a month, in cents; negative sales are refunds."""
    return frame_of([*paid("01-05", cents=sales, counterparty="SHOP", ledger="sales"), *paid("01-09", cents=-rent)])


def statement_of(lines, **options):
    return aa.income_statement(aa.Books(lines, LEDGERS, time_zone="UTC"), DAYS, **options)


@given(UNITS, UNITS)
@example(-5_000, 20_000)  # a loss on refunds would be a margin of 500 %
@example(-20_000, -2_000)  # and a loss of 180.00 one of 90 %
@example(0, 5_000)
def test_a_percentage_needs_a_positive_base(sales, rent):
    statement = statement_of(lines_of_sales_and_rent(sales, rent), compare="share")
    share = statement["net_income", "2025-01 share"]
    for figure in (statement["net_margin", "2025-01"], share):
        if sales > 0:
            expected = Decimal(100 * (sales - rent)) / Decimal(sales)
            assert figure.exact() == expected.quantize(Decimal("0.1"), ROUND_HALF_EVEN)
        else:
            assert (figure.text, figure.exact()) == ("not known", None)
            why = "zero" if sales == 0 else "negative"
            assert f"Total operating revenues is {why}, so there is nothing to be in percent of" in figure.calculation


def test_charts_have_no_point_where_a_margin_is_not_known():
    lines = frame_of([*paid("01-05", cents=-5_000, ledger="sales"), *paid("02-05", cents=5_000, ledger="sales")])
    income = aa.income_statement(aa.Books(lines, LEDGERS, time_zone="UTC"), ("2025-01-01", "2025-02-28"))
    assert [list(one.y) for one in aa.charts.margins(income).data] == [[None, 100], [None, 100]]


def test_changes_in_percent_stay():
    lines = frame_of([*paid("01-09", cents=-10_000), *paid("02-09", cents=-5_000)])
    statement = aa.income_statement(
        aa.Books(lines, LEDGERS, time_zone="UTC"), ("2025-02-01", "2025-02-28"), compare="change_pct"
    )
    assert statement["net_income", "2025-02 change_pct"].exact() == Decimal("50.0")


def channels(*tags_of_lines):
    """Return sales of 500.00 and rent of 200.00, with these tags of the lines of rent and sales."""
    entries = [
        BookEntry(paid("01-05")[0].day, "SHOP", (("sales", -50_000), ("bank", 50_000)), entry_id="sale"),
        *paid("01-09", cents=-20_000),
    ]
    frame = frame_of(entries)
    tags = [tags_of_lines[0], "", tags_of_lines[1], ""]
    lists = {"tag_ids": tags, "tag_names": tags, "tag_group_ids": ["channel" if one else "" for one in tags]}
    return frame.assign(**lists).astype(dict.fromkeys(lists, "str"))


@pytest.mark.parametrize("options", [{"columns": "tag"}, {"tag_ids": "web"}, {"tag_ids": "web", "compare": "share"}])
def test_a_margin_by_tag_needs_the_tags_of_all_costs(options):
    """Rent without a tag may be a cost of any channel: 100 % would be earned of each."""
    column = "tag:web" if "columns" in options else "2025-01"
    untagged, tagged = (statement_of(channels("web", rent), **options) for rent in ("", "web"))
    figure = untagged["net_margin", column]
    assert (figure.text, figure.calculation) == (
        "not known",
        "it is not known: lines of 1 expense ledger have no tag of the group",
    )
    assert tagged["net_margin", column].exact() == Decimal("60.0")
    if "compare" in options:
        assert untagged["net_income", "2025-01 share"].text == "not known"
        assert tagged["net_income", "2025-01 share"].exact() == Decimal("60.0")


def test_total_of_tags_has_a_margin_untagged_sales_none():
    statement = statement_of(channels("web", ""), columns="tag")
    assert statement["net_margin", "total"].exact() == Decimal("60.0")
    assert statement["net_margin", "without"].text == "not known"
    sold = statement_of(channels("", "web"), columns="tag")
    assert (
        sold["net_margin", "without"].calculation == "it is not known: amounts without a tag have no costs of their own"
    )
    assert statement_of(channels("", ""), columns="tag")["net_margin", "without"].exact() == Decimal("60.0")


def test_costs_of_other_days_need_no_tag():
    rent = frame_of(paid("02-09", cents=-20_000)).assign(tag_ids="", tag_names="", tag_group_ids="")
    lines = pd.concat([channels("web", "web"), rent], ignore_index=True)
    statement = aa.income_statement(
        aa.Books(lines, LEDGERS, time_zone="UTC"), ("2025-01-01", "2025-02-28"), tag_ids="web"
    )
    assert statement["net_margin", "2025-01"].exact() == Decimal("60.0")
    assert statement["net_margin", "2025-02"].text == "not known"
