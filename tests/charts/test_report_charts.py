"""Charts of reports, statements and bridges: cash by day, cash in and out, waterfalls, trends and margins."""

import dataclasses
import datetime as dt
from collections import defaultdict
from decimal import Decimal

import pandas as pd
import pytest
from marks import marks_of
from payee_books import LEDGERS, frame_of, paid
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics import charts
from accounting_analytics.core.errors import InputError


def test_every_day_has_a_balance(make_report, four_lines, hovers):
    report = make_report(four_lines, start="10.00")
    figure = charts.running_balance(report)
    line, marks = figure.data
    assert len(line.x) == report.period.days
    assert hovers(line)[0] == "10.00"
    assert hovers(line)[-1] == f"{report.exact().ending_cash_balance:,}"
    assert dict(zip(line.x, hovers(line), strict=True))[dt.date(2025, 1, 31)] == "610.10"
    assert len(marks.x) == 2
    assert (figure.layout.hovermode, figure.layout.xaxis.hoverformat) == ("x unified", "%a %-d %b %Y")


def test_labels_of_balances_are_readable(make_report, four_lines):
    figure = charts.running_balance(make_report(four_lines, start="10.00"))
    labels = figure.layout.annotations
    assert [label.text.split()[0] for label in labels] == ["lowest", "end"]
    assert {label.bgcolor for label in labels} == {"#ffffff"}
    lowest, highest = min(figure.data[0].y), max(figure.data[0].y)
    bottom, top = figure.layout.yaxis.range
    assert bottom <= min(0, lowest) - (highest - min(0, lowest)) / 10
    assert top >= highest + (highest - min(0, lowest)) / 10


def test_label_of_an_early_low_is_beside_the_axis(make_report, four_lines):
    first, last = (
        [("Rent", "-5.00", four_lines[0][2])],
        [("Sales", "9.00", four_lines[0][2]), ("Rent", "-50.00", four_lines[3][2])],
    )
    early = charts.running_balance(make_report([*first, ("Sales", "9.00", four_lines[3][2])]))
    late = charts.running_balance(make_report([*last, ("Rent", "-1.00", four_lines[3][2].replace(day=28))]))
    lows = [figure.layout.annotations[0] for figure in (early, late)]
    assert [(low.text, low.xanchor) for low in lows] == [
        ("lowest \N{MINUS SIGN}5.00", "left"),
        ("end, lowest \N{MINUS SIGN}42", "right"),
    ]


def test_axis_of_one_day_has_one_label(make_report, four_lines):
    one_day = dataclasses.replace(make_report(four_lines[2:]), period=aa.Period("2025-03-01", "2025-03-01", "UTC"))
    assert charts.running_balance(one_day).layout.xaxis.dtick == 24 * 60 * 60 * 1000
    assert charts.running_balance(make_report(four_lines)).layout.xaxis.dtick is None


def test_a_line_that_misses_the_ending_balance_is_stated(make_report, four_lines):
    report = make_report(four_lines, start="10.00")
    assert "the report ends" not in charts.running_balance(report).layout.title.subtitle.text
    wrong = altered(report, ending_cash_balance=Decimal("7.00"))
    assert "the report ends at 7.00" in charts.running_balance(wrong).layout.title.subtitle.text


@pytest.mark.parametrize("chart", [charts.running_balance, charts.inflow_outflow])
def test_a_report_without_its_lines_is_refused(make_report, four_lines, chart):
    """A report of totals alone, or one whose service sent no lines, would look as if no cash had moved."""
    report = make_report(four_lines)
    without = altered(report, lines=report.lines.head(0), origin="recomputed")
    with pytest.raises(InputError, match=r"needs the lines of the report.*lines=True"):
        chart(without)
    with pytest.raises(InputError, match="recompute it from line entries"):
        chart(dataclasses.replace(without, origin="loaded"))


def test_nothing_is_drawn_before_the_first_line_from_zero(make_report, four_lines, hovers):
    figure = charts.running_balance(make_report(four_lines))
    assert figure.data[0].x[0] == dt.date(2025, 1, 20)
    assert figure.layout.xaxis.range[0] == dt.date(2025, 1, 15)
    assert "nothing before 20 Jan 2025" in figure.layout.title.subtitle.text
    later = [(ledger, amount, instant + dt.timedelta(days=20)) for ledger, amount, instant in four_lines[:2]]
    bars = charts.inflow_outflow(make_report(later))
    assert [mark[1] for mark in bars.data[0].customdata] == ["Feb 2025", "Mar 2025"]
    assert hovers(charts.running_balance(make_report([])).data[0])[0] == "0.00"


