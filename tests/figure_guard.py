"""Record every figure of three books, or say which differ from a recorded file: the guard of a redesign.

Run it before and after a change that should not move a figure::

    python tests/figure_guard.py record figures.json
    python tests/figure_guard.py compare figures.json

The books are those of the demo company; unusual ones, with accruals, contra accounts and parents; and books that begin
within a month, with an opening. Recorded are the pack, eight statements, each loaded alone and with all days, reports,
the export, and an edit loop of the demo company from its queue to an undo. A difference is printed with both values.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent / "service"))
from posted_books import PostedBooks

import accounting_analytics as aa
from accounting_analytics.pack.pack_periods import PackPeriods

RULES = Path(__file__).parent.parent / "data" / "rules.toml"
OPENING, OUT, IN = "opening balance retained earnings", "uncategorized cash outflow", "uncategorized cash inflow"
UNUSUAL_LEDGERS = {
    "bank": "bank_account",
    "card": "credit_card",
    "till": {"financial_account_type": "bank_account", "debit_credit": "credit"},
    "receivable": "accounts_receivable",
    "machines": "asset non-current_assets debit",
    "worn": {"type": "asset", "sub_type": "non-current_assets", "debit_credit": "credit", "parent_id": "machines"},
    "owed": "liability current_liabilities credit",
    "loan": "loan",
    "sales": "revenue operating_revenues credit",
    "returns": {"type": "revenue", "sub_type": "operating_revenues", "debit_credit": "debit", "parent_id": "sales"},
    "goods": "expense cost_of_goods_sold debit",
    "wages": "expense operating_expenses debit",
    "bonus": {"type": "expense", "sub_type": "operating_expenses", "debit_credit": "debit", "parent_id": "wages"},
    "wear": "expense operating_expenses debit",
    "interest": "expense other_expenses debit",
}
UNUSUAL = [
    ("2024-11-05", {"bank": "9000", OPENING: "-9000"}),
    ("2024-11-20", {"machines": "6000", "loan": "-6000"}),
    ("2024-12-31 23:45", {"bank": "1200.55", "sales": "-1200.55"}),
    ("2025-01-31", {"wear": "100", "worn": "-100"}),
    ("2025-02-03 00:30", {"card": "-45.10", "goods": "45.10"}),
    ("2025-02-28", {"bonus": "500", "owed": "-500"}),
    ("2025-03-04", {"owed": "200", "bank": "-200"}),
    ("2025-03-05", {"owed": "300", "bonus": "-300"}),
    ("2025-03-10", {"receivable": "750.25", "sales": "-750.25"}),
    ("2025-03-25", {"bank": "750.25", "receivable": "-750.25"}),
    ("2025-03-28", {"returns": "80", "till": "-80"}),
    ("2025-03-30", {"wages": "900", "interest": "12.34", "bank": "-812.34", "card": "-100"}),
    ("2025-03-31", {"card": "145.10", "bank": "-145.10"}),
    ("2025-04-02", {OUT: "33.33", "bank": "-33.33"}),
    ("2025-04-03", {"bank": "20", IN: "-20"}),
]
YOUNG_LEDGERS = {name: UNUSUAL_LEDGERS[name] for name in ("bank", "sales", "wages", "goods")}
YOUNG = [
    ("2025-02-11", {"bank": "2500", OPENING: "-2500"}),
    ("2025-02-12", {"goods": "310.40", "bank": "-310.40"}),
    ("2025-02-27", {"bank": "990", "sales": "-990"}),
    ("2025-03-15", {"wages": "640.05", "bank": "-640.05"}),
    ("2025-03-31 23:59", {"bank": "75", "sales": "-75"}),
    ("2025-04-20", {"bank": "125.50", "sales": "-125.50"}),
]


class Company(NamedTuple):
    """Books that are served: their client, their first day, all days, and a month with its prior year."""

    client: aa.LedgerClient
    first_day: str
    days: tuple[str, str]
    month: tuple[str, str]
    tag_group: str | None = None


def numbered(entries: list[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str], str, str]]:
    """Give entries ids, which are otherwise others in every run."""
    return [(day, amounts, f"Entry {number}", f"entry-{number}") for number, (day, amounts) in enumerate(entries)]


def companies(stack: ExitStack) -> Iterator[tuple[str, Company]]:
    """Serve the three books."""
    demo = stack.enter_context(aa.demo())
    days = (str(demo.start_date), str(demo.end_date))
    group = "tgr_bf68e575b47791212bd31217"  # sales channels
    yield "demo", Company(demo.client, days[0], days, ("2026-05-01", "2026-05-31"), group)
    books = PostedBooks(Path(stack.enter_context(TemporaryDirectory())) / "books.db")
    month, days = ("2025-03-01", "2025-03-31"), ("2024-11-05", "2025-04-30")
    unusual = books(numbered(UNUSUAL), UNUSUAL_LEDGERS, time_zone="America/New_York")
    yield "unusual", Company(unusual, days[0], days, month)
    yield "young", Company(books(numbered(YOUNG), YOUNG_LEDGERS), "2025-02-11", ("2025-02-11", "2025-04-30"), month)


def statements_of(
    company: Company, days: tuple[str, str], ledgers: Any, lines: Any
) -> Iterator[tuple[str, aa.Statement]]:
    """Make eight statements of some days: four kinds by month with comparisons, two by tag, two of other columns."""
    compare = ["prior", "prior_year", "change", "change_pct", "share"]
    flows = [*compare, "total", "average"]
    books = aa.Books(lines, ledgers, days, opening=company.first_day)
    yield "income by month", aa.income_statement(aa.Books(lines, ledgers, days), compare=flows)
    yield "cash flow by month", aa.cash_flow_statement(books, compare=flows)
    yield "balance sheet by month", aa.balance_sheet(books, compare=compare)
    yield "trial balance by month", aa.trial_balance(books)
    fiscal = aa.Books(lines, ledgers, days, opening=company.first_day, fiscal_year_start_month=7)
    yield "income by quarter", aa.income_statement(fiscal, columns="quarter")
    yield "balance sheet by quarter", aa.balance_sheet(fiscal, columns="quarter")
    if company.tag_group:
        tags = {"columns": "tag", "tag_group": company.tag_group}
        yield "income by tag", aa.income_statement(books, **tags)
        yield "cash flow by tag", aa.cash_flow_statement(books, **tags)


def figures_of(statement: aa.Statement) -> dict[str, str]:
    """Every figure of a statement by row and column, with its title and notes."""
    found = {"title": statement.title, "columns": " | ".join(one.label for one in statement.columns)}
    for row in statement.rows:
        if row.kind != "heading":
            for column in statement.columns:
                figure = statement[row.key, column.key]
                found[f"{row.label} [{row.key}], {column.key}"] = figure.text or figure.calculation
    return found | {f"note {number}": note for number, note in enumerate(statement.notes)}


def record_loads(company: Company) -> Iterator[tuple[str, dict[str, str]]]:
    """Record statements and the report of a month, loaded alone and with all days, and those of all days."""
    client = company.client
    ledgers = aa.discover_ledgers(client, *company.days, progress=False)
    yield (
        "ledgers",
        {one.id: f"{one.name}, {one.type}, {one.sub_type}, {one.parent_id}" for one in ledgers.itertuples()},
    )
    for loaded, asked in ((company.days, company.days), (company.days, company.month), (company.month, company.month)):
        lines = aa.load_line_entries(client, ledgers["id"], *loaded, progress=False)
        for name, statement in statements_of(company, asked, ledgers, lines):
            yield f"{name} of {'/'.join(asked)} in {'/'.join(loaded)}", figures_of(statement)
    reported = aa.load_cash_flow_report(client, *company.month)
    yield "report as a statement", figures_of(aa.cash_flow_statement(reported, ledgers=ledgers))
    lines = aa.load_line_entries(client, ledgers["id"], *company.days, progress=False)
    month = aa.Books(lines, ledgers, company.month, reports=[reported])
    (compared,) = aa.reconcile(month).compared
    yield "reconciled", {"verdict": compared.verdict, "text": compared.explain()}
    yield "certificate", {"summary": aa.check_completeness(month).summary()}
    if company.tag_group:
        yield "outlook", {"text": aa.outlook(aa.Books(lines, ledgers, opening=company.first_day)).explain()}
        yield "ageing", {"text": aa.ageing(aa.Books(lines, ledgers, opening=company.first_day)).explain()}
        ratios = aa.key_ratios(aa.Books(lines, ledgers, opening=company.first_day), depreciation=["Depreciation"])
        yield "ratios", {"text": ratios.explain()}
        yield "recurring", {"text": aa.recurring_payments(aa.Books(lines, ledgers)).explain()}
        year = aa.Books(lines, ledgers, opening=company.first_day)
        budget = aa.draft_budget(year, "2026-03/2026-05", as_of="2026-02-28")
        yield "draft", {f"{ledger}, {month}": f"{amount}, {note}" for ledger, month, amount, note in budget.to_numpy()}
        for make in (aa.income_statement, aa.cash_flow_statement):
            made = make(year, "2026-03/2026-05", compare="total", budget=budget)
            yield f"{made.title} with a budget", figures_of(made)


def record_pack(company: Company) -> Iterator[tuple[str, dict[str, str]]]:
    month = aa.Period(*company.month)
    reports = PackPeriods.around(month, 1).compared().values()
    pack = aa.monthly_pack(aa.load_books(company.client, month, reports=reports, progress=False))
    rows = pack.figures[["table", "key", "label", "amount"]].astype(str).itertuples(index=False)
    figures = {f"{table}: {key}": f"{label}: {amount}" for table, key, label, amount in rows}
    yield "pack", figures | {"verdict": pack.proof, "reasons": "; ".join(pack.reasons)}


def record_export(company: Company, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Record the rows of each exported table, in an order of their own."""
    aa.export(aa.load_books(company.client, company.days, progress=False), folder)
    for table in sorted(path for path in (folder / "current").iterdir() if path.is_dir()):
        if table.name != "export":  # it has the time of the export
            frame = pq.read_table(table).to_pandas().astype(str)
            if company.tag_group is None:  # the service gives other ids in every run
                ids = ("line_entry_id", "line_id", "transaction_id")
                frame = frame.drop(columns=[name for name in frame if name.endswith(ids)])
            rows = frame.sort_values(list(frame.columns)).to_csv(index=False)
            digest = hashlib.sha256(rows.encode()).hexdigest()
            yield f"export {table.name}", {"rows": str(len(frame)), "digest": digest}


