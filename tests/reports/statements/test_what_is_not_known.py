"""What a statement says where lines are missing or filtered, balances supplied, or amounts only reported."""

import datetime as dt
import re
from decimal import Decimal

import pandas as pd
import pytest
from long_cases import also_long
from naive_statements import TRIAL, Days, units
from small_reports import altered
from statement_checks import FUNCTIONS, entry_units, row_units, shown_keys

import accounting_analytics as aa
from accounting_analytics.core.errors import (
    AccountingAnalyticsError,
    EmptyPeriodError,
    FrameError,
    IncompleteLoadError,
    InputError,
)

MARCH, MAY = "2025-03-01", "2025-05-31"
SINCE = "since 1 Mar 2025"


@pytest.fixture(scope="module")
def chart(demo_books):
    return demo_books.ledgers


@pytest.fixture(scope="module")
def from_march(demo_company, chart):
    """Return the demo's lines from March to May; its books begin in January."""
    return aa.load_line_entries(demo_company.client, chart["id"], MARCH, MAY, progress=False)


def texts(statement):
    """Title, labels of rows and columns that are not names of ledgers, labels of figures, and notes."""
    rows = [row for row in statement.rows if row.kind not in {"ledger", "own"}]
    figures = [
        statement[f"{row.key}|{column.key}"].label
        for row in rows
        for column in statement.columns
        if row.kind != "heading"
    ]
    labels = [*(row.label for row in rows), *(column.label for column in statement.columns), *figures]
    return [statement.title, *labels, *statement.notes]


def shown_text(html):
    """Text of HTML, without styles, scripts and attributes."""
    return re.sub(r"<[^>]*>", " ", re.sub(r"<(style|script)\b.*?</\1>", " ", html, flags=re.DOTALL))


def balance_of(lines, ledger_id="led_operating"):
    amounts = lines.loc[lines["ledger_id"] == ledger_id, "signed_amount"]
    return sum(Decimal(str(amount)) for amount in amounts)


@pytest.mark.parametrize("function", [aa.balance_sheet, aa.trial_balance])
@pytest.mark.parametrize("period", [None, "2025-04/2025-05"], ids=["whole load", "later"])
def test_movements_since_the_load_are_not_balances(from_march, chart, function, period):
    statement = function(aa.Books(from_march, chart), period)
    assert SINCE in statement.title
    assert any(SINCE in note for note in statement.notes)
    assert not [text for text in texts(statement) if "balance" in text.lower()]
    label = statement[f"led_operating|{statement.columns[-1].key}"].label
    assert SINCE in label
    assert "balance" not in label.lower()
    opening = "Opening Balance Retained Earnings"  # a ledger
    assert "balance" not in shown_text(statement._repr_html_()).replace(opening, "").lower()


def test_loaded_lines_sum_to_balances_if_the_books_begin_with_them(from_march, chart):
    given = chart.copy()
    del given.attrs["discovery"]  # it states that the books begin in January
    since = aa.balance_sheet(aa.Books(from_march, chart))
    figure = since["led_operating", "2025-05 since 2025-03-01"]
    assert figure.key == "led_operating|2025-05 since 2025-03-01"
    assert figure.exact() == balance_of(from_march)
    assert set(figure.entries["id"]) == set(from_march.loc[from_march["ledger_id"] == "led_operating", "id"])
    with pytest.raises(InputError, match="no column is '2025-05'; there are '2025-03 since 2025-03-01'"):
        since["led_operating", "2025-05"]
    statement = aa.balance_sheet(aa.Books(from_march, given, opening=MARCH))
    assert "since" not in "".join([statement.title, *(column.label for column in statement.columns)])
    assert statement["led_operating", "2025-05"].exact() == balance_of(from_march)
    earlier = aa.balance_sheet(aa.Books(from_march, chart, opening="2025-01-01"))
    assert SINCE in earlier.title


def test_balances_are_rolled_from_supplied_ones(from_march, chart, demo_books):
    naive, last = demo_books.naive, dt.date(2025, 2, 28)
    balances = {one: Decimal(units(naive.figure(TRIAL, {one}, Days(None, last)))).scaleb(-2) for one in naive.ledgers}
    found = aa.balance_sheet(aa.Books(from_march, chart, opening=balances))
    expected = aa.balance_sheet(aa.Books(demo_books.lines, chart, opening=demo_books.days[0]), (MARCH, MAY))
    assert "since" not in found.title
    for row in [row for row in expected.rows if row.kind in {"ledger", "own"}]:
        assert row_units(found, row.key) == row_units(expected, row.key)
    assert row_units(found, "total_assets") == row_units(expected, "total_assets")
    for key in ("earnings_of_earlier_periods", "earnings_of_the_period"):  # which of them is not supplied
        assert row_units(found, key) == [None] * 3
    assert row_units(found, "total_equity") == row_units(expected, "total_equity")
    figure = found["led_operating", "2025-04"]
    assert not figure.is_additive
    assert sum(term.exact() for term in figure.terms) == figure.exact()
    with pytest.raises(InputError):
        figure.entries  # noqa: B018 (a property)


