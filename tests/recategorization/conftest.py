"""A small company with uncategorized transactions on a real service, and a transport that injects faults."""

import datetime as dt
import hashlib
import json
import random
from dataclasses import asdict
from decimal import Decimal
from functools import partial
from types import SimpleNamespace

import httpx
import pandas as pd
import pytest
from plain_books import books_of
from posted_books import UNCATEGORIZED_OUTFLOW, Part, PostedBooks, recategorizations

import accounting_analytics as aa
from accounting_analytics.core.schemas import Ledgers, PlanItems, Proposals

PERIOD = ("2025-03-01", "2025-03-31")
KEYS = ["transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id"]
YEAR = ("2025-03-01", "2025-12-31")
NOON = dt.datetime(2025, 3, 10, 12, tzinfo=dt.UTC)
SPENDING = [
    ("SQ *BLUE BTTL 0423 SF CA", "4.50"),
    ("SQ *BLUE BTTL 0424 SF CA", "5.25"),
    ("GOOGLE *WORKSPACE CC@GOOGLE.COM", "144.00"),
    ("CHECK 1043", "900.00"),
]


class Faulty(httpx.BaseTransport):
    """The real transport, with faults that the test chooses for PUT and GET requests.

    Parameters
    ----------
    on_put : function of (count, request) to fault, optional
        ``None``, ``"lost before"``, ``"lost after"``, ``"late"`` (504, and the request is carried out by
        `carry_out_late`), ``"killed"``, ``"killed after"`` (the request is carried out), a function to call before the
        request goes on, or a response that replaces the request, or its status.
    on_get : the same for GET requests, optional
    """

    def __init__(self, on_put=None, on_get=None):
        self._real = httpx.HTTPTransport()
        self._faults = {"PUT": on_put, "GET": on_get}
        self.puts = 0
        self.gets = 0
        self._late = []

    def handle_request(self, request):
        """Send the request, or inject the chosen fault."""
        self.puts += request.method == "PUT"
        self.gets += request.method == "GET"
        choose = self._faults.get(request.method)
        fault = choose and choose(self.puts if request.method == "PUT" else self.gets, request)
        if fault == "lost before":
            raise httpx.ConnectError(fault)
        if fault == "lost after":
            self._real.handle_request(request).close()
            raise httpx.ReadError(fault)
        if fault == "late":
            self._late.append(request)
            return httpx.Response(504, json={"message": "no answer in time"})
        if fault == "killed after":
            self._real.handle_request(request).close()
        if fault in {"killed", "killed after"}:
            raise KeyboardInterrupt
        if isinstance(fault, int):
            return httpx.Response(fault, json={"message": "no"}, headers={"retry-after": "0.01"})
        if isinstance(fault, httpx.Response):
            return fault
        if callable(fault):
            fault()
        return self._real.handle_request(request)

    def carry_out_late(self, count=None):
        """Carry out the first late requests, or all of them."""
        late, self._late = self._late[:count], self._late[len(self._late) if count is None else count :]
        for request in late:
            self._real.handle_request(request).close()

    def close(self):
        self._real.close()


def only(number, fault):
    """Return a function that chooses the fault for the n-th request only."""
    return lambda count, _: fault if count == number else None


def at_random(seed, share=0.2):
    """Return a seeded function that loses requests before, or responses after, the change is made."""
    chance = random.Random(seed)  # noqa: S311 (a reproducible test)
    return lambda _count, _request: chance.choice(["lost before", "lost after"]) if chance.random() < share else None


def purchase(number, description, amount, bank, outflow):
    """Return an uncategorized purchase to post."""
    parts = {bank: Part(f"-{amount}", f"txn_{number}", description), outflow: amount}
    return NOON + dt.timedelta(hours=number), parts, "Card purchase"


