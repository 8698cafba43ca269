"""What analysts do with frames every day, compared with exact arithmetic on the numbers the service sent.

Sums and differences are compared with the same expression of whole cents, which pandas calculates exactly; means,
quantiles, ratios and deviations with Fractions. A result agrees if it is within half a cent of the exact one after
``.round(2)``, so figures in whole cents must be equal.
"""

import datetime as dt
import io
import itertools
import statistics
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
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
from accounting_analytics.core.errors import FrameError, IncompleteLoadError, InputError
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.reconciliation.compared_report import compare_reports

START, END, ZONE = "2025-01-01", "2026-06-30", "America/New_York"
CASH, SALES = "Operating Account", "Cafe Sales"
PRICE = 24.33
HALF_A_CENT = Fraction(1, 200)
MAX_DAYS = 3


@dataclass(frozen=True)
class Books:
    """Line entries: as loaded, or with whole cents as amounts."""

    lines: pd.DataFrame

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
        """Return the lines of the operating account."""
        return self.lines[self.lines.ledger_name == CASH]

    @property
    def months(self):
        """Return the signed amounts of the operating account by month."""
        return self.account.groupby(self.account.local_date.dt.to_period("M")).signed_amount.sum()

    @property
    def pivot(self):
        """Return ledgers by months."""
        months = self.lines.assign(month=self.day.dt.to_period("M"))
        return months.pivot_table(index="ledger_name", columns="month", values="signed_amount", aggfunc="sum")


@dataclass(frozen=True)
class Loaded(Books):
    """What was loaded, and the same lines as the service sent them, in the order of the frame."""

    ledgers: pd.DataFrame
    report: aa.CashFlowReport
    years: tuple[aa.CashFlowReport, aa.CashFlowReport]
    wire: list

    @property
    def cents(self):
        """Return the books with amounts in whole cents."""
        amounts = [int(Fraction(line.amount) * 100) for line in self.wire]
        signs = [1 if line.debit_credit == "debit" else -1 for line in self.wire]
        signed = [sign * amount for sign, amount in zip(signs, amounts, strict=True)]
        return Books(self.lines.assign(amount=amounts, signed_amount=signed))

    @property
    def exact(self):
        """Return the signed amounts as Fractions."""
        return [Fraction(int(cents), 100) for cents in self.cents.a]


@pytest.fixture(scope="module")
def loaded_books(demo_company):
    """Return the books of the demo company, loaded once."""
    client = demo_company.client
    ledgers = aa.discover_ledgers(client, START, END, time_zone=ZONE)
    options = {"start_date": START, "end_date": END, "time_zone": ZONE, "expand": ["opposing_ledger_ids"]}
    sent = [line for ledger_id in ledgers["id"] for line in client.iter_line_entries(ledger_id, **options)]
    return Loaded(
        aa.load_line_entries(client, ledgers["id"], START, END, time_zone=ZONE),
        ledgers,
        aa.load_cash_flow_report(client, START, END, time_zone=ZONE),
        tuple(
            aa.load_cash_flow_report(client, f"{year}-01-01", f"{year}-06-30", time_zone=ZONE) for year in (2025, 2026)
        ),
        sorted(sent, key=lambda line: (line.datetime, line.id)),
    )


def agrees(found, exact):
    """Whether a rounded float is within half a cent of an exact number, and whole cents; NaN stands for None."""
    if exact is None or pd.isna(found):
        return exact is None and pd.isna(found)
    rounded = Fraction(repr(float(found)))
    return (rounded * 100).denominator == 1 and abs(rounded - exact) <= HALF_A_CENT


def require_agreement(result, expected):
    """Check a number or a column in its order against exact ones."""
    exact = expected if isinstance(expected, list) else [expected]
    pairs = list(zip(np.round(np.atleast_1d(result), 2), exact, strict=True))
    assert pairs
    assert [pair for pair in pairs if not agrees(*pair)] == []


def require_cents(result, cents):
    """Check that a result has the labels and the values of the same expression of whole cents."""
    found, exact = (one.stack() if isinstance(one, pd.DataFrame) else one for one in (result, cents))  # noqa: PD013 (labels by row and column)
    found, exact = found.dropna(), exact.dropna()
    assert list(found.index) == list(exact.index)
    require_agreement(found, [Fraction(int(value), 100) for value in exact])
    assert [value for value in exact if value != int(value)] == []


