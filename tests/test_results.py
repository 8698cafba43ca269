"""Results have the same members: `frame`, `summary()`, `explain()`, `to_json()` and `_repr_html_()`."""

import dataclasses
import datetime as dt
import inspect
import json
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import accounting_analytics as aa
from accounting_analytics.books.drift import Drift, compare_lines
from accounting_analytics.books.storage import table_schema
from accounting_analytics.books.sync_result import SyncResult
from accounting_analytics.client.settings import Presentation
from accounting_analytics.completeness import Certificate, Check
from accounting_analytics.diagnosis import Diagnosis, Finding, Verdict
from accounting_analytics.exports import ExportDifference, ExportedFile, ExportVerification, Manifest
from accounting_analytics.loader import LoadPlan
from accounting_analytics.loader.parquet_file import LoadedFile
from accounting_analytics.money import pandas_dtype
from accounting_analytics.monthly_reconciliation import MonthlyReconciliation
from accounting_analytics.notebook_jobs import NotebookRun
from accounting_analytics.pack.loaded_books import LoadedBooks
from accounting_analytics.pack.monthly_pack import PageOptions, pack_of_books
from accounting_analytics.pack.pack_columns import PackPeriods
from accounting_analytics.pack_verification import PackFault
from accounting_analytics.reconciliation import Comparison
from accounting_analytics.results import to_json_text
from accounting_analytics.schemas import (
    BacktestMonths,
    CashBalances,
    CashFlowLedgers,
    CashFlowLines,
    LedgerChanges,
    Ledgers,
    PlanItems,
    ReportDifferences,
)
from accounting_analytics.service.imports.import_books import ImportSummary

MEMBERS = ("frame", "summary", "explain", "to_json", "_repr_html_")
COMPLETE = (
    aa.CashFlowReport,
    aa.Figure,
    aa.Statement,
    aa.Bridge,
    Diagnosis,
    aa.Effect,
    aa.Plan,
    LoadPlan,
    MonthlyReconciliation,
    aa.Reconciliation,
    Certificate,
    ExportVerification,
    Manifest,
    Drift,
    SyncResult,
    aa.MonthlyPack,
    aa.PackVerification,
    aa.Backtest,
)
# members that a class leaves out, and why
PARTLY = {
    LoadedFile: {
        "frame": "the lines may not fit into memory: read the file",
        "explain": "the notes and the metadata are attributes",
        "to_json": "the metadata are an attribute, and in the file",
        "_repr_html_": "the fields are few and plain",
    },
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
    "Books",
    "DataFrame",
    "DemoCompany",
    "LedgerClient",
    "None",
    "Review",
    "Rules",
    "str",
}  # Books: tests/books; a review changes: tests/review_grid
PERIOD = aa.Period.of("2025-01-01", "2025-01-31", "UTC")


def make_report():
    """Return a report of one line."""
    columns = {
        "line_id": ["le_1"],
        "ledger_id": ["sales"],
        "amount": [Decimal("1234567.89")],
        "datetime": [pd.Timestamp("2025-01-02T12:00Z")],
        "cash_flow_ledger_name": ["Bank"],
        "journal_entry_id": ["je_1"],
        "journal_entry_description": [None],
    }
    net = [Decimal("1234567.89")]
    return aa.CashFlowReport(
        period=PERIOD,
        ledgers=CashFlowLedgers.from_columns(
            {"ledger_id": ["sales"], "name": ["<Sales>"], "net_cash_flow": net, "total_net_cash_flow": net}
        ),
        lines=CashFlowLines.from_columns(columns),
        starting_balances=CashBalances.without_rows(),
        ending_balances=CashBalances.without_rows(),
        starting_cash_balance=Decimal(0),
        ending_cash_balance=Decimal("1234567.89"),
        notes=("A note.",),
        partial=True,
    )


def make_plan():
    """Return a plan of one item."""
    columns = {name: ["<Sales>"] for name in PlanItems.to_schema().columns} | {
        "datetime": [pd.Timestamp("2025-01-02T12:00Z")],
        "amount": [Decimal("1234567.89")],
        "category_amount": [None],
        "category_ledger_id": ["out"],
    }
    return aa.Plan(PlanItems.from_columns(columns))


