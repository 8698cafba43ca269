"""The queue: which transactions are uncategorized, their direction and their amount."""

from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.core.schemas import Queue


def rows(queue, *columns):
    return list(queue[list(columns)].itertuples(index=False, name=None))


def test_a_line_of_zero_has_the_direction_of_its_side(builders):
    lines = builders.lines([("bank", "-5.00"), ("out", "5.00")])
    (zero,) = lines.index[lines["ledger_id"] == "bank"]
    nothing = lines.assign(
        **{name: lines[name].where(lines.index != zero, 0.0) for name in ("amount", "signed_amount")}
    )
    assert aa.uncategorized_queue(books_of(builders.ledgers, nothing))["direction"].tolist() == ["outflow"]


def test_frames_that_cannot_be_used_are_refused(builders):
    lines = builders.lines([("bank", "-5.00"), ("out", "5.00")])
    with pytest.raises(FrameError, match=r"occurs more than once: line-0-0, line-0-1; load these days once"):
        aa.uncategorized_queue(books_of(builders.ledgers, pd.concat([lines, lines])))
    missing = "line_entries: column is missing: "
    for name, message in (
        ("id", f"{missing}id"),
        ("transaction_id", f"{missing}transaction_id"),
        ("opposing_ledger_ids", "line_entries have no opposing_ledger_ids; load them with expand="),
    ):
        with pytest.raises(FrameError, match=message):
            aa.uncategorized_queue(books_of(builders.ledgers, lines.drop(columns=name)))
    with pytest.raises(FrameError, match="'bank'"):
        aa.uncategorized_queue(books_of(builders.ledgers[builders.ledgers["id"] != "bank"], lines))


def test_several_cash_lines_share_a_category(builders):
    lines = builders.lines([("bank", "-60.00"), ("card", "-40.00"), ("out", "100.00")])
    queue = aa.uncategorized_queue(books_of(builders.ledgers, lines))
    assert rows(queue, "transaction_id", "uncategorized_amount") == [
        ("txn-0-0", Decimal("-60.00")),
        ("txn-0-1", Decimal("-40.00")),
    ]
    assert not queue["uncategorized_is_certain"].any()
    assert "2 transactions" in queue.attrs["notes"][0]


def test_description_is_the_first_that_is_not_blank(builders):
    lines = builders.lines(
        [("bank", "-3.00"), ("out", "3.00")],
        [("bank", "-2.00"), ("out", "2.00")],
        [("bank", "-1.00"), ("out", "1.00")],
        descriptions={0: "SQ *BLUE", 1: "  "},
    )
    lines["description"] = lines["description"].where(lines["id"] != "line-1-0", "the line")
    assert aa.uncategorized_queue(books_of(builders.ledgers, lines))["description"].tolist() == [
        "SQ *BLUE",
        "the line",
        "the entry",
    ]


def test_the_whole_amount_counts_without_uncategorized_lines(builders):
    lines = builders.lines([("bank", "-5.00"), ("out", "5.00")])
    queue = aa.uncategorized_queue(books_of(builders.ledgers, lines[lines["ledger_id"] == "bank"]))
    assert not queue["uncategorized_is_certain"].any()
    assert queue["uncategorized_amount"].tolist() == [Decimal("-5.00")]
    assert "is not known" in queue.attrs["notes"][0]
    assert queue.attrs["notes"][0].endswith("their whole amounts are listed.")


def test_given_ledger_replaces_its_direction_only(builders):
    lines = builders.lines(
        [("bank", "-1.00"), ("out", "1.00")],
        [("bank", "-2.00"), ("meals", "2.00")],
        [("bank", "3.00"), ("in", "-3.00")],
    )
    for text in ("meals", "expenses:meals"):
        queue = aa.uncategorized_queue(books_of(builders.ledgers, lines), outflow_ledger_id=text)
        assert queue["category_ledger_id"].tolist() == ["in", "meals"]
    with pytest.raises(InputError, match="several ledgers match 'Software'"):
        aa.uncategorized_queue(books_of(builders.ledgers, lines), inflow_ledger_id="Software")
    typo = aa.uncategorized_queue(books_of(builders.ledgers, lines), outflow_ledger_id="maels")
    assert typo["category_ledger_id"].tolist() == ["in"]
    assert any("maels is not among these ledgers (did you mean 'Meals'?)." in note for note in typo.attrs["notes"])


