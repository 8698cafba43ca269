"""Results have the same members, and public objects print a few lines of 80 columns: no secret, no table in full."""

import dataclasses
import datetime as dt
import functools
import html
import inspect
import json
import re
import runpy
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from payment_lines import payments
from plain_books import books_of
from rich.cells import cell_len
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.core.chart_of_accounts import Hierarchy
from accounting_analytics.core.money import pandas_dtype
from accounting_analytics.core.results import Result, to_json_text
from accounting_analytics.diagnosis import Diagnosis, Finding, Verdict
from accounting_analytics.exports import ExportDifference, ExportedFile, ExportVerification, Manifest
from accounting_analytics.local_books.storage import table_schema
from accounting_analytics.local_books.sync_result import SyncResult
from accounting_analytics.local_books.version_changes import Drift, compare_lines
from accounting_analytics.notebook_jobs import NotebookRun
from accounting_analytics.pack.verification_result import PackFault
from accounting_analytics.recategorization.rules import Rule, Rules
from accounting_analytics.reconciliation.compared_report import ComparedReport
from accounting_analytics.reconciliation.completeness import Certificate, Check, LoadProblem
from accounting_analytics.reconciliation.differences import KINDS, Comparison, Difference
from accounting_analytics.reports.payees.ageing import AgedAccount
from accounting_analytics.reports.payees.open_items import DaysToPay, LedgerItem, OpenItem, PaidItem
from accounting_analytics.reports.payees.recurring import Occurrence, RecurringPayment
from accounting_analytics.reports.payees.rhythms import find_rhythm
from accounting_analytics.service.imports.import_books import ImportSummary

MEMBERS = ("frame", "summary", "explain", "to_json", "_repr_html_")
COMPLETE = (
    aa.Books,
    aa.CashFlowReport,
    aa.Figure,
    aa.Statement,
    aa.Bridge,
    Diagnosis,
    aa.Effect,
    aa.Plan,
    ComparedReport,
    aa.Reconciliation,
    Certificate,
    ExportVerification,
    Manifest,
    Drift,
    SyncResult,
    aa.MonthlyPack,
    aa.PackVerification,
    aa.RecurringPayments,
    aa.Ageing,
    aa.Outlook,
    aa.KeyRatios,
    aa.CodingCheck,
)
# members that a class leaves out, and why
PARTLY = {
    NotebookRun: {
        "frame": "two paths are not a table",
        "explain": "the summary has both paths",
        "to_json": "two paths; the command line prints them",
        "_repr_html_": "the page is a file of its own",
    },
    ImportSummary: {
        "summary": "the fields are counts; the command line prints them",
        "explain": "the fields are counts; the command line prints them",
        "to_json": "the fields are plain; the command line prints them",
        "_repr_html_": "the frame is one row",
    },
}
NOT_RESULTS = {
    "LocalBooks",
    "DataFrame",
    "DemoCompany",
    "LedgerClient",
    "None",
    "Review",
    "Rules",
    "str",
}  # LocalBooks: tests/local_books; a review changes: tests/recategorization/grid
SECRET = "canary-secret-value"
MANY, FEW = 40, 6
DAY = dt.timedelta(days=1)
NAME = "Professional services, <b>legal</b> and accounting, outside the country"
PERIOD = aa.Period("2025-01-01", "2026-06-30", "America/Argentina/ComodRivadavia")
NOTE = "Starting balances were supplied, not summed from history: their agreement proves nothing."
AMOUNT = Decimal("-1234567890.12")
IDS = [f"ledger-{number:032}" for number in range(MANY)]


def chart(*cash):
    """Return a chart of accounts of expenses with long names, and cash."""
    ledgers = pd.DataFrame({"id": [*IDS, *cash], "name": NAME, "type": "expense", "sub_type": "operating_expenses"})
    ledgers = ledgers.assign(debit_credit="debit", financial_account_type=None, is_required=False, editable=True)
    return ledgers.assign(report_cash_flow=ledgers["id"].isin(cash), parent_id=None, sort_code="1", created_at=None)


