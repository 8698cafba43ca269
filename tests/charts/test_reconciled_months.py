"""Heat map of differences by ledger and month: exact, each once, with ties shown as such."""

import calendar
import dataclasses
import datetime as dt
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics import charts
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.schemas import MonthlyDifferences
from accounting_analytics.reconciliation.differences import Comparison, Difference
from accounting_analytics.reconciliation.reconciliation import differences_by_month

OWN = ("net_cash_flow", "starting_balance", "ending_balance")
OTHERS = ("line", "total_net_cash_flow", "ending_total_balance", "ending_cash_balance", "identity")
UNITS = st.one_of(st.integers(-3, 3), st.integers(-(10**12), 10**12)).filter(bool)
DIFFERENCES = st.dictionaries(st.tuples(st.sampled_from(OWN + OTHERS), st.sampled_from("abc")), UNITS, max_size=5)


def month(number, differences, *, as_decimals=True, **options):
    """Reconciliation of a month of 2025 with differences in cents by (what, ledger)."""
    rows = tuple(
        Difference(
            what, f"led_{ledger}", None, None, Decimal(units).scaleb(-2), None, "", ledger_name=f"Ledger {ledger}"
        )
        for (what, ledger), units in differences.items()
    )
    last = calendar.monthrange(2025, number)[1]
    return aa.Reconciliation(
        aa.Period(dt.date(2025, number, 1), dt.date(2025, number, last), "UTC"),
        rows,
        (Comparison("line", 1, 0, **options),),
        as_decimals=as_decimals,
    )


def cells_of(figure):
    """Return (key, label, amount, size) of each cell of a heat map."""
    (trace,) = figure.data
    return [
        (*data[:2], Decimal(data[2].replace(",", "")), size)
        for marks, sizes in zip(trace.customdata, trace.z, strict=True)
        for data, size in zip(marks, sizes, strict=True)
    ]


def shown_of(differences):
    """Return the differences that a month shows: those in figures of ledgers, else all of them."""
    own = {key: units for key, units in differences.items() if key[0] in OWN}
    return own or differences


@settings.get_profile("slow")
@given(st.lists(DIFFERENCES, min_size=1, max_size=12), st.booleans())
def test_cells_are_the_differences(drawn, as_decimals):
    """Every difference of a ledger is one cell with its exact amount; all other cells tie."""
    months = [month(number, one, as_decimals=as_decimals) for number, one in enumerate(drawn, 1)]
    figure = charts.reconciled_months(months)
    expected = [Decimal(units).scaleb(-2) for one in drawn for units in shown_of(one).values()]
    if not expected:
        assert not figure.data
        return
    cells = cells_of(figure)
    assert sorted(amount for *_, amount, _ in cells if amount) == sorted(expected)
    assert all(Decimal(str(size)) == amount for *_, amount, size in cells)
    assert sum(one.text == "=" for one in figure.layout.annotations) == len(cells) - len(expected)
    (trace,) = figure.data
    positions = [stop for stop, _ in trace.colorscale]
    assert positions == sorted(positions)
    assert (positions[0], positions[-1]) == (0, 1)
    frame = differences_by_month(months)
    assert MonthlyDifferences.exact(frame).frame["difference"].sum() == sum(expected)
    assert len(frame) == len(expected)


def test_rows_and_their_texts():
    """Flows come first, the largest first; a cell has its amount with a sign, or is equal; keys are of reports."""
    months = [
        month(1, {("net_cash_flow", "a"): 1, ("ending_balance", "b"): 500, ("line", "a"): 1}),
        month(2, {}),
        month(3, {("net_cash_flow", "c"): -123456, ("starting_balance", "b"): 500}),
    ]
    figure = charts.reconciled_months(months)
    (trace,) = figure.data
    assert [row[0][0] for row in trace.customdata] == [
        *("own:led_c", "own:led_a", "starting_balance|led_b", "ending_balance|led_b")
    ]
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert texts == [
        *("Ledger c", "=", "=", "\N{MINUS SIGN}1,235", "Ledger a", "+0.01", "=", "="),
        *("Ledger b, start", "=", "=", "+5.00", "Ledger b, end", "+5.00", "=", "="),
    ]
    assert trace.customdata[0][2][1:] == ["Ledger c, Mar 2025", "-1,234.56"]
    assert trace.customdata[0][1][1:] == ["Ledger c, Feb 2025", "0.00"]
    assert "2 of 3 months differ" in figure.layout.title.subtitle.text


def test_amounts_are_upright_where_months_are_many():
    """Amounts that have no room beside each other on a narrow page are written upwards; months are level."""
    for count, angle in ((9, 0), (10, -90)):
        figure = charts.reconciled_months([month(one, {("net_cash_flow", "a"): 100}) for one in range(1, count + 1)])
        assert {one.textangle for one in figure.layout.annotations if one.text == "+1.00"} == {angle}
        assert figure.layout.xaxis.tickangle == 0
        assert list(figure.layout.xaxis.ticktext)[:2] == ["Jan<br>2025", "Mar"]


def test_lines_alone_and_markup_are_shown_as_text():
    """Lines that differ in their days sum to zero, and are no tie; a name with markup is escaped in all texts."""
    figure = charts.reconciled_months([month(1, {("line", "a"): 0}), month(2, {})])
    assert [one.text for one in figure.layout.annotations] == ["Ledger a, line", "\N{NOT EQUAL TO}", "="]
    one = month(1, {("net_cash_flow", "a"): 100})
    one = dataclasses.replace(one, rows=tuple(row._replace(ledger_name="<b>\nRent") for row in one.rows))
    figure = charts.reconciled_months([one])
    assert figure.layout.annotations[0].text == "&lt;b&gt; Rent"
    assert figure.data[0].customdata[0][0][1] == "&lt;b&gt; Rent, Jan 2025"


@pytest.mark.parametrize(("left", "text"), [(0, "All 2 months tie"), (1, "All 2 months tie in the figures compared")])
def test_all_months_tie(left, text):
    """Without differences the figure says that all tie, and whether everything was compared."""
    figure = charts.reconciled_months([month(1, {}), month(2, {}, not_compared=left)])
    assert [annotation.text for annotation in figure.layout.annotations] == [text]
    assert not figure.data
    assert differences_by_month([month(1, {})]).empty


@pytest.mark.parametrize("months", [[], pd.DataFrame(), [pd.DataFrame()], None])
def test_anything_else_is_refused(months):
    """The message names what to pass."""
    with pytest.raises(InputError, match="pass reconciliations of what reconcile_months returns"):
        charts.reconciled_months(months)
