"""Batches of a load: together they are the frame."""

import pandas as pd

import accounting_analytics as aa
from accounting_analytics.loader import iter_line_entry_batches, merged_batches
from accounting_analytics.schemas import LineEntries

PERIOD = ("2025-01-01", "2025-03-31")
LEDGERS = ["led_3", "led_1", "led_2"]


def test_batches_together_are_the_frame(connected, interleaved, monkeypatch):
    """Batches are validated frames with each line once, in order, whose amounts are always decimals."""
    monkeypatch.setattr(merged_batches, "_ROWS_PER_BATCH", 700)
    frame = aa.load_line_entries(connected(interleaved, amounts="decimal"), LEDGERS, *PERIOD)
    batches = list(iter_line_entry_batches(connected(interleaved), LEDGERS, *PERIOD))
    assert len(batches) > 2
    assert all(len(LineEntries.checked(batch)) for batch in batches)
    pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), frame, check_flags=False)
