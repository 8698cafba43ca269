"""What analysts do with frames every day, compared with exact arithmetic on the numbers the service sent.

The expected figures are Fractions of the amounts on the wire. A result agrees if it is within half a cent of the exact
one after ``.round(2)``, so figures in whole cents must be equal.
"""

import datetime as dt
import io
import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import plotly.express as px
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import seaborn as sns
from long_cases import also_long
from matplotlib.figure import Figure
from pandas.testing import assert_frame_equal

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError
from accounting_analytics.core.schemas import LineEntries

START, END, ZONE = "2025-01-01", "2026-06-30", "America/New_York"
CASH, CARD, SALES = "Operating Account", "Business Credit Card", "Cafe Sales"
PRICE = 24.33
HALF_A_CENT = Fraction(1, 200)
MAX_DAYS = 3


class Line(NamedTuple):
    """A line entry as the service sent it, its amounts exact."""

    id: str
    ledger_id: str
    ledger: str
    opposing: list[str]
    instant: dt.datetime
    day: dt.date
    amount: Fraction
    signed: Fraction
    description: str

    @property
    def month(self):
        """Return its month as pandas has it."""
        return pd.Period(self.day, "M")


@dataclass(frozen=True)
class Books:
    """The loaded frames, and beside them the same lines as the service sent them, in the order of the frame."""

    ledgers: pd.DataFrame
    lines: pd.DataFrame
    report: aa.CashFlowReport
    years: tuple[aa.CashFlowReport, aa.CashFlowReport]
    exact: list[Line]

    @property
    def a(self):
        """Return the signed amounts."""
        return self.lines.signed_amount

    @property
    def day(self):
        """Return the local dates."""
        return self.lines.local_date

    @property
    def by_ledger(self):
        """Return the signed amounts by name of the ledger."""
        return self.lines.groupby("ledger_name").signed_amount

    @property
    def account(self):
        """Return the lines of the operating account, and the same lines exactly."""
        return self.lines[self.lines.ledger_name == CASH], [line for line in self.exact if line.ledger == CASH]

    @property
    def months(self):
        """Return the signed amounts of the operating account by month."""
        lines, _ = self.account
        return lines.groupby(lines.local_date.dt.to_period("M")).signed_amount.sum()

    @property
    def exact_months(self):
        """Return the same exactly."""
        return sums(self.account[1], lambda line: line.month)

    @property
    def pivot(self):
        """Return ledgers by months."""
        months = self.lines.assign(month=self.day.dt.to_period("M"))
        return months.pivot_table(index="ledger_name", columns="month", values="signed_amount", aggfunc="sum")

    @property
    def signed(self):
        """Return the exact signed amounts."""
        return [line.signed for line in self.exact]

    @property
    def magnitudes(self):
        """Return the exact amounts without a sign."""
        return [line.amount for line in self.exact]

    @property
    def ids(self):
        """Return the ids of the lines."""
        return [line.id for line in self.exact]


def wire_lines(client, ledgers):
    """Yield all lines as the service sends them, in the order of a loaded frame."""
    names = dict(zip(ledgers["id"], ledgers["name"], strict=True))
    sent = [
        line
        for ledger_id in ledgers["id"]
        for line in client.iter_line_entries(
            ledger_id, start_date=START, end_date=END, time_zone=ZONE, expand=["opposing_ledger_ids"]
        )
    ]
    for line in sorted(sent, key=lambda line: (line.datetime, line.id)):
        amount = Fraction(line.amount)
        signed = amount if line.debit_credit == "debit" else -amount
        day = line.datetime.astimezone(ZoneInfo(ZONE)).date()
        opposing = list(line.opposing_ledger_ids)
        yield Line(
            line.id,
            line.ledger_id,
            names[line.ledger_id],
            opposing,
            line.datetime,
            day,
            amount,
            signed,
            line.description,
        )


