"""Charts: exact sums, local months, directions that show, text that stays text."""

import dataclasses
import datetime as dt
import re
from decimal import Decimal

import pandas as pd
import pytest

from accounting_analytics import charts
from accounting_analytics.errors import InputError, PeriodError
from accounting_analytics.periods import Period
from accounting_analytics.schemas import CashBalances, CashFlowLedgers, CashFlowLines, CashFlowReport

UTC = dt.UTC


def table(model, **columns):
    """Return a table of a schema from lists."""
    dtypes = model.dtypes(2)
    return pd.DataFrame({name: pd.Series(values, dtype=dtypes[name]) for name, values in columns.items()})


def report(lines, *, start="0.00", period=("2025-01-15", "2025-03-31"), zone="America/New_York", **more):
    """Return a report of (ledger, amount, instant) lines."""
    amounts = [Decimal(amount) for _, amount, _ in lines]
    nets = {}
    for (ledger, _, _), amount in zip(lines, amounts, strict=True):
        nets[ledger] = nets.get(ledger, Decimal(0)) + amount
    starting = Decimal(start)
    balances = CashBalances.without_rows()
    return CashFlowReport(
        period=Period.of(*period, zone),
        ledgers=table(
            CashFlowLedgers,
            ledger_id=list(nets),
            name=list(nets),
            net_cash_flow=list(nets.values()),
            total_net_cash_flow=list(nets.values()),
        ),
        lines=table(
            CashFlowLines,
            line_id=[f"line-{at}" for at in range(len(lines))],
            ledger_id=[ledger for ledger, _, _ in lines],
            amount=amounts,
            datetime=[instant for _, _, instant in lines],
            cash_flow_ledger_name=["Bank"] * len(lines),
            journal_entry_id=["entry"] * len(lines),
            journal_entry_description=[""] * len(lines),
        ),
        starting_balances=balances,
        ending_balances=balances,
        starting_cash_balance=starting,
        ending_cash_balance=starting + sum(amounts, Decimal(0)),
        **more,
    )


BOOKS = [
    ("Sales", "1000.10", dt.datetime(2025, 1, 20, 12, tzinfo=UTC)),
    ("Rent", "-400.00", dt.datetime(2025, 2, 1, 4, 59, tzinfo=UTC)),  # still 31 January in New York
    ("Sales", "0.20", dt.datetime(2025, 3, 1, 12, tzinfo=UTC)),
    ("Rent", "-0.30", dt.datetime(2025, 3, 1, 13, tzinfo=UTC)),
]


def exact(trace):
    """Return the hover texts of a trace."""
    return [text if isinstance(text, str) else text[-1] for text in trace.customdata]


def test_months_are_local_and_sums_exact():
    """Bars stand in the local month, partial first month included; hovers carry every digit."""
    inflow, outflow, net = charts.inflow_outflow(report(BOOKS)).data
    assert list(inflow.x) == ["Jan 2025", "Feb 2025", "Mar 2025"]
    assert exact(inflow) == ["1,000.10", "0", "0.20"]
    assert exact(outflow) == ["-400.00", "0", "-0.30"]
    assert exact(net) == ["600.10", "0", "-0.10"]
    assert outflow.marker.pattern.shape == "/"


def test_waterfall_ends_where_the_report_ends():
    """The steps lead exactly from the starting to the ending balance; small ledgers share one step."""
    lines = [(f"Ledger {at}", f"-{at}.01", BOOKS[0][2]) for at in range(1, 15)]
    figure = charts.waterfall(report(lines, start="500.00"), largest=10)
    (steps,) = figure.data
    amounts = [Decimal(text.replace(",", "")) for text in exact(steps)]
    assert len(amounts) == 1 + 10 + 1 + 1
    assert sum(amounts[:-1]) == amounts[-1] == Decimal("500.00") - Decimal("105.14")
    assert steps.customdata[-2][0] == "4 other ledgers"
    assert list(steps.measure) == ["absolute", *["relative"] * 11, "total"]


