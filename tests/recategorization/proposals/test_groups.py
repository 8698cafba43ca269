"""Groups: what one decision clears, most money first, with transfers and splits apart."""

from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import AmountError, FrameError, InputError, PeriodError
from accounting_analytics.core.schemas import Queue, QueueGroups

NOON = pd.Timestamp("2025-03-10T12:00:00Z")


@pytest.fixture
def queue_of(builders):
    """Return a function that makes a queue from (account, amount, description, day); it opposes `out` or `in`."""

    def build(*rows):
        lines = builders.payments(*(row[:3] for row in rows))
        days = [row[3] if len(row) > 3 else number for number, row in enumerate(rows) for _ in range(2)]
        instants = pd.Series([NOON + pd.Timedelta(days=day) for day in days], dtype=lines["datetime"].dtype)
        return aa.uncategorized_queue(books_of(builders.ledgers, lines.assign(datetime=instants)))

    return build


def shown(groups, *columns):
    return list(groups[list(columns)].itertuples(index=False, name=None))


def test_rows_that_a_queue_has_twice_are_refused(queue_of, builders):
    queue = queue_of(("card", "-10.10", "BLUE BOTTLE"))
    for use in (aa.group_queue, lambda queue: aa.decide(queue, {}, books_of(builders.ledgers))):
        use(queue)
        with pytest.raises(FrameError, match="the queue has 1 transaction more than once: txn-0-0"):
            use(pd.concat([queue, queue]))


def test_groups_of_one_merchant_direction_and_account(queue_of):
    queue = queue_of(
        ("card", "-10.10", "SQ *BLUE BOTTLE 1234"),
        ("card", "-30.20", "BLUE BOTTLE 04/12/26"),
        ("card", "5.05", "BLUE BOTTLE"),
        ("bank", "-40.40", "POS PURCHASE BLUE BOTTLE"),
        ("bank", "-1.01", ""),
    )
    groups = aa.group_queue(queue)
    exact = QueueGroups.exact(groups).frame
    assert shown(exact, "counterparty", "direction", "ledger_id", "transaction_count", "amount", "description") == [
        ("BLUE BOTTLE", "outflow", "bank", 1, Decimal("-40.40"), "POS PURCHASE BLUE BOTTLE"),
        ("BLUE BOTTLE", "outflow", "card", 2, Decimal("-40.30"), "BLUE BOTTLE 04/12/26"),
        ("BLUE BOTTLE", "inflow", "card", 1, Decimal("5.05"), "BLUE BOTTLE"),
        ("THE ENTRY", "outflow", "bank", 1, Decimal("-1.01"), "the entry"),
    ]
    assert groups["cumulative_share"].round(4).tolist() == [0.4657, 0.9302, 0.9884, 1.0]
    assert groups["share"].round(4).tolist() == [0.4657, 0.4645, 0.0582, 0.0116]
    assert groups.attrs["notes"] == ("2 decisions clear 93 % of the uncategorized amount.",)
    QueueGroups.checked(groups)


def test_ids_are_readable_and_stable(queue_of):
    rows = [("card", "-10.00", "SQ *BLUE BOTTLE"), ("bank", "-9.00", "BLUE BOTTLE"), ("bank", "-8.00", "4711")]
    groups = aa.group_queue(queue_of(*rows))
    assert [one.rpartition("-")[0] for one in groups["group_id"]] == ["blue-bottle", "blue-bottle", "4711"]
    assert groups["group_id"].is_unique
    (alone,) = aa.group_queue(queue_of(rows[0]))["group_id"]
    assert alone == groups["group_id"][0] == "blue-bottle-82e039"


def test_transfers_are_apart(queue_of):
    queue = queue_of(
        ("bank", "-500.00", "ONLINE TRANSFER", 0),
        ("card", "500.00", "PAYMENT THANK YOU", 7),
        ("card", "500.00", "PAYMENT THANK YOU", 7),  # the transaction of the bank has a counterpart already
        ("bank", "-60.00", "TRANSFER", 0),
        ("card", "60.00", "PAYMENT", 8),  # too late
        ("bank", "-70.00", "PAID", 0),
        ("bank", "70.00", "REFUND", 1),  # the same account
        ("card", "80.00", "PAYMENT", 0),
        ("bank", "-80.00", "TRANSFER", 3),  # received before it was paid
    )
    groups = aa.group_queue(queue)
    transfers = groups[groups["kind"] == "transfer"]
    assert set(shown(transfers, "ledger_id", "counterpart_ledger_name", "amount", "transaction_count")) == {
        ("card", "Bank", Decimal("500.00"), 1),
        ("bank", "Card", Decimal("-500.00"), 1),
        ("card", "Bank", Decimal("80.00"), 1),
        ("bank", "Card", Decimal("-80.00"), 1),
    }
    assert transfers.index.min() > groups.index[groups["kind"] == "counterparty"].max()
    assert transfers["group_id"].str.startswith("transfer-").all()
    assert groups.attrs["notes"][1].startswith("4 likely transfers between own accounts")