@pytest.fixture(scope="module")
def books(demo_company):
    """Return the books of the demo company, loaded once."""
    client = demo_company.client
    ledgers = aa.discover_ledgers(client, START, END, time_zone=ZONE)
    return Books(
        ledgers,
        aa.load_line_entries(client, ledgers["id"], START, END, time_zone=ZONE),
        aa.load_cash_flow_report(client, START, END, time_zone=ZONE),
        (
            aa.load_cash_flow_report(client, "2025-01-01", "2025-06-30", time_zone=ZONE),
            aa.load_cash_flow_report(client, "2026-01-01", "2026-06-30", time_zone=ZONE),
        ),
        list(wire_lines(client, ledgers)),
    )


def sums(lines, key, amount=lambda line: line.signed):
    """Return the exact sum of each group."""
    totals = defaultdict(Fraction)
    for line in lines:
        totals[key(line)] += amount(line)
    return dict(totals)


def groups(lines, key):
    """Return the exact signed amounts of each group."""
    amounts = defaultdict(list)
    for line in lines:
        amounts[key(line)].append(line.signed)
    return dict(amounts)


def mean(values):
    """Return the exact mean."""
    return sum(values) / Fraction(len(values))


def quantile(values, share):
    """Return the exact quantile, interpolated linearly."""
    position = (len(values) - 1) * Fraction(share)
    below, *above = sorted(values)[int(position) :][:2]
    return below + (above[0] - below) * (position % 1) if above else below


def root(square):
    """Return the square root of a Fraction to 28 digits."""
    return Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def std(values):
    """Return the standard deviation of a sample."""
    return root(statistics.variance(values))


def correlation(first, second):
    """Return the correlation of two columns."""
    one, two = mean(first), mean(second)
    products = sum((x - one) * (y - two) for x, y in zip(first, second, strict=True))
    return products / root(sum((x - one) ** 2 for x in first) * sum((y - two) ** 2 for y in second))


def changes(values):
    """Return each value minus the one before; None for the first."""
    return [None, *(later - earlier for earlier, later in itertools.pairwise(values))]


def ratios(values):
    """Return the relative change from the value before; None for the first."""
    return [None, *(later / earlier - 1 for earlier, later in itertools.pairwise(values))]


def agrees(found, exact):
    """Whether a rounded float is within half a cent of an exact number, and whole cents; NaN stands for None."""
    if exact is None or pd.isna(found):
        return exact is None and pd.isna(found)
    rounded = Fraction(repr(float(found)))
    return (rounded * 100).denominator == 1 and abs(rounded - exact) <= HALF_A_CENT


def rounded_cells(result):
    """Return the values of a result by label, rounded to cents, without nulls."""
    series = result.stack() if isinstance(result, pd.DataFrame) else result  # noqa: PD013 (labels by row and column)
    return series.round(2).dropna().to_dict()


def require_agreement(result, expected):
    """Check a number, a column in its order, or labelled values against exact ones."""
    if isinstance(expected, Mapping):
        found = rounded_cells(result)
        assert found.keys() == expected.keys()
        pairs = [(found[label], expected[label]) for label in expected]
    else:
        exact = expected if isinstance(expected, list) else [expected]
        pairs = list(zip(np.round(np.atleast_1d(result), 2), exact, strict=True))
    assert pairs
    assert [pair for pair in pairs if not agrees(*pair)] == []


def test_wire_and_frame_have_the_same_lines(books):
    """Every amount of the frame is the float nearest to the amount on the wire, and every local date is its day."""
    assert books.lines["id"].tolist() == books.ids
    assert books.a.tolist() == [float(value) for value in books.signed]
    assert books.lines.amount.tolist() == [float(amount) for amount in books.magnitudes]
    assert books.day.dt.date.tolist() == [line.day for line in books.exact]
    assert len(books.exact) > 5_000


def at_price(line):
    """Whether a line has the amount that is searched."""
    return line.amount == Fraction("24.33")


def within_february(line):
    """Whether a line is of the month that is searched."""
    return dt.date(2025, 2, 1) <= line.day <= dt.date(2025, 2, 28)