LEDGERS = {
    "led_bank": {"name": "Bank", "financial_account_type": "bank_account"},
    "led_savings": {"name": "Savings", "financial_account_type": "bank_account"},
} | {
    f"led_{name.lower()}": {
        "name": name, "type": "expense", "sub_type": "operating_expenses", "debit_credit": "debit", "sort_code": "5",
    }
    for name in ("Meals", "Software", "Rent")
}  # fmt: skip
ENTRIES = [
    *(purchase(number, *spent, "led_bank", UNCATEGORIZED_OUTFLOW) for number, spent in enumerate(SPENDING)),
    (
        NOON,
        {"led_bank": Part("-70", "txn_split", "HARDWARE STORE"), UNCATEGORIZED_OUTFLOW: "30", "led_rent": "40"},
        "Split",
    ),
    # a ledger without lines is not discovered
    *((NOON, {"led_bank": -9, category: 9}, "Known") for category in ("led_meals", "led_software")),
]


@pytest.fixture
def company_books(tmp_path):
    """Return the company: client, ledger ids, functions to connect, load and post, and the audit log."""
    database = tmp_path / "books.db"
    with PostedBooks(database) as service:
        access = service.create(ENTRIES, LEDGERS)

        def connected(transport=None, **options):
            return access.client(transport=transport, max_attempts=2, **options)

        def load():
            ledgers = aa.discover_ledgers(client, *PERIOD)
            return ledgers, aa.load_line_entries(client, ledgers["id"], *PERIOD)

        def move(transaction_id, category, updated):
            """Change a category as another user."""
            client.recategorize_transaction(
                "led_bank", transaction_id, updated_category_ledger_id=updated, category_ledger_id=category,
                modified_by="another user",
            )  # fmt: skip

        def snapshot():
            """Return every line entry with its categories, and the report, as text."""
            ledgers = aa.discover_ledgers(client, *YEAR)
            lines = aa.load_line_entries(client, ledgers["id"], *YEAR)
            report = aa.load_cash_flow_report(client, *YEAR)
            return [frame.to_csv() for frame in (lines, report.ledgers, report.lines)]

        def audit():
            """Return the audit rows of every category that was changed."""
            return [asdict(change) for change in recategorizations(service.store, access.instance_id)]

        with access.client() as client:
            yield SimpleNamespace(
                client=client,
                token=access.token,
                environment=access.environment,
                connected=connected,
                load=load,
                post=partial(service.post, access.instance_id),
                audit=audit,
                move=move,
                snapshot=snapshot,
                report=lambda: aa.load_cash_flow_report(client, *PERIOD),
                database=database,
                instance=access.instance_id,
                outflow=UNCATEGORIZED_OUTFLOW,
                **{ledger_id.removeprefix("led_"): ledger_id for ledger_id in LEDGERS},
            )


@pytest.fixture
def rules(tmp_path):
    """Return rules for coffee, software and hardware."""
    file = tmp_path / "rules.toml"
    file.write_text(
        '[[rule]]\nname = "coffee"\ncontains = "sq *blue"\ncategory = "Meals"\ndirection = "outflow"\n'
        '[[rule]]\nname = "software"\nregex = "^GOOGLE"\ncategory = "Software"\n'
        '[[rule]]\nname = "hardware"\ncontains = "hardware  store"\ncategory = "Meals"\nmax_amount = "100"\n',
        encoding="utf-8",
    )
    return aa.load_rules(file)


@pytest.fixture
def plan(company_books, rules):
    ledgers, lines = company_books.load()
    proposals = aa.propose(aa.uncategorized_queue(aa.Books(lines, ledgers)), rules, books_of(ledgers))
    return aa.plan_recategorization(proposals, books_of(ledgers), instance_id=company_books.instance)


@pytest.fixture
def groups(queue):
    found = aa.group_queue(queue)
    return dict(zip(found["counterparty"], found["group_id"], strict=True))


@pytest.fixture
def applied(company_books, plan, tmp_path):
    """Return the journal of a run that completed."""
    aa.apply_plan(company_books.client, plan, journal=tmp_path / "run.journal", confirm=True, modified_by="ana")
    return tmp_path / "run.journal"


