"""Any sequence of operations gives the results of a naive implementation of the rules: lists, `zoneinfo` and loops."""

import datetime as dt
import itertools
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from accounting_analytics.core.errors import PostingRefusedError
from accounting_analytics.journals.entries import NewJournalEntry, NewLine, NewTag, NewTransaction, to_units
from accounting_analytics.service.post_entries import post_entries

LOCALTIME = "America/Sao_Paulo"
STARTS = [None, None, dt.date(2011, 12, 30), dt.date(2018, 2, 18)]
ZONES = ["UTC", "America/New_York", "America/St_Johns", "Etc/GMT+12", "Pacific/Apia", "Africa/Casablanca", "localtime"]
# evenings before changes of clocks in those zones
EVENINGS = [
    dt.datetime.fromisoformat(f"{evening}+00:00")
    for evening in ("2006-10-29T01:00", "2011-12-30T09:00", "2018-02-18T01:00", "2025-03-09T04:00")
]
MOMENTS = st.builds(
    lambda evening, minutes: evening + dt.timedelta(minutes=minutes),
    st.sampled_from(EVENINGS),
    st.integers(-100, 100).map(lambda number: number * 15),
)
DATES = st.builds(
    lambda evening, days: (evening + dt.timedelta(days=days)).date(), st.sampled_from(EVENINGS), st.integers(-2, 2)
)
PERIODS = st.tuples(DATES, DATES).map(sorted) | st.just((dt.date(2018, 3, 1), dt.date(2025, 3, 31)))
TAGS = [NewTag("class", "north"), NewTag("class", "south"), NewTag("city", "north")]
KINDS = [
    ("asset", "current_assets", "bank_account", True),
    ("asset", "current_assets", "bank_account", True),
    ("liability", "current_liabilities", "credit_card", True),
    ("asset", "current_assets", "accounts_receivable", False),
    ("asset", "current_assets", None, True),
    ("asset", "non-current_assets", None, False),
    ("expense", "operating_expenses", None, False),
    ("expense", "other_expenses", None, False),
    ("revenue", "other_income", None, False),
]  # fmt: skip


@dataclass
class Ledger:
    id: str
    name: str
    type: str
    sort_code: str
    parent: str | None
    cash: bool
    account: bool


@dataclass
class Line:
    id: str
    ledger: str
    side: str
    signed: Decimal
    tags: frozenset
    transaction: str | None


@dataclass
class Entry:
    id: str
    moment: dt.datetime
    lines: list = field(default_factory=list)


