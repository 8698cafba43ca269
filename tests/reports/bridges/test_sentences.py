"""Sentences of a bridge: three to seven, largest first, each amount a figure."""

import re
from decimal import Decimal

import hypothesis
import pytest
from payee_books import LEDGERS, entries_of, frame_of, paid

import accounting_analytics as aa

AMOUNT = re.compile(r"-?\d[\d,]*\.\d\d")
OTHERS = re.compile(r"1 other change makes|\d other changes together make|The other \d[\d,]* changes cancel")


def bridge_of(entries, kind="cash", **options):
    """Return the bridge from February to March."""
    opening = paid("01-01", counterparty="OPENING", ledger="loan")
    total = "net_cash_flow" if kind == "cash" else "net_income"
    books = aa.Books(frame_of([*opening, *entries]), LEDGERS, ("2025-01-01", "2025-03-31"), time_zone="UTC")
    return aa.bridge(books, "2025-03", total=total, **options)


@pytest.mark.parametrize("kind", ["cash", "income"])
@hypothesis.settings.get_profile("slow")
@hypothesis.given(entries=entries_of())
def test_every_amount_is_a_figure(kind, entries):
    bridge = bridge_of(entries, kind)
    total, *others = bridge.sentences()
    assert min(3, 1 + len(bridge.steps)) <= 1 + len(others) <= 7
    assert {Decimal(one.replace(",", "")) for one in AMOUNT.findall(total)} <= {
        amount for key in ("before", "after", "change") for amount in signs(bridge[key].exact())
    }
    count = 0
    for step, sentence in zip(bridge.steps, others, strict=False):
        if len(others) - 1 == count and OTHERS.search(sentence):
            break
        count += 1
        keys = (
            step.key,
            f"{step.key}|before",
            f"{step.key}|after",
            *([f"{step.key}|last"] if "(last " in sentence and step.cause.rhythm else []),
        )
        figures = {amount for key in keys for amount in signs(bridge[key].exact())}
        assert {Decimal(one.replace(",", "")) for one in AMOUNT.findall(sentence)} <= figures
        assert sentence.startswith(
            f"{step.category}, {step.counterparty}: " if step.counterparty else f"{step.category}: "
        )
    if count < len(others):
        assert {Decimal(one.replace(",", "")) for one in AMOUNT.findall(others[count])} <= set(
            signs(bridge[f"smaller_changes|{count}"].exact())
        )
        assert ("cancel" in others[count]) == (not bridge[f"smaller_changes|{count}"].exact())


def signs(amount):
    """Return an amount, and the same without its sign."""
    return amount, abs(amount)


