"""Arguments of a wrong type are refused with a sentence, before anything is sent or written."""

import re

import pandas as pd
import pytest
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.schemas import Ledgers, LineEntries, PlanItems, Queue
from accounting_analytics.recategorization.rules import Rules

MARCH = ("2025-03-01", "2025-03-31")
LINES = LineEntries.without_rows()
PLAN = aa.Plan.from_frame(PlanItems.without_rows())
BOOKS = books_of(Ledgers.without_rows())
REPORT = aa.recompute_cash_flow(BOOKS, MARCH)
REPORT_HINT = "not CashFlowReport; load_cash_flow_report(client, ...) loads one, recompute_cash_flow("
FRAME_HINT = "it must be a pandas, pyarrow, polars, DuckDB or PySpark frame, such as load_line_entries and discover_"
BOOKS_HINT = "not Books; load_books(client) returns them, and Books(lines, ledgers) makes them of frames"
LEDGERS_HINT = "not DataFrame; discover_ledgers(client, ...) returns them"
CLIENT_HINT = "client is of type str, not LedgerClient; connect() returns one"
PLAN_HINT = "plan is of type str, not Plan; plan_recategorization(proposals, books) makes one"

WRONG_CALLS = [
    (lambda: aa.reconcile(REPORT), f"books is of type CashFlowReport, {BOOKS_HINT}"),
    (lambda: aa.charts.inflow_outflow(LINES), f"report is of type DataFrame, {REPORT_HINT}"),
    (lambda: aa.charts.inflow_outflow(REPORT, ledgers=REPORT), f"ledgers is of type CashFlowReport, {LEDGERS_HINT}"),
    (lambda: aa.charts.balances(REPORT), "statement is of type CashFlowReport, not Statement; pass what"),
    (lambda: aa.charts.outflows_by_category(LINES), "statement is of type DataFrame, not Statement; pass what"),
    (lambda: aa.charts.outflow_heat_map(LINES), "statement is of type DataFrame, not Statement; pass what"),
    (lambda: aa.charts.top_payees(REPORT), "column is of type CashFlowReport, not ChosenColumn; pass statement.column"),
    (
        lambda: aa.charts.static_picture(REPORT),
        "figure is of type CashFlowReport, not Picture; pass what a function of",
    ),
    (lambda: aa.charts.running_balance(LINES), f"report is of type DataFrame, {REPORT_HINT}"),
    (lambda: aa.charts.waterfall(None), f"report is of type NoneType, {REPORT_HINT}"),
    (lambda: aa.Books(REPORT, BOOKS.ledgers), f"line_entries is of type CashFlowReport; {FRAME_HINT}"),
    (lambda: aa.Books(LINES, REPORT, time_zone="UTC"), f"ledgers is of type CashFlowReport; {FRAME_HINT}"),
    (lambda: aa.Books(LINES, None), "ledgers are missing; discover_ledgers(client, ...) returns them"),
    (lambda: aa.Books(LINES, LINES, time_zone="UTC"), "ledgers: column is missing: name, report_cash_flow, parent_id"),
    *(
        (
            lambda given=given: BOOKS.with_reports(given),
            f"reports is of type {name}; pass a list of what load_cash_flow",
        )
        for given, name in ((LINES, "DataFrame"), (REPORT, "CashFlowReport"), (5, "int"))
    ),
    (lambda: BOOKS.with_reports([5, REPORT]), f"reports is of type int, {REPORT_HINT}"),
    *(
        (lambda call=call: call(LINES), f"books is of type DataFrame, {BOOKS_HINT}")
        for call in (
            *(
                aa.ageing,
                aa.analysis_frame,
                aa.balance_sheet,
                aa.check_completeness,
                aa.income_statement,
                aa.monthly_pack,
            ),
            *(aa.outlook, aa.recompute_cash_flow, aa.reconcile, aa.recurring_payments, aa.review, aa.trial_balance),
            aa.uncategorized_queue,
        )
    ),
    (lambda: aa.draft_budget(LINES, "2027"), f"books is of type DataFrame, {BOOKS_HINT}"),
    (lambda: aa.key_ratios(LINES), f"books is of type DataFrame, {BOOKS_HINT}"),
    (lambda: aa.register(LINES, "Bank"), f"books is of type DataFrame, {BOOKS_HINT}"),
    (lambda: aa.load_books("http://x"), "source is of type str, not LedgerClient; connect() returns one"),
    (
        lambda: aa.propose(REPORT, Rules((), "r"), BOOKS),
        "queue is of type CashFlowReport, not DataFrame; uncategorized_queue(books)",
    ),
    (
        lambda: aa.propose(Queue.without_rows(), "rules.toml", BOOKS),
        "rules is of type str, not Rules; load_rules(path) reads them",
    ),
    (
        lambda: aa.propose(Queue.without_rows(), Rules((), "r"), REPORT),
        f"books is of type CashFlowReport, {BOOKS_HINT}",
    ),
    (
        lambda: aa.report_rules(Queue.without_rows(), Rules((), "r"), REPORT),
        f"books is of type CashFlowReport, {BOOKS_HINT}",
    ),
    (lambda: aa.suggest(REPORT, BOOKS), "queue is of type CashFlowReport, not DataFrame; uncategorized_"),
    (lambda: aa.suggest(Queue.without_rows(), REPORT), f"books is of type CashFlowReport, {BOOKS_HINT}"),
    (lambda: aa.review(BOOKS, REPORT), "queue is of type CashFlowReport, not DataFrame; uncategorized_queue("),
    (
        lambda: aa.review(BOOKS, Queue.without_rows(), proposals=PLAN),
        "proposals is of type Plan, not DataFrame; propose(",
    ),
    (lambda: aa.plan_recategorization(PLAN, BOOKS), "proposals is of type Plan, not DataFrame; propose("),
    (lambda: aa.plan_recategorization(LINES, REPORT), f"books is of type CashFlowReport, {BOOKS_HINT}"),
    (lambda: aa.Plan(PlanItems.without_rows()), "items is a DataFrame, not changes; Plan.from_frame(frame) makes"),
    (lambda: PLAN.preview(LINES), f"before is of type DataFrame, {REPORT_HINT}"),
    (lambda: aa.apply_plan("http://x", PLAN, journal="j"), CLIENT_HINT),
    (lambda: aa.verify_plan("http://x", PLAN), CLIENT_HINT),
    (lambda: aa.undo_plan("http://x", "journal"), CLIENT_HINT),
    (lambda: PLAN.preview(REPORT).check(LINES), f"after is of type DataFrame, {REPORT_HINT}"),
    (lambda: aa.load_line_entries("http://x", ["a"], *MARCH), CLIENT_HINT),
    (lambda: aa.load_cash_flow_report("http://x", *MARCH), CLIENT_HINT),
    (lambda: aa.discover_ledgers("http://x", *MARCH), CLIENT_HINT),
    (lambda: aa.doctor("http://x"), CLIENT_HINT),
]


