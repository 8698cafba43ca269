"""The state of a review: what is accepted, changed, skipped, undone, saved and planned; and its table."""

import datetime as dt
import json
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, RulesError
from accounting_analytics.core.schemas import Proposals

RULES = Path(__file__).parents[3] / "data" / "rules.toml"


def decided(review):
    """Return the new category and the rule of each decided transaction."""
    frame = review.decisions
    columns = frame[["updated_category_ledger_id", "rule"]].itertuples(index=False, name=None)
    return dict(zip(frame["transaction_id"], columns, strict=True))


def categories(review):
    return {key: category for key, (category, _) in decided(review).items()}


def test_groups_have_the_order_of_the_queue(review, queue):
    assert review.frame["counterparty"].tolist() == aa.group_queue(queue)["counterparty"].tolist()
    assert review.frame["amount"].tolist() == list(
        map(Decimal, ("900.00", "-60.00", "-25.00", "500.00", "-500.00", "-30.00"))
    )
    assert review.frame["category"].tolist() == ["proposed: Sales", "proposed: Travel", "", "", "", "proposed: Meals"]


def test_nothing_is_decided_that_was_not_accepted(review):
    assert review.decisions.empty
    assert len(review.plan()) == 0
    assert review.accept("uber-1") == "1 transaction, -20.00, accepted."
    assert decided(review) == {"uber-1": ("travel", "a rule")}
    assert [one.transaction_id for one in review.plan().items] == ["uber-1"]


def test_a_category_for_groups_and_transactions(review, groups, queue, ledgers):
    assert review.assign(groups["CORNER DELI"], "Expenses:Meals") == "2 transactions, -25.00, set to Meals."
    review.assign([groups["UBER TRIP"], "client"], "travel")
    review.assign("uber-2", "Meals")
    group = groups["CORNER DELI"]
    assert decided(review) == {
        "deli-1": ("meals", f"decided by hand: {group}"),
        "deli-2": ("meals", f"decided by hand: {group}"),
        "uber-1": ("travel", "a rule"),
        "uber-3": ("travel", "a rule"),
        "uber-2": ("meals", "decided by hand"),
        "client": ("travel", "decided by hand"),
    }
    by_mapping = aa.decide(
        queue,
        {
            groups["CORNER DELI"]: "meals",
            groups["UBER TRIP"]: "travel",
            groups["ACME CORP INVOICE"]: "travel",
            "uber-2": "meals",
        },
        books_of(ledgers),
    )
    assert review.plan().plan_id == aa.plan_recategorization(by_mapping, books_of(ledgers)).plan_id
    assert review.plan(instance_id="mine").instance_id == "mine"
    Proposals.checked(review.decisions)


def test_doubtful_categories_are_named(review):
    assert review.assign("client", "travel").endswith(
        "1 receipt, 900.00, proposed for 'Travel', which is an expense: check that refunds are meant."
    )
    assert (
        "The category 'Expenses' is a parent ledger; a ledger below it may be meant: Meals, Software, Travel."
        in review.assign("deli-1", "Expenses")
    )
    assert any("check that refunds are meant" in note for note in aa.notes(review.decisions))


def test_what_is_skipped_is_not_accepted(review, groups):
    assert review.skip("uber-2") == "1 transaction skipped: no plan changes them."
    review.accept()
    assert categories(review) == {"uber-1": "travel", "uber-3": "travel", "client": "sales", "split": "meals"}
    assert review.frame["category"].tolist()[1] == "Travel, skipped"
    review.clear(pd.Series([groups["UBER TRIP"], "uber-1"]))
    assert review.frame["category"].tolist()[1] == "proposed: Travel"
    assert review.accept(review.decisions["transaction_id"].head(0)).startswith("Nothing changed")
    assert review.accept("deli-1") == "Nothing changed: there are no open proposals among these."