@pytest.mark.parametrize("function", [getattr(aa, name) for name in FUNCTIONS.values()], ids=list(FUNCTIONS))
def test_a_month_that_was_not_loaded_is_not_known(from_march, chart, function):
    has_flows = function in {aa.income_statement, aa.cash_flow_statement}
    compare = ["change", *(["total", "average"] if has_flows else [])]
    options = {} if function is aa.trial_balance else {"compare": compare}
    statement = function(aa.Books(from_march, chart), ("2025-02-01", MAY), **options)
    rows = [row for row in statement.rows if row.kind != "heading"]
    assert rows
    columns = [one for one in statement.columns if (one.of or one.key).startswith("2025-02")]
    columns += [one for one in statement.columns if one.kind in {"total", "average"}]
    columns += [one for one in statement.columns if one.kind == "change" and one.of.startswith("2025-03")]
    assert len(columns) >= 2
    for row in rows:
        for column in columns:
            if row.kind == "balance" and column.of is None and column.kind != "period":
                continue  # the total of cash at the end is that of the last column, and there is no average
            if row.kind == "percent" and column.kind in {"change", "average"}:
                continue  # which margins do not have
            assert statement.value(row.key, column.key) is None
            assert statement.text(row.key, column.key) == "not known"
            figure = statement[f"{row.key}|{column.key}"]
            assert figure.exact() is None
            assert figure.amount is None
            with pytest.raises(AccountingAnalyticsError):
                figure.entries  # noqa: B018 (a property)
    tidy = statement.tidy()
    assert set(tidy.loc[tidy["amount"].isna(), "column"].str[:7]) == {"2025-02"}


def test_a_ledger_that_was_not_loaded_is_not_known(demo_company, chart):
    others = chart.loc[chart["id"] != "led_rent", "id"]
    lines = aa.load_line_entries(demo_company.client, others, MARCH, MAY, progress=False)
    with pytest.raises(IncompleteLoadError, match="led_rent"):
        aa.income_statement(aa.Books(lines, chart))


@pytest.mark.parametrize("name", ["income_statement", *also_long("balance_sheet", "trial_balance")])
def test_lines_with_cash_are_not_enough_for_other_statements(demo_company, chart, name):
    days = (MARCH, "2025-03-31")
    lines = aa.load_line_entries(demo_company.client, chart["id"], *days, is_cashflow=True, progress=False)
    with pytest.raises(IncompleteLoadError, match=r"touch cash were loaded \(is_cashflow=True\)"):
        getattr(aa, name)(aa.Books(lines, chart))


def test_lines_with_cash_are_enough_for_the_cash_flow(demo_company, chart, from_march):
    days = (demo_company.client, chart["id"], MARCH, MAY)
    lines = aa.load_line_entries(*days, is_cashflow=True, progress=False)
    expected, found = (
        aa.cash_flow_statement(aa.Books(from_march, chart)),
        aa.cash_flow_statement(aa.Books(lines, chart)),
    )
    assert [row.key for row in found.rows] == [row.key for row in expected.rows]
    for key in shown_keys(found):
        for column in found.columns:
            assert found.value(key, column.key) == expected.value(key, column.key)
    others = aa.load_line_entries(*days, is_cashflow=False, progress=False)
    with pytest.raises(InputError, match="only lines with is_cashflow=False were loaded, which are not the books"):
        aa.Books(others, chart)


def test_a_loaded_report_is_a_statement(demo_books, chart):
    report = aa.load_cash_flow_report(demo_books.client, "2025-03-01", "2025-03-31")
    found = aa.cash_flow_statement(report, ledgers=chart)
    expected = aa.cash_flow_statement(
        aa.Books(demo_books.lines, chart, opening="2025-01-01"), ("2025-03-01", "2025-03-31")
    )
    (here,), (there,) = found.columns, expected.columns
    assert [row.key for row in found.rows] == [row.key for row in expected.rows]
    for key in shown_keys(found):
        assert found.value(key, here.key) == expected.value(key, there.key)
    assert entry_units(found["led_rent"]) == entry_units(expected["led_rent"])
    starting = found[f"starting_cash_balance|{here.key}"]
    assert not starting.is_additive
    with pytest.raises(InputError):
        starting.entries  # noqa: B018 (a property)


