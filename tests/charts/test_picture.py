"""What every chart has: marks that are figures, a table that unfolds, title, escaping, exact digits, refusals."""

import copy
import dataclasses
import datetime as dt
import functools
import pickle
import re
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from marks import amount_of, marks_of, unfolded
from payee_books import LEDGERS, BookEntry, entries_of, frame_of, paid

import accounting_analytics as aa
from accounting_analytics import charts
from accounting_analytics.charts.labels import compact_amount, short_labels
from accounting_analytics.core.errors import InputError

DAYS = ("2025-01-01", "2025-03-31")
FIELDS = ["id", "name", "type", "sub_type", "debit_credit", "financial_account_type", "report_cash_flow"]
OTHERS = [
    ("transfers", "Transfers", "asset", "transfers_between_accounts", "debit", None, False),
    ("in", "No category in", "asset", "uncategorized_assets", "credit", None, False),
    ("out", "No category out", "asset", "uncategorized_assets", "debit", None, False),
]
CHARTS = {
    "balances": charts.balances,
    "outflow_heat_map": charts.outflow_heat_map,
    "outflows_by_category": lambda statement: charts.outflows_by_category(statement, largest=2),
    "top_payees": lambda statement: charts.top_payees(statement.column("2025-02"), largest=2),
}
REPORT_CHARTS = {
    "inflow_outflow": charts.inflow_outflow,
    "running_balance": charts.running_balance,
    "waterfall": functools.partial(charts.waterfall, largest=2),
}
TESTED_APART = {"bridge", "margins", "outlook", "trend"}
"""Charts of other values, which their own modules test."""


@pytest.fixture(scope="module")
def ledgers():
    """Return the ledgers of random books, with those of transfers and of what has no category."""
    return with_ledgers(LEDGERS, OTHERS, is_required=True)


def with_ledgers(ledgers, rows, *, is_required=False):
    more = pd.DataFrame(rows, columns=FIELDS).assign(is_required=is_required, parent_id=None)
    more["sort_code"] = [f"9{number:03}" for number in range(len(rows))]
    return pd.concat([ledgers, more], ignore_index=True)


def statement_of(entries, ledgers, days=DAYS, opening="2025-01-01", **options):
    """Return the cash flow statement of three months, or of some days."""
    books = aa.Books(frame_of(entries), ledgers, time_zone="UTC", opening=opening)
    return aa.cash_flow_statement(books, days, **options)


def test_every_chart_is_tested():
    assert {*CHARTS, *REPORT_CHARTS} | TESTED_APART == {*charts.__all__} - {"Picture", "static_picture"}


@pytest.mark.parametrize("name", [*CHARTS, *REPORT_CHARTS])
@settings.get_profile("slow")
@given(entries=entries_of())
def test_marks_are_figures_that_unfold(name, ledgers, entries):
    days = ("2025-02-01", "2025-02-07") if "balance" in name else DAYS  # it has marks for each day
    if name in CHARTS:
        picture = CHARTS[name](statement_of(entries, ledgers, days))
    else:
        report = aa.recompute_cash_flow(aa.Books(frame_of(entries), ledgers, time_zone="UTC", scale=2), days)
        picture = REPORT_CHARTS[name](report)
    for key, text, size in marks_of(picture):
        figure = picture.mark(key)
        assert figure.exact() == amount_of(text)
        assert figure.key == key
        if figure.exact() is None:
            assert size is None
            continue
        assert abs(Decimal(str(size))) == abs(figure.exact())
        if figure.is_additive:
            entries_sum = sum(map(Decimal, map(str, figure.entries["figure_amount"])), Decimal(0))
            assert entries_sum == figure.exact()
    table, frame = picture.chart.table(), picture.frame
    for text, units in unfolded(table):
        assert amount_of(text) == units
    assert list(frame.index) == [row.label for row in table.rows]
    assert list(frame.columns) == [head.text for head in table.heads]
    for row, amounts in zip(table.rows, frame.itertuples(index=False), strict=True):
        for cell, amount in zip(row.cells, amounts, strict=True):
            shown = amount_of(cell.text)
            assert pd.isna(amount) if shown is None else Decimal(str(amount)) == shown