FIND = {
    "lines[lines.amount == 24.33]": (lambda b: b.lines[b.lines.amount == PRICE], at_price),
    'query("amount == 24.33")': (lambda b: b.lines.query("amount == 24.33"), at_price),
    "between(24.33, 24.33)": (lambda b: b.lines[b.lines.amount.between(PRICE, PRICE)], at_price),
    "amount <= 24.33": (lambda b: b.lines[b.lines.amount <= PRICE], lambda line: line.amount <= Fraction("24.33")),
    "isin([24.33])": (lambda b: b.lines[b.lines.amount.isin([PRICE])], at_price),
    "a > 0": (lambda b: b.lines[b.a > 0], lambda line: line.signed > 0),
    "loc[day.between(...)]": (lambda b: b.lines.loc[b.day.between("2025-02-01", "2025-02-28")], within_february),
    'description.str.contains("AMZN")': (
        lambda b: b.lines[b.lines.description.str.contains("AMZN")],
        lambda line: "AMZN" in line.description,
    ),
    "drop_duplicates()": (lambda b: pd.concat([b.lines, b.lines]).drop_duplicates(), lambda _: True),
}


@pytest.mark.parametrize("expression", FIND)
def test_find(books, expression):
    """A filter finds exactly the lines that the service sent with that amount, day or text."""
    find, is_wanted = FIND[expression]
    wanted = [line.id for line in books.exact if is_wanted(line)]
    assert wanted
    assert find(books)["id"].tolist() == wanted


def test_every_amount_is_found_as_typed(books):
    """Each amount that occurs is found by the number as a person types it."""
    typed = Counter(float(f"{line.amount.numerator / line.amount.denominator:.2f}") for line in books.exact)
    assert books.lines.amount.value_counts().to_dict() == typed


@pytest.mark.parametrize(("method", "reverse"), [("nlargest", True), ("nsmallest", False)])
def test_largest_and_smallest(books, method, reverse):
    """The five largest and smallest amounts are those of exact sorting."""
    exact = sorted((line.amount for line in books.exact), reverse=reverse)
    require_agreement(getattr(books.lines, method)(5, "amount").amount, exact[:5])
    require_agreement(books.lines.sort_values("amount", ascending=not reverse).amount, exact)


def test_duplicated(books):
    """Lines of the same day and amount are those with the same day and cents."""
    seen = Counter()
    expected = []
    for line in books.exact:
        expected.append(seen[line.day, line.amount] > 0)
        seen[line.day, line.amount] += 1
    assert books.lines.duplicated(["local_date", "amount"]).tolist() == expected
    assert any(expected)


def test_merge_ledgers(books):
    """Every line finds its ledger."""
    merged = books.lines.merge(books.ledgers, left_on="ledger_id", right_on="id")
    assert merged.id_x.tolist() == books.ids
    assert (merged.name == merged.ledger_name).all()


def test_explode_opposing_ledgers(books):
    """A split line becomes one row per opposing ledger."""
    exploded = books.lines.opposing_ledger_ids.str.split("|").explode()
    expected = [(row, ledger_id) for row, line in enumerate(books.exact) for ledger_id in line.opposing]
    assert sorted(zip(exploded.index, exploded, strict=True)) == sorted(expected)
    assert len(exploded) > len(books.lines)


def statement_rows(books):
    """Return a month of the operating account as a bank prints it: one to three days later, amounts as text."""
    lines = [line for line in books.account[1] if line.month == pd.Period("2025-05", "M")]
    assert lines
    rows = [(line.day + dt.timedelta(1 + number % MAX_DAYS), line.signed) for number, line in enumerate(lines)]
    return sorted(rows)


@pytest.fixture(scope="module", params=["floats", "text"])
def statement(books, request):
    """Return the bank statement with amounts that pandas parsed, or that are parsed from text afterwards."""
    printed = "".join(f"{day},{float(amount):.2f}\n" for day, amount in statement_rows(books))
    dtype = {"amount": "str" if request.param == "text" else "float64"}
    frame = pd.read_csv(io.StringIO(f"posted,amount\n{printed}"), parse_dates=["posted"], dtype=dtype)
    return frame.assign(amount=pd.to_numeric(frame.amount))