def test_a_part_of_the_queue_has_the_same_groups(queue_of, builders):
    queue = queue_of(
        ("bank", "-500.00", "ONLINE TRANSFER", 0),
        ("card", "500.00", "PAYMENT THANK YOU", 7),
        ("card", "-10.10", "BLUE BOTTLE", 0),
        ("card", "-20.10", "BLUE BOTTLE", 1),
    )
    groups = aa.group_queue(queue)
    assert dict(queue["group_id"].value_counts()) == dict(
        zip(groups["group_id"], groups["transaction_count"], strict=True)
    )
    for group_id, kind in zip(groups["group_id"], groups["kind"], strict=True):
        part = queue[queue["group_id"] == group_id]
        assert shown(aa.group_queue(part), "group_id", "kind") == [(group_id, kind)]
        assert len(aa.decide(part, {group_id: "Meals"}, books_of(builders.ledgers))) == len(part)


def test_splits_are_apart(builders):
    split = ("card", "-50.00", "ULINE", ("out", "20.00"), ("meals", "30.00"))
    groups = aa.group_queue(builders.queue(split, ("card", "-10.00", "ULINE")))
    assert shown(groups, "kind", "counterparty", "amount") == [
        ("counterparty", "ULINE", Decimal("-10.00")),
        ("split", "ULINE", Decimal("-20.00")),
    ]
    assert groups.attrs["notes"] == (
        "1 decision clears 33 % of the uncategorized amount; the rest is likely transfers and split transactions.",
        "1 split transaction, listed apart and not decided by group.",
    )


def test_transactions_are_counted_not_rows(builders):
    lines = builders.lines([("bank", "-100.00"), ("out", "60.00"), ("in", "40.00")])
    queue = aa.uncategorized_queue(books_of(builders.ledgers, lines))
    assert len(queue) == 2
    groups = aa.group_queue(queue)
    assert shown(groups, "kind", "transaction_count", "amount") == [("split", 1, Decimal("-100.00"))]
    assert groups.attrs["notes"] == ("1 split transaction, listed apart and not decided by group.",)


def test_withheld_amounts_are_no_payment(builders, read_rules):
    """Of wages with tax withheld the counterparty was paid the cash; what is uncategorized are the whole wages."""
    lines = builders.payments(("bank", "-750.00", "PAYROLL", ("loan", "-250.00"), ("out", "1000.00")))
    queue = aa.uncategorized_queue(books_of(builders.ledgers, lines[lines["id"] != "line-0-1"]))
    assert shown(queue, "transaction_amount", "uncategorized_amount") == [(Decimal("-750.00"), Decimal("-1000.00"))]
    (group,) = aa.group_queue(queue).itertuples()
    assert (group.counterparty, group.amount) == ("PAYROLL", Decimal("-1000.00"))
    rules = read_rules("[[rule]]\nname = 'payroll'\ncontains = 'PAYROLL'\nmax_amount = 750\ncategory = 'Meals'\n")
    assert shown(aa.propose(queue, rules, books_of(builders.ledgers)), "rule", "transaction_amount") == [
        ("payroll", Decimal("-750.00"))
    ]
    assert shown(aa.report_rules(queue, rules, books_of(builders.ledgers)), "transaction_count", "amount") == [
        (1, Decimal("-750.00"))
    ]


def test_ages_count_from_the_first_transaction(queue_of):
    queue = queue_of(("bank", "-9.00", "RENT", 0), ("bank", "-8.00", "RENT", 5), ("bank", "-7.00", "FEE", 9))
    groups = aa.group_queue(queue)
    assert shown(groups, "counterparty", "age_days", "newest_age_days") == [("RENT", 9, 4), ("FEE", 0, 0)]
    assert groups["first_datetime"][0] == NOON
    assert groups["last_datetime"][0] == NOON + pd.Timedelta(days=5)
    assert aa.group_queue(queue, as_of="2025-03-31")["age_days"].tolist() == [21, 12]
    with pytest.raises(PeriodError, match="as_of"):
        aa.group_queue(queue, as_of="soon")


def test_empty_queue_has_no_groups(queue_of):
    groups = aa.group_queue(queue_of(("bank", "-9.00", "RENT"))[:0])
    assert (len(groups), groups.attrs["notes"]) == (0, ())
    with pytest.raises(InputError, match="queue is of type list"):
        aa.group_queue([])


def test_sums_are_exact(queue_of):
    largest = queue_of(("bank", "-9999999999999.99", "RENT"), ("bank", "-9999999999999.99", "RENT"))
    with pytest.raises(AmountError, match=r"amount: amount -19,999,999,999,999\.98 is too large for a pandas frame"):
        aa.group_queue(largest)
    floats = queue_of(("bank", "-0.10", "RENT"), ("bank", "-0.20", "RENT"))
    for queue in (floats, Queue.exact(floats).frame):
        assert aa.group_queue(queue)["amount"].tolist() == [-0.3]


AMOUNTS = st.sampled_from(["-1.00", "1.00", "-2.00", "2.00"])


@settings.get_profile("slow")
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["bank", "card"]), AMOUNTS, st.sampled_from(["A SHOP", "A SHOP 1234", "BUS"])),
        min_size=1,
        max_size=12,
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_transaction_is_in_one_group_in_any_order(builders, rows, seed):
    queue = builders.queue(*rows)
    groups = aa.group_queue(queue)
    pd.testing.assert_frame_equal(aa.group_queue(queue.sample(frac=1, random_state=seed)), groups)
    assert groups["transaction_count"].sum() == len(queue)
    assert sum(groups["amount"]) == sum(queue["uncategorized_amount"])
    transfers = queue.query("kind == 'transfer'")
    assert sum(transfers["uncategorized_amount"]) == 0
    assert (transfers["ledger_id"] != transfers["counterpart_ledger_id"]).all()
