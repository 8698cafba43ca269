"""Decisions for a year of a company's uncategorized transactions, with the truth about each of them."""


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