def test_wire_and_frame_have_the_same_lines(loaded_books):
    assert loaded_books.lines["id"].tolist() == [line.id for line in loaded_books.wire]
    assert loaded_books.a.tolist() == [float(value) for value in loaded_books.exact]
    assert loaded_books.lines.amount.tolist() == [float(line.amount) for line in loaded_books.wire]
    assert loaded_books.day.dt.date.tolist() == [
        line.datetime.astimezone(ZoneInfo(ZONE)).date() for line in loaded_books.wire
    ]
    assert len(loaded_books.wire) > 5_000
    typed = Counter(float(f"{line.amount:.2f}") for line in loaded_books.wire)
    assert loaded_books.lines.amount.value_counts().to_dict() == typed


FIND = {
    "lines[lines.amount == 24.33]": lambda b, price: b.lines[b.lines.amount == price],
    'query("amount == 24.33")': lambda b, price: b.lines.query(f"amount == {price}"),
    "between(24.33, 24.33)": lambda b, price: b.lines[b.lines.amount.between(price, price)],
    "amount <= 24.33": lambda b, price: b.lines[b.lines.amount <= price],
    "isin([24.33])": lambda b, price: b.lines[b.lines.amount.isin([price])],
    "a > 0": lambda b, _: b.lines[b.a > 0],
    'nlargest(5, "amount")': lambda b, _: b.lines.nlargest(5, "amount"),
    "nsmallest": lambda b, _: b.lines.nsmallest(5, "amount"),
    'sort_values("amount")': lambda b, _: b.lines.sort_values("amount", kind="stable"),
    'duplicated(["local_date", "amount"])': lambda b, _: b.lines[b.lines.duplicated(["local_date", "amount"])],
    "drop_duplicates()": lambda b, _: pd.concat([b.lines, b.lines]).drop_duplicates(),
}


@pytest.mark.parametrize("expression", FIND)
def test_filter_finds_lines_of_an_amount_in_order(loaded_books, expression):
    wanted = FIND[expression](loaded_books.cents, round(PRICE * 100))["id"].tolist()
    assert wanted
    assert FIND[expression](loaded_books, PRICE)["id"].tolist() == wanted


def test_filters_find_lines_of_days_and_texts(loaded_books):
    days = [dt.date(2025, 2, 1), dt.date(2025, 2, 28)]
    found = loaded_books.lines.loc[loaded_books.day.between("2025-02-01", "2025-02-28")]["id"].tolist()
    local = [(line.id, line.datetime.astimezone(ZoneInfo(ZONE)).date()) for line in loaded_books.wire]
    assert found == [line for line, day in local if days[0] <= day <= days[1]] != []
    found = loaded_books.lines[loaded_books.lines.description.str.contains("AMZN")]["id"].tolist()
    assert found == [line.id for line in loaded_books.wire if "AMZN" in line.description] != []


def test_split_lines_become_a_row_per_opposing_ledger(loaded_books):
    merged = loaded_books.lines.merge(loaded_books.ledgers, left_on="ledger_id", right_on="id")
    assert merged.id_x.tolist() == loaded_books.lines["id"].tolist()
    assert (merged.name == merged.ledger_name).all()
    exploded = loaded_books.lines.opposing_ledger_ids.str.split("|").explode()
    expected = [
        (row, ledger_id) for row, line in enumerate(loaded_books.wire) for ledger_id in line.opposing_ledger_ids
    ]
    assert sorted(zip(exploded.index, exploded, strict=True)) == sorted(expected)
    assert len(exploded) > len(loaded_books.lines)


def statement_rows(books):
    """Return a month of the operating account as a bank prints it: one to three days later, with cents."""
    account = books.cents.account
    lines = account[account.local_date.dt.to_period("M") == "2025-05"]
    assert len(lines)
    days = [day.date() + dt.timedelta(1 + number % MAX_DAYS) for number, day in enumerate(lines.local_date)]
    return sorted(zip(days, lines.signed_amount, strict=True))