def test_merge_on_amount(books, statement):
    """A merge on the amount finds every line of the same amount."""
    lines, exact = books.account
    merged = statement.merge(lines[["id", "signed_amount"]], left_on="amount", right_on="signed_amount")
    counts = Counter(line.signed for line in exact)
    assert len(merged) == sum(counts[amount] for _, amount in statement_rows(books))


def test_merge_within_days(books, statement):
    """Joining on amount and the nearest earlier day within three days gives every row of the statement its line."""
    lines, _ = books.account
    merged = pd.merge_asof(
        statement.rename(columns={"amount": "signed_amount"}),
        lines[["local_date", "signed_amount", "id"]],
        left_on="posted",
        right_on="local_date",
        by="signed_amount",
        tolerance=pd.Timedelta(days=MAX_DAYS),
    )
    assert merged["id"].notna().all()
    require_agreement(merged.signed_amount, [amount for _, amount in statement_rows(books)])


ARITHMETIC = {
    "a * 2": (lambda b: b.a * 2, lambda x: x * 2),
    "a / 100": (lambda b: b.a / 100, lambda x: x / 100),
    "a * 1.19": (lambda b: b.a * 1.19, lambda x: x * Fraction("1.19")),
    "a + a": (lambda b: b.a + b.a, lambda x: x + x),
    "-a": (lambda b: -b.a, lambda x: -x),
    "abs": (lambda b: b.a.abs(), abs),
    "a.clip(0)": (lambda b: b.a.clip(0), lambda x: max(x, 0)),
    "where": (lambda b: b.a.where(b.a > 0), lambda x: x if x > 0 else None),
    "mask": (lambda b: b.a.mask(b.a > 0), lambda x: None if x > 0 else x),
    "fillna(0)": (lambda b: b.a.mask(b.a > 0).fillna(0), lambda x: min(x, 0)),
    "round(0)": (lambda b: b.a.round(0), round),
    "np.sign(a)": (lambda b: np.sign(b.a), lambda x: (x > 0) - (x < 0)),
    "np.where(a > 0, a, 0)": (lambda b: np.where(b.a > 0, b.a, 0), lambda x: max(x, 0)),
    'eval("net = amount * 2")': (lambda b: b.lines.eval("net = signed_amount * 2").net, lambda x: x * 2),
    "assign": (lambda b: b.lines.assign(net=b.a - 1).net, lambda x: x - 1),
}


@pytest.mark.parametrize("expression", ARITHMETIC)
def test_arithmetic(books, expression):
    """Arithmetic with each amount agrees to the cent."""
    calculate, exactly = ARITHMETIC[expression]
    require_agreement(calculate(books), [exactly(value) for value in books.signed])


SEQUENCES = {
    "a - a.shift()": (lambda a: a - a.shift(), changes),
    "a.diff()": (lambda a: a.diff(), changes),
    "a.cumsum()": (lambda a: a.cumsum(), lambda values: list(itertools.accumulate(values))),
    "a.pct_change()": (lambda a: a.pct_change(), ratios),
    "rolling(30).sum()": (
        lambda a: a.rolling(30).sum(),
        lambda values: [None] * 29 + [sum(values[end - 30 : end]) for end in range(30, len(values) + 1)],
    ),
    "expanding().max()": (lambda a: a.expanding().max(), lambda values: list(itertools.accumulate(values, max))),
}


@pytest.mark.parametrize("expression", SEQUENCES)
def test_sequence(books, expression):
    """Differences, running and moving sums agree to the cent in every row."""
    calculate, exactly = SEQUENCES[expression]
    require_agreement(calculate(books.a), exactly(books.signed))


SUMMARIES = {
    "sum": (lambda a: a.sum(), sum),
    "mean": (lambda a: a.mean(), mean),
    "median": (lambda a: a.median(), statistics.median),
    "std": (lambda a: a.std(), std),
    "min": (lambda a: a.min(), min),
    "max": (lambda a: a.max(), max),
    "quantile": (lambda a: a.quantile(0.9), lambda values: quantile(values, "0.9")),
    "describe()": (
        lambda a: a.describe(),
        lambda values: {
            "count": len(values),
            "mean": mean(values),
            "std": std(values),
            "min": min(values),
            **{f"{percent}%": quantile(values, Fraction(percent, 100)) for percent in (25, 50, 75)},
            "max": max(values),
        },
    ),
}