def test_months_are_local_and_sums_exact(make_report, four_lines, hovers):
    inflow, outflow, net = charts.inflow_outflow(make_report(four_lines)).data
    assert [data[1] for data in inflow.customdata] == ["15 to 31 Jan 2025", "Feb 2025", "Mar 2025"]
    assert hovers(inflow) == ["1,000.10", "0.00", "0.20"]
    assert hovers(outflow) == ["-400.00", "0.00", "-0.30"]
    assert hovers(net) == ["600.10", "0.00", "-0.10"]
    assert outflow.marker.pattern.shape == "/"


def test_an_entry_is_in_or_out_as_a_whole(make_report, four_lines, hovers):
    report = make_report([*four_lines, ("Wages", "-600.00", four_lines[0][2]), ("Taxes", "100.00", four_lines[0][2])])
    entries = [*report.lines["journal_entry_id"][:-2], "pay", "pay"]
    report = altered(report, lines=report.lines.assign(journal_entry_id=entries))
    inflow, outflow, net = charts.inflow_outflow(report).data
    assert [hovers(one)[0] for one in (inflow, outflow, net)] == ["1,000.10", "-900.00", "100.10"]


def test_bars_without_lines_say_that_no_cash_moved(make_report):
    figure = charts.inflow_outflow(make_report([]))
    assert "No cash moved" in figure.layout.annotations[0].text
    assert figure.layout.yaxis.visible is False
    assert not figure.data


def test_bars_of_few_months_are_narrow(make_report, four_lines):
    assert charts.inflow_outflow(make_report(four_lines)).layout.bargap == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("end", "unit", "labels"),
    [
        ("2025-01-15", "week", ("Inflow", "Net")),
        ("2025-03-17", "week", ("15 to 19 Jan 2025", "17 Mar 2025")),
        ("2025-03-31", "month", ("15 to 31 Jan 2025", "Mar 2025")),
        ("2034-12-31", "quarter", ("15 Jan 2025 to 31 Mar 2025", "Q4 2034")),
    ],
)
def test_period_length_decides_weeks_months_or_quarters(end, unit, labels, make_report, four_lines):
    report = make_report(four_lines)
    report = altered(report, period=aa.Period("2025-01-15", end, "America/New_York"))
    report = altered(report, lines=report.lines.head(0), ledgers=report.ledgers.head(0))
    for figure in (charts.inflow_outflow(report), charts.inflow_outflow(report, by=unit)):
        assert figure.layout.title.text == f"Cash in and out by {unit}"
        places = figure.chart.places
        assert (places[0].label, places[-1].label) == labels
    with pytest.raises(InputError, match="by must be week, month or quarter"):
        charts.inflow_outflow(report, by="day")


def test_transfers_are_neither_in_nor_out_and_remarks_say_so(make_report, four_lines, hovers):
    report = make_report([*four_lines, ("Moved", "500.00", four_lines[0][2]), ("Moved", "-500.00", four_lines[2][2])])
    ledgers = pd.DataFrame(
        {"id": ["Moved"], "is_required": [True], "sub_type": ["transfers_between_accounts"], "debit_credit": ["debit"]}
    )
    figure = charts.inflow_outflow(report, ledgers=ledgers)
    assert hovers(figure.data[0]) == ["1,000.10", "0.00", "0.20"]
    assert "transfers between own accounts" in figure.layout.title.subtitle.text
    key = figure.data[0].customdata[0][0]
    assert key == "inflow|2025-01-15/2025-01-31|without:Moved"  # the report begins within the month
    with pytest.raises(InputError, match="'2025-01' is not within the report's period"):
        report["inflow|2025-01|without:Moved"]
    assert report[key].exact() == Decimal("1000.10")
    assert len(report[key].entries) == 1
    counted = charts.inflow_outflow(report)
    assert hovers(counted.data[0])[0] == "1,500.10"
    assert "are counted" in counted.layout.title.subtitle.text


@pytest.mark.parametrize("unit", ["week", "month", "quarter"])
def test_sums_of_weeks_months_and_quarters_are_net_cash_flow(make_report, four_lines, unit):
    report = make_report(four_lines)
    sums = defaultdict(Decimal)
    for key, text, _ in marks_of(charts.inflow_outflow(report, by=unit)):
        sums[key.partition("|")[0]] += Decimal(text.replace(",", ""))
    assert sums["inflow"] + sums["outflow"] == sums["net_cash_flow"] == report.exact().net_cash_flow


