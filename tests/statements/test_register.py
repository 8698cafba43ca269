"""Registers of loads that lack lines."""

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import IncompleteLoadError


def test_a_register_of_lines_of_cash_flow_alone_is_refused(books):
    """Only a cash ledger has all its lines among those of entries that touch cash; with tags none has."""
    lines, ledgers, _ = books
    cash = ledgers.loc[ledgers["report_cash_flow"], "id"]
    entries = lines.loc[lines["ledger_id"].isin(cash), "journal_entry_id"]
    loaded = lines[lines["journal_entry_id"].isin(entries)]

    def filtered(**filters):
        load = lines.attrs["load"] | {"filters": filters, "lines": len(loaded)}
        frame = loaded.copy()
        frame.attrs = lines.attrs | {"load": load}
        return frame

    on_cash = filtered(is_cashflow=True)
    assert len(aa.register(on_cash, "led_operating", ledgers=ledgers)) == (lines["ledger_id"] == "led_operating").sum()
    with pytest.raises(IncompleteLoadError, match="only lines of entries that touch cash"):
        aa.register(on_cash, "led_inventory", ledgers=ledgers)
    with pytest.raises(IncompleteLoadError, match="only lines of entries that touch cash"):
        aa.register(filtered(is_cashflow=True, tag_ids=["tag"]), "led_operating", ledgers=ledgers)


def test_a_running_total_over_a_gap_says_so(demo_company, demo_books):
    """A register of days after a gap notes which lines its running total lacks."""
    ids, ledgers = ["led_operating"], demo_books.ledgers
    days = (("2025-01-01", "2025-01-31"), ("2025-03-01", "2025-03-31"))
    loads = [aa.load_line_entries(demo_company.client, ids, *one, progress=False) for one in days]
    march = aa.Period("2025-03-01", "2025-03-31", demo_company.time_zone)
    found = aa.register(aa.combine_loads(loads), "led_operating", ledgers=ledgers, period=march)
    assert found.attrs["notes"][0].startswith("The running total lacks lines before 2025-03-01:")