LEDGERS = Ledgers.from_columns(
    {
        "id": ["sales"],
        "name": ["<Sales>"],
        "type": ["revenue"],
        "sub_type": ["operating_revenues"],
        "debit_credit": ["credit"],
        "financial_account_type": [None],
        "report_cash_flow": [False],
        "is_required": [False],
        "parent_id": [None],
        "sort_code": ["1"],
    }
)


def make_drift():
    """Return a line that was added."""
    row = {
        "id": "le_1",
        "ledger_id": "sales",
        "journal_entry_id": "je_1",
        "datetime": dt.datetime(2025, 1, 2, 12, tzinfo=dt.UTC),
        "amount": Decimal("1234567.89"),
        "debit_credit": "debit",
        "signed_amount": Decimal("1234567.89"),
    }
    schema = table_schema(2)
    lines = pa.Table.from_pylist([{name: row.get(name) for name in schema.names}], schema)
    labels = {"before_label": "version 3", "after_label": "<Sales>"}
    return compare_lines(schema.empty_table(), lines, LEDGERS, time_zone="UTC", scale=2, notes=["<Sales>"], **labels)


def make_books():
    """Return the lines of one entry, and its ledgers."""
    lines = make_drift().lines.drop(columns=["change", "kind", "figure_amount"])
    cash = LEDGERS.assign(id="bank", name="Bank", type="asset", sub_type="current_assets", report_cash_flow=True)
    other = lines.assign(id="le_2", ledger_id="bank", signed_amount=-lines["signed_amount"], debit_credit="credit")
    entry = pd.concat([lines, other], ignore_index=True).assign(journal_entry_description="<Sales>")
    return entry, pd.concat([LEDGERS, cash])


def make_bridge():
    """Return the bridge from a month with one entry to a month without."""
    lines, ledgers = make_books()
    statement = aa.cash_flow_statement(lines, ledgers, "2025-01-01", "2025-02-28", time_zone="UTC")
    return aa.bridge(statement.column("2025-01"), statement.column("2025-02"))


def make_pack():
    """Return the pack of a month with one entry."""
    lines, ledgers = make_books()
    certificate = aa.check_completeness(lines)
    books = LoadedBooks(ledgers, lines, PERIOD, PERIOD.start_date, None, certificate, {}, ("<Sales>",), {})
    return pack_of_books(books, PackPeriods.around(PERIOD, 1), Presentation("<Sales>"), PageOptions())


def make_sync_result():
    """Return a sync that found a line in a closed month that does not agree with its report."""
    months = pd.DataFrame(
        {
            "month": ["2025-01"],
            "lines": [1],
            "ties": [False],
            "complete": [True],
            "read_again": [True],
            "read_at": [pd.Timestamp("2025-02-01T06:00Z")],
            "compared_at": [pd.Timestamp("2025-02-01T06:00Z")],
            "problem": ["<Sales>"],
        }
    )
    return SyncResult(
        4,
        months,
        changes=make_drift(),
        alarms=("<Sales>",),
        verdict="1 month differs",
        requests=41,
    )