def steps_of(report, hovers, **options):
    """Trace of the waterfall, and its amounts."""
    (trace,) = charts.waterfall(report, **options).data
    return trace, [Decimal(text.replace(",", "")) for text in hovers(trace)]


def test_steps_lead_from_start_to_end_small_ledgers_share_one(make_report, four_lines, hovers):
    many = [(f"Ledger {number}", f"-{number}.01", four_lines[0][2]) for number in range(1, 15)]
    trace, amounts = steps_of(make_report(many, start="500.00"), hovers, largest=10)
    assert len(amounts) == 1 + 10 + 1 + 1
    assert sum(amounts[:-1]) == amounts[-1] == Decimal("500.00") - Decimal("105.14")
    assert trace.customdata[-2][1] == "4 other ledgers"
    assert list(trace.measure) == ["absolute", *["relative"] * 11, "total"]


def test_unexplained_amount_is_a_step(make_report, four_lines, hovers):
    report = make_report(four_lines, start="10.00")
    wrong = altered(report, ending_cash_balance=report.exact().ending_cash_balance + Decimal("0.07"))
    trace, amounts = steps_of(wrong, hovers)
    assert sum(amounts[:-1]) == amounts[-1] == wrong.exact().ending_cash_balance
    assert list(trace.customdata[-2][1:]) == ["Not explained by the flows", "0.07"]


@pytest.mark.parametrize("largest", [0, -1, 2.5, "10"])
def test_largest_must_be_a_positive_whole_number(make_report, four_lines, largest):
    with pytest.raises(InputError, match=f"largest must be a whole number of at least 1, not {largest!r}"):
        charts.waterfall(make_report(four_lines), largest=largest)


DAYS = ("2025-01-01", "2025-03-31")
SALES = [*paid("01-05", cents=20_000, ledger="sales"), *paid("03-05", cents=40_000, ledger="sales")]
LINES = frame_of([*SALES, *paid("01-09", "02-09", "03-09", cents=-10_000)])


def income(currency=None):
    """Return the income statement of three months, of which the second has no revenues."""
    return aa.income_statement(aa.Books(LINES, LEDGERS, time_zone="UTC", currency=currency), DAYS)


def test_the_trend_has_revenues_net_income_and_cash():
    cash = aa.cash_flow_statement(aa.Books(LINES, LEDGERS, time_zone="UTC", opening="2025-01-01"), DAYS)
    figure = charts.trend(income(currency="EUR"), cash)
    assert [one.name for one in figure.data] == ["Operating revenues", "Net income", "Cash at the end"]
    assert [list(one.y) for one in figure.data] == [[200, 0, 400], [100, -100, 300], [100, 0, 300]]
    assert figure.mark("net_income|2025-02").entries["figure_amount"].tolist() == [-100.0]
    assert figure.mark("ending_cash_balance|2025-03").amount == 300
    assert "EUR" in figure.chart.unit
    assert [one.name for one in charts.trend(income()).data] == ["Operating revenues", "Net income"]


def test_year_before_is_dashed_and_other_comparisons_are_named():
    books = aa.Books(LINES, LEDGERS, time_zone="UTC")
    statement = aa.income_statement(books, ("2025-02-01", "2025-03-31"), columns="month", compare=["prior", "change"])
    for figure in (charts.trend(statement), charts.margins(statement)):
        names = [one.name for one in figure.data]
        assert names[1] == f"{names[0]}, period before"
        assert [one.line.dash for one in figure.data] == ["solid", "dash"] * 2
        assert "not drawn: change" in figure.layout.title.subtitle.text
        assert list(figure.frame.columns) == names
    revenues, before, *_ = charts.trend(statement).data
    assert (list(revenues.y), list(before.y)) == ([0, 400], [200, 0])


def test_budget_is_a_dotted_line_with_gaps():
    rows = [("Sales", "2025-01", 300), ("Rent", "2025-01", 90), ("Sales", "2025-03", 350), ("Rent", "2025-03", 80)]
    budget = pd.DataFrame(rows, columns=["ledger", "month", "amount"])
    books = aa.Books(LINES, LEDGERS, time_zone="UTC")
    statement = aa.income_statement(books, DAYS, compare="total", budget=budget)
    trend, margins = charts.trend(statement), charts.margins(statement)
    assert [one.name for one in trend.data] == [
        "Operating revenues", "Operating revenues, budget", "Net income", "Net income, budget",
    ]  # fmt: skip
    assert [one.line.dash for one in trend.data] == ["solid", "dot"] * 2
    assert [list(one.y) for one in trend.data[1::2]] == [[300, None, 350], [210, None, 270]]
    assert trend.mark("net_income|2025-01 budget").amount == statement["net_income", "2025-01 budget"].amount == 210
    assert "not drawn: total" in trend.layout.title.subtitle.text
    assert margins.data[3].name == "Net margin, budget"
    assert list(margins.data[3].y) == [70, None, 77.1]