def test_undiscovered_given_ledger_still_selects(builders):
    lines = builders.lines([("bank", "-2.00"), ("elsewhere", "2.00")])
    queue = aa.uncategorized_queue(
        books_of(builders.ledgers, lines[lines["ledger_id"] == "bank"]), outflow_ledger_id="elsewhere"
    )
    assert queue["category_ledger_id"].tolist() == ["elsewhere"]


def test_uncategorized_ledgers_are_detected_by_their_flags(builders):
    kinds = {"in": ("revenue", "other_income"), "out": ("expense", "other_expenses")}
    chart = builders.chart(
        [(row[0], f"Renamed {row[0]}", *kinds.get(row[0], row[2:4]), *row[4:]) for row in builders.rows]
    )
    lines = builders.lines([("bank", "-1.00"), ("out", "1.00")], [("bank", "3.00"), ("in", "-3.00")])
    assert aa.uncategorized_queue(books_of(chart, lines))["category_ledger_id"].tolist() == ["in", "out"]


def test_empty_queue_notes_missing_uncategorized_ledgers(builders):
    lines = builders.lines([("bank", "-1.00"), ("meals", "1.00")])
    clean = aa.uncategorized_queue(books_of(builders.ledgers, lines))
    assert Queue.checked(clean).empty
    assert clean.attrs["notes"] == ()
    assert Queue.checked(aa.uncategorized_queue(books_of(builders.ledgers, lines.head(0)))).empty
    undetected = aa.uncategorized_queue(
        books_of(builders.ledgers[~builders.ledgers["is_required"].fillna(value=False)], lines)
    )
    assert undetected.empty
    assert "cannot be recognized" in undetected.attrs["notes"][0]


def test_undetermined_transactions_are_noted(builders):
    lines = builders.lines([("bank", "-1.00"), ("out", "1.00")], [("bank", "-2.00"), ("meals", "2.00")])
    opposing = lines["opposing_ledger_ids"].where(lines["id"] != "line-0-0", None)
    queue = aa.uncategorized_queue(books_of(builders.ledgers, lines.assign(opposing_ledger_ids=opposing)))
    assert queue.empty
    assert "1 transaction without opposing_ledger_ids" in queue.attrs["notes"][0]
    unknown = aa.uncategorized_queue(books_of(builders.ledgers[builders.ledgers["id"] != "meals"], lines))
    assert "meals" in unknown.attrs["notes"][0]


def test_local_dates_are_those_of_the_zone_of_the_books(builders):
    lines = builders.lines([("bank", "-1.00"), ("out", "1.00")])
    with pytest.raises(InputError, match="the line entries state no time zone and have no local_date; name the zone"):
        aa.Books(lines, builders.ledgers)
    for time_zone, day in (("UTC", "2025-03-10"), ("Pacific/Auckland", "2025-03-11")):
        for frame in (lines, lines.assign(local_date=pd.Timestamp("2025-03-09"))):
            (date,) = aa.uncategorized_queue(aa.Books(frame, builders.ledgers, time_zone=time_zone))["local_date"]
            assert date == pd.Timestamp(day)


@settings.get_profile("slow")
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["bank", "card", "loan"]),
            st.lists(
                st.tuples(st.sampled_from(["in", "out", "meals", "sales"]), st.integers(-9, 9).filter(bool)),
                min_size=1,
                max_size=4,
            ),
        ).filter(lambda entry: sum(amount for _, amount in entry[1])),
        min_size=1,
        max_size=6,
    )
)
def test_queue_agrees_with_a_naive_one(builders, entries):
    whole = [[(cash, f"{-sum(size for _, size in parts)}"), *((one, f"{size}") for one, size in parts)]
             for cash, parts in entries]  # fmt: skip
    queue = aa.uncategorized_queue(books_of(builders.ledgers, builders.lines(*whole)))
    expected = set()
    for number, entry in enumerate(whole):
        (cash, amount), *parts = [(ledger, Decimal(text)) for ledger, text in entry]
        opposing = {ledger for ledger, size in parts if (size > 0) != (amount > 0)}
        for category in opposing & {"in", "out"} if cash != "loan" else set():
            part = -sum(size for ledger, size in parts if ledger == category)
            direction = "inflow" if amount > 0 else "outflow"
            ids = (f"txn-{number}-0", f"line-{number}-0", f"entry-{number}", cash)
            expected.add((*ids, direction, amount, category, part))
    columns = ["transaction_id", "line_entry_id", "journal_entry_id", "ledger_id", "direction", "transaction_amount"]
    found = rows(queue, *columns, "category_ledger_id", "uncategorized_amount")
    assert set(found) == expected
    assert len(found) == len(expected)
    assert queue["transaction_amount"].abs().is_monotonic_decreasing
