"""The law: a figure has one value, whatever else was loaded with it; where it cannot be given, it says why.

Books are drawn with odd charts, accruals that connect to cash only years before or later, contra accounts, and ledgers
as other services may send them. Each figure of some days is compared with the one of a load of all days.
"""

import datetime as dt
import json
from functools import cache
from typing import NamedTuple

import duckdb
import httpx
import pandas as pd
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core.errors import IncompleteLoadError

FIRST, LAST = dt.date(2023, 11, 5), dt.date(2026, 2, 20)
ALL_DAYS = (dt.date(2022, 10, 1), dt.date(2026, 3, 31))
ZONES = ("UTC", "America/New_York", "Pacific/Auckland")
SUB_TYPES = {
    "asset": ("current_assets", "non-current_assets"),
    "liability": ("current_liabilities", "non-current_liabilities"),
    "equity": ("equity",),
    "revenue": ("operating_revenues", "other_income"),
    "expense": ("cost_of_goods_sold", "operating_expenses", "other_expenses"),
}
UNCATEGORIZED = ("uncategorized cash inflow", "uncategorized cash outflow")
REQUIRED = (*UNCATEGORIZED, "transfers between accounts", "opening balance retained earnings")
CASH = {"bank": "bank_account", "card": "credit_card", "reserve": "bank_account"}
STATEMENTS = {
    "income": aa.income_statement,
    "cash flow": aa.cash_flow_statement,
    "balance": aa.balance_sheet,
    "trial": aa.trial_balance,
}
COMPARED = ("period", "prior", "prior_year")
DAYS = st.one_of(
    st.sampled_from([dt.date(2023, 12, 31), dt.date(2024, 2, 29), dt.date(2024, 12, 31), dt.date(2025, 1, 1)]),
    st.dates(FIRST, LAST),
)


class DrawnBooks(NamedTuple):
    """Ledgers and entries to post, and what a service that differs from ours changes in the ledgers that it sends."""

    ledgers: dict
    entries: list
    zone: str
    changes: dict


class Request(NamedTuple):
    """Days that are asked for, what is loaded with them, and how the statements are made."""

    first: dt.date
    last: dt.date
    around: str
    columns: str | None
    compare: tuple
    first_month: int


class Rewriting(httpx.BaseTransport):
    """Sends requests on, and changes the fields of ledgers in the responses."""

    def __init__(self, changes):
        self._changes, self._transport = changes, httpx.HTTPTransport()

    def handle_request(self, request):
        response = self._transport.handle_request(request)
        content = json.loads(response.read(), parse_float=str)
        self._rewrite(content)
        return httpx.Response(response.status_code, json=content)

    def _rewrite(self, content):
        for one in content.values() if isinstance(content, dict) else content:
            if isinstance(one, dict | list):
                self._rewrite(one)
        if isinstance(content, dict):
            changes = self._changes.get(content.get("ledger_id", content.get("id")), {})
            content.update({name: value for name, value in changes.items() if name in content})

    def close(self):
        self._transport.close()


@st.composite
def drawn_books(draw):
    """Draw a chart and entries, most of which touch no cash."""
    ledgers, changes = dict(CASH), {}
    for number in range(draw(st.integers(2, 7))):
        kind = draw(st.sampled_from(list(SUB_TYPES)))
        alike = [one for one, fields in ledgers.items() if one not in CASH and fields["type"] == kind]
        ledgers[f"l{number}"] = {
            "type": kind,
            "sub_type": draw(st.sampled_from(SUB_TYPES[kind])),
            "debit_credit": draw(st.sampled_from(["debit", "credit"])),
            "parent_id": draw(st.sampled_from([None, *alike])),
        }
        other = draw(st.sampled_from([None, None, None, "special", "operating_expenses", "equity", "other_income"]))
        if other is not None:
            changes[f"l{number}"] = {"sub_type": other, "name": f"Renamed {number}"}
    one = st.sampled_from([*ledgers, *REQUIRED])
    entries = [(FIRST, {"bank": 1000, REQUIRED[-1]: -1000})]
    for _ in range(draw(st.integers(2, 12))):
        used = draw(st.lists(one, min_size=2, max_size=4, unique=True))
        cents = draw(st.lists(st.integers(1, 9_999), min_size=len(used) - 1, max_size=len(used) - 1))
        signs = draw(st.lists(st.sampled_from([1, -1]), min_size=len(cents), max_size=len(cents)))
        units = [sign * amount for sign, amount in zip(signs, cents, strict=True)]
        amounts = {
            ledger: f"{amount / 100:.2f}" for ledger, amount in zip(used, (*units, -sum(units)), strict=True) if amount
        }
        if len(amounts) > 1:
            hour = draw(st.sampled_from(["00:30", "12:00", "23:45"]))
            entries.append((f"{draw(DAYS)} {hour}", amounts))
    return DrawnBooks(ledgers, entries, draw(st.sampled_from(ZONES)), changes)