def make_ageing():
    """Return many open items of parties with long names."""
    owed = [
        LedgerItem(item_id, PERIOD.start_date, 123456789012, NAME, f"{NAME} {number}", "1", is_paid=True)
        for number, item_id in enumerate(IDS)
    ]
    paid = DaysToPay(tuple(PaidItem(item, PERIOD.end_date, (item.id,)) for item in owed), ())
    items = tuple(OpenItem(item, item.units, {}) for item in owed)
    account = AgedAccount(IDS[0], NAME, items, {item.party: paid for item in owed}, paid, "")
    return aa.Ageing(PERIOD.end_date, (account,), 2, (NOTE,))


def make_recurring_payments():
    """Return many payees with a rhythm."""
    day = PERIOD.end_date
    rhythm = find_rhythm([day + number * dt.timedelta(days=61) for number in range(4)])
    occurrences = (Occurrence(day, -123456789012, NAME, (IDS[0],)),) * 4
    payment = RecurringPayment(NAME, NAME, NAME, occurrences, rhythm, "late")
    payments = tuple(payment._replace(key=f"{number} {NAME}") for number in range(MANY))
    return aa.RecurringPayments(day, payments, 2, (NOTE,), pd.DataFrame())


def make_outlook():
    """Return an outlook of a counterparty with a long name, who is paid each week."""
    planted = runpy.run_path(str(Path(__file__).parent / "benchmarks" / "planted_rhythms.py"))
    days = [PERIOD.end_date - number * dt.timedelta(days=7) for number in reversed(range(30))]
    payments = [planted["PAYMENT"](day, "checking", AMOUNT, NAME, NAME, "plain", "Rent", "Rent") for day in days]
    books = planted["FRAMES"]["frames"](payments, dt.date.max)
    return aa.outlook(aa.Books(books.line_entries, books.ledgers, time_zone="UTC"))


def make_key_ratios():
    """Return ratios of books that name a company and a ledger of depreciation with long names."""
    lines = payments(*(("bank", str(AMOUNT), NAME, (one, str(-AMOUNT))) for one in IDS))
    books = aa.Books(lines, chart("bank"), PERIOD, time_zone=PERIOD.time_zone, company=NAME, currency="USD")
    return aa.key_ratios(books, depreciation=IDS[:FEW])


def make_lines(categories):
    """Return line entries of payees with long names, one for each category."""
    payees = [f"\x1b[31m{NAME} {'abcdefgh'[at % 8] * 3} {'klmnopqr'[at // 8] * 3}" for at in range(MANY)]
    paid = zip(payees, categories, strict=True)
    lines = payments(
        *(("bank", str(AMOUNT), counterparty, (category, str(-AMOUNT))) for counterparty, category in paid)
    )
    return lines.assign(ledger_name=NAME)


def make_coding_check():
    """Return a check of books in which each of many payments with long names is there twice."""
    first = make_lines(IDS)
    names = ["id", "journal_entry_id", "transaction_id"]
    second = first.assign(**{name: first[name] + "-again" for name in names})
    lines = pd.concat([first, second], ignore_index=True)
    return aa.check_coding(aa.Books(lines, chart("bank"), PERIOD, time_zone=PERIOD.time_zone))


@functools.cache
def make_report():
    """Return a report of many ledgers with long names."""
    opening = (PERIOD.start_date, {"bank": AMOUNT})
    books = aa.Books(make_lines(IDS), chart("bank"), PERIOD, time_zone=PERIOD.time_zone, opening=opening)
    report = aa.recompute_cash_flow(books)
    return altered(report, partial=True, notes=(NOTE,))


@functools.cache
def make_books():
    """Return books of many accounts of cash with long names, and everything that is known of them."""
    return aa.Books(
        make_lines(IDS),
        chart("bank", *(f"bank{number}" for number in range(MANY))),
        PERIOD,
        time_zone=PERIOD.time_zone,
        opening=(PERIOD.start_date, {"bank": AMOUNT}),
        reports=(dataclasses.replace(make_report(), origin="loaded"),) * FEW,
        company=NAME,
        currency="USD",
        fiscal_year_start_month=4,
    )