@pytest.fixture(scope="module", params=["floats", "text"])
def statement(loaded_books, request):
    """Return the bank statement with amounts that pandas parsed, or that are parsed from text afterwards."""
    printed = "".join(f"{day},{Decimal(int(cents)).scaleb(-2)}\n" for day, cents in statement_rows(loaded_books))
    dtype = {"amount": "str" if request.param == "text" else "float64"}
    frame = pd.read_csv(io.StringIO(f"posted,amount\n{printed}"), parse_dates=["posted"], dtype=dtype)
    return frame.assign(amount=pd.to_numeric(frame.amount))


def test_merge_finds_each_line_of_a_bank_statement(loaded_books, statement):
    rows = statement_rows(loaded_books)
    merged = statement.merge(loaded_books.account[["id", "signed_amount"]], left_on="amount", right_on="signed_amount")
    counts = Counter(loaded_books.cents.account.signed_amount)
    assert len(merged) == sum(counts[cents] for _, cents in rows)
    merged = pd.merge_asof(
        statement.rename(columns={"amount": "signed_amount"}),
        loaded_books.account[["local_date", "signed_amount", "id"]],
        left_on="posted",
        right_on="local_date",
        by="signed_amount",
        tolerance=pd.Timedelta(days=MAX_DAYS),
    )
    assert merged["id"].notna().all()
    require_agreement(merged.signed_amount, [Fraction(int(cents), 100) for _, cents in rows])


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
def test_arithmetic_agrees_to_the_cent(loaded_books, expression):
    calculate, exactly = ARITHMETIC[expression]
    require_agreement(calculate(loaded_books), [exactly(value) for value in loaded_books.exact])


def ratios(values):
    """Return the relative change from the value before; None for the first."""
    return [None, *(later / earlier - 1 for earlier, later in itertools.pairwise(values))]


def mean(values):
    return sum(values) / Fraction(len(values))


def quantile(values, share):
    """Return the exact quantile, interpolated linearly."""
    position = (len(values) - 1) * Fraction(share)
    below, *above = sorted(values)[int(position) :][:2]
    return below + (above[0] - below) * (position % 1) if above else below


def root(square):
    """Return the square root of a Fraction to 28 digits."""
    return Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def described(values):
    """Return what ``describe()`` has, exactly."""
    quarters = [quantile(values, Fraction(percent, 100)) for percent in (25, 50, 75)]
    return [len(values), mean(values), root(statistics.variance(values)), min(values), *quarters, max(values)]


SUMMARIES = {
    "sum": (lambda a: a.sum(), sum),
    "mean": (lambda a: a.mean(), mean),
    "median": (lambda a: a.median(), statistics.median),
    "std": (lambda a: a.std(), lambda values: root(statistics.variance(values))),
    "min": (lambda a: a.min(), min),
    "max": (lambda a: a.max(), max),
    "quantile": (lambda a: a.quantile(0.9), lambda values: quantile(values, "0.9")),
    "describe()": (lambda a: a.describe(), described),
    "a.pct_change()": (lambda a: a.pct_change(), ratios),
    "expanding().max()": (lambda a: a.expanding().max(), lambda values: list(itertools.accumulate(values, max))),
}


@pytest.mark.parametrize("expression", SUMMARIES)
def test_summary_agrees_to_the_cent(loaded_books, expression):
    summarize, exactly = SUMMARIES[expression]
    require_agreement(summarize(loaded_books.a), exactly(loaded_books.exact))
    require_agreement(summarize(loaded_books.lines.amount), exactly([abs(value) for value in loaded_books.exact]))


def test_means_keep_digits_and_bins_count_their_content(loaded_books):
    exact = mean([abs(value) for value in loaded_books.exact])
    assert loaded_books.lines.amount.mean() == pytest.approx(float(exact), rel=1e-12)
    assert loaded_books.lines.amount.mean() != round(float(exact), 2)
    counts = loaded_books.lines.amount.value_counts(bins=5)
    for interval, count in counts.items():
        assert count == sum(interval.left < float(line.amount) <= interval.right for line in loaded_books.wire)
    assert counts.sum() == len(loaded_books.wire)
    signed, amounts = loaded_books.exact, [abs(value) for value in loaded_books.exact]
    one, two = mean(signed), mean(amounts)
    products = sum((x - one) * (y - two) for x, y in zip(signed, amounts, strict=True))
    expected = products / root(sum((x - one) ** 2 for x in signed) * sum((y - two) ** 2 for y in amounts))
    found = loaded_books.lines[["signed_amount", "amount"]].corr().iloc[0, 1]
    assert found == pytest.approx(float(expected), abs=1e-12)