@st.composite
def requests(draw):
    """Draw days, the days that are loaded around them, and columns."""
    first, last = sorted((draw(DAYS), draw(DAYS)))
    last = min(last, first + dt.timedelta(days=draw(st.sampled_from([0, 20, 100, 400]))))
    around = draw(st.sampled_from(["days", "month", "quarter", "year", "books"]))
    columns = draw(st.sampled_from([None, "month", "quarter", "year"]))
    compare = draw(st.sampled_from([(), ("prior",), ("prior_year",), ("prior", "prior_year", "change")]))
    return Request(first, last, around, columns, compare, draw(st.sampled_from([1, 1, 4])))


ACCRUED = DrawnBooks(
    {
        **CASH,
        "owed": {"type": "liability", "sub_type": "current_liabilities", "debit_credit": "credit"},
        "bonus": {"type": "expense", "sub_type": "operating_expenses", "debit_credit": "debit"},
    },
    [
        (FIRST, {"bank": 1000, REQUIRED[-1]: -1000}),
        ("2025-06-30 12:00", {"bonus": 500, "owed": -500}),
        ("2025-07-15 12:00", {"owed": 200, "bank": -200}),
        ("2025-07-16 12:00", {"owed": 300, "bonus": -300}),
    ],
    "UTC",
    {},
)
"""An accrual that is paid in the next month, in part."""
CORRECTED = DrawnBooks(
    {**CASH, "l0": {"type": "asset", "sub_type": "current_assets", "debit_credit": "debit"}},
    [
        (FIRST, {"bank": 1000, REQUIRED[-1]: -1000}),
        ("2025-03-01 12:00", {"l0": 10, REQUIRED[0]: -10}),
        ("2025-03-02 12:00", {"l0": 20, REQUIRED[-1]: -20}),
        ("2025-06-30 12:00", {"bank": 5, REQUIRED[0]: -5}),
    ],
    "UTC",
    {},
)
"""A ledger without cash, opposite two others, one of which moves cash on the last day that is asked for only."""
JUNE = Request(dt.date(2025, 6, 1), dt.date(2025, 6, 30), "days", "month", (), 1)


