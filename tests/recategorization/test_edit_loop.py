"""Plans, runs, kills, lost responses, colleagues, undoing, in any order: nothing is lost, doubled or wrong."""

import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from posted_books import UNCATEGORIZED_OUTFLOW, Part, PostedBooks

import accounting_analytics as aa
from accounting_analytics.core.errors import PlanError

OUT, BANK = UNCATEGORIZED_OUTFLOW, "bank"
TARGETS = ["meals", "rent", "travel"]
LEDGERS = {BANK: "bank_account"} | dict.fromkeys(TARGETS, "expense operating_expenses debit")
TRANSACTIONS = {
    "one": {OUT: 1},
    "two": {OUT: 2},
    "split": {OUT: 3, "rent": 4},
    "market": {OUT: 5, "rent": 6, "travel": 7},
}
DAY = "2025-03-10"
NOT_NEW = {"not_done", "refused", "changed_elsewhere"}
FAULTS = ["lost before", "lost after", "late", "late", "killed", "killed after", 503, 429, 409]
STEPS = Counter(
    {"apply": 6, "make_plan": 1, "undo": 2, "colleague": 1, "carry_out_late": 1, "finish": 1, "take_back": 1}
)


def joins(item):
    return item.updated_category_ledger_id in item.previous_categories


@dataclass
class Planned:
    """A plan and its journal, which is also the name of its user; `lines` are those that each change is to move."""

    plan: aa.Plan
    journal: Path
    lines: dict
    joins: bool = False
    moved: list = field(default_factory=list)