def make_reconciliation():
    """Return a reconciliation in which every kind of figure differs."""
    rows = tuple(Difference("line", one, one, None, AMOUNT, AMOUNT, NOTE, ledger_name=NAME) for one in IDS)
    comparisons = tuple(Comparison(what, 10_000_000, 100_000, independent=False) for what in KINDS)
    return ComparedReport(PERIOD, rows, comparisons, (NOTE,), partial=True)


def make_review():
    """Return a review of many merchants with long names."""
    ledgers = chart("bank")
    queue = aa.uncategorized_queue(
        aa.Books(make_lines(["other"] * MANY), ledgers, time_zone="UTC"), outflow_ledger_id="other"
    )
    return aa.review(books_of(ledgers), queue)


@functools.cache
def make_plan(count=MANY):
    """Return a plan of items with long texts."""
    review = make_review()
    review.assign([f"txn-{number}-0" for number in range(count)], IDS[0])
    return review.plan(instance_id="ins_1")


def make_certificate():
    """Return a certificate with many problems, and a long check that was not made."""
    problems = tuple(LoadProblem(NOTE, one, one, AMOUNT, NAME) for one in IDS)
    checks = (Check("each report starts with the balances that the one before it ended with", 10_000_000, 1, NOTE),)
    return Certificate(10_000_000, 1_000_000, MANY, AMOUNT, AMOUNT, problems, named_lines_checked=True, checks=checks)


def make_months():
    """Return a reconciliation of months that do not tie."""
    return aa.Reconciliation(
        period=PERIOD,
        reports=(make_report(),) * FEW,
        recomputed=(make_report(),) * FEW,
        compared=(make_reconciliation(),) * FEW,
        anchored=True,
        notes=(NOTE,),
    )


@functools.cache
def make_drift():
    """Return large changes of many ledgers with long names."""
    schema = table_schema(2)
    row = dict.fromkeys(schema.names) | {
        "datetime": pd.Timestamp("2025-01-02T12:00Z"),
        "amount": -AMOUNT,
        "debit_credit": "credit",
        "signed_amount": AMOUNT,
        "journal_entry_description": f"\x1b[31m{NAME}",
    }
    rows = [row | {"id": one, "ledger_id": one, "journal_entry_id": one} for one in IDS]
    labels = dict.fromkeys(("before_label", "after_label"), "version 1234 (2025-04-14 06:00 UTC)")
    lines = pa.Table.from_pylist(rows, schema)
    ledgers = chart().assign(report_cash_flow=True)
    return compare_lines(
        schema.empty_table(), lines, ledgers, time_zone=PERIOD.time_zone, scale=2, notes=(NOTE,), **labels
    )


def make_bridge():
    """Return many changes of payees with long names."""
    return aa.bridge(aa.Books(make_lines(IDS), chart("bank"), time_zone="UTC"), "2025-03", against="2025-04")


def make_sync_result():
    """Return a sync of many months that differ, and many closed ones that changed."""
    instant = pd.Timestamp("2025-04-14T06:00Z")
    months = pd.DataFrame({"month": [f"{year}-01" for year in range(1970, 1970 + MANY)], "lines": 10_000_000})
    months = months.assign(
        ties=False, complete=False, read_again=True, read_at=instant, compared_at=instant, problem=NOTE
    )
    return SyncResult(1234, months, changes=make_drift(), alarms=(NOTE,) * MANY, verdict=NOTE, requests=41)