def test_days_before_the_books_were_not_loaded(demo_books, chart):
    books = aa.Books(demo_books.lines, chart, opening="2025-01-01")
    for function in (aa.balance_sheet, aa.cash_flow_statement):
        statement = function(books, "2025-06", compare=["prior_year"])
        for row in statement.rows:
            if row.kind != "heading":
                assert statement.value(row.key, "2025-06 prior_year") is None
    january = aa.cash_flow_statement(books, "2025-01")
    assert row_units(january, "starting_cash_balance") == [0]


def test_loaded_days_before_the_first_entry_are_not_known(demo_company, chart):
    days = (demo_company.client, chart["id"], "2024-11-01", "2025-02-28")
    books = aa.Books(aa.load_line_entries(*days, progress=False), chart)
    for function in (aa.income_statement, aa.cash_flow_statement):
        statement = function(books, compare=["average"])
        assert {statement.value("led_rent", column) for column in ("2024-11", "2024-12")} == {None}
        with pytest.raises(InputError, match="the books begin on 1 Jan 2025"):
            statement["led_rent", "2024-12"].entries  # noqa: B018 (a property)
        average = statement["led_rent", "average"]
        assert [one.key for one in average.terms] == [f"led_rent|{column}" for column in ("2025-01", "2025-02")]
        assert "There are no entries before 1 Jan 2025: what was before is not known." in statement.notes
        with pytest.raises(EmptyPeriodError, match="the books begin on 2025-01-01: choose days from then on"):
            function(books, "2024-11/2024-12")
    assert not any("may have been there before" in one for one in statement.notes)
    assert statement["Opening balances", "2025-01"].exact() == Decimal("101680.07")
    assert statement["opening_balances", "2024-12"].exact() is None


def test_books_that_begin_within_a_month_have_its_other_days(demo_company, chart):
    given = chart.copy()
    del given.attrs["discovery"]  # it states that the books begin in January
    days = (demo_company.client, chart["id"], "2025-03-15", MAY)
    lines = aa.load_line_entries(*days, progress=False)
    given_days = [("2025-01-01", "2025-03-10"), ("2025-01-01", MAY), ("2025-03-01", "2025-03-31")]
    statement = aa.cash_flow_statement(
        aa.Books(lines, given, opening="2025-03-15"), ("2025-01-01", MAY), columns=given_days
    )
    assert row_units(statement, "net_cash_flow")[0] is None
    cash = chart.loc[chart["report_cash_flow"], "id"]
    ending, expected = statement["ending_cash_balance", "2025-01-01/2025-05-31"], lines[lines["ledger_id"].isin(cash)]
    assert ending.exact() == sum(balance_of(expected, one) for one in cash)
    assert statement["net_cash_flow", "2025-01-01/2025-05-31"].exact() == ending.exact()
    with pytest.raises(InputError, match="the books begin on 15 Mar 2025"):
        statement["net_cash_flow", "2025-01-01/2025-03-10"].entries  # noqa: B018 (a property)


CENTS = {"Operating Account": Decimal(100), "Owner Capital": Decimal(-100)}


def test_supplied_balances_of_other_ledgers_are_refused_and_absent_ones_noted(demo_lines, ledgers, may_report):
    others = may_report.starting_balances.assign(ledger_id=lambda frame: frame["ledger_id"] + "_old")
    with pytest.raises(FrameError, match="not in ledgers: led_card_old"):
        aa.cash_flow_statement(
            aa.Books(demo_lines, ledgers, opening=("2026-05-01", others)), ("2026-05-01", "2026-05-31")
        )
    statement = aa.cash_flow_statement(
        aa.Books(demo_lines, ledgers, opening=("2026-05-01", CENTS)), ("2026-05-01", "2026-05-31")
    )
    assert any("start at zero: led_card, led_processor, led_savings" in note for note in statement.notes)
    later = aa.trial_balance(aa.Books(demo_lines, ledgers, opening=("2026-05-01", CENTS)), ("2026-05-01", "2026-06-30"))
    assert later["Operating Account", "2026-06 debit"].exact() is None
    assert "not known" in later._repr_html_()