def of_side(lines, *, is_positive):
    """Return the sums of inflows or outflows by ledger."""
    return lines[(lines.signed_amount > 0) == is_positive].groupby("ledger_name").amount.sum()


SUMS = {
    "a - a.shift()": lambda b: b.a - b.a.shift(),
    "a.diff()": lambda b: b.a.diff(),
    "a.cumsum()": lambda b: b.a.cumsum(),
    "rolling(30).sum()": lambda b: b.a.rolling(30).sum(),
    'groupby("ledger_name").a.sum()': lambda b: b.by_ledger.sum(),
    '.agg(["sum", "count", "mean"])': lambda b: b.by_ledger.agg(["sum", "count", "mean"])["sum"],
    "groupby(...).a.cumsum()": lambda b: b.by_ledger.cumsum(),
    'groupby(...).a.transform("sum")': lambda b: b.by_ledger.transform("sum"),
    "pivot_table(..., margins=True)": lambda b: b.lines.pivot_table(
        index="ledger_name", columns="debit_credit", values="signed_amount", aggfunc="sum", margins=True
    ),
    "crosstab(..., values=a)": lambda b: pd.crosstab(
        b.lines.ledger_name, b.lines.debit_credit, values=b.lines.amount, aggfunc="sum"
    ),
    'groupby(day.dt.to_period("M"))': lambda b: b.months,
    'set_index("local_date").a.resample("ME").sum()': lambda b: (
        b.account.set_index("local_date").signed_amount.resample("ME").sum()
    ),
    "groupby([day.dt.year, day.dt.month])": lambda b: b.account.groupby(
        [b.day.dt.year, b.day.dt.month]
    ).signed_amount.sum(),
    "difference of two grouped sums": lambda b: of_side(b.lines, is_positive=True).sub(
        of_side(b.lines, is_positive=False), fill_value=0
    ),
    "ledgers x months pivot": lambda b: b.pivot,
    "difference of two months": lambda b: b.pivot[pd.Period("2025-05", "M")] - b.pivot[pd.Period("2025-04", "M")],
    "month over month change": lambda b: b.months.diff(),
    "running balance of one account": lambda b: b.account.sort_values(["datetime", "id"]).signed_amount.cumsum(),
}


@pytest.mark.parametrize("expression", SUMS)
def test_sums_by_ledger_side_and_month_agree(loaded_books, expression):
    require_cents(SUMS[expression](loaded_books), SUMS[expression](loaded_books.cents))


def test_a_running_balance_ends_at_the_reported_one(loaded_books):
    balances = loaded_books.report.ending_balances.set_index("ledger_name").cash_balance
    assert SUMS["running balance of one account"](loaded_books).round(2).iloc[-1] == balances[CASH]


def exact_means(series):
    """Return the exact means of groups of cents, in amounts."""
    return [Fraction(int(values.sum()), 100 * len(values)) for _, values in series]


def test_means_shares_and_percents_agree_to_a_hundredth(loaded_books):
    cents = loaded_books.cents
    counted = loaded_books.by_ledger.agg(["sum", "count", "mean"])
    assert counted["count"].equals(cents.by_ledger.count())
    require_agreement(counted["mean"], exact_means(cents.by_ledger))
    sales, exact = (one.lines[one.lines.ledger_name == SALES] for one in (loaded_books, cents))
    found = sales.groupby(loaded_books.day.dt.day_name()).signed_amount.mean()
    assert set(found.index) >= {"Monday", "Saturday"}
    require_agreement(found, exact_means(exact.groupby(loaded_books.day.dt.day_name()).signed_amount))
    spent, exact = (one.lines[one.a < 0].groupby("ledger_name").signed_amount.sum() for one in (loaded_books, cents))
    shares = [Fraction(int(value), int(exact.sum())) * 100 for value in exact]
    require_agreement(spent / spent.sum() * 100, shares)
    months = [Fraction(int(value), 100) for value in cents.months]
    percents = [None if one is None else one * 100 for one in ratios(months)]
    require_agreement(loaded_books.months.pct_change() * 100, percents)


