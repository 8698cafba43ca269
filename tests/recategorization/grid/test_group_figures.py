"""A review in a page without a kernel: its groups, which unfold their transactions."""

import datetime as dt
import json
import re

import pytest

import accounting_analytics as aa

HOSTILE = "</script><img src=x onerror=document.title='owned'>"
PRESSED = "document.querySelector('td[data-key=\"{group}|amount\"] > button')"
UNFOLDED = "[...document.querySelectorAll('tr.entries')].map(row => row.innerText.split(/[\\t\\n]+/))"


@pytest.fixture
def queue(queue):
    """Return a queue with a text that is markup."""
    return queue.replace({"description": {"CORNER DELI": f"CORNER DELI {HOSTILE}"}})


def test_the_transactions_of_a_group_sum_to_its_amount(queue, ledgers):
    """Every group has its transactions with their days, and their units sum to what the queue has."""
    review = aa.review(queue, ledgers)
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
    """In a page without a kernel a press on an amount lists the transactions of the group; markup in them is text."""
    review, page = aa.review(queue, ledgers), tmp_path / "review.html"
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