@pytest.mark.parametrize("expression", SUMMARIES)
def test_summary(books, expression):
    """A summary of all amounts agrees to the cent."""
    summarize, exactly = SUMMARIES[expression]
    require_agreement(summarize(books.a), exactly(books.signed))
    require_agreement(summarize(books.lines.amount), exactly(books.magnitudes))


def test_mean_is_not_rounded(books):
    """The mean keeps digits beyond cents."""
    exact = mean(books.magnitudes)
    assert books.lines.amount.mean() == pytest.approx(float(exact), rel=1e-12)
    assert books.lines.amount.mean() != round(float(exact), 2)


def test_value_counts_of_bins(books):
    """Every bin has as many amounts as are between its ends."""
    counts = books.lines.amount.value_counts(bins=5)
    expected = {
        interval: sum(interval.left < float(line.amount) <= interval.right for line in books.exact)
        for interval in counts.index
    }
    assert counts.to_dict() == expected
    assert counts.sum() == len(books.exact)


def test_correlation(books):
    """The correlation of two amount columns is that of the exact amounts."""
    expected = float(correlation(books.signed, books.magnitudes))
    assert books.lines[["signed_amount", "amount"]].corr().iloc[0, 1] == pytest.approx(expected, abs=1e-12)


def running_by_ledger(books):
    """Return the exact running balance of the ledger of each line."""
    balances = defaultdict(Fraction)
    for line in books.exact:
        balances[line.ledger] += line.signed
        yield balances[line.ledger]


def with_margins(cells):
    """Return cells by (row, column) with the exact totals of rows, columns and all."""
    totals = defaultdict(Fraction, cells)
    for (row, column), value in cells.items():
        totals[row, "All"] += value
        totals["All", column] += value
        totals["All", "All"] += value
    return dict(totals)


def by_ledger_and_side(books, amount=lambda line: line.signed):
    """Return the exact sums by ledger and side."""
    return sums(books.exact, lambda line: (line.ledger, "debit" if line.signed > 0 else "credit"), amount)


GROUPS = {
    'groupby("ledger_name").a.sum()': (
        lambda b: b.by_ledger.sum(),
        lambda b: sums(b.exact, lambda line: line.ledger),
    ),
    '.agg(["sum", "count", "mean"])': (
        lambda b: b.by_ledger.agg(["sum", "count", "mean"]),
        lambda b: {
            (ledger, name): calculate(values)
            for ledger, values in groups(b.exact, lambda line: line.ledger).items()
            for name, calculate in (("sum", sum), ("count", len), ("mean", mean))
        },
    ),
    "groupby(...).a.cumsum()": (lambda b: b.by_ledger.cumsum(), lambda b: list(running_by_ledger(b))),
    'groupby(...).a.transform("sum")': (
        lambda b: b.by_ledger.transform("sum"),
        lambda b: list(map(sums(b.exact, lambda line: line.ledger).get, (line.ledger for line in b.exact))),
    ),
    "pivot_table(..., margins=True)": (
        lambda b: b.lines.pivot_table(
            index="ledger_name", columns="debit_credit", values="signed_amount", aggfunc="sum", margins=True
        ),
        lambda b: with_margins(by_ledger_and_side(b)),
    ),
    "crosstab(..., values=a)": (
        lambda b: pd.crosstab(b.lines.ledger_name, b.lines.debit_credit, values=b.lines.amount, aggfunc="sum"),
        lambda b: by_ledger_and_side(b, lambda line: line.amount),
    ),
    'groupby(day.dt.to_period("M"))': (lambda b: b.months, lambda b: b.exact_months),
    'set_index("local_date").a.resample("ME").sum()': (
        lambda b: b.account[0].set_index("local_date").signed_amount.resample("ME").sum(),
        lambda b: {month.end_time.normalize(): value for month, value in b.exact_months.items()},
    ),
    "groupby([day.dt.year, day.dt.month])": (
        lambda b: b.lines[b.lines.ledger_name == CASH].groupby([b.day.dt.year, b.day.dt.month]).signed_amount.sum(),
        lambda b: {(month.year, month.month): value for month, value in b.exact_months.items()},
    ),
    "average per weekday": (
        lambda b: b.lines[b.lines.ledger_name == SALES].groupby(b.day.dt.day_name()).signed_amount.mean(),
        lambda b: {
            name: mean(values)
            for name, values in groups(
                (line for line in b.exact if line.ledger == SALES), lambda line: line.day.strftime("%A")
            ).items()
        },
    ),
    "difference of two grouped sums": (
        lambda b: (
            b.lines[b.a > 0]
            .groupby("ledger_name")
            .amount.sum()
            .sub(b.lines[b.a < 0].groupby("ledger_name").amount.sum(), fill_value=0)
        ),
        lambda b: sums(b.exact, lambda line: line.ledger),
    ),
    "ledgers x months pivot": (
        lambda b: b.pivot,
        lambda b: sums(b.exact, lambda line: (line.ledger, line.month)),
    ),
}