class Loop:
    """The edit loop on a real service, and by the lines of its audit log what really changed."""

    def __init__(self, service, build, chance):
        """Post new books, read the category lines, and make a first plan."""
        self.service, self.build, self.chance = service, build, chance
        entries = [
            (DAY, {BANK: Part(-sum(parts.values()), name, name)} | parts, name) for name, parts in TRANSACTIONS.items()
        ]
        self.access = self.service.create([*entries, *((DAY, {BANK: -9, one: 9}) for one in TARGETS)], LEDGERS)
        self.stack, self.folder = ExitStack(), Path(mkdtemp())
        self.transport = build.Faulty()
        self.client = self.stack.enter_context(self.access.client(transport=self.transport, max_attempts=1))
        self.now, self.entry_of, self.transaction_of = {}, {}, {}
        found = {line.journal_entry_id: line.transaction_id for line in self.lines(BANK)}
        for ledger_id in (OUT, *TARGETS):
            for line in sorted(self.lines(ledger_id), key=lambda line: found[line.journal_entry_id] or ""):
                if found[line.journal_entry_id] is not None:
                    self.now[line.id], self.entry_of[line.id] = ledger_id, line.journal_entry_id
                    self.transaction_of[line.id] = found[line.journal_entry_id]
        self.planned, self.rows_seen, self.last_mover = {}, 0, {}
        self.met_colleague, self.denied = set(), set()
        self.make_plan()

    def lines(self, ledger_id):
        return list(self.client.iter_line_entries(ledger_id, DAY, DAY, time_zone="UTC"))

    def any_run(self):
        """Choose a plan that was made."""
        return self.chance.choice(sorted(self.planned))

    def categories_of(self, transaction_id):
        return {self.now[line] for line, one in self.transaction_of.items() if one == transaction_id}

    def add(self, plan, *, joins=False):
        """Remember a plan, and the lines that are where it expects them or moves them, or else all of the entry."""
        lines = {}
        for item in plan.items:
            of_entry = {line for line, entry in self.entry_of.items() if entry == item.journal_entry_id}
            places = (item.category_ledger_id, item.updated_category_ledger_id)
            at = [{line for line in of_entry if self.now[line] == place} for place in places]
            lines[item.identity] = at[0] or at[1] or of_entry
        journal = self.folder / f"journal-{len(self.planned)}"
        self.planned[journal.name] = Planned(plan, journal, lines, joins)
        return journal.name

    def make_plan(self):
        """Plan every transaction that is uncategorized."""
        items = []
        found = {self.transaction_of[line]: line for line, at in self.now.items() if at == OUT}
        for one, line in found.items():
            target, opposing = self.chance.choice(TARGETS), self.categories_of(one)
            entry = {"entry": self.entry_of[line], "opposing": sorted(opposing)}
            items.append(self.build.item(one, BANK, OUT, target, updated_category_ledger_name=target, **entry))
        self.add(self.build.plan(self.client.instance_id, *items), joins=self.chance.random() < 0.3)

    def undo(self):
        """Plan the inverse of a run, as far as it got; of a journal that was cut or edited it is refused."""
        run = self.planned[self.any_run()]
        if not run.journal.exists():
            return
        content, copy = run.journal.read_bytes(), self.folder / "copy"
        place = self.chance.randrange(len(content) - 1)
        is_cut = self.chance.random() < 0.5 and b'"event": "end"' not in content[:place]  # no end of an earlier run
        copy.write_bytes(content[:place] + (b"" if is_cut else bytes([content[place] ^ 1]) + content[place + 1 :]))
        with pytest.raises(PlanError):
            aa.undo_plan(self.client, copy, incomplete=not is_cut)
        self.add(aa.undo_plan(self.client, run.journal, incomplete=True))

    def apply(self):
        """Apply a plan with faults, perhaps again with its journal, and verify it."""
        name = self.any_run()
        run = self.planned[name]
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            self.run_once(name, run)
        journal = run.journal if run.journal.exists() else None
        self.check_claims(run, aa.verify_plan(self.client, run.plan, journal=journal))

    def run_once(self, name, run):
        """Run a plan once, while a colleague may change something between reading and sending."""
        share = self.chance.choice([0, 0.3, 0.9])
        killed_at, colleague_at = self.chance.choice([None, None, 6, 7, 8, 9]), self.chance.choice([0, 0, 0, 1, 2])

        def on_put(count, _request):
            if count == colleague_at:
                self.transport._faults["PUT"] = None
                self.colleague(is_running=True)
                self.transport._faults["PUT"] = on_put
            return self.chance.choice(FAULTS) if self.chance.random() < share else None

        def on_get(count, _request):
            return "killed" if count == killed_at else None

        known = set(self.met_colleague)
        self.denied.clear()
        self.transport.puts = self.transport.gets = 0
        self.transport._faults = {"PUT": on_put, "GET": on_get}
        options = {"journal": run.journal, "confirm": True, "modified_by": name, "allow_irreversible": run.joins}
        try:
            outcomes = aa.apply_plan(self.client, run.plan, **options, progress=False)
        except (KeyboardInterrupt, aa.errors.ServiceError):
            return
        finally:
            self.transport._faults = {"PUT": None, "GET": None}
        self.check_claims(run, outcomes, known)

    def colleague(self, *, is_running=False):
        """Let a colleague move a category of a transaction, once for each transaction, perhaps back.

        While a request is under way, not into a category that it replaces: the service would move both parts, because
        a request names a category, not a line.
        """
        free = sorted({*TRANSACTIONS} - self.met_colleague)
        if not free:
            return
        self.see_changes()
        moved = [line for line in self.now if self.last_mover.get(line) in self.planned]
        ours = sorted({self.transaction_of[line] for line in moved} & {*free})
        one = self.chance.choice(ours or free)
        self.met_colleague.add(one)
        category = self.chance.choice(sorted(self.categories_of(one)))
        targets = {OUT, *TARGETS} - {category}
        if one in ours and self.chance.random() < 0.7:
            line = next(line for line in moved if self.transaction_of[line] == one)
            category, targets = self.now[line], {dict(self.planned[self.last_mover[line]].moved)[line]}
        if is_running or self.transport._late:
            plans = [item for run in self.planned.values() for item in run.plan.items]
            named = {item.category_ledger_id for item in plans if item.transaction_id == one}
            targets -= named | self.categories_of(one)
        if not targets:
            return
        target = self.chance.choice(sorted(targets))
        self.client.recategorize_transaction(
            BANK, one, category_ledger_id=category, updated_category_ledger_id=target, modified_by="colleague"
        )

    def carry_out_late(self, count=1):
        """Carry out requests whose senders stopped waiting."""
        self.transport.carry_out_late(count)
        self.see_changes(late=True)

    def let_a_minute_pass(self):
        """Carry out what is late, and let the journals be a minute older: all that was sent is known then."""
        self.carry_out_late(99)
        self.denied.clear()
        for run in self.planned.values():
            if run.journal.exists():
                self.build.rewrite(run.journal, self.build.a_minute_ago)
                found = aa.verify_plan(self.client, run.plan, journal=run.journal)
                self.check_claims(run, found)
                for item, outcome in zip(run.plan.items, found["outcome"], strict=True):
                    assert outcome != "unknown" or joins(item), item

    def finish(self):
        """Complete a plan with a new journal: the books have all but what a colleague or another run changed."""
        self.let_a_minute_pass()
        name = self.any_run()
        run = self.planned[name]
        finished = self.planned[self.add(run.plan, joins=run.joins)]
        found = aa.apply_plan(
            self.client, run.plan, journal=finished.journal, confirm=True, modified_by=finished.journal.name,
            allow_irreversible=run.joins, progress=False,
        )  # fmt: skip
        self.check_claims(finished, found)
        if self.planned.keys() == {name, finished.journal.name}:
            for item, outcome in zip(run.plan.items, found["outcome"], strict=True):
                if item.transaction_id not in self.met_colleague and not joins(item):
                    assert outcome in {"done", "already_done"}, (item, outcome)

    def take_back(self):
        """Undo a run: each line that it was the last to move is where it was before."""
        name = self.any_run()
        run = self.planned[name]
        if not run.journal.exists():
            return
        self.let_a_minute_pass()
        undo = aa.undo_plan(self.client, run.journal, incomplete=True)
        moved = [(line, old) for line, old in run.moved if self.last_mover[line] == name]
        undone = self.planned[self.add(undo)]
        found = aa.apply_plan(
            self.client, undo, journal=undone.journal, confirm=True, modified_by=undone.journal.name, progress=False
        )
        self.check_claims(undone, found)
        self.see_changes()
        for line, old in moved:
            if self.transaction_of[line] not in self.met_colleague and not run.joins:
                assert self.now[line] == old, (line, old)

    def describe(self, line):
        """Say what happened to a line, and what the plans are, for a failure."""
        plans = {
            name: [(*one.identity, one.opposing_ledger_ids, run.lines[one.identity]) for one in run.plan.items]
            for name, run in self.planned.items()
        }
        return self.transaction_of[line], self.last_mover.get(line), plans, self.rows

    def see_changes(self, *, late=False):
        """Compare every change with the plan of the run that made it: the line it was meant for, once for a journal."""
        rows = self.service.execute(
            "SELECT modified_by, before, after FROM audit WHERE operation = 'recategorize_transaction' AND instance_pk"
            " = (SELECT pk FROM instances WHERE id = ?) ORDER BY pk",
            self.access.instance_id,
        )
        self.rows = rows
        for user, *states in rows[self.rows_seen :]:
            before, after = map(json.loads, states)
            for line, new in after.items():
                if user in self.planned:
                    run = self.planned[user]
                    item = next((one for one in run.plan.items if line in run.lines[one.identity]), None)
                    assert item is not None, (user, line, before[line], new, self.describe(line))
                    assert (before[line], new) == (item.category_ledger_id, item.updated_category_ledger_id)
                    assert line not in {moved for moved, _ in run.moved}, "changed twice by the runs of a journal"
                    assert not late or (user, line) not in self.denied, "carried out although it was said not to be"
                    run.moved.append((line, before[line]))
                self.now[line], self.last_mover[line] = new, user
        self.rows_seen = len(rows)

    def check_claims(self, run, outcomes, known=frozenset(TRANSACTIONS)):
        """Compare the outcomes with the books; `known` are transactions that a colleague changed before the run."""
        self.see_changes()
        for item, outcome in zip(run.plan.items, outcomes["outcome"], strict=True):
            now = self.categories_of(item.transaction_id)
            is_new = item.updated_category_ledger_id in now and item.category_ledger_id not in now
            if outcome == "already_done" and item.transaction_id in self.met_colleague - known:
                continue  # it was read before the colleague changed it
            if outcome in {"done", "already_done"}:
                assert is_new, (item, outcome, now)
            elif outcome in NOT_NEW:
                expects_others = now != item.previous_categories - {item.category_ledger_id} | {
                    item.updated_category_ledger_id
                }
                assert not is_new or expects_others, (item, outcome, now)
                self.denied |= {(run.journal.name, line) for line in run.lines[item.identity]}


def test_nothing_is_lost_doubled_or_wrong(build, tmp_path_factory):
    with PostedBooks(tmp_path_factory.mktemp("books") / "books.db") as service:

        @settings(max_examples=settings.default.max_examples // 2)
        @given(st.lists(st.sampled_from(sorted(STEPS.elements())), min_size=9, max_size=9), st.randoms())
        def test(steps, chance):
            loop = Loop(service, build, chance)
            with loop.stack:
                for step in steps:
                    getattr(loop, step)()
                    loop.see_changes()
                loop.let_a_minute_pass()

        test()