def test_balances_of_cash_alone_make_no_balance_sheet(demo_lines, ledgers):
    books = aa.Books(demo_lines, ledgers, "2026-05", opening=("2026-05-01", {"Operating Account": Decimal(100)}))
    assert "Balances are the supplied ones at the start of 1 May 2026" in "".join(aa.cash_flow_statement(books).notes)
    for function in (aa.balance_sheet, aa.trial_balance):
        statement = function(books)
        assert "ovement" in statement.title
        assert any("of cash alone, so they are not counted here" in note for note in statement.notes)


def test_a_report_that_does_not_tie_keeps_its_ending_balance(ledgers, may_report):
    balances = may_report.ending_balances.copy()
    balances.loc[balances["ledger_id"] == "led_operating", ["cash_balance", "total_cash_balance"]] += 7
    balances[["cash_balance", "total_cash_balance"]] = balances[["cash_balance", "total_cash_balance"]].round(2)
    exact = may_report.exact().ending_cash_balance + 7
    reported = altered(may_report, ending_balances=balances, ending_cash_balance=exact)
    statement = aa.cash_flow_statement(reported, ledgers=ledgers)
    assert statement["Cash at the end"].exact() == exact
    assert not statement["Cash at the end"].is_additive
    assert "The flows do not explain 7.00 of the change in cash." in statement.notes


def test_a_report_of_other_cash_ledgers_is_refused(ledgers, may_report):
    chart = ledgers.assign(report_cash_flow=ledgers["report_cash_flow"] & (ledgers["id"] != "led_savings"))
    with pytest.raises(InputError, match="disagree about what is cash: led_savings"):
        aa.cash_flow_statement(may_report, ledgers=chart)


def test_chosen_lines_know_what_all_lines_do(demo_lines, ledgers):
    own = demo_lines[demo_lines["local_date"] >= "2025-03-01"].copy()
    own.attrs = {}
    books = aa.Books(own, ledgers, opening=("2025-01-01", {"Operating Account": Decimal(100)}))
    chosen = books.with_lines(own.tail(), label="the last ones")
    assert chosen.opening == books.opening
    unchecked = "The frame does not state its load, so whether days are missing was not checked; its lines are of "
    for one in (books, chosen):
        assert f"{unchecked}Mar 2025 to May 2026." in one.notes


def test_a_share_is_of_the_total_and_not_of_a_ledger_with_its_key(demo_lines, ledgers):
    """The id of a ledger may be the key of a total."""
    renamed = [frame.replace({"led_deposits": "total_assets"}) for frame in (demo_lines, ledgers)]
    renamed[0].attrs = {}
    statement = aa.balance_sheet(
        aa.Books(*renamed, opening="2025-01-01"), ("2026-01-01", "2026-01-31"), compare="share"
    )
    assert statement["led_operating", "2026-01 share"].terms[1].label == "Total assets, 31 Jan 2026"


def test_statements_of_other_amounts_are_not_equal(demo_lines, ledgers):
    doubled = demo_lines.assign(amount=demo_lines["amount"] * 2, signed_amount=demo_lines["signed_amount"] * 2)
    doubled.attrs.pop("load")
    one, other = (
        aa.income_statement(aa.Books(frame, ledgers), ("2026-05-01", "2026-05-31")) for frame in (demo_lines, doubled)
    )
    assert one == one  # noqa: PLR0124 (a statement is itself)
    assert one != other


def test_books_that_begin_before_the_stated_day_are_refused(demo_lines, ledgers):
    given = pd.DataFrame(ledgers)
    given.attrs = {}
    for chart in (ledgers, given):
        with pytest.raises(InputError, match="opening is 2025-06-01, but there are entries before that day"):
            aa.balance_sheet(aa.Books(demo_lines, chart, opening="2025-06-01"), ("2026-05-01", "2026-05-31"))


def test_a_statement_of_tagged_lines_says_so(demo_lines, ledgers, may_report):
    statement = aa.cash_flow_statement(altered(may_report, tag_ids=("blue",)), ledgers=ledgers)
    assert "Only lines with all these tags are counted: blue." in statement.notes
    frame = demo_lines.copy()
    frame.attrs = demo_lines.attrs | {
        "load": demo_lines.attrs["load"] | {"filters": {"is_cashflow": True, "tag_ids": ["blue"]}}
    }
    with pytest.raises(InputError, match=r"only lines with tag_ids=\['blue'\] were loaded, .*: pass tag_ids= to a"):
        aa.Books(frame, ledgers)