@pytest.fixture(scope="module")
def results():
    """Return large results of every class."""
    file = ExportedFile("dim_ledger.parquet", "dim_ledger", 10_000_000, {"amount": "1.00"}, "0" * 64)
    finding = Finding(Verdict.FAILED, NOTE * 3, NOTE, check="months add up")
    return [
        make_books(),
        make_books().with_lines(make_lines(IDS).tail(FEW), label=NAME),
        make_report(),
        make_report()["ending_cash_balance"],
        aa.cash_flow_statement(make_report(), ledgers=chart("bank")),
        make_bridge(),
        make_reconciliation(),
        make_months(),
        make_plan(),
        make_plan(0),
        make_plan().preview(make_report()),
        make_plan().preview(make_report()).check(make_report()),
        aa.Plan(make_plan().items, instance_id="i", notes=(NOTE,) * MANY),
        make_certificate(),
        Diagnosis(f"Service {NAME}", PERIOD, (finding,) * MANY),
        Manifest(
            Path("out"),
            "2025-01-01",
            "2025-01-31",
            "UTC",
            2,
            "Oak",
            "USD",
            1,
            partial=True,
            verdict=NOTE,
            known_ledgers=NOTE,
            files=(file,) * MANY,
        ),
        make_drift(),
        make_drift()["2025-01"],
        make_sync_result(),
        make_review(),
        make_coding_check(),
        ExportVerification(Path("out"), 1, 3, (ExportDifference(NAME, "rows", "3", "2"),) * MANY),
        aa.PackVerification(
            path=Path("pack.html"),
            company=NAME,
            start_date="2025-01-01",
            end_date="2025-01-31",
            verdict=NOTE,
            fingerprint="0" * 64,
            compared_with=None,
            figures=10_000_000,
            stated=MANY,
            entries=10_000_000,
            unchecked=(NAME,) * MANY,
            differences=(PackFault("figure", NAME, "1.00", "2.00"),) * MANY,
        ),
        make_recurring_payments(),
        make_ageing(),
        make_outlook(),
        make_key_ratios(),
    ]


@pytest.fixture(scope="module")
def month_pack(deep_books):
    with deep_books.client() as client:
        client.company = NAME
        return aa.monthly_pack(aa.load_books(client, "2025-01", progress=False))


@pytest.fixture
def examples(results, demo_company, month_pack, tmp_path, connected):
    """Return objects of every public class, large and with long texts."""
    token_file = tmp_path / "token"
    token_file.write_text(SECRET)
    token_file.chmod(0o600)
    rules = tuple(Rule(f"{NAME} {number}", NAME, {"contains": NAME, "max_amount": AMOUNT}) for number in range(MANY))
    return [
        *results,
        Rules(rules, "data/rules.toml"),
        Rules((), "data/rules.toml"),
        PERIOD,
        aa.LedgerNames(dict.fromkeys(IDS, NAME), Hierarchy({})),
        aa.LedgerClient("http://127.0.0.1:1", token=SECRET, instance_id="i", time_zone=PERIOD.time_zone),
        connected(None),
        aa.ClientCredentials("https://sign-in.ledgers.test/realms/analytics/oauth/token", "analytics", SECRET),
        demo_company,
        month_pack,
    ]


def test_every_public_class_has_an_example(examples):
    """Every public class is among the examples, but for those that name a file or folder, which may be anywhere."""
    public = {value for value in (getattr(aa, name) for name in aa.__all__) if inspect.isclass(value)}
    assert public - {type(example) for example in examples} == {aa.TokenFile, aa.LocalBooks}


def test_reprs_fit_a_terminal_and_hide_secrets(examples, demo_company):
    for example in examples:
        text = repr(example)
        lines = text.splitlines()
        assert 1 <= len(lines) <= 30, text
        assert max(map(len, lines)) <= 80, text
        assert all(line.isprintable() for line in lines), text
        assert SECRET not in text
        assert demo_company.token not in text


def test_a_token_file_is_its_path(tmp_path):
    path = tmp_path / "token"
    path.write_text(SECRET)
    path.chmod(0o600)
    assert repr(aa.TokenFile(path)) == f"TokenFile({str(path)!r})"