def test_day_names_are_of_local_dates(loaded_books):
    converted = loaded_books.lines.datetime.dt.tz_convert(ZONE)
    assert [one.timestamp() for one in converted] == [line.datetime.timestamp() for line in loaded_books.wire]
    assert (converted.dt.tz_localize(None).dt.normalize() == loaded_books.day).all()
    assert loaded_books.day.dt.day_name().tolist() == [day.strftime("%A") for day in loaded_books.day.dt.date]


def test_top_ten_outflows_have_shares(loaded_books):
    flows = loaded_books.report.ledgers
    top = flows[flows.net_cash_flow < 0].nsmallest(10, "net_cash_flow")
    share = top.net_cash_flow / flows.net_cash_flow.clip(upper=0).sum() * 100
    lines = loaded_books.report.exact().lines
    exact = Counter()
    for ledger_id, amount in zip(lines.ledger_id, lines.amount, strict=True):
        exact[ledger_id] += Fraction(amount)
    outflows = sorted(value for value in exact.values() if value < 0)
    shares = [value / sum(outflows) * 100 for value in outflows[:10]]
    require_agreement(top.net_cash_flow, outflows[:10])
    require_agreement(share, shares)
    require_agreement(share.cumsum(), list(itertools.accumulate(shares)))


def test_variance_of_two_reports(loaded_books):
    before, after = (report.ledgers[["ledger_id", "net_cash_flow"]] for report in loaded_books.years)
    merged = after.merge(before, on="ledger_id", how="outer", suffixes=("", "_before")).set_index("ledger_id").fillna(0)
    exact = [
        {row.ledger_id: Fraction(row.net_cash_flow) for row in one.exact().ledgers.itertuples()}
        for one in loaded_books.years
    ]
    found = merged.net_cash_flow - merged.net_cash_flow_before
    assert set(found.index) == {*exact[0], *exact[1]}
    require_agreement(found, [exact[1].get(ledger, 0) - exact[0].get(ledger, 0) for ledger in found.index])


@pytest.fixture
def axes():
    """Return a function that makes axes of a figure that no window shows."""
    return lambda: Figure().subplots()


def test_plotly_seaborn_and_matplotlib_draw_frames(loaded_books, axes):
    pivot, account = loaded_books.pivot.rename(columns=str), loaded_books.account
    np.testing.assert_array_equal(np.asarray(px.imshow(pivot).data[0].z), pivot.to_numpy())
    (mesh,) = sns.heatmap(pivot, ax=axes()).collections
    np.testing.assert_array_equal(mesh.get_array().reshape(pivot.shape), pivot.to_numpy())
    totals = loaded_books.by_ledger.sum().round(2).reset_index()
    assert list(px.bar(totals, x="ledger_name", y="signed_amount").data[0].y) == totals.signed_amount.tolist()
    bars = sns.barplot(totals, x="ledger_name", y="signed_amount", ax=axes()).patches
    assert [bar.get_height() for bar in bars] == totals.signed_amount.tolist()
    by_day = {"x": "local_date", "y": "signed_amount"}
    assert list(account.plot(**by_day, backend="plotly").data[0].y) == account.signed_amount.tolist()
    assert account.plot(**by_day, ax=axes()).lines[0].get_ydata().tolist() == account.signed_amount.tolist()


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
def test_files_of_a_frame_recompute_to_the_reported_figures(loaded_books, expression, tmp_path):
    back = LineEntries.checked(IN_AND_OUT[expression](loaded_books.lines, tmp_path))
    # text files have no difference between no tags and tags that are not known
    no_tags = dict.fromkeys(("tag_ids", "tag_names", "tag_group_ids"), "")
    assert_frame_equal(back.fillna(no_tags), loaded_books.lines.fillna(no_tags), check_flags=False)
    again = aa.Books(back, loaded_books.ledgers, opening=START)
    assert figures(again) == figures(aa.Books(loaded_books.lines, loaded_books.ledgers, opening=START))
    assert compare_reports(loaded_books.report, aa.recompute_cash_flow(again, (START, END))).ties


def figures(value):
    """Return exact figures of books: what moved cash, income and balances by ledger, and the register of an account."""
    exact = aa.recompute_cash_flow(value, (START, END)).exact()
    statements = [make(value, (START, END)).tidy() for make in (aa.income_statement, aa.balance_sheet)]
    tables = [exact.ledgers, exact.ending_balances, *statements, aa.register(value, CASH, "2026-05")]
    return [value.time_zone, exact.net_cash_flow, *(one.to_csv() for one in tables)]


