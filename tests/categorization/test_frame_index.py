"""No result depends on the index of a frame, such as the repeated labels that ``pd.concat`` leaves."""

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.categorization.choices import GROUP, TRANSACTION, write_decision_file
from accounting_analytics.categorization.rules import add_rule

RULES = """[[rule]]
name = "coffee"
contains = "COFFEE"
category = "Meals"

[[rule]]
name = "parts"
contains = "PARTS"
category = "Cost of Goods"
"""


@pytest.fixture(scope="module")
def lines(books):
    """Return lines of uncategorized and categorized transactions, a split one and a likely transfer."""
    return books.lines(
        [("card", "-10.00"), ("out", "10.00")],
        [("card", "-11.00"), ("meals", "11.00")],
        [("bank", "-5.00"), ("out", "5.00")],
        [("bank", "7.00"), ("in", "-7.00")],
        [("bank", "-14.00"), ("cogs", "14.00")],
        [("card", "-30.30"), ("out", "20.30"), ("meals", "10.00")],
        [("card", "-12.00"), ("software", "12.00")],
        [("bank", "-60.00"), ("out", "60.00")],
        [("card", "60.00"), ("in", "-60.00")],
        [("card", "-2.50"), ("out", "2.50")],
        descriptions=dict(
            enumerate(["COFFEE", "COFFEE 1234", "TEA", "REFUND", "PARTS", "SHOP", "COFFEE", "MOVE", "MOVE", "COFFEE"])
        ),
    )


def repeated(frame):
    """Return a frame whose labels repeat, as after ``pd.concat([a, b])``."""
    labels = [*range((len(frame) + 1) // 2), *range(len(frame) // 2)]
    return frame.set_axis(labels, axis=0)


def same_label(frame):
    """Return a frame in which all rows have one label."""
    return frame.set_axis([0] * len(frame), axis=0)


def reversed_labels(frame):
    """Return a frame whose labels run backwards."""
    return frame.set_axis(range(len(frame) - 1, -1, -1), axis=0)


def by_day(frame):
    """Return a frame whose labels are instants, as after ``set_index``."""
    days = pd.to_datetime([f"2025-03-{row % 3 + 1:02}" for row in range(len(frame))])
    return frame.set_axis(pd.DatetimeIndex(days, name="day"), axis=0)


LABELS = pytest.mark.parametrize("labelled", [repeated, same_label, reversed_labels, by_day])


@pytest.fixture(scope="module")
def queue(books, lines):
    """Return the queue of the lines with the labels 0, 1, 2, ..."""
    return aa.uncategorized_queue(lines, books.ledgers)


@pytest.fixture
def rules_file(tmp_path):
    """Return the path of a file with two rules."""
    file = tmp_path / "rules.toml"
    file.write_text(RULES, encoding="utf-8")
    return file


@LABELS
def test_queue(books, lines, queue, labelled):
    """The queue has the same rows for any labels of the lines and of the ledgers."""
    found = aa.uncategorized_queue(labelled(lines), labelled(books.ledgers))
    pd.testing.assert_frame_equal(found, queue)
    assert found.attrs == queue.attrs


@LABELS
def test_groups(queue, labelled):
    """Groups are the same for any labels of the queue."""
    pd.testing.assert_frame_equal(aa.group_queue(labelled(queue)), aa.group_queue(queue))


@LABELS
def test_rules_and_decisions(books, queue, rules_file, labelled):
    """Rules and decisions propose the same for any labels of the queue and of the ledgers."""
    rules, ledgers = aa.load_rules(rules_file), books.ledgers
    pd.testing.assert_frame_equal(
        aa.propose(labelled(queue), rules, labelled(ledgers)), aa.propose(queue, rules, ledgers)
    )
    groups = aa.group_queue(queue)
    (coffee,) = groups.loc[groups["merchant"] == "COFFEE", "group_id"]
    decisions = {coffee: "Meals", "txn-2-0": "Meals"}
    pd.testing.assert_frame_equal(
        aa.decide(labelled(queue), decisions, labelled(ledgers)), aa.decide(queue, decisions, ledgers)
    )


@LABELS
def test_rule_report(books, lines, queue, rules_file, labelled):
    """Transactions that have a category are compared with the rules for any labels of the frames."""
    rules, ledgers = aa.load_rules(rules_file), books.ledgers
    expected = aa.report_rules(queue, rules, ledgers, lines)
    assert expected["agreeing_count"].tolist() == [1, 1]
    assert expected["contradicting_count"].tolist() == [1, 0]
    found = aa.report_rules(labelled(queue), rules, labelled(ledgers), labelled(lines))
    pd.testing.assert_frame_equal(found, expected)


@LABELS
def test_files(books, queue, rules_file, tmp_path, labelled):
    """A file to decide by hand and an appended rule are the same for any labels of the queue and of the ledgers."""
    for by in (GROUP, TRANSACTION):
        files = [tmp_path / f"{name}-{by}.csv" for name in ("plain", "labelled")]
        write_decision_file(queue, books.ledgers, files[0], time_zone="UTC", by=by)
        write_decision_file(labelled(queue), labelled(books.ledgers), files[1], time_zone="UTC", by=by)
        assert files[0].read_text(encoding="utf-8") == files[1].read_text(encoding="utf-8")
    add_rule(rules_file, labelled(queue), "txn-2-0", "Meals", labelled(books.ledgers))
    assert 'merchant = "TEA"' in rules_file.read_text(encoding="utf-8")