@pytest.mark.parametrize(
    ("entries", "change", "reason"),
    [
        (
            paid("01-10", "01-24", "02-07", "02-21", "03-07", "03-21", "03-28"),
            "Rent, OAK STREET: 3,200.00 more paid",
            "3 payments instead of 2, paid fortnightly, additional on 28 Mar 2025.",
        ),
        (
            paid("02-07") + paid("03-07", "03-21", cents=-100_000),
            "Rent, OAK STREET: 1,200.00 less paid",
            "smaller payments, 2,000.00 instead of 3,200.00 in 2 payments instead of 1.",
        ),
        (
            paid("02-07", "02-21", cents=-10_000) + paid("03-07", "03-21", "03-28", cents=-20_000),
            "Rent, OAK STREET: 400.00 more paid",
            "3 payments instead of 2, larger ones on average.",
        ),
        (
            paid("02-01", "02-28"),
            "Rent, OAK STREET: 6,400.00 less paid",
            "made earlier, on 28 Feb 2025, so that there are 2 payments in Feb 2025 and none in Mar 2025.",
        ),
        (
            paid("02-03", "02-05"),
            "Rent, OAK STREET: 6,400.00 less paid",
            "none in Mar 2025 after 2 payments on 3 Feb 2025 and 5 Feb 2025.",
        ),
        (
            paid("03-09", cents=50_000, ledger="sales"),
            "Sales, OAK STREET: 500.00 more received",
            "new customer (none since 1 Jan 2025), 1 payment on 9 Mar 2025.",
        ),
        (
            paid("2025-03-09"),
            "Rent, OAK STREET: 3,200.00 more paid",
            "new counterparty (none since 1 Jan 2025), 1 payment on 9 Mar 2025.",
        ),
        (
            paid("01-15", ledger="wages") + paid("03-09"),
            "Rent, OAK STREET: 3,200.00 more paid",
            "new in this category (none since 1 Jan 2025), 1 payment on 9 Mar 2025.",
        ),
        (
            paid("01-15", "03-09"),
            "Rent, OAK STREET: 3,200.00 more paid",
            "paid before (last on 15 Jan 2025), 1 payment on 9 Mar 2025 and none in Feb 2025.",
        ),
        (
            paid("2024-03-20", "2024-06-20", "2024-09-20", cents=-100) + paid("2024-12-20", "03-20", cents=-117),
            "Rent, OAK STREET: 1.17 more paid",
            "paid quarterly (last 1.17 on 20 Dec 2024), 1 payment on 20 Mar 2025 and none in Feb 2025.",
        ),
        (
            paid("2024-06-10", "2024-08-10", "2024-10-10", "2024-12-10", "02-10", cents=500, ledger="sales"),
            "Sales, OAK STREET: 5.00 less received",
            "received every second month (next about 10 Apr 2025), none in Mar 2025 after 1 payment on 10 Feb 2025.",
        ),
        (
            # money that comes back, on other days, is of no rhythm
            paid("2024-10-05", "2024-11-05", "2024-12-05", "01-05", "02-05")
            + paid("2024-11-16", "2024-12-27", "01-17", cents=100),
            "Rent, OAK STREET: 3,200.00 less paid",
            "paid monthly and due about 5 Mar 2025, none in Mar 2025 after 1 payment on 5 Feb 2025.",
        ),
        (
            paid("01-03", "01-10", "01-17", "01-24", "01-31", "02-07"),
            "Rent, OAK STREET: 3,200.00 less paid",
            "gone: paid weekly, none in Mar 2025 after 1 payment on 7 Feb 2025.",
        ),
        (
            # the second payment might have come until 31 March
            paid("2024-12-20", "01-03", "01-18", "01-31", "02-14", "02-28"),
            "Rent, OAK STREET: 6,400.00 less paid",
            "gone: paid fortnightly, none in Mar 2025 after 2 payments on 14 Feb 2025 and 28 Feb 2025.",
        ),
        (
            paid("2024-10-05", "2024-11-05", "2024-12-05", "01-05", "02-05", "04-01"),
            "Rent, OAK STREET: 3,200.00 less paid",
            "none in Mar 2025 after 1 payment on 5 Feb 2025, the next on 1 Apr 2025.",
        ),
        (
            paid("03-09", ledger="own"),
            "Transfers: 3,200.00 less cash",
            "transfers between own accounts whose two sides do not cancel, -3,200.00 instead of 0.00.",
        ),
        (
            paid("02-03") + paid("03-03", cents=-330_000),
            "Rent, OAK STREET: 100.00 more paid",
            "a larger payment on 3 Mar 2025, 3,300.00 instead of 3,200.00.",
        ),
        (
            paid("02-03") + paid("03-03", cents=100),
            "Rent, OAK STREET: 3,201.00 more cash",
            "other amounts, 1.00 instead of -3,200.00 in 1 payment.",
        ),
        (paid("03-03", counterparty=""), "Rent: 3,200.00 less cash", "1 payment without text instead of 0."),
    ],
)
def test_each_cause_has_its_sentence(entries, change, reason):
    assert bridge_of(entries).sentences()[1] == f"{change} than in Feb 2025: {reason}"


def test_income_is_more_expense_or_revenue():
    (step,) = bridge_of(paid("03-03", cents=100), "income").sentences()[1:]
    assert step.startswith(
        "Rent, OAK STREET: 1.00 less expense than in Feb 2025: new customer (none since 1 Jan 2025), 1 entry"
    )


def test_no_change_is_one_sentence():
    assert bridge_of(paid("02-03", "03-03")).sentences() == [
        "Net change in cash: -3,200.00 in Mar 2025 against -3,200.00 in Feb 2025, no change."
    ]


def test_other_changes_that_cancel_have_no_amount():
    large = [
        one for number in range(5) for one in paid("03-03", counterparty=f"PAYEE {number}", cents=-10_000 - number)
    ]
    small = [*paid("03-04", counterparty="ONE", cents=-7), *paid("03-05", counterparty="OTHER", cents=7)]
    *_, last = bridge_of([*large, *small]).sentences()
    assert last == "The other 2 changes cancel each other."


def test_another_writer_writes_every_amount():
    entries = [*paid("02-01", cents=-100), *paid("03-01", cents=-150), *paid("03-02", counterparty="OTHER", cents=-7)]
    found, bridge = [], bridge_of(entries)

    def write(figure, *, is_size):
        found.append((figure.key, is_size))
        return "AMOUNT"

    sentences = bridge.sentences(write)
    assert not [one for one in sentences if AMOUNT.search(one)]
    assert sentences[0].count("AMOUNT") == 3
    assert sum(one.count("AMOUNT") for one in sentences) == len(found)
    assert {"after", "before", "change"} < {key for key, _ in found}
    sides = bridge.sides(bridge.steps[0].key)
    assert sides.change.exact() == sides.after.exact() - sides.before.exact() == bridge[bridge.steps[0].key].exact()