@pytest.mark.parametrize("expression", GROUPS)
def test_groups(books, expression):
    """Figures by ledger, side, month and weekday agree to the cent, in every group."""
    calculate, exactly = GROUPS[expression]
    require_agreement(calculate(books), exactly(books))


def test_day_names_and_zones(books):
    """A converted instant is on the local date, whose name is that of the calendar."""
    converted = books.lines.datetime.dt.tz_convert(ZONE)
    assert [one.timestamp() for one in converted] == [line.instant.timestamp() for line in books.exact]
    assert (converted.dt.tz_localize(None).dt.normalize() == books.day).all()
    assert books.day.dt.day_name().tolist() == [line.day.strftime("%A") for line in books.exact]


def test_share_of_total(books):
    """Shares of the outflows by ledger agree to a hundredth of a percent, and add up to all."""
    spent = books.lines[books.a < 0].groupby("ledger_name").signed_amount.sum()
    exact = sums((line for line in books.exact if line.signed < 0), lambda line: line.ledger)
    total = sum(exact.values())
    require_agreement(spent / spent.sum() * 100, {ledger: value / total * 100 for ledger, value in exact.items()})


def test_month_over_month(books):
    """The change from month to month, and in percent."""
    exact = [value for _, value in sorted(books.exact_months.items())]
    require_agreement(books.months.diff(), changes(exact))
    require_agreement(books.months.pct_change() * 100, [None if one is None else one * 100 for one in ratios(exact)])


def test_running_balance_of_an_account(books):
    """The running balance of an account is exact in every row and ends at the reported balance."""
    lines, exact = books.account
    running = lines.sort_values(["datetime", "id"]).signed_amount.cumsum().round(2)
    require_agreement(running, list(itertools.accumulate(line.signed for line in exact)))
    balances = books.report.ending_balances.set_index("ledger_name").cash_balance
    assert running.iloc[-1] == balances[CASH]


def test_difference_of_two_months(books):
    """The difference of two columns of a pivot."""
    before, after = pd.Period("2025-04", "M"), pd.Period("2025-05", "M")
    exact = sums(books.exact, lambda line: (line.ledger, line.month))
    expected = {
        ledger: exact[ledger, after] - exact[ledger, before]
        for ledger, month in exact
        if month == before and (ledger, after) in exact
    }
    require_agreement(books.pivot[after] - books.pivot[before], expected)