def test_a_result_starts_with_its_summary(results):
    for example in results:
        assert repr(example).split()[:4] == example.summary().split()[:4]
        assert not (dataclasses.is_dataclass(example) and example.__dataclass_params__.repr)


def test_reprs_have_names_amounts_and_counts_of_the_rest(demo_company):
    assert f"- {NAME}: -1,234,567,890.12" in repr(make_report()).replace("\n  ", " ")
    assert repr(make_report()).endswith("more lines: see explain()")
    assert "-1,234,567,890.12" in repr(make_plan())
    assert "-1,234,567,890.12 to Professional services" in repr(make_plan()).replace("\n  ", " ")
    assert repr(PERIOD) == "Period('2025-01-01', '2026-06-30', 'America/Argentina/ComodRivadavia')"
    assert repr(Rules((Rule("rent", "Rent", {"contains": "ACME"}),), "r.toml")) == (
        "1 rule of r.toml\n- rent: Rent, where contains ACME"
    )
    assert " ".join(repr(demo_company.client).split()) == (
        f"LedgerClient('{demo_company.base_url}', token='***', instance_id='harbor-lane', time_zone='America/New_York')"
    )
    assert "America/New_York" in repr(demo_company)


def test_html_of_months_repeats_no_stated_column():
    shown = make_months()._repr_html_()
    assert ">ending_cash_balance</th>" in shown
    assert "<th>anchored" not in shown


def test_html_of_a_plan_has_names_before_ids():
    shown = make_plan(1)._repr_html_()
    assert shown.index(">description<") < shown.index(">updated_category_ledger_name<") < shown.index(">rule<")
    assert shown.index(">updated_category_ledger_name<") < shown.index(">transaction_id<")
    many = make_plan()._repr_html_()
    assert many.count("<tr") == 21
    assert many.endswith(f"<p>20 of {MANY:,} items; .frame has all</p>")


@pytest.mark.parametrize("result", [*COMPLETE, *PARTLY])
def test_members_are_there_or_left_out_for_a_reason(result):
    reasons = PARTLY.get(result, {})
    for name in MEMBERS:
        assert hasattr(result, name) != (name in reasons), f"{result.__name__}.{name}"
    if "frame" not in reasons:
        assert isinstance(inspect.getattr_static(result, "frame"), property)


def test_results_are_immutable():
    for result in {*COMPLETE, *PARTLY} - {aa.Plan}:
        assert dataclasses.is_dataclass(result), result
        assert result.__dataclass_params__.frozen, result


def test_members_return_the_same_kinds(examples):
    complete = [example for example in examples if isinstance(example, COMPLETE)]
    assert {type(result) for result in complete} == set(COMPLETE)
    for result in complete:
        assert isinstance(result.frame, pd.DataFrame)
        assert result.summary()
        assert "\n" not in result.summary()
        assert len(result.explain()) > len(result.summary()) or result.frame.empty
        assert isinstance(json.loads(result.to_json()), dict)
        assert "<b>legal" not in result._repr_html_()


def test_lists_are_lists_in_html(examples):
    pages = {type(example): example._repr_html_() for example in examples if isinstance(example, COMPLETE)}
    assert [kind.__name__ for kind, page in pages.items() if "<p>- " in page] == []
    sentences = pages[aa.Outlook].partition("<ul><li>")[2].partition("</li></ul>")[0].split("</li><li>")
    outlook = next(one for one in examples if isinstance(one, aa.Outlook))
    assert [html.unescape(one) for one in sentences] == outlook.sentences()


def test_public_functions_return_listed_results():
    listed = {result.__name__ for result in (*COMPLETE, *PARTLY)}
    returned = {
        re.findall(r"\w+", inspect.signature(value).return_annotation)[-1]
        for value in (getattr(aa, name) for name in aa.__all__)
        if inspect.isfunction(value)
    }
    assert returned <= listed | NOT_RESULTS