@settings.get_profile("slow")
@given(entries=entries_of())
def test_sums_of_marks_are_those_of_the_report(ledgers, entries):
    lines = frame_of(entries)
    statement = statement_of(entries, ledgers)
    report = aa.recompute_cash_flow(aa.Books(lines, ledgers, time_zone="UTC"), DAYS).exact()
    received = [row for row in statement.tidy().groupby("ledger_id")["amount"] if round(sum(row[1]), 2) > 0]
    drawn = sum(amount_of(text) for _, text, _ in marks_of(charts.outflows_by_category(statement, largest=2)))
    not_drawn = sum((Decimal(str(one)) for _, amounts in received for one in amounts), Decimal(0))
    assert drawn + not_drawn == report.net_cash_flow
    *_, total = charts.balances(statement).data[:-1]
    assert amount_of(total.customdata[-1][-1]) == report.ending_cash_balance
    accounts = charts.balances(statement).data[:-2]
    for place in range(len(total.x)):
        amounts, together = [amount_of(one.customdata[place][-1]) for one in accounts], total.customdata[place]
        expected = None if None in amounts else sum(amounts)
        assert not amounts or expected == amount_of(together[-1])


def test_transfers_between_own_accounts_are_left_out(ledgers):
    moved = paid_from_bank("2025-02-03", "transfers", 90_000)
    entries = [
        moved,
        *paid("02-04", counterparty="OAK STREET", cents=-5_000),
        paid_from_bank("2025-02-05", "out", 1_500),
    ]
    statement = statement_of(entries, ledgers)
    assert {mark[0] for mark in marks_of(charts.outflows_by_category(statement))} == {
        f"own:{row}|2025-0{month}" for row in ("rent", "out") for month in (1, 2, 3)
    }
    assert sum(amount_of(text) for _, text, _ in marks_of(charts.top_payees(statement.column("2025-02")))) == -65


@pytest.mark.parametrize(("last", "angle"), [("2025-09-30", 0), ("2026-12-31", -90)])
def test_amounts_of_crowded_heat_maps_are_upright(ledgers, last, angle):
    named = ledgers.replace({"name": {"Rent": "<b>Rent"}})
    entries = [paid_from_bank(f"2025-0{month}-05", "rent", 100_000) for month in range(1, 10)]
    figure = charts.outflow_heat_map(statement_of(entries, named, ("2025-01-01", last)))
    name, *amounts = figure.layout.annotations
    assert name.text == "&lt;b&gt;Rent"
    assert {one.textangle for one in amounts} == {angle}
    assert figure.layout.xaxis.tickangle == 0


@pytest.mark.parametrize("width", [720, 240])
def test_heat_maps_have_their_amounts_where_these_have_room(ledgers, width):
    figure = charts.outflow_heat_map(statement_of([paid_from_bank("2025-02-05", "rent", 1_000)], ledgers))
    texts = re.findall(r">([^<>]+)</text>", charts.static_picture(figure, width=width))
    assert {"Rent", "10"} <= set(texts), texts


def paid_from_bank(day, ledger, units):
    """Return an entry of a day that a bank account paid for a category."""
    return BookEntry(dt.date.fromisoformat(day), "", ((ledger, units), ("bank", -units)))


def test_days_before_the_lines_have_gaps_not_zeros(ledgers):
    entries = [*paid("02-04", counterparty="OAK STREET", cents=-5_000)]
    lines = frame_of(entries)
    books = aa.Books(lines, ledgers, time_zone="UTC", opening="2025-02-04")
    statement = aa.cash_flow_statement(books, ("2025-01-20", "2025-02-10"))
    picture = charts.balances(statement)
    bank = picture.data[0]
    known = [(mark[1], mark[2]) for mark in bank.customdata if mark[2] != "not known"]
    assert known[0] == ("2025-02-04", "-50.00")
    assert picture.mark("bank|2025-01-31").exact() is None
    assert "without loaded lines" in picture.layout.title.subtitle.text
    movement = aa.cash_flow_statement(aa.Books(lines, ledgers, time_zone="UTC"), ("2025-02-04", "2025-02-10"))
    assert charts.balances(movement).layout.title.text == "Movement of cash since 4 Feb 2025"


def test_supplied_starting_balances_are_terms_of_balances(ledgers):
    entries = [*paid("02-04", counterparty="OAK STREET", cents=-5_000)]
    balances = {"bank": Decimal("100.00"), "card": Decimal("0.00")}
    statement = statement_of(entries, ledgers, opening=("2025-01-01", balances))
    picture = charts.balances(statement)
    assert picture.mark("bank|2025-02-10").exact() == Decimal("50.00")
    assert ("50.00", Decimal("50.00")) in list(unfolded(picture.chart.table()))