def test_a_split_keeps_its_categories(review, groups):
    with pytest.raises(InputError, match="is split"):
        review.assign("split", "travel")
    assert review.assign(["split", "uber-1"], "meals") == (
        "1 transaction, -20.00, set to Meals. 1 split transaction stays as it is."
    )
    review.undo()
    review.accept(groups["COSTCO"])
    assert decided(review) == {"split": ("meals", "a rule")}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda review: review.assign("uber", "meals"), "'uber' is neither a group nor a transaction"),
        (lambda review: review.assign("uber-1", "Bank"), "reports cash flow and cannot be a category"),
        (lambda review: review.assign("uber-1", "Outflow to sort"), "is an uncategorized ledger"),
        (lambda review: review.assign("uber-1", "Meal"), "Meals"),
        (lambda review: review.make_rule("uber-1"), "a rule needs a category"),
        (lambda review: review.load("missing.csv"), "missing.csv cannot be read"),
    ],
)
def test_refused_calls_change_nothing(review, call, message):
    with pytest.raises(InputError, match=message):
        call(review)
    assert review.decisions.empty
    assert review.undo() == "There is nothing to undo."


class Naive:
    """A review as a mapping, with copies of it to undo and redo."""

    def __init__(self, count):
        self.chosen, self.done, self.undone = [None] * count, [], []

    def choose(self, rows, category):
        after = [category if row in rows else one for row, one in enumerate(self.chosen)]
        if after != self.chosen:
            self.done, self.undone, self.chosen = [*self.done, self.chosen], [], after

    def step(self, taken, given):
        """Go back or forward."""
        if taken:
            given.append(self.chosen)
            self.chosen = taken.pop()


ROWS = 6
ACTIONS = st.lists(
    st.one_of(
        st.sampled_from(["undo", "redo"]),
        st.tuples(
            st.sets(st.integers(0, ROWS - 1), min_size=1),
            st.sampled_from([None, "skipped", "meals", "travel", "sales"]),
        ),
    ),
    max_size=30,
)


@settings.get_profile("slow")
@given(actions=ACTIONS)
def test_any_decisions_are_those_of_a_naive_record(make_queue, ledgers, actions):
    record = aa.review(books_of(ledgers), make_queue())
    naive = Naive(len(record.units))
    for action in actions:
        if action == "undo":
            record.undo()
            naive.step(naive.done, naive.undone)
        elif action == "redo":
            record.redo()
            naive.step(naive.undone, naive.done)
        else:
            rows, category = action
            ids = record.rows["transaction_id"][sorted(rows)]
            if category in {None, "skipped"}:
                (record.skip if category else record.clear)(ids)
            else:
                record.assign(ids, category)
            naive.choose(rows, category)
        chosen = {row: one.updated_category_ledger_id or "skipped" for row, one in record.chosen.items()}
        assert [chosen.get(row) for row in range(len(record.units))] == naive.chosen
        assert (len(record.done), len(record.undone)) == (len(naive.done), len(naive.undone))
    moved = defaultdict(int)
    for new, old, units in zip(naive.chosen, record.rows["category_ledger_id"], record.units, strict=True):
        if new not in {None, "skipped"}:
            moved[old] -= units
            moved[new] += units
    assert {ledger_id: units for ledger_id, (units, _) in record.effect().items()} == moved
    assert record.cleared()[0].startswith(f"{sum(one not in {None, 'skipped'} for one in naive.chosen)} of ")


DAYS = ("2025-01-01", "2026-06-30")


@pytest.fixture(scope="module")
def demo(demo_company):
    """Return books of the demo company, and their queue."""
    books = aa.load_books(demo_company.client, DAYS, since=DAYS[0], reports=())
    return books, aa.uncategorized_queue(books)


def test_suggestions_propose_what_rules_do_not(demo):
    books, queue = demo
    suggested = aa.suggest(queue, books)
    assert len(suggested)
    of_rules = aa.propose(queue, aa.load_rules(RULES), books)
    both = aa.propose(queue, aa.load_rules(RULES), books, suggestions=suggested)
    by_history, by_rules = (
        dict(zip(one["transaction_id"], one["updated_category_ledger_id"], strict=True))
        for one in (suggested, of_rules)
    )
    for review, expected in (
        (aa.review(books, queue, proposals=both), by_history | by_rules),
        (aa.review(books, queue), by_history),
        (aa.review(books), by_history),
    ):
        review.accept()
        assert categories(review) == expected
    assert set(aa.notes(suggested)) <= set(review.notes)