@pytest.fixture
def many(company_books):
    """Return a function that posts n purchases and plans all of them."""

    def post_and_plan(count):
        numbers = range(10, 10 + count)
        company_books.post(
            *(
                purchase(number, f"SHOP {number}", f"{number}.01", company_books.bank, company_books.outflow)
                for number in numbers
            )
        )
        items = (
            item(f"txn_{number}", company_books.bank, company_books.outflow, company_books.meals, number)
            for number in numbers
        )
        return items_plan(company_books.instance, *items)

    return post_and_plan


def item(transaction_id, ledger_id, category, updated, hours=0, *, entry=None, opposing=None, amount="-1.50", **cells):
    return {
        "transaction_id": transaction_id,
        "ledger_id": ledger_id,
        "journal_entry_id": entry or f"entry of {transaction_id}",
        "datetime": NOON + dt.timedelta(hours=hours),
        "description": "described",
        "transaction_amount": Decimal(amount),
        "uncategorized_amount": Decimal(amount),
        "category_ledger_id": category,
        "updated_category_ledger_id": updated,
        "updated_category_ledger_name": updated,  # the name is not known
        "rule": "by hand",
        "group_id": "",
        "opposing_ledger_ids": "|".join(opposing or [category]),
    } | cells


def items_plan(instance_id, *items):
    """Return a plan with these items."""
    columns = {name: [one[name] for one in items] for name in PlanItems.dtypes()}
    return aa.Plan.from_frame(PlanItems.exact_from_columns(columns), instance_id=instance_id)


def ledgers_of(ids, **cells):
    """Return a chart of accounts; columns that are not given are null, names are ids, and none reports cash flow."""
    columns = dict.fromkeys(Ledgers.without_rows(), [None] * len(ids))
    numbers = [f"{number:03}" for number in range(len(ids))]
    known = {"id": ids, "name": ids, "report_cash_flow": [False] * len(ids), "sort_code": numbers}
    return Ledgers.from_columns(columns | known | cells)


def proposals_of(queue, categories, rule="a rule", **why):
    """Return proposals of a category by its id for some transactions of a queue; `why` are confidence and reason."""
    rows = queue[queue["transaction_id"].isin([*categories])].reset_index(drop=True)
    new = {"updated_category_ledger_id": rows["transaction_id"].map(categories), "updated_category_ledger_name": ""}
    empty = {"confidence": float("nan"), "reason": pd.Series(None, rows.index, dtype="str")}
    return rows[[name for name in Proposals.dtypes() if name in rows]].assign(**new, rule=rule, **empty | why)


def rewrite(journal, change):
    """Replace the events of a journal by what a function returns for each, None for none, as a run had written them."""
    last, lines = "", []
    for one in events(journal):
        event = change({name: value for name, value in one.items() if name != "hash"})
        if event is not None:
            last = hashlib.sha256(f"{last}{json.dumps(event)}".encode()).hexdigest()[:16]
            lines.append(f"{json.dumps(event | {'hash': last})}\n")
    journal.write_text("".join(lines))


def a_minute_ago(event):
    """Return an event of a journal as if it had happened a minute earlier."""
    return event | {"at": (dt.datetime.fromisoformat(event["at"]) - dt.timedelta(seconds=60)).isoformat()}


def outcomes(frame):
    return dict(zip(frame["transaction_id"], frame["outcome"], strict=True))


def found_outcomes(plan, *found):
    """Return a table of these outcomes of a plan."""
    return plan.frame[KEYS].assign(outcome=list(found), reason="")


def events(journal):
    return [json.loads(line) for line in journal.read_text().splitlines()]


@pytest.fixture(scope="session")
def build():
    """Return the builders that tests share."""
    return SimpleNamespace(
        item=item,
        plan=items_plan,
        ledgers=ledgers_of,
        proposals=proposals_of,
        outcomes=outcomes,
        found=found_outcomes,
        events=events,
        rewrite=rewrite,
        a_minute_ago=a_minute_ago,
        Faulty=Faulty,
        only=only,
        at_random=at_random,
        purchase=purchase,
        NOON=NOON,
    )