def test_top_ten_outflows(books):
    """The ten largest outflows of a report with their shares and cumulated shares."""
    flows = books.report.ledgers
    top = flows[flows.net_cash_flow < 0].nsmallest(10, "net_cash_flow")
    share = top.net_cash_flow / flows.net_cash_flow.clip(upper=0).sum() * 100
    lines = books.report.exact().lines
    exact = defaultdict(Fraction)
    for ledger_id, amount in zip(lines.ledger_id, lines.amount, strict=True):
        exact[ledger_id] += Fraction(amount)
    outflows = sorted(value for value in exact.values() if value < 0)
    shares = [value / sum(outflows) * 100 for value in outflows[:10]]
    require_agreement(top.net_cash_flow, outflows[:10])
    require_agreement(share, shares)
    require_agreement(share.cumsum(), list(itertools.accumulate(shares)))


def test_variance_of_two_reports(books):
    """The variance of two reports by ledger, whether a ledger is in both or not."""
    before, after = (report.ledgers[["ledger_id", "net_cash_flow"]] for report in books.years)
    merged = after.merge(before, on="ledger_id", how="outer", suffixes=("", "_before")).set_index("ledger_id").fillna(0)
    exact = [
        {row.ledger_id: Fraction(row.net_cash_flow) for row in one.exact().ledgers.itertuples()} for one in books.years
    ]
    expected = {ledger: exact[1].get(ledger, 0) - exact[0].get(ledger, 0) for ledger in {**exact[0], **exact[1]}}
    require_agreement(merged.net_cash_flow - merged.net_cash_flow_before, expected)


@pytest.fixture
def axes():
    """Return axes of a figure that no window shows."""
    return Figure().subplots()


def test_heat_map(books, axes):
    """Plotly express and seaborn draw a pivot as a heat map."""
    pivot = books.pivot.rename(columns=str)
    figure = px.imshow(pivot)
    np.testing.assert_array_equal(np.asarray(figure.data[0].z), pivot.to_numpy())
    (mesh,) = sns.heatmap(pivot, ax=axes).collections
    np.testing.assert_array_equal(mesh.get_array().reshape(pivot.shape), pivot.to_numpy())


def test_bars_of_a_grouped_sum(books, axes):
    """Plotly express and seaborn draw a grouped sum as bars."""
    totals = books.by_ledger.sum().round(2).reset_index()
    figure = px.bar(totals, x="ledger_name", y="signed_amount")
    assert list(figure.data[0].y) == totals.signed_amount.tolist()
    sns.barplot(totals, x="ledger_name", y="signed_amount", ax=axes)
    assert [bar.get_height() for bar in axes.patches] == totals.signed_amount.tolist()


def test_plot(books, axes):
    """`lines.plot()` draws amounts by day, with matplotlib or Plotly."""
    lines, _ = books.account
    figure = lines.plot(x="local_date", y="signed_amount", backend="plotly")
    assert list(figure.data[0].y) == lines.signed_amount.tolist()
    lines.plot(x="local_date", y="signed_amount", ax=axes)
    assert axes.lines[0].get_ydata().tolist() == lines.signed_amount.tolist()


def through_file(name, write, read):
    """Return a function that writes a frame to a file and reads it back."""

    def save_and_read(lines, folder):
        path = folder / name
        write(lines, path)
        return read(path)

    return save_and_read


def with_dates(frame):
    """Return a frame read from text with its dates."""
    return frame.assign(**{name: pd.to_datetime(frame[name]) for name in DATES})


def write_excel(lines, path):
    """Write a workbook; its cells have no zones."""
    lines.assign(datetime=lines.datetime.dt.tz_localize(None)).to_excel(path, index=False)