def test_the_effect_is_that_of_the_preview(demo_company, demo):
    books, queue = demo
    review = aa.review(books, queue, proposals=aa.propose(queue, aa.load_rules(RULES), books))
    review.accept()
    changes = review.plan().preview(aa.load_cash_flow_report(demo_company.client, *DAYS)).frame
    predicted = dict(zip(changes["ledger_id"], (changes["change"] * 100).round().astype(int), strict=True))
    assert {ledger_id: units for ledger_id, (units, _) in review.effect().items()} == predicted


@pytest.mark.parametrize("name", ["review.csv", "review.xlsx"])
def test_a_saved_review_is_a_sheet_of_decisions(review, queue, ledgers, tmp_path, name):
    review.accept()
    review.skip(["deli-1", "uber-2", "split"])
    review.save(tmp_path / name)
    decided = aa.decide(queue, tmp_path / name, books_of(ledgers))
    columns = ["transaction_id", "updated_category_ledger_id"]
    assert {*map(tuple, decided[columns].to_numpy())} == {*map(tuple, review.decisions[columns].to_numpy())}
    later = aa.review(books_of(ledgers), queue, proposals=review.decisions)
    assert later.load(tmp_path / name).startswith(f"{len(review.decisions)} transactions decided by ")
    pd.testing.assert_frame_equal(later.decisions, review.decisions)
    later.undo()
    assert later.decisions.empty


def test_a_saved_review_is_filled_in_by_a_person(review, queue, ledgers, tmp_path):
    review.assign("uber-1", "travel")
    review.save(tmp_path / "review.csv")
    sheet = pd.read_csv(tmp_path / "review.csv", dtype=str)
    assert sheet.loc[sheet["category"].notna(), "transaction_id"].tolist() == ["uber-1"]
    sheet.loc[sheet["transaction_id"] == "uber-2", "category"] = "Travel"
    sheet.to_csv(tmp_path / "review.csv", index=False)
    later = aa.review(books_of(ledgers), queue[queue["transaction_id"] != "uber-1"])
    text = later.load(tmp_path / "review.csv")
    assert "1 transaction decided by" in text
    assert "1 of 2 decisions of" in text
    assert categories(later) == {"uber-2": "travel"}


@pytest.mark.parametrize("content", ["", "category,transaction_id\nunknown,uber-1\n", "category,group_id\n", "\xff"])
def test_a_file_without_decisions_is_refused(review, tmp_path, content):
    (tmp_path / "review.csv").write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=r"review\.csv"):
        review.load(tmp_path / "review.csv")
    assert review.decisions.empty


def test_a_rule_is_made_of_a_decision(review, groups, queue, ledgers, tmp_path):
    review.assign(groups["CORNER DELI"], "Meals")
    assert review.make_rule("deli-1").startswith(f"Added to {tmp_path / 'rules.toml'}: [[rule]] name = ")
    proposed = aa.propose(queue, aa.load_rules(tmp_path / "rules.toml"), books_of(ledgers))
    assert proposed["transaction_id"].tolist() == ["deli-1", "deli-2"]
    assert set(proposed["updated_category_ledger_id"]) == {"meals"}
    with pytest.raises(RulesError, match="two rules named"):
        review.make_rule(groups["CORNER DELI"])


def test_reasons_and_confidence_are_shown(propose, queue, ledgers):
    suggested = propose(queue, {"uber-1": "travel", "deli-1": "meals"}, "suggested").assign(
        reason="31 of 31 payments", confidence=[0.9999, None]
    )
    review = aa.review(books_of(ledgers), queue, proposals=suggested.sample(frac=1, random_state=1))
    reasons = dict(zip(review.frame["counterparty"], review.frame["reason"], strict=True))
    assert "31 of 31 payments" in reasons["CORNER DELI"]
    rows = {one: row for row, one in enumerate(review.rows["transaction_id"])}
    assert review.reason(rows["uber-1"]) == "31 of 31 payments (99.9 %)"
    assert rows["uber-2"] not in review.proposed