@pytest.mark.parametrize(("call", "message"), WRONG_CALLS)
def test_wrong_type_names_argument_type_and_what_to_pass(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda client: aa.load_line_entries(client, ["a"], *MARCH, consistency=["all"]),
            "consistency is ['all']; it must be 'newest', 'all', or a Period",
        ),
    ],
)
def test_list_instead_of_a_text_is_refused(connected, call, message):
    with pytest.raises(InputError) as caught:
        call(connected(None))
    assert message in str(caught.value)


def test_a_type_of_the_same_name_is_named_with_its_library():
    other = type("DataFrame", (), {"__module__": "polars.dataframe.frame"})()
    with pytest.raises(InputError, match=r"queue is of type polars\.DataFrame, not DataFrame; uncategorized_queue"):
        aa.group_queue(other)


PATH_CALLS = [
    (aa.Plan.load, "path"),
    (PLAN.save, "path"),
    (aa.load_rules, "path"),
    (aa.read_line_entries, "path"),
    (aa.verify_pack, "path"),
    (lambda path: aa.run_notebook(path, "out"), "notebook"),
    (lambda path: aa.run_notebook("notebook.ipynb", path), "output"),
    (lambda path: aa.export(BOOKS, path), "output"),
]


@pytest.mark.parametrize(("call", "name"), PATH_CALLS)
def test_path_with_a_nul_or_a_number_is_refused(call, name):
    with pytest.raises(InputError, match=rf"^{name} 'a\\x00b' contains a NUL character, so it is not a path"):
        call("a\0b")
    with pytest.raises(InputError, match=rf"^{name} is of type int, not str or Path; pass the path of a file"):
        call(1)


def test_a_journal_must_be_a_path_and_a_plan_a_plan(connected):
    client = connected(None)
    no_path = r"^journal 'a\\x00b' contains a NUL character"
    for call in (aa.apply_plan, aa.verify_plan):
        with pytest.raises(InputError, match=no_path):
            call(client, PLAN, journal="a\0b")
        with pytest.raises(InputError, match=re.escape(PLAN_HINT)):
            call(client, "plan.csv", journal="j")
    with pytest.raises(InputError, match=no_path):
        aa.undo_plan(client, "a\0b")
    assert client.requests == []


@pytest.mark.parametrize("books", [LINES, REPORT])
def test_an_export_of_a_wrong_type_writes_nothing(tmp_path, books):
    with pytest.raises(InputError, match=re.escape(f"books is of type {type(books).__name__}, {BOOKS_HINT}")):
        aa.export(books, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ledger_ids", [[], (), pd.Series([], dtype="str")], ids=["list", "tuple", "series"])
def test_no_ledgers_are_refused(connected, ledger_ids):
    """A load of no ledgers would look like a load of empty ledgers, so it is refused before a request."""
    client = connected(None)
    with pytest.raises(InputError, match="no ledgers given; discover_ledgers"):
        aa.load_line_entries(client, ledger_ids, *MARCH)
    assert client.requests == []


def test_subclasses_are_accepted():
    require_type(True, int, "count", "give a number")  # noqa: FBT003 (the value is the point)
    with pytest.raises(InputError, match=r"^count is of type str, not int; give a number$"):
        require_type("1", int, "count", "give a number")
