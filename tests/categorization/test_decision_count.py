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
