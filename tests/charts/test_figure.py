"""What holds for every chart: title, escaping, exact digits, and what is refused."""

import re
from decimal import Decimal

import pytest

from accounting_analytics import charts
from accounting_analytics.charts.labels import compact_amount, short_labels
from accounting_analytics.core.errors import InputError, PeriodError

CHARTS = [charts.inflow_outflow, charts.running_balance, charts.waterfall]


@pytest.mark.parametrize("chart", CHARTS)
def test_subtitle_names_period_zone_unit_and_limits(chart, make_report, lines):
    """Every chart states its days and unit, and whether its starting balance was supplied."""
    report = make_report(lines, anchored=True)
    layout = chart(report).layout
    for text in ("2025-01-15 to 2025-03-31", "America/New_York", "supplied, not summed"):
        assert text in layout.title.subtitle.text
    named = chart(report, currency="<EUR>").layout
    for one, unit in ((layout, "amounts in the currency of the books"), (named, "&lt;EUR&gt;")):
        assert unit in {one.xaxis.title.text, one.yaxis.title.text}


@pytest.mark.parametrize("chart", CHARTS)
def test_text_of_the_books_is_not_markup(chart, make_report, lines):
    """Names with markup or line breaks are escaped in every text of the figure; the keys, ids here, are not shown."""
    figure = chart(make_report([("<img src=x onerror=alert(1)>\n<b>", "5.00", lines[0][2])]))
    for trace in figure.data:
        assert "customdata[0]" not in (trace.hovertemplate or "")
        trace.customdata = [data[1:] for data in trace.customdata]
    assert not re.search(r"<(img|b)\b|u003cimg", figure.to_json())


@pytest.mark.parametrize("chart", CHARTS)
def test_empty_period_has_a_figure(chart, make_report):
    """A period without cash flow gives a figure, not an error."""
    assert chart(make_report([])).layout.title.text


@pytest.mark.parametrize("chart", [charts.waterfall, charts.running_balance])
def test_tagged_reports_are_refused_by_balance_charts(chart, make_report, lines):
    """Flows filtered by tags do not lead from one balance to the other."""
    with pytest.raises(InputError, match="without tag_ids"):
        chart(make_report(lines, tag_ids=("tag",)))


@pytest.mark.parametrize("chart", [charts.inflow_outflow, charts.running_balance])
def test_localtime_is_refused_by_charts_of_days(chart, make_report, lines):
    """Days in the service's own time zone cannot be drawn without knowing it."""
    with pytest.raises(PeriodError, match="localtime"):
        chart(make_report(lines, zone="localtime"))


def test_small_amounts_keep_their_digits_beside_their_marks(make_report, lines):
    """A step of a few cents is not labelled as zero, and a large one has no digits that nobody reads."""
    figure = charts.waterfall(make_report([("Fees", "-0.03", lines[0][2]), ("Sales", "1234.56", lines[0][2])]))
    assert list(figure.data[0].text) == ["0", "+1,235", "\N{MINUS SIGN}0.03", "1,235"]


def test_many_tags_are_counted(make_report, lines):
    """A subtitle with several long ids would be cut off at the edge of the chart; names are written instead of ids."""
    report = make_report(lines, tag_ids=("tag_1", "tag_2", "tag_3"))
    assert charts.inflow_outflow(report).layout.title.subtitle.text.endswith("only lines tagged tag_1 and 2 more")
    named = charts.inflow_outflow(report, tag_names={"tag_3": "Berlin"})
    assert named.layout.title.subtitle.text.endswith("only lines tagged Berlin and 2 more")


def test_hover_keeps_twenty_digits(make_report, lines, hovers):
    """An amount that a float cannot hold is shown to the last digit."""
    figure = charts.inflow_outflow(make_report([("Sales", "123456789012345678.91", lines[0][2])], as_decimals=True))
    assert hovers(figure.data[0])[0] == "123,456,789,012,345,678.91"


def test_long_names_are_short_and_different():
    """Names lose their middle, and names that become equal, or are equal, end in a number."""
    names = [f"{'a' * 140}{number}{'b' * 140}" for number in range(3)]
    labels = short_labels([*names, "Rent", "Rent", "Rent (1)", ""])
    assert len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= 28
    assert labels[3] == "Rent (2)" or labels[3].startswith("Rent (")
    assert labels[5] == "Rent (1)"
    assert labels[6] == "without a name"
    assert short_labels(["Expenses: Meals at the office, Berlin"])[0].endswith("Berlin")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0.50", "0.50"),
        ("950.4", "950"),
        ("1000", "1k"),
        ("12345", "12k"),
        ("1250000", "1.2M"),
        ("-2150", "\N{MINUS SIGN}2.2k"),
    ],
)
def test_compact_amounts(amount, text):
    """Amounts of narrow cells have at most five characters."""
    assert compact_amount(Decimal(amount)) == text


@pytest.mark.parametrize("chart", CHARTS)
def test_the_frame_has_what_the_table_shows(chart, make_report, lines):
    """Rows and columns of the frame are those of the table of marks, with its amounts."""
    picture = chart(make_report(lines, start="10.00"))
    table, frame = picture.chart.table(), picture.frame
    assert list(frame.index) == [row.label for row in table.rows]
    assert list(frame.columns) == [head.text for head in table.heads]
    for row, amounts in zip(table.rows, frame.itertuples(index=False), strict=True):
        for cell, amount in zip(row.cells, amounts, strict=True):
            shown = cell.text.strip("()").replace(",", "").replace("\N{EN DASH}", "0")
            assert cell.figure is None or abs(Decimal(shown)) == abs(Decimal(repr(amount)))
            assert cell.text.startswith("(") == (amount < 0)