def test_many_accounts_share_a_bar_and_long_names_are_cut(ledgers):
    kind = ("expense", "operating_expenses", "debit", None, False)
    names = [f"{'x' * 150}{number:03}{'y' * 150}" for number in range(200)]
    frame = with_ledgers(ledgers, [(f"led{number}", name, *kind) for number, name in enumerate(names)])
    entries = [paid_from_bank("2025-02-05", f"led{number}", 1_000 + number) for number in range(200)]
    picture = charts.outflow_heat_map(statement_of(entries, frame), largest=12)
    names = [mark[0][1].rpartition(", ")[0] for mark in picture.data[0].customdata]
    assert names[-1] == "188 other categories"
    assert len(set(names)) == len(names) == 13
    assert max(map(len, names)) <= 80
    assert [row.label for row in picture.chart.table().rows] == ["Jan 2025", "Feb 2025", "Mar 2025"]


def test_copies_and_pickles_of_a_picture_keep_its_table(ledgers):
    entries = [paid_from_bank("2025-02-05", "rent", 1_000)]
    ledgers = ledgers.assign(name=ledgers["name"].replace("Rent", "<img src=x>"))
    picture = charts.outflows_by_category(statement_of(entries, ledgers))
    for copied in (picture, copy.deepcopy(picture), pickle.loads(pickle.dumps(picture))):  # noqa: S301 (our own)
        assert copied.mark("own:rent|2025-02").exact() == Decimal("-10.00")
        assert copied.mark("own:rent", "2025-02").exact() == Decimal("-10.00")
        html = copied.table_html()
        assert html.startswith('<details class="accounting-analytics-marks"><summary>')
        assert "<img" not in html
        assert 'data-key="own:rent|2025-02"' in html
    assert "<img" not in picture.to_json()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: charts.outflows_by_category(s, largest=7), "largest must be at most 6"),
        (lambda s: charts.outflow_heat_map(s, largest=0), "largest must be a whole number of at least 1"),
        (charts.top_payees, "pass statement.column"),
        (
            lambda s: charts.top_payees(s.column("2025-02")).mark("counterparty:NOBODY"),
            "no mark of the chart has the key",
        ),
    ],
)
def test_other_arguments_are_refused(make, message, ledgers):
    with pytest.raises(InputError, match=message):
        make(statement_of([paid_from_bank("2025-02-05", "rent", 1_000)], ledgers))


@pytest.mark.parametrize("chart", REPORT_CHARTS.values())
def test_subtitle_names_period_zone_unit_and_limits(chart, make_report, four_lines):
    assert chart(make_report([])).layout.title.text
    report = make_report(four_lines, anchored=True)
    layout = chart(report).layout
    for text in ("15 Jan 2025 to 31 Mar 2025", "America/New_York", "supplied, not summed"):
        assert text in layout.title.subtitle.text
    named = chart(dataclasses.replace(report, currency="<EUR>")).layout
    for one, unit in ((layout, "amounts in the currency of the books"), (named, "&lt;EUR&gt;")):
        assert unit in {one.xaxis.title.text, one.yaxis.title.text}


@pytest.mark.parametrize("chart", REPORT_CHARTS.values())
def test_text_of_the_books_is_not_markup(chart, make_report, four_lines):
    figure = chart(make_report([("<img src=x onerror=alert(1)>\n<b>", "5.00", four_lines[0][2])]))
    for trace in figure.data:
        assert "customdata[0]" not in (trace.hovertemplate or "")
        trace.customdata = [data[1:] for data in trace.customdata]
    assert not re.search(r"<(img|b)\b|u003cimg", figure.to_json())


@pytest.mark.parametrize("chart", [charts.waterfall, charts.running_balance])
def test_reports_that_cannot_be_drawn_are_refused(make_report, four_lines, chart):
    """Flows of tags do not lead from balance to balance."""
    with pytest.raises(InputError, match="without tag_ids"):
        chart(make_report(four_lines, tag_ids=("tag",)))