def test_waterfall_of_a_report_that_does_not_tie_says_so():
    """What the flows leave unexplained is a step of its own, so that the last bar is the ending balance."""
    books = report(BOOKS, start="10.00")
    off = dataclasses.replace(books, ending_cash_balance=books.ending_cash_balance + Decimal("0.07"))
    (steps,) = charts.waterfall(off).data
    amounts = [Decimal(text.replace(",", "")) for text in exact(steps)]
    assert sum(amounts[:-1]) == amounts[-1] == off.ending_cash_balance
    assert list(steps.customdata[-2]) == ["Not explained by the flows", "0.07"]


def test_running_balance_has_every_day():
    """The line has a value for each local day, starting from the starting balance and ending at the ending one."""
    books = report(BOOKS, start="10.00")
    line, marks = charts.running_balance(books).data
    assert len(line.x) == books.period.days
    assert exact(line)[0] == "10.00"
    assert exact(line)[-1] == f"{books.ending_cash_balance:,}"
    assert dict(zip(line.x, exact(line), strict=True))[dt.date(2025, 1, 31)] == "610.10"
    assert len(marks.x) == 2


def test_the_lowest_balance_has_room_for_its_label():
    """The axis reaches below the lowest balance, so that what is written under it stands clear of the dates."""
    figure = charts.running_balance(report(BOOKS, start="10.00"))
    lowest, highest = min(figure.data[0].y), max(figure.data[0].y)
    (room,) = figure.layout.yaxis.autorangeoptions.include
    assert lowest - (highest - lowest) / 5 < room < lowest - (highest - lowest) / 10


@pytest.mark.parametrize("chart", [charts.inflow_outflow, charts.waterfall, charts.running_balance])
def test_titles_say_period_zone_unit_and_stamps(chart):
    """Every picture says what it shows, in which days, and whether its start was taken over."""
    subtitle = chart(report(BOOKS, anchored=True)).layout.title.subtitle.text
    for said in ("2025-01-15 to 2025-03-31", "America/New_York", "currency", "taken over"):
        assert said in subtitle


@pytest.mark.parametrize("chart", [charts.inflow_outflow, charts.waterfall, charts.running_balance])
def test_text_of_the_books_is_not_markup(chart):
    """Names with markup or line breaks are escaped wherever they are shown."""
    figure = chart(report([("<img src=x onerror=alert(1)>\n<b>", "5.00", BOOKS[0][2])]))
    shown = figure.to_json()
    assert not re.search(r"<(img|b)\b|u003cimg", shown)


@pytest.mark.parametrize("chart", [charts.inflow_outflow, charts.waterfall, charts.running_balance])
def test_empty_period_still_has_a_picture(chart):
    """A period without cash flow gives a figure, not an error."""
    figure = chart(report([]))
    assert figure.layout.title.text


def test_empty_bars_say_so():
    """Bars of nothing say that nothing moved."""
    assert "No cash moved" in charts.inflow_outflow(report([])).layout.annotations[0].text


@pytest.mark.parametrize("chart", [charts.waterfall, charts.running_balance])
def test_tagged_reports_have_no_balance_line(chart):
    """Flows filtered by tags do not lead from one balance to the other, so no picture pretends it."""
    with pytest.raises(InputError, match="tags"):
        chart(report(BOOKS, tag_ids=("tag",)))


@pytest.mark.parametrize("chart", [charts.inflow_outflow, charts.running_balance])
def test_localtime_is_not_guessed(chart):
    """Days in the service's own zone cannot be drawn without knowing it."""
    with pytest.raises(PeriodError, match="localtime"):
        chart(report(BOOKS, zone="localtime"))


def test_hover_keeps_twenty_digits():
    """An amount that no float can hold is shown to the last digit."""
    figure = charts.inflow_outflow(report([("Sales", "123456789012345678.91", BOOKS[0][2])]))
    assert exact(figure.data[0])[0] == "123,456,789,012,345,678.91"