def test_proposals_that_fit_nothing_are_noted(propose, queue, ledgers):
    proposals = propose(queue)
    proposals.loc[
        proposals["transaction_id"] == "client", ["updated_category_ledger_id", "updated_category_ledger_name"]
    ] = (None, "Travel")
    fewer = queue[queue["transaction_id"] != "uber-1"]
    review = aa.review(books_of(ledgers), fewer, proposals=proposals)
    assert review.notes == ("1 of 5 proposals found no transaction of the queue.",)
    review.accept()
    assert categories(review)["client"] == "travel"
    with pytest.raises(InputError, match="nowhere"):
        aa.review(
            books_of(ledgers),
            queue,
            proposals=proposals.assign(updated_category_ledger_id=None, updated_category_ledger_name="nowhere"),
        )


def test_sums_beyond_floats_are_exact(make_queue, ledgers):
    huge = "-9999999999999.99"
    review = aa.review(books_of(ledgers), make_queue([("a", "card", 1, huge, "HUGE"), ("b", "card", 2, huge, "HUGE")]))
    assert review.assign("a", "meals") == "1 transaction, -9,999,999,999,999.99, set to Meals."
    assert "9,999,999,999,999.99 of 19,999,999,999,999.98 (50 %)" in review.summary()
    assert "(19,999,999,999,999.98)" in review._repr_html_()


def test_empty_queue_has_nothing_to_review(queue, ledgers):
    review = aa.review(books_of(ledgers), queue.head(0))
    assert review.summary() == "Review: 0 of 0 transactions decided, 0.00 of 0.00 (100 %)"
    assert review.accept().startswith("Nothing changed")
    assert len(review.plan()) == 0
    assert json.loads(review.to_json()) == {"notes": [], "decisions": []}


HOSTILE = "</script><img src=x onerror=document.title='owned'>"
PRESSED = "document.querySelector('td[data-key=\"{group}|amount\"] > button')"
UNFOLDED = "[...document.querySelectorAll('tr.entries')].map(row => row.innerText.split(/[\\t\\n]+/))"


def test_the_transactions_of_a_group_sum_to_its_amount(queue, ledgers):
    review = aa.review(books_of(ledgers), queue)
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', review._repr_html_())[1])
    grouped = aa.group_queue(queue)
    assert set(data["figures"]) == set(grouped["group_id"])
    for group_id, amount, count in grouped[["group_id", "amount", "transaction_count"]].itertuples(index=False):
        ((factor, first, last),) = data["figures"][group_id]
        lines = data["lines"][first : last + 1]
        assert (len(lines), factor * sum(line[-1] for line in lines)) == (count, round(100 * amount))
        days = queue.loc[queue["group_id"] == group_id, "datetime"].dt.date.map(dt.date.isoformat)
        assert {data["dates"][line[1]] for line in lines} == set(days)


@pytest.mark.browser
def test_a_press_unfolds_a_group(browser, queue, ledgers, groups, tmp_path):
    hostile = queue.replace({"description": {"CORNER DELI": f"CORNER DELI {HOSTILE}"}})
    review, page = aa.review(books_of(ledgers), hostile), tmp_path / "review.html"
    page.write_text(f"<!doctype html><meta charset=utf-8>{review._repr_html_()}", encoding="utf-8")
    browser.open(page.as_uri())
    (group_id,) = (one for one in groups.values() if one.startswith("corner-deli"))
    button = PRESSED.format(group=group_id)
    browser.wait_until(button)
    browser.click(button)
    ((title, *cells),) = browser.evaluate(UNFOLDED)
    assert title.startswith("CORNER DELI")
    assert cells[-2:] == ["2 entries", "(25.00)"]
    assert [one for one in cells if HOSTILE in one] == [f"CORNER DELI {HOSTILE}"] * 2
    assert browser.evaluate("document.title") != "owned"