def test_labels_keep_significant_digits_and_hovers_all(make_report, four_lines, hovers):
    figure = charts.waterfall(
        make_report([("Fees", "-0.03", four_lines[0][2]), ("Sales", "1234.56", four_lines[0][2])])
    )
    assert list(figure.data[0].text) == ["0", "+1,235", "\N{MINUS SIGN}0.03", "1,235"]
    figure = charts.inflow_outflow(make_report([("Sales", "123456789012345678.91", four_lines[0][2])]))
    assert hovers(figure.data[0])[0] == "123,456,789,012,345,678.91"


def test_many_tags_are_counted(make_report, four_lines):
    """A subtitle with several long ids would be cut off at the edge of the chart; names are written instead of ids."""
    report = make_report(four_lines, tag_ids=("tag_1", "tag_2", "tag_3"))
    assert charts.inflow_outflow(report).layout.title.subtitle.text.endswith("only lines tagged tag_1 and 2 more")
    named = charts.inflow_outflow(report, tag_names={"tag_3": "Berlin"})
    assert named.layout.title.subtitle.text.endswith("only lines tagged Berlin and 2 more")


def test_names_have_two_lines_where_they_need_them(ledgers):
    name = "CLEANING REPAIR AND MAINTENANCE OF ALL OFFICES IN WIESBADEN"
    figure = charts.outflow_heat_map(
        statement_of([paid_from_bank("2025-02-05", "rent", 1_000)], ledgers.replace({"name": {"Rent": name}}))
    )
    payees = statement_of(paid("02-04", counterparty=name), ledgers).column("2025-02")
    for picture in (figure, charts.top_payees(payees)):
        for width in (360, 720, 1280):
            texts = re.findall(r">([^<>]+)</text>", charts.static_picture(picture, width=width))
            assert name in " ".join(texts), (width, texts)
    assert "<br>" in charts.top_payees(payees).layout.annotations[0].text


def test_one_period_is_a_bar_with_an_amount_per_name(ledgers):
    statement = statement_of([paid_from_bank("2025-02-05", "rent", 1_050)], ledgers, ("2025-02-01", "2025-02-28"))
    figure = charts.outflows_by_category(statement)
    assert [one.type for one in figure.data] == ["bar"]
    assert figure.layout.annotations[0].text == "Rent  <b>10</b>"
    assert {"Rent", "10"} <= set(re.findall(r">([^<>]+)</text>", charts.static_picture(figure)))
    assert figure.mark("own:rent|2025-02").exact() == Decimal("-10.50")


def test_amounts_at_marks_are_in_the_unit_hovers_are_exact(ledgers):
    statement = statement_of(paid("02-04", cents=-123_456_789), ledgers, amounts_in="k")
    for figure, unit, text in (
        (charts.top_payees(statement.column("2025-02")), None, "1,234.6k"),
        (charts.balances(statement), None, "lowest \N{MINUS SIGN}1,234.6k"),
        (charts.waterfall(recomputed(ledgers)), "M", "\N{MINUS SIGN}1.23M"),
    ):
        shown = figure.shown_in(unit) if unit else figure
        assert text in re.findall(r">([^<>]+)</text>", charts.static_picture(shown).replace("end, lowest", "lowest"))
        assert text in shown.to_json().replace("\\u2212", "\N{MINUS SIGN}").replace("end, lowest", "lowest")
        assert "1,234,567.89" in shown.to_json()
    with pytest.raises(InputError, match="amounts_in must be 'k'"):
        figure.shown_in("thousands")


def recomputed(ledgers):
    lines = frame_of(paid("02-04", cents=-123_456_789))
    return aa.recompute_cash_flow(aa.Books(lines, ledgers, time_zone="UTC", opening="2025-01-01"), DAYS)


def test_a_cut_quarter_is_named_as_the_others(ledgers):
    entries = [paid_from_bank(f"2025-0{month}-05", "rent", 1_000) for month in range(1, 10)]
    statement = statement_of(entries, ledgers, ("2025-01-02", "2025-08-31"), columns="quarter")
    places = charts.outflows_by_category(statement).chart.places
    assert [place.name for place in places] == ["Q1", "Q2", "Q3"]
    assert places[0].label == "2 Jan 2025 to 31 Mar 2025"


def test_long_names_are_short_and_different():
    names = [f"{'a' * 140}{number}{'b' * 140}" for number in range(3)]
    labels = short_labels([*names, "Rent", "Rent", "Rent (1)", ""])
    assert len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= 80
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
def test_compact_amounts_have_at_most_five_characters(amount, text):
    assert compact_amount(Decimal(amount)) == text
