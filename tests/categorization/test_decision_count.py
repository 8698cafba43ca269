"""Decisions for a year of a company's uncategorized transactions, with the truth about each of them."""

import pytest

import accounting_analytics as aa


@pytest.fixture
def load_queue(company_books, decision_count, tmp_path):
    """Return a function that serves books of a seed, and loads the books, the ledgers and the queue."""

    def load_queue(seed, count):
        books = company_books.make_books(seed, count)
        with decision_count.served(books, company_books, tmp_path) as client:
            ledgers, lines, _ = decision_count.load(client, company_books)
        return books, ledgers, aa.uncategorized_queue(lines, ledgers)

    return load_queue


def test_a_seed_repeats_its_books(company_books):
    """The same seed makes the same books; they have as many transactions and merchants as a year of a small company."""
    assert company_books.make_books(7, 100) == company_books.make_books(7, 100) != company_books.make_books(8, 100)
    payments = company_books.make_books().uncategorized.values()
    assert len(payments) == 5_000
    assert 250 < len({payment.merchant for payment in payments}) < 300
    assert {payment.category for payment in payments} > {"Payroll", "Rent", "Software", "transfer"}
    assert sum(payment.categorized != 0 for payment in payments) > 30


def test_merchants_are_others_than_those_of_the_steps(company_books, known_merchants):
    """No name is one that the steps of the normalization were written with."""
    names = {merchant.name for merchants in company_books.read_merchants().values() for merchant in merchants}
    assert not names & set(known_merchants)


def assert_groups_save_decisions(measured, factor):
    """Check that no group has merchants of several categories, and that groups need fewer decisions than rows."""
    assert measured.wrong_merges == {}
    assert measured.missed_transfers == 0
    assert measured.false_transfers <= 2  # one pair of payments that happen to be equal and opposite
    for share, by_row in measured.by_row.items():
        assert measured.by_group[share] * factor < by_row


def test_groups_save_decisions(company_books, decision_count, load_queue):
    """Deciding the largest groups clears the share of the money that was counted, with hardly any of it wrong."""
    books, ledgers, queue = load_queue(1, 1_000)
    measured = decision_count.measure(queue, books)
    assert_groups_save_decisions(measured, 3.2)
    share = decision_count.SHARES[0]
    categories = decision_count.right_decisions(measured, share)
    decided = aa.decide(queue, {one: company_books.ledger_id(name) for one, name in categories.items()}, ledgers)
    sizes = {row.transaction_id: row.size for row in measured.rows}
    whole, cleared = sum(sizes.values()), sum(sizes[one] for one in decided["transaction_id"])
    wrong = sum(
        sizes[row.transaction_id]
        for row in decided.itertuples()
        if row.updated_category_ledger_id != company_books.ledger_id(books.uncategorized[row.transaction_id].category)
    )
    assert cleared >= share * whole
    assert wrong <= measured.misjudged * whole <= whole / 100


@pytest.mark.soak
@pytest.mark.long
def test_groups_save_decisions_of_a_whole_year(decision_count, load_queue, soak_count):
    """The more transactions a merchant has, the more a decision clears: 5,000 of them in `make soak`."""
    books, _, queue = load_queue(2, soak_count(5_000))
    assert_groups_save_decisions(decision_count.measure(queue, books), 2 if soak_count(10) == 1 else 8)
