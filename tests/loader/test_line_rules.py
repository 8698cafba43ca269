"""A loaded frame obeys the model LineEntries, though it is checked before it is a frame."""

from decimal import Decimal

import pyarrow as pa
import pytest

from accounting_analytics.errors import FrameError
from accounting_analytics.loader.columns import line_schema
from accounting_analytics.loader.frames import as_frame
from accounting_analytics.loader.line_rules import REQUIRED
from accounting_analytics.schemas import LineEntries

EXPANDED = frozenset({"transaction", "journal_entry", "opposing_ledger_ids"})
SCHEMA = line_schema(EXPANDED, 2)
ROWS = [
    {"id": "a", "debit_credit": "debit", "amount": Decimal("1.50"), "signed_amount": Decimal("1.50")},
    {"id": "b", "debit_credit": "credit", "amount": Decimal("2.00"), "signed_amount": Decimal("-2.00")},
]


def lines(*changes):
    """Return two lines as a table, each with some values changed."""
    rest = {name: "x" for name in REQUIRED if name.endswith("_id")} | {"datetime": 0}
    rows = [row | rest | change for row, change in zip(ROWS, [*changes, {}, {}], strict=False)]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def test_the_model_has_no_other_rules():
    """Whoever adds a rule to the model must add it where loaded lines are checked."""
    model = LineEntries.to_schema()
    assert {name for name, column in model.columns.items() if not column.nullable} == REQUIRED
    assert {name for name, column in model.columns.items() if column.unique} == {"id"}
    assert [
        (name, [check.name for check in column.checks]) for name, column in model.columns.items() if column.checks
    ] == [("debit_credit", ["isin"])]
    assert [check.name for check in model.checks] == [
        "signed_amount is +amount on the debit side, -amount on the credit side"
    ]
    assert sorted(model.columns) == sorted(SCHEMA.names)


@pytest.mark.parametrize("expanded", [frozenset(), EXPANDED], ids=len)
@pytest.mark.parametrize("scale", [0, 2, 10])
def test_every_frame_is_of_the_model(expanded, scale):
    """Names, dtypes and rules are those of the model, with rows and without."""
    schema = line_schema(expanded, scale)
    whole = lines().select(schema.names).cast(pa.schema([*schema])) if scale else schema.empty_table()
    for table in (whole, whole.slice(0, 0)):
        frame = as_frame(table, schema)
        assert LineEntries.checked(frame) is not None
        assert len(frame) == table.num_rows


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *(([{name: None}], f"{name}: null") for name in sorted(REQUIRED)),
        ([{"id": "b"}], "id: not unique"),
        ([{"debit_credit": "Debit"}], "debit_credit: neither"),
        ([{"signed_amount": Decimal("-1.50")}], "signed_amount is not"),
        ([{}, {"signed_amount": Decimal("2.00")}], "signed_amount is not"),
    ],
)
def test_lines_that_break_a_rule_are_refused(changes, said):
    """Both refuse the same lines: the rules before the frame, and the model after it."""
    broken = lines(*changes)
    with pytest.raises(FrameError, match=said):
        as_frame(broken, SCHEMA)
    frame = as_frame(lines(), SCHEMA)
    for name in SCHEMA.names:
        frame[name] = (
            broken[name].to_pandas(types_mapper=lambda _, name=name: frame[name].dtype).astype(frame[name].dtype)
        )
    with pytest.raises(FrameError):
        LineEntries.checked(frame)


def test_other_columns_are_refused():
    """Neither a column more nor one less nor another type."""
    for table in (lines().drop_columns(["tag_ids"]), lines().append_column("more", lines()["id"])):
        with pytest.raises(FrameError, match="columns"):
            as_frame(table, SCHEMA)
