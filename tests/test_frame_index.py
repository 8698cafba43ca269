"""No result depends on the index of a frame, or on the order of its columns.

An analyst concatenates two loads, filters, sorts, or makes a column the index: labels are then repeated, missing, in
another order, or texts. Every public function that takes a frame is called with such frames; its result must be that of
the same rows with a clean index.
"""

import dataclasses
import inspect
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from long_cases import also_long
from small_reports import altered

import accounting_analytics as aa
from accounting_analytics.reconciliation.compared_report import compare_reports

DAYS = ("2026-05-01", "2026-05-31")
HISTORY_START = "2026-04-01"
TAKES_A_FRAME = re.compile(r"\b(DataFrame|Books|CashFlowReport|Plan)\b|^Any$")
RULES = Path(__file__).parent.parent / "data" / "rules.toml"

LABELS = {
    "clean": lambda frame: range(len(frame)),
    "as two concatenated loads": lambda frame: [number % (len(frame) // 2 + 1) for number in range(len(frame))],
    "one label": lambda frame: [0] * len(frame),
    "reversed": lambda frame: range(len(frame) - 1, -1, -1),
    "rotated": lambda frame: np.roll(np.arange(len(frame)), 1),
    "filtered": lambda frame: range(7, 7 + 3 * len(frame), 3),
    "texts": lambda frame: [f"row {number // 2}" for number in range(len(frame))],
    "named as a column": lambda frame: pd.Index(frame.iloc[:, 1], name=frame.columns[1]),
    "named as the first column": lambda frame: pd.Index(frame.iloc[:, 0], name=frame.columns[0]),
    "null labels": lambda frame: [None] * len(frame),
    "two levels": lambda frame: pd.MultiIndex.from_arrays([[1] * len(frame), frame.iloc[:, 0]]),
}


@dataclasses.dataclass(frozen=True)
class Disguise:
    """What is done to each frame: its rows sorted at random, its columns reversed, and other labels."""

    labels: str
    seed: int
    columns_reversed: bool = False

    def __call__(self, frame):
        """Return the frame with other labels, its rows in another order."""
        shuffled = frame.sample(frac=1, random_state=self.seed).reset_index(drop=True)
        if self.columns_reversed:
            shuffled = shuffled[shuffled.columns[::-1]]
        labelled = shuffled.set_axis(LABELS[self.labels](shuffled))
        labelled.attrs = dict(frame.attrs)
        return labelled

    def report(self, report):
        """Return a report whose tables are disguised."""
        tables = ("ledgers", "lines", "starting_balances", "ending_balances")
        return altered(report, **{name: self(getattr(report, name)) for name in tables})


class Books(SimpleNamespace):
    """Frames and reports of the demo company, as a public function takes them, all disguised."""

    @classmethod
    def load(cls, client):
        """Load a month and the one before it."""
        ledgers = aa.discover_ledgers(client, "2025-01-01", DAYS[1])
        lines = aa.load_line_entries(client, ledgers["id"], HISTORY_START, DAYS[1], expand=EXPAND)
        report = aa.load_cash_flow_report(client, *DAYS)
        books = aa.Books(lines, ledgers)
        queue = aa.uncategorized_queue(books)
        rules = aa.load_rules(RULES)
        proposals = aa.propose(queue, rules, books)
        plan = aa.plan_recategorization(proposals, books)
        return cls(
            client=client,
            rules=rules,
            decisions=decisions(queue),
            ledgers=ledgers,
            lines=lines,
            year=aa.load_line_entries(client, ledgers["id"], "2025-05-15", DAYS[1], expand=EXPAND),
            budget=pd.DataFrame(
                {"ledger": ["Rent", "Wages"], "month": ["2026-05", "2026-05"], "amount": [7000.0, 9.5]}
            ),
            known=pd.DataFrame({"date": ["2026-06-20", "2026-06-02"], "amount": [-90.0, 7.0], "note": ["oven", "fee"]}),
            report=report,
            recomputed=recompute(lines, ledgers, report),
            balances=report.starting_balances,
            queue=queue,
            proposals=proposals,
            items=plan.frame,
            outcomes=aa.verify_plan(client, plan),
        )

    def disguised(self, disguise):
        """Return the books with every frame disguised; the outcomes of a plan stay in the order of its items."""
        changed = {}
        for name, value in vars(self).items():
            if isinstance(value, pd.DataFrame):
                changed[name] = disguise(value)
            elif isinstance(value, aa.CashFlowReport):
                changed[name] = disguise.report(value)
            else:
                changed[name] = value
        return Books(**changed, plan=aa.Plan.from_frame(changed["items"]))

    def of(self, period=None, **options):
        """Return the value that functions take; its lines are all, or some days as they were loaded."""
        return aa.Books(self.lines, self.ledgers, period, **options)


KEY = ["transaction_id", "category_ledger_id"]
EXPAND = ("ledger", "transaction", "journal_entry", "opposing_ledger_ids")


def recompute(lines, ledgers, report):
    """Recompute the report of the month from the balances at its start."""
    return aa.recompute_cash_flow(aa.Books(lines, ledgers, opening=(DAYS[0], report.starting_balances)), DAYS)


def decisions(queue):
    """Decide the first transactions, and a group, by hand."""
    ids = sorted(queue["transaction_id"])[:5]
    group = min(aa.group_queue(queue).query("kind == 'counterparty'")["group_id"])
    return dict.fromkeys([*ids, group], "Office Supplies")


def paths(names):
    return {one: (names.name(one), names.path(one)) for one in sorted(names.ids)}


def verified(books):
    """Outcomes of the plan, in its order, with the labels of the disguise."""
    items, outcomes = (frame.reset_index(drop=True) for frame in (books.items, books.outcomes))
    in_order = items[KEY].merge(outcomes, on=KEY)
    return in_order.set_axis(books.items.index)


def exported(books, folder, export):
    """Export the books; return the rows of each file."""
    output = folder / "export"
    export(books.of(DAYS, reports=[books.report]), output)
    files = sorted(output.rglob("*.parquet"))
    return {file.name: pq.read_table(file).to_pylist() for file in files}


def without_first(lines):
    return lines[(lines["id"] != min(lines["id"])).to_numpy()]


def unstated(books, lines, **options):
    """Return books of lines that state no load, so that what is missing is not known."""
    lines = lines.copy()
    lines.attrs = {}
    return aa.Books(lines, books.ledgers, time_zone="America/New_York", **options)


def without_rows(report):
    """Return a report that lacks a ledger and its lines, so that there is something to explain."""
    lost = min(report.ledgers["ledger_id"])
    return altered(
        report,
        ledgers=report.ledgers[report.ledgers["ledger_id"] != lost],
        lines=report.lines[report.lines["ledger_id"] != lost],
    )


def with_entries(statement, row):
    figures = [figure for figure in statement.row(row).values() if figure.is_additive]
    return [statement, statement.tidy(), [figure.entries[["id", "figure_amount", "local_date"]] for figure in figures]]


def reviewed(books):
    """Accept all that is proposed in a review but one transaction; return its tables and its plan."""
    review = aa.review(books.of(), books.queue, proposals=books.proposals)
    review.skip(min(books.queue["transaction_id"]))
    review.accept()
    return [review.frame, review.decisions, review.plan(), review.notes]


def shown(effect):
    """Return what an effect shows, without the reports as they were given."""
    return [effect.frame, effect.differences, effect.notes, effect.explain(), effect.to_json(), effect._repr_html_()]


CASES = {
    "Books.with_lines": lambda books, _: with_entries(
        aa.income_statement(books.of().with_lines(without_first(books.lines), label="some lines")),
        "Rent",
    ),
    "Books.with_reports": lambda books, _: list(
        aa.reconcile(books.of(opening=(DAYS[0], books.balances)).with_reports([books.report])).compared
    ),
    "LedgerNames.from_frame": lambda books, _: paths(aa.LedgerNames.from_frame(books.ledgers)),
    "Effect.check": lambda books, _: shown(books.plan.preview(books.report).check(books.recomputed, verified(books))),
    "Effect.totals": lambda books, _: books.plan.preview(books.report).totals(books.ledgers),
    "Plan.from_frame": lambda books, _: [
        aa.Plan.from_frame(books.items).frame,
        aa.Plan.from_frame(books.items).items,
        books.plan.plan_id,
    ],
    "Plan.preview": lambda books, _: shown(books.plan.preview(books.report)),
    "Plan.summary": lambda books, _: books.plan.summary(verified(books)),
    "Plan.exact_totals": lambda books, _: books.plan.exact_totals("rule", verified(books)),
    "Plan.totals": lambda books, _: [books.plan.totals("rule", verified(books)), books.plan.totals()],
    "Review": lambda books, folder: aa.Review(books.queue, books.ledgers, [books.proposals], folder / "r.toml").frame,
    "ageing": lambda books, _: aa.ageing(books.of()),
    "analysis_frame": lambda books, _: aa.analysis_frame(books.of()).sort_index(axis=1),
    "apply_plan": lambda books, folder: aa.apply_plan(books.client, books.plan, journal=folder / "journal.jsonl"),
    "balance_sheet": lambda books, _: with_entries(aa.balance_sheet(books.of()), "Operating Account"),
    "cash_flow_statement": lambda books, _: [
        *with_entries(
            aa.cash_flow_statement(books.of(opening=(DAYS[0], books.balances)), DAYS),
            "Rent",
        ),
        aa.cash_flow_statement(books.report, ledgers=books.ledgers),
    ],
    "charts.inflow_outflow": lambda books, _: aa.charts.inflow_outflow(books.report, ledgers=books.ledgers),
    "charts.running_balance": lambda books, _: aa.charts.running_balance(books.report),
    "charts.waterfall": lambda books, _: aa.charts.waterfall(books.report),
    "check_coding": lambda books, _: aa.check_coding(books.of()),
    "check_completeness": lambda books, _: [
        aa.check_completeness(books.of(reports=[books.report])),
        aa.check_completeness(unstated(books, without_first(books.lines), reports=[books.report])),
    ],
    "decide": lambda books, _: aa.decide(books.queue, books.decisions, books.of()),
    "draft_budget": lambda books, _: aa.draft_budget(aa.Books(books.year, books.ledgers), "2026-06/2027-05"),
    "export": lambda books, folder: exported(books, folder, aa.export),
    "group_queue": lambda books, _: aa.group_queue(books.queue),
    "income_statement": lambda books, _: [
        *with_entries(aa.income_statement(books.of(), compare=["prior", "change", "share", "total"]), "Rent"),
        aa.income_statement(books.of(), "2026-05", budget=books.budget),
    ],
    "load_books": lambda books, _: [
        (loaded := aa.load_books(books.client, DAYS, since=DAYS[0], chart=books.ledgers, reports=())).ledgers,
        loaded.lines,
    ],
    "monthly_pack": lambda books, _: [
        (pack := aa.monthly_pack(books.of(reports=[books.report], opening=(DAYS[0], books.balances)), DAYS)).sentences,
        pack.verdict,
        pack.figures,
    ],
    "plan_recategorization": lambda books, _: aa.plan_recategorization(books.proposals, books.of()),
    "propose": lambda books, _: [
        aa.propose(books.queue, books.rules, books.of()),
        aa.propose(books.queue, books.rules, books.of(), decisions=books.decisions, transfers=True),
        aa.propose(books.queue, None, books.of(), suggestions=books.proposals),
    ],
    "bridge": lambda books, _: [  # entries have the columns of the frame, in its order
        (result := aa.bridge(books.of(), DAYS)).frame,
        result["change"].entries.sort_index(axis="columns"),
    ],
    "recompute_cash_flow": lambda books, _: [
        recompute(books.lines, books.ledgers, books.report),
        aa.recompute_cash_flow(books.of(opening=(DAYS[0], books.balances)), DAYS, lines=False),
    ],
    "reconcile": lambda books, _: [
        *aa.reconcile(books.of(reports=[books.report], opening=(DAYS[0], books.balances))).compared,
        compare_reports(books.report, books.recomputed, books.lines),
        compare_reports(books.report, without_rows(books.recomputed), books.lines, books.ledgers),
    ],
    "key_ratios": lambda books, _: [
        (result := aa.key_ratios(aa.Books(books.year, books.ledgers), DAYS[1])).frame,
        result["days_cash"].terms[1].entries.sort_index(axis="columns"),
    ],
    "outlook": lambda books, _: [
        (result := aa.outlook(aa.Books(books.year, books.ledgers), known=books.known)).frame,
        result.payments,
        result["recurring_payments", 1].terms[0].entries,
    ],
    "recurring_payments": lambda books, _: [
        (result := aa.recurring_payments(books.of())).frame,
        *(result[one.key].entries for one in result.payments),
    ],
    "register": lambda books, _: aa.register(books.of(), "Operating Account"),
    "report_rules": lambda books, _: aa.report_rules(books.queue, books.rules, books.of()),
    "review": lambda books, _: reviewed(books),
    "suggest": lambda books, _: aa.suggest(books.queue, books.of(), precision=0.8),
    "trial_balance": lambda books, _: with_entries(aa.trial_balance(books.of()), "Rent"),
    "uncategorized_queue": lambda books, _: aa.uncategorized_queue(books.of()),
    "verify_plan": lambda books, _: aa.verify_plan(books.client, books.plan),
}


def content(result):
    """Return a result as plain values that can be compared: rows and labels of frames, fields of results."""
    if isinstance(result, pd.DataFrame):
        rows = result.astype(object).where(result.notna(), None).to_numpy().tolist()
        stated = {name: value for name, value in result.attrs.items() if name != "load"}
        return ["frame", list(result.columns), [str(one) for one in result.dtypes], list(result.index), rows, stated]
    if isinstance(result, go.Figure | aa.Plan):
        return result.to_json() if isinstance(result, go.Figure) else [content(result.frame), result.notes]
    if dataclasses.is_dataclass(result):
        names = [
            one.name for one in dataclasses.fields(result) if one.name != "read_at" and not one.name.startswith("_")
        ]
        fields = {name: content(getattr(result, name)) for name in names}
        shown = {
            name: getattr(result, name)() for name in ("explain", "to_json", "_repr_html_") if hasattr(result, name)
        }
        return [fields, shown]
    if isinstance(result, Mapping):
        return {key: content(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [content(one) for one in result]
    return result


def callables():
    """Public functions, and the public methods and constructors of public classes, by name."""
    for name in aa.__all__:
        value = getattr(aa, name)
        if isinstance(value, ModuleType):
            yield from ((f"{name}.{one}", getattr(value, one)) for one in getattr(value, "__all__", ()))
        elif inspect.isclass(value):
            yield name, value.__init__
            methods = (one for one in vars(value) if not one.startswith("_"))
            yield from ((f"{name}.{one}", getattr(value, one)) for one in methods)
        else:
            yield name, value


def takes_a_frame(name, function):
    """Whether a parameter is a frame or a result of frames; the constructors of results only keep what they get."""
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        return False
    if inspect.isclass(owner := getattr(aa, name, None)) and dataclasses.is_dataclass(owner):
        return False
    parameters = inspect.signature(function).parameters.values()
    return any(TAKES_A_FRAME.search(str(one.annotation)) for one in parameters if one.kind != one.VAR_KEYWORD)


def test_every_public_function_that_takes_a_frame_is_called():
    """A new public function that takes a frame needs a case here; what loads call to make books is tested by them."""
    of_loads = {"Books.of_engine", "Books.loaded_by"}
    assert {name for name, function in callables() if takes_a_frame(name, function)} - of_loads == set(CASES)


@pytest.fixture(scope="module")
def demo_frames(demo_company):
    return Books.load(demo_company.client)


@pytest.mark.soak
@pytest.mark.parametrize("name", [*list(CASES)[::3], *also_long(*(one for at, one in enumerate(CASES) if at % 3))])
def test_no_result_depends_on_the_index(name, demo_frames, tmp_path_factory, soak_count):
    @cache
    def expected(seed):
        return content(CASES[name](demo_frames.disguised(Disguise("clean", seed)), tmp_path_factory.mktemp("books")))

    @given(
        labels=st.sampled_from([one for one in LABELS if one != "clean"]),
        seed=st.integers(0, 2**31),
        columns_reversed=st.booleans(),
    )
    @example(labels="named as a column", seed=0, columns_reversed=True)
    @example(labels="named as the first column", seed=0, columns_reversed=False)
    @settings(max_examples=soak_count(100, fewer=1))
    def check(labels, seed, columns_reversed):
        disguised = demo_frames.disguised(Disguise(labels, seed, columns_reversed))
        assert content(CASES[name](disguised, tmp_path_factory.mktemp("books"))) == expected(seed)

    check()