def test_margins_are_percent_of_positive_revenues_only():
    statement = income()
    figure = charts.margins(statement)
    assert [list(one.y) for one in figure.data] == [[100, None, 100], [50, None, 75]]
    lost = frame_of([*SALES, *paid("01-09", cents=-50_000)])
    below = charts.margins(aa.income_statement(aa.Books(lost, LEDGERS, time_zone="UTC"), DAYS))
    assert below.layout.yaxis.range[0] < min(below.data[1].y[0], -100) < 0  # a loss is on the chart
    assert statement.text("net_margin", "2025-01") == "50.0%"
    assert statement.text("net_margin", "2025-02") == "not known"
    assert [sign for sign, *_ in statement["net_margin", "2025-03"].signed_terms()] == ["+", "/"]
    assert statement.frame.set_index("key").loc["net_margin", "2025-03"] == pytest.approx(75)


def test_other_statements_are_refused():
    books = aa.Books(LINES, LEDGERS, time_zone="UTC", opening="2025-01-01")
    with pytest.raises(InputError, match="does not draw a balance sheet"):
        charts.margins(aa.balance_sheet(books, DAYS))
    with pytest.raises(InputError, match="of other days"):
        charts.trend(income(), aa.cash_flow_statement(books, ("2025-02-01", "2025-03-31")))
    with pytest.raises(InputError, match="load the books since their first entry, or give their opening"):
        charts.trend(income(), aa.cash_flow_statement(aa.Books(LINES, LEDGERS, time_zone="UTC"), DAYS))
    with pytest.raises(InputError, match="pass what income_statement"):
        charts.trend(pd.DataFrame())
    with pytest.raises(InputError, match="bridge must be a Bridge, as bridge\\(\\) returns it, not dict"):
        charts.bridge({})


def test_opening_balances_are_no_inflow():
    opening = {"id": "opening", "name": "Opening", "type": "equity", "sub_type": "equity", "debit_credit": "credit"}
    chart = pd.concat([LEDGERS, pd.DataFrame([LEDGERS.iloc[-1].to_dict() | opening | {"is_required": True}])])
    first = paid("01-01", cents=900_000, ledger="opening", counterparty="OPENING")
    report = aa.recompute_cash_flow(aa.Books(frame_of([*first, *SALES]), chart, time_zone="UTC"), DAYS)
    figure = charts.inflow_outflow(report, by="month", ledgers=chart)
    assert list(figure.data[0].y) == [200, 0, 400]
    assert "without opening balances" in " ".join(figure.chart.remarks)
    assert report["inflow|2025-01"].amount == 9200


def test_opening_balances_on_an_account_of_a_journal_are_drawn():
    names = {"opening": "Opening", "equity:opening": "equity:opening balances"}
    opening = {"type": "equity", "sub_type": "equity", "debit_credit": "credit"}
    rows = [
        LEDGERS.iloc[-1].to_dict() | opening | {"id": one, "name": name, "is_required": one == "opening"}
        for one, name in names.items()
    ]
    chart = pd.concat([LEDGERS, pd.DataFrame(rows)])
    first = paid("01-01", cents=900_000, ledger="equity:opening", counterparty="OPENING")
    report = aa.recompute_cash_flow(aa.Books(frame_of([*first, *SALES]), chart, time_zone="UTC"), DAYS)
    figure = charts.inflow_outflow(report, by="month", ledgers=chart)
    assert list(figure.data[0].y) == [9200, 0, 400]
    assert "opening" not in " ".join(figure.chart.remarks)


def bridge_of_months(**options):
    """Return the bridge from February to March of four payees, one of them with markup in its name."""
    entries = [
        *paid("02-03", "03-03", counterparty="OAK STREET"),
        *paid("02-04", counterparty="<B>ELM</B>"),
        *paid("03-05", counterparty="M ORTIZ", cents=-1),
        *paid("03-06", counterparty="BLUE BOTTLE", cents=500_000, ledger="sales"),
    ]
    return aa.bridge(aa.Books(frame_of(entries), LEDGERS, time_zone="UTC"), "2025-03", against="2025-02", **options)


def test_steps_lead_from_before_to_after(hovers):
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