def budgets(books):
    """Return a table with one row per ledger, as an analyst has it in another file."""
    return pd.DataFrame({"ledger_id": books.ledgers["id"], "budget": 100.0})


def in_two_loads(books):
    """Return the lines of two loads, one below the other."""
    early = books.day < pd.Timestamp("2026-01-01")
    parts = [books.lines[early].copy(), books.lines[~early].copy()]
    for number, part in enumerate(parts):
        part.attrs["load"] = {**books.lines.attrs["load"], "lines": len(part), "read_at": f"2026-07-0{number + 1}"}
    return pd.concat(parts)


KEPT = {
    "merge": lambda books: books.lines.merge(budgets(books), on="ledger_id", how="left"),
    "join": lambda books: books.lines.join(budgets(books).set_index("ledger_id"), on="ledger_id"),
    "map": lambda books: books.lines.assign(
        budget=books.lines.ledger_id.map(budgets(books).set_index("ledger_id").budget)
    ),
    "concat of parts": lambda books: pd.concat([books.lines[books.a < 0], books.lines[books.a >= 0]]),
    "concat of two loads": in_two_loads,
    "assign": lambda books: books.lines.assign(month=books.day.dt.strftime("%Y-%m")),
    "query of all": lambda books: books.lines.query("amount >= 0"),
    "sort_values": lambda books: books.lines.sort_values("amount"),
    "set_index": lambda books: books.lines.set_index("id", drop=False),
    "polars": lambda books: pl.from_pandas(books.lines),
    "polars lazy": lambda books: pl.from_pandas(books.lines).lazy(),
    "polars and back": lambda books: pl.from_pandas(books.lines).to_pandas(),
    "duckdb": lambda books: duckdb.from_df(books.lines),
    "duckdb and back": lambda books: duckdb.from_df(books.lines).df(),
    "arrow": lambda books: pa.Table.from_pandas(books.lines),
    "arrow and back": lambda books: pa.Table.from_pandas(books.lines).to_pandas(),
}


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.drop")  # DuckDB uses it in .df()
@pytest.mark.parametrize("name", KEPT)
def test_books_of_a_frame_that_still_has_all_lines(loaded_books, name):
    """Where the frame lost its load, balances need the day of the first entry, and the books say so."""
    loaded, again = (aa.Books(frame, loaded_books.ledgers) for frame in (loaded_books.lines, KEPT[name](loaded_books)))
    assert figures(again.with_opening(START)) == figures(loaded.with_opening(START))
    assert not loaded.opening.is_movement
    if again.extent.is_stated:
        assert figures(again) == figures(loaded)
    else:
        assert again.opening.is_movement
        assert "pass its day as opening" in again.opening.sentence()