def test_json_text_has_every_digit_and_iso_dates():
    frame = pd.DataFrame(
        {
            "amount": pd.Series([Decimal("12345678901234567890.12"), None], dtype=pandas_dtype(2)),
            "datetime": pd.Series([pd.Timestamp("2025-01-02T03:04Z"), None]),
            "float": [1.5, None],
            "flag": pd.Series([True, None], dtype="boolean"),
            "name": pd.Series(["Zoë", None], dtype="str"),
        }
    )
    content = {"frame": frame, "date": dt.date(2025, 1, 2), "total": Decimal("1E+2"), "notes": ("a", "b")}
    assert json.loads(to_json_text(content)) == {
        "frame": [
            {
                "amount": "12345678901234567890.12",
                "datetime": "2025-01-02T03:04:00+00:00",
                "float": "1.50",
                "flag": True,
                "name": "Zoë",
            },
            {"amount": None, "datetime": None, "float": None, "flag": None, "name": None},
        ],
        "date": "2025-01-02",
        "total": "100",
        "notes": ["a", "b"],
    }
    table = pd.DataFrame({"id": ["a"], "tags": [["x", "y"]]})
    assert json.loads(to_json_text(table)) == [{"id": "a", "tags": ["x", "y"]}]
    assert json.loads(to_json_text(pd.DataFrame({"id": []}))) == []


def test_print_shows_all_in_the_width_of_a_terminal(examples):
    for example in (one for one in examples if isinstance(one, Result)):
        assert str(example).split() == example.explain().split()
        assert max(map(len, str(example).splitlines())) <= 80


@pytest.mark.parametrize("amount", ["1.00", "1234.50", "98765432109.87"])
def test_ageing_is_printed_without_a_wrapped_row(amount):
    units = int(Decimal(amount) * 100)
    names = [f"Zürich 東京 partners in a long-named company, {number}" for number in range(3)]
    items = [
        OpenItem(LedgerItem(name, PERIOD.end_date - days * DAY, units, name, name, "77, 78", is_paid=False), units, {})
        for name, days in zip(names, (5, 40, 95), strict=True)
    ]
    result = aa.Ageing(
        PERIOD.end_date, (AgedAccount(IDS[0], "Receivables", tuple(items), {}, DaysToPay((), ()), ""),), 2, ()
    )
    lines = str(result).splitlines()
    assert all(cell_len(line) <= 80 for line in lines)
    table = lines[lines.index("Receivables, by days since the entry") : lines.index("Open, the oldest first:")]
    blocks = sum(line.startswith("Total") for line in table)
    assert sum(line.startswith("Zürich") for line in table) == 3 * blocks
    heads = " ".join(line for line in table if "0-30" in line or "over 90" in line or "Late" in line).split()
    assert {"0-30", "31-60", "61-90", "over", "90", "Total", "Late"} <= set(heads)
    shown = lines[lines.index("Open, the oldest first:") + 1 :]
    assert [line.split()[-1] for line in shown] == [f"{Decimal(amount):,}"] * 3
    assert all(line.startswith("  77, 78  Zürich") for line in shown)


@pytest.mark.parametrize(("weeks", "is_better"), [(2, True), (13, True), (26, False)])
def test_an_outlook_is_printed_with_all_weeks(demo_company, weeks, is_better):
    result = aa.outlook(aa.load_books(demo_company.client, progress=False), weeks=weeks, limit=50_000)
    lines = str(result).splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if re.match(r"\d+, to \d", line)]
    assert result.is_better is is_better
    assert [int(line.split(",")[0]) for line in rows] == (list(range(1, weeks + 1)) if is_better else [])
    for week, row in enumerate(rows, start=1):
        shown = [result[name, week].text for name in ("net_cash_flow", "cash", "low", "high")]
        assert row.split()[5:] == [text for text in shown if text]
    remark = next(at for at, line in enumerate(lines) if line.startswith("- "))
    last_row = lines.index(rows[-1]) if rows else 0
    assert last_row < remark < next(at for at, line in enumerate(lines) if line.startswith("Due next"))
    assert not rows or rows[-1] in repr(result)