EXAMPLES = [
    make_report(),
    make_report()["sales"],
    aa.cash_flow_statement(make_report(), LEDGERS),
    make_bridge(),
    Diagnosis("Service", PERIOD, (Finding(Verdict.FAILED, "differ", "call support", check="sums"),)),
    aa.Effect(
        PERIOD,
        LedgerChanges.from_columns(
            {
                "ledger_id": ["sales"],
                "name": ["<Sales>"],
                "before": [Decimal(1)],
                "change": [Decimal(1)],
                "predicted": [Decimal(2)],
                "after": [Decimal(2)],
            }
        ),
        differences=ReportDifferences.without_rows(),
    ),
    make_plan(),
    LoadPlan(
        pd.DataFrame({"ledger_id": ["a"], "lines": [10], "calls": [1], "exact": [True], "kept_lines": [5]}),
        requests_per_minute=320.0,
        rate_is_known=True,
        probes=1,
        kept_windows=2,
    ),
    MonthlyReconciliation(
        PERIOD,
        pd.DataFrame(),
        pd.DataFrame(),
        (make_report(),),
        (make_report(),),
        (aa.Reconciliation(PERIOD, (), (Comparison("line", 1, 0),)),),
        anchored=True,
        notes=("<Sales> may be incomplete.",),
    ),
    aa.Reconciliation(PERIOD, (), (Comparison("line", 1, 0),)),
    Certificate(
        lines=2,
        entries=1,
        ledgers=2,
        debits=Decimal(5),
        credits=Decimal(5),
        found=(),
        named_lines_checked=True,
        checks=(Check("entries balance", 1, 0),),
    ),
    ExportVerification(Path("out"), 1, 3, (ExportDifference("<Sales>.parquet", "rows", "3", "2"),)),
    Manifest(
        folder=Path("out"),
        start_date="2025-01-01",
        end_date="2025-01-31",
        time_zone="UTC",
        scale=2,
        currency=None,
        fiscal_year_start_month=1,
        partial=False,
        verdict="Reported and recomputed agree.",
        known_ledgers="3 ledgers are known.",
        files=(ExportedFile("dim_tag.parquet", "dim_tag", 3, {}, "0"),),
    ),
    make_drift(),
    make_sync_result(),
    make_pack(),
    aa.PackVerification(
        path=Path("pack.html"),
        company="<Sales>",
        start_date="2025-01-01",
        end_date="2025-01-31",
        verdict="cash flow proven",
        fingerprint="0",
        compared_with=None,
        figures=1,
        stated=1,
        entries=1,
        unchecked=("<Sales>",),
        differences=(PackFault("figure", "<Sales>", "1.00", "2.00"),),
    ),
    aa.Backtest(0.98, BacktestMonths.without_rows(), (), ("2026-05: <Sales>",)),
]


def test_every_class_has_an_example():
    """The examples are those of the complete classes."""
    assert [type(example) for example in EXAMPLES] == list(COMPLETE)


@pytest.mark.parametrize("result", [*COMPLETE, *PARTLY])
def test_members_are_there_or_left_out_for_a_reason(result):
    """A class has each member, or a reason, but not both; `frame` is a property, the others are methods."""
    reasons = PARTLY.get(result, {})
    for name in MEMBERS:
        assert hasattr(result, name) != (name in reasons), f"{result.__name__}.{name}"
    if "frame" not in reasons:
        assert isinstance(inspect.getattr_static(result, "frame"), property)


@pytest.mark.parametrize("result", [*COMPLETE, *PARTLY])
def test_results_are_immutable(result):
    """A result is a frozen dataclass; a plan has only properties."""
    if issubclass(result, aa.Plan):
        return
    assert dataclasses.is_dataclass(result)
    assert result.__dataclass_params__.frozen


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
def test_members_return_the_same_kinds(example):
    """A summary is one line, the explanation has more, JSON is an object, and HTML is escaped."""
    assert isinstance(example.frame, pd.DataFrame)
    assert example.summary()
    assert "\n" not in example.summary()
    assert len(example.explain()) > len(example.summary())
    assert isinstance(json.loads(example.to_json()), dict)
    assert "<Sales>" not in example._repr_html_()


def test_public_functions_return_listed_results():
    """Every class that a public function returns is a table or a listed result."""
    listed = {result.__name__ for result in (*COMPLETE, *PARTLY)}
    returned = {
        re.findall(r"\w+", inspect.signature(value).return_annotation)[-1]
        for value in (getattr(aa, name) for name in aa.__all__)
        if inspect.isfunction(value)
    }
    assert returned <= listed | NOT_RESULTS


def test_json_text_of_values_of_every_kind():
    """Amounts are strings with every digit, floats too, dates ISO 8601, absent values null, lists lists."""
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


def test_json_text_of_a_table_is_a_list_of_objects():
    """A frame alone is written as a list, also without rows."""
    assert json.loads(to_json_text(pd.DataFrame({"id": ["a"], "tags": [["x", "y"]]}))) == [
        {"id": "a", "tags": ["x", "y"]}
    ]
    assert json.loads(to_json_text(pd.DataFrame({"id": []}))) == []