CHOSEN = r"; lines that you chose or changed are books\.with_lines\(frame, label='\.\.\.'\) of the loaded books"
REFUSED = {
    "merge with a table that has ledgers twice": (
        lambda books: books.lines.merge(pd.concat([budgets(books)] * 2), on="ledger_id"),
        FrameError,
        "a line entry id occurs more than once: .*; load these days once, in one load",
    ),
    "concat with itself": (
        lambda books: pd.concat([books.lines] * 2),
        IncompleteLoadError,
        f"lines more than the [0-9,]+ that were loaded: lines are there twice, or others were added{CHOSEN}",
    ),
    "query of some": (
        lambda books: books.lines.query("amount > 100"),
        IncompleteLoadError,
        f"[0-9,]+ lines were removed after the load of [0-9,]+{CHOSEN}",
    ),
    "groupby": (
        lambda books: books.lines.groupby("ledger_id", as_index=False).signed_amount.sum(),
        IncompleteLoadError,
        "lines were removed after the load",
    ),
    "assign of other amounts": (
        lambda books: books.lines.assign(amount=books.lines.amount * 2, signed_amount=books.a * 2),
        IncompleteLoadError,
        r"amounts, days or ledgers were changed after the load: ledger \S+ sums to .*lines\.attrs\.pop\('load'\)",
    ),
    "set_index without the column": (
        lambda books: books.lines.set_index("id"),
        FrameError,
        "line_entries: column is missing: id",
    ),
    "instants as texts, as read_csv returns them": (
        lambda books: books.lines.astype({"datetime": "str"}),
        FrameError,
        r"'datetime' holds String, not instants .*; in pandas schemas\.LineEntries\.checked\(frame\) converts them",
    ),
    "instants without zone, as read_excel returns them": (
        lambda books: books.lines.assign(datetime=books.lines.datetime.dt.tz_localize(None)),
        FrameError,
        r"'datetime' holds Datetime.*, not instants .*; in pandas schemas\.LineEntries\.checked\(frame\) converts them",
    ),
    "merge without local_date": (
        lambda books: books.lines.drop(columns="local_date").merge(budgets(books), on="ledger_id"),
        InputError,
        "the line entries state no time zone and have no local_date; name the zone .*time_zone='America/New_York'",
    ),
    "merge after days of another zone": (
        lambda books: books.lines.assign(local_date=books.lines.datetime.dt.tz_localize(None).dt.normalize()).merge(
            budgets(books), on="ledger_id"
        ),
        InputError,
        "that of the ledgers, America/New_York, is another: local_date of .*; name the zone",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_books_of_a_frame_that_lacks_something_are_refused(loaded_books, name):
    change, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        aa.Books(change(loaded_books), loaded_books.ledgers)


def test_books_of_ledgers_that_were_saved(loaded_books, tmp_path):
    """A chart from a file states no zone: lines that lost theirs need its name."""
    loaded_books.ledgers.to_csv(tmp_path / "ledgers.csv", index=False)
    chart = aa.schemas.Ledgers.checked(pd.read_csv(tmp_path / "ledgers.csv", dtype={"sort_code": str}))
    merged = loaded_books.lines.merge(budgets(loaded_books), on="ledger_id")
    with pytest.raises(InputError, match="neither the line entries nor the ledgers state a time zone; name the zone"):
        aa.Books(merged, chart)
    opening = loaded_books.day.min()
    expected = figures(aa.Books(loaded_books.lines, loaded_books.ledgers, opening=opening))
    assert figures(aa.Books(loaded_books.lines, chart, opening=opening)) == expected
    assert figures(aa.Books(merged, chart, time_zone=ZONE, opening=opening)) == expected


def test_duckdb_sums_the_amounts(loaded_books):
    lines = loaded_books.account
    ((total,),) = duckdb.sql("select sum(signed_amount) from lines").fetchall()
    assert len(lines) > 100
    require_agreement(total, Fraction(int(loaded_books.cents.account.signed_amount.sum()), 100))


def test_flags_as_1_and_0_are_read_others_refused(loaded_books):
    numbers = loaded_books.lines.transaction_personal.astype("float64")
    back = LineEntries.checked(loaded_books.lines.assign(transaction_personal=numbers))
    assert_frame_equal(back, loaded_books.lines, check_flags=False)
    with pytest.raises(FrameError, match="transaction_personal: dtype is not boolean"):
        LineEntries.checked(loaded_books.lines.assign(transaction_personal=numbers + 1))


def as_objects(lines):
    """Return lists of ids as Python objects."""
    return lines.assign(tag_ids=[[] for _ in range(len(lines))])


def as_arrow_lists(lines):
    """Return lists of ids as an Arrow column."""
    dtype = pd.ArrowDtype(pa.list_(pa.string()))
    return lines.assign(opposing_ledger_ids=lines.opposing_ledger_ids.str.split("|").astype(dtype))


def as_parquet(lines):
    """Return lists of ids from a Parquet file, without what pandas stores of its types."""
    table = pa.Table.from_pandas(as_arrow_lists(lines)).replace_schema_metadata(None)
    pq.write_table(table, written := io.BytesIO())
    return pd.read_parquet(written)


@pytest.mark.parametrize("with_lists", [as_objects, as_arrow_lists, as_parquet])
@pytest.mark.parametrize("read", [LineEntries.checked, LineEntries.exact])
def test_lists_of_ids_are_refused_by_name(loaded_books, with_lists, read):
    with pytest.raises(FrameError, match=r"ids' holds lists; it takes texts, the values of each list joined by '\|'"):
        read(with_lists(loaded_books.lines.head(20)))