DATES = ["datetime", "local_date"]
IN_AND_OUT = {
    "to_parquet": through_file("lines.parquet", pd.DataFrame.to_parquet, pd.read_parquet),
    "to_parquet, read by polars": through_file(
        "lines.parquet", pd.DataFrame.to_parquet, lambda path: pl.read_parquet(path).to_pandas()
    ),
    "to_parquet, read by duckdb": through_file(
        "lines.parquet", pd.DataFrame.to_parquet, lambda path: duckdb.read_parquet(str(path)).df()
    ),
    "to_feather": through_file("lines.feather", pd.DataFrame.to_feather, pd.read_feather),
    "pickle": through_file("lines.pickle", pd.DataFrame.to_pickle, pd.read_pickle),
    "pl.from_pandas(...).to_pandas()": lambda lines, _: pl.from_pandas(lines).to_pandas(),
    "duckdb.sql": lambda lines, _: duckdb.from_df(lines).df(),
    "to_csv": through_file(
        "lines.csv",
        lambda lines, path: lines.to_csv(path, index=False),
        lambda path: pd.read_csv(path, parse_dates=DATES, low_memory=False),
    ),
    "to_csv, read_line_entries": through_file(
        "lines.csv", lambda lines, path: lines.to_csv(path, index=False), aa.read_line_entries
    ),
    "to_excel": through_file("lines.xlsx", write_excel, pd.read_excel),
    "to_excel, read_line_entries": through_file("lines.xlsx", write_excel, aa.read_line_entries),
    "to_json": through_file(
        "lines.json",
        lambda lines, path: lines.to_json(path, orient="records", date_format="iso", date_unit="us"),
        lambda path: with_dates(pd.read_json(path, dtype=False)),
    ),
}
IN_EVERY_RUN = ("to_parquet", "to_csv", "to_json")


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.drop")  # DuckDB uses it in .df()
@pytest.mark.parametrize(
    "expression",
    [*IN_EVERY_RUN, *also_long(*(one for one in IN_AND_OUT if one not in IN_EVERY_RUN))],
)
def test_in_and_out(books, expression, tmp_path):
    """What was written and read back is a valid table of the same lines, and recomputes to the reported figures."""
    back = LineEntries.checked(IN_AND_OUT[expression](books.lines, tmp_path))
    # text files have no difference between no tags and tags that are not known
    no_tags = dict.fromkeys(("tag_ids", "tag_names", "tag_group_ids"), "")
    assert_frame_equal(back.fillna(no_tags), books.lines.fillna(no_tags), check_flags=False)
    recomputed = aa.recompute_cash_flow(back, books.ledgers, START, END, time_zone=ZONE)
    assert aa.reconcile(books.report, recomputed).ties


def test_duckdb_sum(books):
    """DuckDB sums the amounts of a frame."""
    lines, exact = books.account
    ((total,),) = duckdb.sql("select sum(signed_amount) from lines").fetchall()
    assert len(lines) == len(exact)
    require_agreement(total, sum(line.signed for line in exact))


def test_flags_read_as_numbers(books):
    """Flags that a spreadsheet or database returned as 1 and 0 are flags again; any other number is refused."""
    numbers = books.lines.transaction_personal.astype("float64")
    back = LineEntries.checked(books.lines.assign(transaction_personal=numbers))
    assert_frame_equal(back, books.lines, check_flags=False)
    with pytest.raises(FrameError, match="transaction_personal: dtype is not boolean"):
        LineEntries.checked(books.lines.assign(transaction_personal=numbers + 1))


def as_objects(lines, _):
    """Return lists of ids as Python objects."""
    return lines.assign(tag_ids=[[] for _ in range(len(lines))])


def as_arrow_lists(lines, _):
    """Return lists of ids as an Arrow column."""
    dtype = pd.ArrowDtype(pa.list_(pa.string()))
    return lines.assign(opposing_ledger_ids=lines.opposing_ledger_ids.str.split("|").astype(dtype))


def as_parquet(lines, folder):
    """Return lists of ids from a Parquet file as a load wrote it."""
    table = pa.Table.from_pandas(as_arrow_lists(lines, folder)).replace_schema_metadata(None)
    pq.write_table(table, folder / "lines.parquet")
    return pd.read_parquet(folder / "lines.parquet")


@pytest.mark.parametrize("earlier", [as_objects, as_arrow_lists, as_parquet])
@pytest.mark.parametrize("read", [LineEntries.checked, LineEntries.exact])
def test_lists_of_earlier_versions_are_refused(books, tmp_path, earlier, read):
    """Lists of ids, as earlier development versions had them in frames and Parquet files, are refused by name."""
    frame = earlier(books.lines.head(20), tmp_path)
    with pytest.raises(FrameError, match=r"ids' holds lists, as earlier development versions wrote them; load again"):
        read(frame)