class Machine(RuleBasedStateMachine):
    """The service, and the same books in plain lists."""

    def __init__(self, make_books, seen):
        super().__init__()
        self.make_books, self.seen = make_books, seen
        self.ledgers: dict[str, Ledger] = {}
        self.entries: list[Entry] = []
        self.tag_ids: dict[NewTag, str] = {}
        self.changes: list[tuple] = []
        self._numbers = itertools.count(1)

    def day(self, entry, zone):
        return entry.moment.astimezone(ZoneInfo(LOCALTIME if zone == "localtime" else zone)).date()

    def touches(self, entry):
        return any(self.ledgers[line.ledger].cash for line in entry.lines)

    def balance(self, ledger, entries):
        return sum((line.signed for entry in entries for line in entry.lines if line.ledger == ledger), Decimal(0))

    def within(self, ledger):
        found = [ledger]
        for child in self.ledgers.values():
            if child.parent == ledger:
                found += self.within(child.id)
        return found

    def cash(self):
        return {ledger.id for ledger in self.ledgers.values() if ledger.cash}

    def in_order(self, ledgers):
        return sorted(ledgers, key=lambda ledger: (self.ledgers[ledger].sort_code, ledger))

    def named_cash(self, entry):
        moved = {}
        for line in entry.lines:
            if self.ledgers[line.ledger].cash:
                moved[line.ledger] = moved.get(line.ledger, 0) + line.signed
        first = min(moved, key=lambda ledger: (-abs(moved[ledger]), self.ledgers[ledger].sort_code, ledger))
        return self.ledgers[first].name

    def expected_balances(self, entries):
        cash = self.cash()
        return [
            {
                "ledger_id": ledger,
                "ledger_name": self.ledgers[ledger].name,
                "sort_code": self.ledgers[ledger].sort_code,
                "cash_balance": self.balance(ledger, entries),
                "total_cash_balance": sum(self.balance(at, entries) for at in self.within(ledger) if at in cash),
            }
            for ledger in self.in_order(cash)
        ]

    def expected_report(self, start, end, zone, tags):
        before = [entry for entry in self.entries if self.day(entry, zone) < start]
        until = [entry for entry in self.entries if self.day(entry, zone) <= end]
        lines = {ledger: [] for ledger in self.ledgers}
        for entry in until:
            if entry in before or not self.touches(entry):
                continue
            for line in entry.lines:
                if not self.ledgers[line.ledger].cash and tags <= line.tags:
                    lines[line.ledger].append((entry.moment, line.id, -line.signed, entry))
        net = {ledger: sum((amount for _, _, amount, _ in lines[ledger]), Decimal(0)) for ledger in lines}
        moved = [ledger for ledger in self.ledgers if any(lines[at] for at in self.within(ledger))]
        starting, ending = self.expected_balances(before), self.expected_balances(until)
        return {
            "cash_flow_ledgers": [
                {
                    "ledger_id": ledger,
                    "name": self.ledgers[ledger].name,
                    "net_cash_flow": net[ledger],
                    "total_net_cash_flow": sum(net[at] for at in self.within(ledger)),
                    "lines": [
                        {
                            "line_id": line,
                            "amount": amount,
                            "datetime": moment.isoformat().replace("+00:00", "Z"),
                            "cash_flow_ledger_name": self.named_cash(entry),
                            "journal_entry_id": entry.id,
                            "journal_entry_description": "entry",
                        }
                        for moment, line, amount, entry in sorted(lines[ledger], key=lambda at: at[:2])
                    ],
                }
                for ledger in self.in_order(moved)
            ],
            "starting_balances": starting,
            "ending_balances": ending,
            "starting_cash_balance": sum(at["cash_balance"] for at in starting),
            "ending_cash_balance": sum(at["cash_balance"] for at in ending),
        }

    @initialize(start=st.sampled_from(STARTS), tier=st.sampled_from([2, 3, 3]), data=st.data())
    def first_books(self, start, tier, data):
        self.start, self.tier = start, tier
        self.books = self.make_books(localtime=LOCALTIME, entries_start=start, tier=tier)
        self.required = {ledger.id for ledger in self.books.store.ledgers(self.books.instance_id)}
        for kind in (KINDS[0], *KINDS[6:]):
            self.add_ledger(kind, "1", None)
        for number in range(4):
            self.post_transaction(
                EVENINGS[-1] + dt.timedelta(hours=2 * number - 6), [number + 1] * (number % 3 + 1), data
            )

    def add_ledger(self, kind, sort_code, parent):
        type_, sub_type, account, cash = kind
        name = f"Ledger {next(self._numbers) % 4}"
        created = self.books.create(
            name=name, editable=True, financial_account_type=account, type=type_, sub_type=sub_type, parent_id=parent,
            debit_credit="debit", report_cash_flow=cash, sort_code=sort_code,
        )  # fmt: skip
        self.ledgers[created["id"]] = Ledger(created["id"], name, type_, sort_code, parent, cash, account is not None)

    @rule(kind=st.sampled_from(KINDS), code=st.sampled_from(["2", "10", "3", "A"]), data=st.data())
    def create_ledger(self, kind, code, data):
        siblings = [ledger.id for ledger in self.ledgers.values() if ledger.type == kind[0]]
        self.add_ledger(kind, code, data.draw(st.sampled_from([None, *siblings])))

    @rule(moment=MOMENTS, amounts=st.lists(st.integers(-5, 5), min_size=1, max_size=4), data=st.data())
    def post(self, moment, amounts, data):
        if min(amounts) > 0:
            self.post_transaction(moment, amounts, data)
            return
        signed = [Decimal(amount) / 4 for amount in [*amounts, -sum(amounts)]]
        self.post_lines(moment, [(data.draw(st.sampled_from(list(self.ledgers))), amount) for amount in signed], data)

    def post_transaction(self, moment, amounts, data):
        """Post an ordinary entry: money in an account, and its categories on the other side."""
        account = data.draw(st.sampled_from([ledger.id for ledger in self.ledgers.values() if ledger.account]))
        sign = data.draw(st.sampled_from([1, -1]))
        parts = [(data.draw(st.sampled_from(self.categories())), Decimal(sign * amount) / 4) for amount in amounts]
        self.post_lines(moment, [(account, -sum(amount for _, amount in parts)), *parts], data)

    def categories(self):
        return [ledger.id for ledger in self.ledgers.values() if not (ledger.cash or ledger.account)]

    def post_lines(self, moment, lines, data):
        entry = Entry(f"E{next(self._numbers)}", moment)
        posted = []
        for ledger, amount in lines:
            tags = data.draw(st.frozensets(st.sampled_from(TAGS)))
            account = self.ledgers[ledger].account
            side = "credit" if amount < 0 else "debit"
            number = next(self._numbers)
            line = Line(f"L{number}", ledger, side, amount, tags, f"T{number}" if account else None)
            entry.lines.append(line)
            transaction = NewTransaction(id=line.transaction) if account else None
            posted.append(NewLine(ledger, to_units(amount, 2), transaction=transaction, tags=tuple(tags), id=line.id))
        new = [NewJournalEntry(moment, "entry", tuple(posted), entry.id)]
        if self.start and self.day(entry, LOCALTIME) < self.start:
            with pytest.raises(PostingRefusedError, match=r"is before .*, the first day of the books"):
                post_entries(self.books.store, self.books.instance_id, new)
            return
        post_entries(self.books.store, self.books.instance_id, new)
        self.entries.append(entry)
        for tag in {tag for line in entry.lines for tag in line.tags} - set(self.tag_ids):
            self.learn(tag, entry)

    def learn(self, tag, entry):
        """Find the id of a new tag on a line that has it."""
        line = next(line for line in entry.lines if tag in line.tags)
        shown = self.list_all(line.ledger, entry.moment.date(), entry.moment.date(), "UTC")
        tags = next(at["tags"] for at in shown if at["id"] == line.id)
        same_name = [at for at in tags if at["name"] == tag.name]
        known = set(self.tag_ids.values())
        if len([other for other in line.tags if other.name == tag.name]) == 1:
            self.tag_ids[tag] = same_name[0]["id"]
        else:  # two groups have a tag of this name; the service orders tags by group
            at = sorted(other.group for other in line.tags if other.name == tag.name).index(tag.group)
            self.tag_ids[tag] = same_name[at]["id"]
        assert self.tag_ids[tag] not in known

    def sides(self):
        return [(entry, line) for entry in self.entries for line in entry.lines if line.transaction]

    @staticmethod
    def opposing(entry, own):
        return [line for line in entry.lines if line.side != own.side]

    @rule(data=st.data())
    def recategorize(self, data):
        """Replace one category, or all of them, by another one, as users do."""
        entry, own = data.draw(st.sampled_from(self.sides()))
        lying = [line.ledger for line in self.opposing(entry, own)]
        category = data.draw(st.sampled_from([None, *lying]))
        self.change(entry, own, data.draw(st.sampled_from(self.categories())), category)

    @rule(data=st.data())
    def recategorize_anything(self, data):
        """Replace any ledger by any other one."""
        entry, own = data.draw(st.sampled_from(self.sides()))
        target = data.draw(st.sampled_from(list(self.ledgers)))
        self.change(entry, own, target, data.draw(st.sampled_from([None, *self.ledgers])))

    def change(self, entry, own, target, category):
        opposing = self.opposing(entry, own)
        chosen = [line for line in opposing if category in (None, line.ledger)]
        accounts = {line.ledger for line in entry.lines if line.transaction} | self.cash()
        if category is not None and not chosen:
            status = 404
        elif any(line.transaction or line.ledger in self.cash() for line in chosen) or target in accounts:
            status = 422
        else:
            status = 200
        who = f"user {len(self.changes)}"
        headers = {"modified-by": who}
        response = self.books.recategorize(
            own.ledger, own.transaction, target, category, status=status, headers=headers
        )
        if status == 200:
            before = {line.id: line.ledger for line in chosen if line.ledger != target}
            self.seen["change" if before else "no change", category is None, len(opposing) > len(chosen)] += 1
            if before:
                self.changes.append((own.transaction, who, before, dict.fromkeys(before, target)))
            for line in chosen:
                line.ledger = target
            assert [at["ledger_id"] for at in response["categories"]] == list(
                dict.fromkeys(line.ledger for line in opposing)
            )
            assert response["transaction"]["opposing_line_entry_ids"] == [line.id for line in opposing]
            assert response["transaction"]["amount"] == own.signed

    def before_start(self, day):
        return self.start is not None and day < self.start

    @staticmethod
    def refused(response):
        assert [wrong["loc"] for wrong in response["detail"]] == [["query", "start_date"]]

    def list_backward(self, ledger, start, end, zone, limit, **params):
        """Go to the last page, and back from there by the previous page tokens."""
        days, params = (start.isoformat(), end.isoformat()), {"time_zone": zone, "limit": limit, **params}
        page = self.books.lines(ledger, *days, **params)
        while page["next_page_token"]:
            page = self.books.lines(ledger, *days, **params, page_token=page["next_page_token"])
        found = page["records"]
        while page["prev_page_token"]:
            page = self.books.lines(ledger, *days, **params, page_token=page["prev_page_token"])
            assert page["next_page_token"]
            found = page["records"] + found
        return found

    def list_all(self, ledger, start, end, zone, limit=1000, **params):
        found, token = [], {}
        while token is not None:
            page = self.books.lines(
                ledger, start.isoformat(), end.isoformat(), time_zone=zone, limit=limit, **params, **token
            )
            found += page["records"]
            token = {"page_token": page["next_page_token"]} if page["next_page_token"] else None
        return found

    @rule(
        days=PERIODS,
        zone=st.sampled_from(ZONES),
        limit=st.integers(1, 4),
        is_cashflow=st.sampled_from([None, True, False]),
        data=st.data(),
    )
    def list_line_entries(self, days, zone, limit, is_cashflow, data):
        ledger = data.draw(st.sampled_from(list(self.ledgers)))
        tags = (
            data.draw(st.frozensets(st.sampled_from(sorted(self.tag_ids)), max_size=2)) if self.tag_ids else frozenset()
        )
        params = {"expand": "transaction,opposing_ledger_ids,journal_entry"}
        if tags:
            params["tag_ids"] = ",".join(self.tag_ids[tag] for tag in tags)
        if is_cashflow is not None:
            params["is_cashflow"] = str(is_cashflow).lower()
        if self.before_start(days[0]):
            self.refused(self.books.lines(ledger, *map(str, days), 422, time_zone=zone, limit=limit, **params))
            return
        shown = self.list_all(ledger, *days, zone, limit, **params)
        assert self.list_backward(ledger, *days, zone, limit, **params) == shown
        self.seen["pages", len(shown) > limit] += 1
        expected = sorted(
            (
                (entry.moment, line.id, line, entry)
                for entry in self.entries
                for line in entry.lines
                if line.ledger == ledger
                and days[0] <= self.day(entry, zone) <= days[1]
                and tags <= line.tags
                and is_cashflow in (None, self.touches(entry))
            ),
            key=lambda at: at[:2],
        )
        assert [line["id"] for line in shown] == [line_id for _, line_id, _, _ in expected]
        for seen, (_, _, line, entry) in zip(shown, expected, strict=True):
            opposing = [at for at in entry.lines if at.side != line.side]
            assert (seen["amount"], seen["debit_credit"]) == (abs(line.signed), line.side)
            assert seen["opposing_ledger_ids"] == list(dict.fromkeys(at.ledger for at in opposing))
            assert seen["journal_entry"]["line_entry_ids"] == [at.id for at in entry.lines]
            assert seen.get("related_line_entry_id") == (opposing[0].id if len(opposing) == 1 else None)
            assert seen.get("transaction_id") == line.transaction
            assert seen.get("transaction", {}).get("amount") == (line.signed if line.transaction else None)

    @rule(days=PERIODS, zone=st.sampled_from(ZONES), data=st.data())
    def retrieve_cash_flow_report(self, days, zone, data):
        tags = (
            data.draw(st.frozensets(st.sampled_from(sorted(self.tag_ids)), max_size=2)) if self.tag_ids else frozenset()
        )
        params = {"tag_ids": ",".join(self.tag_ids[tag] for tag in tags)} if tags else {}
        asked = (*map(str, days),)
        if tags and self.tier < 3:
            assert self.books.report(*asked, 403, time_zone=zone, **params)["error_code"] == "tier_required"
        elif self.before_start(days[0]):
            self.refused(self.books.report(*asked, 422, time_zone=zone, **params))
        else:
            report = self.books.report(*asked, time_zone=zone, **params)
            self.seen["report", bool(report["cash_flow_ledgers"])] += 1
            assert not self.required & {ledger["ledger_id"] for ledger in report["cash_flow_ledgers"]}
            assert report == self.expected_report(*days, zone, tags)

    @invariant()
    def audit_is_complete(self):
        self.seen["steps"] += 1
        rows = [(row.transaction_id, row.modified_by, row.before, row.after) for row in self.books.audit()]
        assert rows == self.changes


_MANY = 500


@pytest.mark.soak
def test_any_sequence_of_operations(make_books, soak_count):
    seen, examples = Counter(), soak_count(500, fewer=8)
    run_state_machine_as_test(
        lambda: Machine(make_books, seen),
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert seen["report", True], seen
    # over many examples every kind of case occurs: whole splits, one category of many, several pages
    often = [("change", True, False), ("change", False, True), ("pages", True), ("report", True)]
    assert examples < _MANY or min(seen[kind] for kind in often) > examples // 25, seen
