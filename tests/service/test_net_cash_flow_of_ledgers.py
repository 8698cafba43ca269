"""The net cash flow of a ledger is the sum of its own lines, in whichever order Arrow returns the groups of a sum."""

import json
import random
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.service.operations import cash_flow_lines


@given(st.lists(st.integers(1, 250), min_size=1, max_size=40, unique=True), st.randoms(use_true_random=False))
def test_net_cash_flow_is_that_of_the_lines_of_the_ledger(keys, chance: random.Random):
    """Each part of a report has the sum of the lines that it has."""
    counts = [chance.choice([1, 1, 2, 5]) for _ in keys]
    lines = sum(counts)
    lows = [str(chance.randrange(-(10**6), 10**6)) for _ in range(lines)]
    texts = [["line"] * lines, ["0"] * lines, lows, ["0"] * lines, ["1"] * lines, ["entry"] * lines, ["text"] * lines]
    columns = cash_flow_lines.LineColumns(sorted(keys), counts, [pa.array(column, pa.string()) for column in texts])
    parts = list(cash_flow_lines._rendered(columns, {1: "bank"}, 2))
    assert [part.ledger_key for part in parts] == sorted(keys)
    for part in parts:
        rendered = json.loads(b"[" + part.rendered.to_pybytes() + b"]", parse_float=Decimal)
        assert Decimal(part.units) == sum(Decimal(line["amount"]) for line in rendered) * 100
