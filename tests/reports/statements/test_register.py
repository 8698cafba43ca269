"""Registers of loads that lack lines."""

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import IncompleteLoadError, InputError


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


def test_days_of_a_register_as_text(books):
    """A month may be named as text, in the zone of the load; what is no period is refused."""
    lines, ledgers, _ = books
    may = aa.register(lines, "Rent", ledgers=ledgers, period="2026-05")
    assert len(may)
    assert may["local_date"].between("2026-05-01", "2026-05-31").all()
    pd.testing.assert_frame_equal(
        may,
        aa.register(
            lines, "Rent", ledgers=ledgers, period=aa.Period("2026-05-01", "2026-05-31", time_zone="America/New_York")
        ),
    )
    with pytest.raises(InputError, match="period is of type tuple"):
        aa.register(lines, "Rent", ledgers=ledgers, period=("2026-05-01", "2026-05-31"))
