"""One counterparty of an entry: the same in queue, frame, bridge, rhythms and ageing, and none of an adjustment."""

import pytest

import accounting_analytics as aa

MONTH = "2026-05"


@pytest.fixture(scope="module")
def may_books(demo_company):
    return aa.load_books(demo_company.client, MONTH, progress=False)


@pytest.fixture(scope="module")
def frame(may_books):
    """Return all line entries with their counterparties."""
    return aa.analysis_frame(may_books, (may_books.extent.days.start_date, may_books.extent.days.end_date))


def test_an_entry_has_one_counterparty(frame):
    assert frame.groupby("journal_entry_id")["counterparty"].nunique().max() == 1
    without = frame[frame["counterparty"] == ""]
    assert not without["is_cash"].any()
    assert len(without) > 100
    named = frame["counterparty"]
    assert not named.str.contains("DEPRECIATION|ACCRUAL|^INVOICE|^PAYMENT OF").any()


def test_queue_has_the_counterparty_of_the_entry(may_books, frame):
    queue = aa.uncategorized_queue(may_books, "2025-01/2026-06")
    of_entry = frame.drop_duplicates("journal_entry_id").set_index("journal_entry_id")["counterparty"]
    assert queue["counterparty"].tolist() == of_entry.reindex(queue["journal_entry_id"]).tolist()


def test_bridges_and_rhythms_have_no_others(may_books, frame):
    known = set(frame["counterparty"]) | {""}
    steps = aa.bridge(may_books, MONTH).steps
    assert {one.counterparty for one in steps} <= known | {"transfers", "other"}
    assert set(aa.recurring_payments(may_books).frame["counterparty"]) <= known


def test_parties_of_open_items_are_counterparties(may_books, frame):
    items = aa.ageing(may_books).open_items
    of_line = frame.set_index("id")["counterparty"].reindex(items["line_id"])
    named = items["counterparty"] != "not named"
    assert named.any()
    assert items["counterparty"][named].str.upper().tolist() == of_line[named.to_numpy()].tolist()


def test_a_customer_is_not_the_text_of_a_transfer(posted_books):
    ledgers = {
        "bank": "bank_account",
        "owed": "accounts_receivable",
        "payable": "accounts_payable",
        "sales": "revenue operating_revenues credit",
        "rent": "expense operating_expenses debit",
    }
    client = posted_books(
        [
            ("2026-05-01", {"owed": 50, "sales": -50}, "Invoice 7 to Oak Cafe"),
            ("2026-05-20", {"bank": 50, "owed": -50}, "Payment of invoice 7 from Oak Cafe"),
            ("2026-05-21", {"bank": -9, "rent": 9}, "LANDLORD 0423"),
            ("2026-05-31", {"rent": 5, "sales": -5}, "Correction of the month"),
        ],
        ledgers,
    )
    found = aa.analysis_frame(aa.load_books(client, MONTH, progress=False))
    by_text = found.drop_duplicates("journal_entry_id").set_index("journal_entry_description")["counterparty"]
    assert by_text.tolist() == ["OAK CAFE", "OAK CAFE", "LANDLORD", ""]
