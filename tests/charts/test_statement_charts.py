"""Lines of revenues, net income, cash and margins over the columns of statements, and the waterfall of a bridge."""

from decimal import Decimal

import pandas as pd
import pytest
from payee_books import LEDGERS, frame_of, paid

import accounting_analytics as aa
from accounting_analytics import charts
from accounting_analytics.core.errors import InputError

DAYS = ("2025-01-01", "2025-03-31")
SALES = [*paid("01-05", cents=20_000, ledger="sales"), *paid("03-05", cents=40_000, ledger="sales")]
LINES = frame_of([*SALES, *paid("01-09", "02-09", "03-09", cents=-10_000)])


def income(**options):
    """Return the income statement of three months, of which the second has no revenues."""
    return aa.income_statement(LINES, LEDGERS, *DAYS, time_zone="UTC", **options)


def test_the_trend_has_revenues_net_income_and_cash():
    """Each point is a figure of a statement, which a mark finds; cash is that of the other statement."""
    cash = aa.cash_flow_statement(LINES, LEDGERS, *DAYS, time_zone="UTC", books_start="2025-01-01")
    figure = aa.charts.trend(income(currency="EUR"), cash)
    assert [one.name for one in figure.data] == ["Operating revenues", "Net income", "Cash at the end"]
    assert [list(one.y) for one in figure.data] == [[200, 0, 400], [100, -100, 300], [100, 0, 300]]
    assert figure.mark("net_income|2025-02").entries["figure_amount"].tolist() == [-100.0]
    assert figure.mark("ending_cash_balance|2025-03").amount == 300
    assert "EUR" in figure.chart.unit
    assert [one.name for one in aa.charts.trend(income()).data] == ["Operating revenues", "Net income"]


def test_margins_are_in_percent_of_the_revenues():
    """A month without revenues has no margin; statements have the same rows, blank there."""
    statement = income()
    figure = aa.charts.margins(statement)
    assert [list(one.y) for one in figure.data] == [[100, None, 100], [50, None, 75]]
    lost = frame_of([*SALES, *paid("01-09", cents=-50_000)])
    below = aa.charts.margins(aa.income_statement(lost, LEDGERS, *DAYS, time_zone="UTC"))
    assert below.layout.yaxis.range[0] < min(below.data[1].y[0], -100) < 0  # a loss is on the chart
    assert statement.text("net_margin", "2025-01") == "50.0%"
    assert statement.text("net_margin", "2025-02") == ""
    assert [sign for sign, *_ in statement["net_margin", "2025-03"].signed_terms()] == ["+", "/"]
    assert statement.frame.set_index("key").loc["net_margin", "2025-03"] == pytest.approx(75)


def test_other_statements_are_refused():
    """A balance sheet, statements of other days, and cash without a beginning are refused."""
    cash = {"time_zone": "UTC", "books_start": "2025-01-01"}
    with pytest.raises(aa.errors.InputError, match="does not draw a balance sheet"):
        aa.charts.margins(aa.balance_sheet(LINES, LEDGERS, *DAYS, **cash))
    with pytest.raises(aa.errors.InputError, match="of other days"):
        aa.charts.trend(income(), aa.cash_flow_statement(LINES, LEDGERS, "2025-02-01", "2025-03-31", **cash))
    with pytest.raises(aa.errors.InputError, match="pass books_start"):
        aa.charts.trend(income(), aa.cash_flow_statement(LINES, LEDGERS, *DAYS, time_zone="UTC"))
    with pytest.raises(aa.errors.InputError, match="pass what income_statement"):
        aa.charts.trend(pd.DataFrame())


def test_opening_balances_are_no_inflow():
    """Entries that have a line on the ledger of opening balances count neither as inflow nor as outflow."""
    opening = {"id": "opening", "name": "Opening", "type": "equity", "sub_type": "equity", "debit_credit": "credit"}
    chart = pd.concat([LEDGERS, pd.DataFrame([LEDGERS.iloc[-1].to_dict() | opening | {"is_required": True}])])
    first = paid("01-01", cents=900_000, ledger="opening", payee="OPENING")
    report = aa.recompute_cash_flow(frame_of([*first, *SALES]), chart, *DAYS, time_zone="UTC")
    figure = aa.charts.inflow_outflow(report, by="month", ledgers=chart)
    assert list(figure.data[0].y) == [200, 0, 400]
    assert "without opening balances" in " ".join(figure.chart.remarks)
    assert report["inflow|2025-01"].amount == 9200


def bridge_of_months(**options):
    """Return the bridge from February to March of four payees, one of them with markup in its name."""
    entries = [
        *paid("02-03", "03-03", payee="OAK STREET"),
        *paid("02-04", payee="<B>ELM</B>"),
        *paid("03-05", payee="M ORTIZ", cents=-1),
        *paid("03-06", payee="BLUE BOTTLE", cents=500_000, ledger="sales"),
    ]
    statement = aa.cash_flow_statement(frame_of(entries), LEDGERS, "2025-02-01", "2025-03-31", time_zone="UTC")
    return aa.bridge(statement.column("2025-02"), statement.column("2025-03"), **options)


def test_steps_lead_from_before_to_after(hovers):
    """The bars are the total before, the steps and the total after; each has the key of its figure."""
    bridge = bridge_of_months(largest=2)
    figure = charts.bridge(bridge)
    (trace,) = figure.data
    amounts = [Decimal(text.replace(",", "")) for text in hovers(trace)]
    assert sum(amounts[:-1]) == amounts[-1] == bridge["after"].exact()
    keys = [data[0] for data in trace.customdata]
    assert keys == ["before", *(step.key for step in bridge.steps), "after"]
    assert [bridge[key].exact() for key in keys] == amounts
    assert list(trace.measure) == ["absolute", *["relative"] * 3, "total"]
    assert [one.text for one in figure.layout.annotations] == [
        "Feb 2025  <b>\N{MINUS SIGN}6,400</b>",
        "Sales: BLUE BOTTLE  <b>+5,000</b>",
        "Rent: &lt;B&gt;ELM&lt; B&gt;  <b>+3,200</b>",
        "1 smaller change  <b>\N{MINUS SIGN}0.01</b>",
        "Mar 2025  <b>1,800</b>",
    ]


def test_only_bridges_are_drawn():
    """Anything but a bridge is refused."""
    with pytest.raises(InputError, match="bridge must be a Bridge, as bridge\\(\\) returns it, not dict"):
        charts.bridge({})