def days_loaded(request):
    """Days to load: those that were asked for, or the month, quarter or year around them."""
    first, last = request.first, request.last
    if request.around in {"month", "quarter", "year"}:
        months = {"month": 1, "quarter": 3, "year": 12}[request.around]
        first = dt.date(first.year, (first.month - 1) // months * months + 1, 1)
        end = last.year * 12 + (last.month - 1) // months * months + months
        last = dt.date(end // 12, end % 12 + 1, 1) - dt.timedelta(days=1)
    return first, last


def load_days(client, request, first):
    """Discover the ledgers and load their lines, of the days around a request, or since the books begin."""
    start, end = days_loaded(request)
    start = min(start, first or start)
    ledgers = aa.discover_ledgers(client, request.first, request.last, progress=False)
    return aa.load_line_entries(client, ledgers["id"], start, end, progress=False), ledgers


class Whole:
    """The books as a load of all days has them: the figures that all others must have."""

    def __init__(self, client):
        self.ledgers = aa.discover_ledgers(client, *ALL_DAYS, progress=False)
        self.lines = aa.load_line_entries(client, self.ledgers["id"], *ALL_DAYS, progress=False)
        self.statement = cache(self._statement)

    def _statement(self, name, days, first_month):
        books = aa.Books(self.lines, self.ledgers, opening=FIRST, fiscal_year_start_month=first_month)
        return STATEMENTS[name](books, columns=[days])


def assert_same(found, name, whole, request):
    """Check every figure of a statement against that of all days; return how many there are, and are known."""
    compared = known = 0
    for column in found.columns:
        if column.kind not in COMPARED:
            continue
        ((_, period),) = column.periods
        if period.end_date < FIRST:
            assert {found.value(row.key, column.key) for row in found.rows if row.kind != "heading"} <= {None}
            continue
        expected = whole.statement(name, (period.start_date, period.end_date), request.first_month)
        (other,) = [one for one in expected.columns if one.side == column.side]
        rows = {row.key for row in found.rows if row.kind != "heading"}
        if found.since is None and all(found.value(key, column.key) is not None for key in rows):
            assert {row.key for row in expected.rows if row.kind != "heading"} <= rows
        for key in rows:
            if " since " in key or " since " in column.key:
                assert found.since is not None  # the movement since a day, which is another figure, and says so
                continue
            value, compared = found.value(key, column.key), compared + 1
            figure = found[f"{key}|{column.key}"]
            if value is None:
                assert figure.calculation.startswith("it is not known: ")
                continue
            known += 1
            assert value == expected.value(key, other.key), (name, key, column.key, found, expected)
            if column.kind == "period" and request.first_month == 1:  # else quarters have names of their fiscal year
                assert figure.key == expected[f"{key}|{other.key}"].key
    return compared, known


def assert_one_value(request, whole, books):
    """Check all statements of books; what was loaded is known."""
    for name, function in STATEMENTS.items():
        compare = {} if name == "trial" else {"compare": request.compare}
        try:
            found = function(books, (request.first, request.last), columns=request.columns, **compare)
        except IncompleteLoadError:
            assert request.compare
            continue
        compared, known = assert_same(found, name, whole, request)
        assert known or found.since is not None or not compared


IS_SOAK = settings.get_profile("slow").max_examples > 10


@settings(max_examples=2_000 if IS_SOAK else 3)
@example(drawn=ACCRUED, request=JUNE)
@example(drawn=ACCRUED, request=JUNE._replace(last=dt.date(2025, 12, 31), columns="month"))
@example(drawn=CORRECTED, request=JUNE)
@given(drawn=drawn_books(), request=requests())
def test_a_figure_has_one_value(posted_books, drawn, request):
    transport = Rewriting(drawn.changes) if drawn.changes else None
    client = posted_books(drawn.entries, drawn.ledgers, time_zone=drawn.zone, transport=transport)
    whole = Whole(client)
    for first in (None, FIRST):
        lines, ledgers = load_days(client, request, first)
        pd.testing.assert_frame_equal(ledgers, whole.ledgers)
        assert ledgers.attrs["discovery"] == whole.ledgers.attrs["discovery"]
        loaded = aa.Books(lines, ledgers, opening=first, fiscal_year_start_month=request.first_month)
        assert_one_value(request, whole, loaded)
        for ledger in ("bank", "l0"):
            if ledger in set(ledgers["id"]):
                period = aa.Period(request.first, request.last, drawn.zone)
                found, expected = (aa.register(aa.Books(one, ledgers), ledger, period) for one in (lines, whole.lines))
                if first is None:
                    found, expected = (one.drop(columns="running_total") for one in (found, expected))
                pd.testing.assert_frame_equal(found, expected)


def month_of(day):
    """First and last day of the month of a day."""
    following = (day.replace(day=1) + dt.timedelta(days=32)).replace(day=1)
    return day.replace(day=1), following - dt.timedelta(days=1)


def pack_values(pack, month):
    """Figures of a pack's statements in the column of its month: statement, row and exact amount."""
    names = {"income": "income", "cash_flow": "cash flow", "balance": "balance"}
    for table, key, amount in pack.figures[["table", "key", "amount"]].itertuples(index=False):
        row, _, column = key.rpartition("|")
        if table in names and column == month and amount is not None:
            yield names[table], row, amount


def exported_values(folder, days):
    """Sum of each ledger in some days, from the exported files, debits positive."""
    files = f"{folder}/current/fact_line_entry/*/*.parquet"
    query = f"select ledger_id, sum(signed_amount) from read_parquet('{files}') where date between ? and ? group by 1"  # noqa: S608
    return dict(duckdb.execute(query, list(days)).fetchall())


@settings(max_examples=100, phases=settings.default.phases if IS_SOAK else [Phase.explicit])
@example(drawn=ACCRUED, day=JUNE.first, middle=dt.date(2025, 6, 20))
@given(drawn=drawn_books(), day=st.dates(dt.date(2024, 1, 1), dt.date(2026, 1, 31)), middle=DAYS)
def test_a_figure_has_one_value_wherever_it_is_kept(posted_books, tmp_path_factory, drawn, day, middle):
    transport = Rewriting(drawn.changes) if drawn.changes else None
    client = posted_books(drawn.entries, drawn.ledgers, time_zone=drawn.zone, transport=transport)
    whole, days, folder = Whole(client), month_of(day), tmp_path_factory.mktemp("kept")
    fresh, steps = aa.LocalBooks.open(folder / "fresh"), aa.LocalBooks.open(folder / "steps")
    first = FIRST.replace(day=1)
    assert fresh.sync(client, start_date=first, end_date=LAST, progress=False).ties
    steps.sync(client, start_date=first, end_date=middle, progress=False)
    assert steps.sync(client, end_date=LAST, progress=False).ties
    request = Request(*days, "books", "month", (), 1)
    for kept in (fresh, steps):
        pd.testing.assert_frame_equal(
            kept.ledgers().drop(columns="found_by"), whole.ledgers.drop(columns="found_by"), check_dtype=False
        )
        assert_one_value(request, whole, aa.Books(kept.line_entries(), kept.ledgers(), opening=first))
    period = aa.Period(*days, drawn.zone)
    for source in (client, fresh):
        pack = aa.monthly_pack(aa.load_books(source, period, progress=False), allow_empty=True)
        values = list(pack_values(pack, f"{day:%Y-%m}"))
        assert values
        for name, row, amount in values:
            expected = whole.statement(name, days, 1)
            assert amount == expected.value(row, expected.columns[0].key), (name, row)
    aa.export(aa.load_books(fresh, period), folder / "files")
    sums, trial = exported_values(folder / "files", days), whole.lines["local_date"].between(*map(pd.Timestamp, days))
    for ledger, rows in whole.lines[trial].groupby("ledger_id"):
        assert round(rows["signed_amount"].sum() * 100) == sums[ledger] * 100


@pytest.mark.parametrize(
    "days",
    [("2026-06-01", "2026-06-30"), *also_long(("2026-04-01", "2026-06-30"), ("2025-01-01", "2026-06-30"))],
)
def test_depreciation_is_in_every_net_income_of_june(demo_company, days):
    ledgers = aa.discover_ledgers(demo_company.client, *days, progress=False)
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], *days, progress=False)
    income = aa.income_statement(aa.Books(lines, ledgers), columns="month")
    assert income["net_income|2026-06"].amount == 10_117.63
    assert "71 ledgers are known from all entries since 1 Jan 2025; the service has no list of ledgers." in income.notes


def test_comparison_finds_a_changed_amount(posted_books):
    client = posted_books(ACCRUED.entries, ACCRUED.ledgers)
    whole = Whole(client)
    lines, ledgers = load_days(client, JUNE, None)
    is_bonus = lines["ledger_id"] == "bonus"
    changed = lines.assign(**{name: lines[name] + is_bonus for name in ("amount", "signed_amount")})
    with pytest.raises(AssertionError, match=r"'-?501\.00'.* == Decimal\('-?500\.00'"):
        assert_one_value(JUNE, whole, aa.Books(lines, ledgers).with_lines(changed, label="1 more"))