def record_edit_loop(company: Company, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Record queue, proposals, plan, effect, outcomes, and the report after the run and after its undo."""
    client, days = company.client, company.month
    books = aa.load_books(client, company.days, progress=False)
    queue = aa.uncategorized_queue(books)
    proposals = aa.propose(queue, aa.load_rules(RULES), books, suggestions=aa.suggest(queue, books))
    plan = aa.plan_recategorization(proposals, books)
    before = aa.load_cash_flow_report(client, *days)
    effect = plan.preview(before)
    frames = {"queue": queue, "proposals": proposals, "plan": plan.frame, "effect": effect.frame}
    for name, frame in frames.items():
        kept = frame.drop(columns=[one for one in ("plan_id", "created_at") if one in frame])
        yield name, {str(number): text for number, text in enumerate(kept.to_csv(index=False).splitlines())}
    journal = folder / "journal.jsonl"
    outcomes = aa.apply_plan(client, plan, journal=journal, confirm=True)
    after = aa.load_cash_flow_report(client, *days)
    yield "applied", {"outcomes": str(outcomes["outcome"].value_counts().to_dict()), **flows_of(after)}
    undo = aa.undo_plan(client, journal)
    undone = aa.apply_plan(client, undo, journal=folder / "undo.jsonl", confirm=True)
    yield "undone", {"outcomes": str(undone["outcome"].value_counts().to_dict())}
    again = flows_of(aa.load_cash_flow_report(client, *days))
    yield "report is as before", {"same": str(again == flows_of(before))}


def flows_of(report: aa.CashFlowReport) -> dict[str, str]:
    """Net cash flow by ledger."""
    return {one.ledger_id: f"{one.net_cash_flow:.2f}" for one in report.ledgers.itertuples()}


def record() -> dict[str, dict[str, str]]:
    """Record everything, by book and subject."""
    found: dict[str, dict[str, str]] = {}
    with ExitStack() as stack:
        for name, company in companies(stack):
            folder = Path(stack.enter_context(TemporaryDirectory()))
            subjects = [record_loads(company), record_pack(company), record_export(company, folder / "export")]
            if company.tag_group:
                subjects.append(record_edit_loop(company, folder))
            for subject in subjects:
                found |= {f"{name}: {title}": figures for title, figures in subject}
    return found


def differences(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> Iterator[str]:
    """Say which figures differ, and both values."""
    for title in sorted(before.keys() | after.keys()):
        old, new = before.get(title, {}), after.get(title, {})
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                yield f"{title}\n    {key}\n    - {old.get(key, '(none)')}\n    + {new.get(key, '(none)')}"


def main() -> None:
    """Record, or compare with what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    pd.set_option("display.max_rows", None)
    found = record()
    count = sum(map(len, found.values()))
    if given.action == "record":
        given.file.write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(f"{count:,} figures and texts are in {given.file}")
        return
    changed = list(differences(json.loads(given.file.read_text(encoding="utf-8")), found))
    print(*changed, f"{len(changed):,} of {count:,} figures and texts differ", sep="\n")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
