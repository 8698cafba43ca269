"""Pandera models of every table passed between modules.

Dtypes: ids and text are ``str`` (never parsed as numbers), amounts Arrow ``decimal128(38, scale)``, instants
``datetime64[us, UTC]``, lists Arrow ``list<string>``, booleans that may be unknown ``boolean``. Absent and null are
both null in a frame; a field that was not expanded has no column.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa
import pyarrow.compute as pc
from pandera.errors import SchemaErrors
from pandera.typing.pandas import Series  # noqa: TC002 (pandera reads the annotations)

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.errors import FrameError
from accounting_analytics.money import DEFAULT_SCALE, PRECISION, pandas_dtype, parse_amount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal


_MAX_FAILURES = 3

TEXT = pd.StringDtype(na_value=float("nan"))
INSTANT = pd.DatetimeTZDtype(unit="us", tz="UTC")
TEXT_LIST = pd.ArrowDtype(pa.list_(pa.string()))
BOOLEAN = pd.BooleanDtype()

Instant = Annotated[pd.DatetimeTZDtype, "us", "UTC"]
TextList = Annotated[pd.ArrowDtype, pa.list_(pa.string())]


def scale_of(column: pd.Series[Any]) -> int:
    """Fraction digits of an amount column; a column of another type is refused."""
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        kind = dtype.pyarrow_dtype
        if pa.types.is_decimal128(kind) and kind.precision == PRECISION:
            return int(kind.scale)
    msg = f"column {column.name!r} holds {dtype}, not exact amounts (decimal128({PRECISION}, scale))"
    raise FrameError(msg)


class Table(pandera.DataFrameModel):
    """Base of all tables: exactly the declared columns, no coercion, all amounts of one scale."""

    class Config:
        """Undeclared columns are an error."""

        strict = True

    @classmethod
    def amount_columns(cls) -> list[str]:
        """Names of the amount columns, which are annotated ``Any`` because their scale varies."""
        return [name for name, column in cls.to_schema().columns.items() if column.dtype is None]

    @classmethod
    def checked(cls, frame: pd.DataFrame) -> pd.DataFrame:
        """Return `frame` if it is a valid table; else raise FrameError naming columns and rules, never values.

        ``aa.schemas.LineEntries.checked(frame)`` checks a frame that was made or changed elsewhere.
        """
        scales = {scale_of(frame[name]) for name in cls.amount_columns() if name in frame}
        if len(scales) > 1:
            msg = f"{cls.__name__}: amount columns have different scales {sorted(scales)}"
            raise FrameError(msg)
        try:
            return pd.DataFrame(cls.validate(frame, lazy=True))
        except SchemaErrors as error:
            msg = f"{cls.__name__} is not valid: {_failures(error)}"
            raise FrameError(msg) from None

    @classmethod
    def dtypes(cls, scale: int = DEFAULT_SCALE) -> dict[str, Any]:
        """Dtype of every column, required or not, with amounts at `scale`."""
        return {
            name: pandas_dtype(scale) if column.dtype is None else _NATIVE[str(column.dtype)]
            for name, column in cls.to_schema().columns.items()
        }

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[Any]], scale: int = DEFAULT_SCALE) -> pd.DataFrame:
        """Table from columns of plain values, with the dtypes of the table; not validated."""
        dtypes = cls.dtypes(scale)
        return pd.DataFrame({name: pd.Series(values, dtype=dtypes[name]) for name, values in columns.items()})

    @classmethod
    def without_rows(cls, scale: int = DEFAULT_SCALE) -> pd.DataFrame:
        """Table without rows: the required columns with their dtypes."""
        return cls.from_columns(
            {name: [] for name, column in cls.to_schema().columns.items() if column.required}, scale
        )


class LineEntries(Table):
    """Line entries of one or more ledgers, one row per line, ordered by (datetime, id)."""

    id: Series[str] = pandera.Field(unique=True)
    ledger_id: Series[str]
    ledger_name: Series[str] = pandera.Field(nullable=True)
    journal_entry_id: Series[str]
    journal_entry_description: Series[str] = pandera.Field(nullable=True)
    datetime: Series[Instant]
    amount: Series[Any]
    debit_credit: Series[str] = pandera.Field(isin=list(DebitCredit))
    signed_amount: Series[Any]
    description: Series[str] = pandera.Field(nullable=True)
    transaction_id: Series[str] = pandera.Field(nullable=True)
    related_line_entry_id: Series[str] = pandera.Field(nullable=True)
    editable: Series[pd.BooleanDtype] = pandera.Field(nullable=True)
    opposing_ledger_ids: Series[TextList] | None = pandera.Field(nullable=True)
    tag_ids: Series[TextList] = pandera.Field(nullable=True)
    transaction_amount: Series[Any] | None = pandera.Field(nullable=True)
    transaction_description: Series[str] | None = pandera.Field(nullable=True)
    transaction_personal: Series[pd.BooleanDtype] | None = pandera.Field(nullable=True)
    transaction_posted_status: Series[str] | None = pandera.Field(nullable=True)
    transaction_review_status: Series[str] | None = pandera.Field(nullable=True)
    source_account_id: Series[str] | None = pandera.Field(nullable=True)
    journal_entry_line_entry_ids: Series[TextList] | None = pandera.Field(nullable=True)

    @pandera.dataframe_check(name="signed_amount is +amount on the debit side, -amount on the credit side")
    @classmethod
    def _sign_follows_side(cls, frame: pd.DataFrame) -> bool:
        expected = signed(frame["amount"], frame["debit_credit"])
        return bool((expected == frame["signed_amount"]).all())


class Ledgers(Table):
    """The chart of accounts, one row per ledger, ordered by (sort_code, id).

    `parent_id` is null for a root and where the parent is unknown; `parent_known` distinguishes the two (in a frame
    without that column all parents are known). `found_by` names the step of the discovery that found the ledger. A
    ledger of which the service returns only a balance has no type, side or flags.
    """

    id: Series[str] = pandera.Field(unique=True)
    name: Series[str]
    type: Series[str] = pandera.Field(nullable=True)
    sub_type: Series[str] = pandera.Field(nullable=True)
    debit_credit: Series[str] = pandera.Field(isin=list(DebitCredit), nullable=True)
    financial_account_type: Series[str] = pandera.Field(nullable=True)
    report_cash_flow: Series[bool]
    is_required: Series[pd.BooleanDtype] = pandera.Field(nullable=True)
    editable: Series[pd.BooleanDtype] = pandera.Field(nullable=True)
    parent_id: Series[str] = pandera.Field(nullable=True)
    sort_code: Series[str]
    created_at: Series[Instant] = pandera.Field(nullable=True)
    found_by: Series[str] | None = pandera.Field(nullable=True)
    parent_known: Series[bool] | None


class CashFlowLedgers(Table):
    """Ledgers with cash flow in a period, ordered by (sort_code, id); `total_*` is null where parents are unknown."""

    ledger_id: Series[str] = pandera.Field(unique=True)
    name: Series[str]
    net_cash_flow: Series[Any]
    total_net_cash_flow: Series[Any] = pandera.Field(nullable=True)


class CashFlowLines(Table):
    """Cash flow lines, one row per category line: positive into cash, negative out of cash."""

    line_id: Series[str]
    ledger_id: Series[str]
    amount: Series[Any]
    datetime: Series[Instant]
    cash_flow_ledger_name: Series[str] = pandera.Field(nullable=True)
    journal_entry_id: Series[str]
    journal_entry_description: Series[str] = pandera.Field(nullable=True)


class CashBalances(Table):
    """Debit balances of the ledgers that report cash flow, ordered by (sort_code, id)."""

    ledger_id: Series[str] = pandera.Field(unique=True)
    ledger_name: Series[str]
    sort_code: Series[str]
    cash_balance: Series[Any]
    total_cash_balance: Series[Any] = pandera.Field(nullable=True)


class Queue(Table):
    """Uncategorized transactions, one row per transaction and uncategorized ledger, largest first.

    `amount` is positive into cash and negative out of cash; `category_amount` is its uncategorized part, null where
    that is not certain. `opposing_ledger_ids` are all categories of the transaction: several if it is split.
    """

    transaction_id: Series[str]
    ledger_id: Series[str]
    ledger_name: Series[str] = pandera.Field(nullable=True)
    line_entry_id: Series[str]
    journal_entry_id: Series[str]
    datetime: Series[Instant]
    amount: Series[Any]
    direction: Series[str] = pandera.Field(isin=["inflow", "outflow"])
    description: Series[str]
    category_ledger_id: Series[str]
    category_amount: Series[Any] = pandera.Field(nullable=True)
    opposing_ledger_ids: Series[TextList]
    review_status: Series[str] = pandera.Field(nullable=True)
    tag_ids: Series[TextList] = pandera.Field(nullable=True)


class Proposals(Queue):
    """Rows of the queue with the category that a rule proposes."""

    updated_category_ledger_id: Series[str]
    updated_category_ledger_name: Series[str]
    rule: Series[str]


class PlanItems(Table):
    """Items of a recategorization plan: the expected current category and the new one.

    `opposing_ledger_ids` are all categories of the transaction when the plan was made.
    """

    transaction_id: Series[str]
    ledger_id: Series[str]
    journal_entry_id: Series[str]
    datetime: Series[Instant]
    description: Series[str]
    amount: Series[Any]
    category_amount: Series[Any] = pandera.Field(nullable=True)
    category_ledger_id: Series[str]
    updated_category_ledger_id: Series[str]
    updated_category_ledger_name: Series[str]
    rule: Series[str]
    opposing_ledger_ids: Series[TextList]


class Outcomes(Table):
    """Outcome of each item of a plan, in the order of the plan."""

    transaction_id: Series[str]
    ledger_id: Series[str]
    category_ledger_id: Series[str]
    updated_category_ledger_id: Series[str]
    outcome: Series[str] = pandera.Field(
        isin=["would_change", "done", "already_done", "changed_elsewhere", "refused", "not_done", "unknown"]
    )
    reason: Series[str]


class Differences(Table):
    """Differences between a reported and a recomputed cash flow report, one row per difference.

    `what` names the figure: ``line``, ``net_cash_flow``, ``total_net_cash_flow``, ``starting_balance``,
    ``starting_total_balance``, ``ending_balance``, ``ending_total_balance``, ``starting_cash_balance``,
    ``ending_cash_balance`` or ``identity``. `reported` or `recomputed` is null where that report has no such row;
    `difference` is reported minus recomputed, and zero where only the day or entry of a line differs.
    """

    what: Series[str]
    ledger_id: Series[str] = pandera.Field(nullable=True)
    ledger_name: Series[str] = pandera.Field(nullable=True)
    line_id: Series[str] = pandera.Field(nullable=True)
    journal_entry_id: Series[str] = pandera.Field(nullable=True)
    reported: Series[Any] = pandera.Field(nullable=True)
    recomputed: Series[Any] = pandera.Field(nullable=True)
    difference: Series[Any]
    explanation: Series[str]


class Months(Table):
    """Reconciled calendar months, one row per month; amounts are the reported ones.

    `differences` counts the figures that differ; `anchored` is true where the starting balance proves nothing,
    `partial` where lines are known to be missing.
    """

    start_date: Series[pandera.DateTime]
    end_date: Series[pandera.DateTime]
    ties: Series[bool]
    differences: Series[int]
    starting_cash_balance: Series[Any]
    net_cash_flow: Series[Any]
    ending_cash_balance: Series[Any]
    anchored: Series[bool]
    partial: Series[bool]


def signed(amounts: pd.Series[Any], sides: pd.Series[Any]) -> pd.Series[Any]:
    """Signed amounts of a column, in its dtype: ``+amount`` on the debit side, ``-amount`` on the credit side."""
    values = amounts.array.__arrow_array__().combine_chunks()
    debit = pa.array((sides == DebitCredit.DEBIT).to_numpy(dtype=bool))
    amounts_signed = pc.if_else(debit, values, pc.negate(values))
    return pd.Series(pd.arrays.ArrowExtensionArray(amounts_signed), index=amounts.index, name="signed_amount")


def total(amounts: pd.Series[Any]) -> Decimal:
    """Exact sum of an amount column; zero at the column's scale for no rows."""
    scale = scale_of(amounts)
    # 128-bit sums wrap around silently past 38 digits
    wide = amounts.array.__arrow_array__().cast(pa.decimal256(2 * PRECISION, scale))
    return parse_amount(pc.sum(wide).as_py() or 0, scale).amount


_NATIVE: dict[str, Any] = {
    "string[pyarrow]": TEXT,
    "str": TEXT,
    "bool": bool,
    "int64": "int64",
    "datetime64[ns]": "datetime64[us]",  # pandera has one name for dates without a zone, in any unit
    "boolean": BOOLEAN,
    "datetime64[us, UTC]": INSTANT,
    "list<item: string>[pyarrow]": TEXT_LIST,
}


def _failures(error: SchemaErrors) -> str:
    """Columns, the rules they fail and in how many rows; never values."""
    rules: Counter[str] = Counter()
    for column, check, failure in error.failure_cases[["column", "check", "failure_case"]].itertuples(index=False):
        absent_or_extra = check in {"column_in_dataframe", "column_in_schema"}
        rules[f"{failure if absent_or_extra else column}: {_rule(check)}"] += 1
    listed = [f"{rule} ({count}x)" for rule, count in rules.most_common(_MAX_FAILURES)]
    more = len(rules) - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more > 0 else "")


def _rule(check: str) -> str:
    dtype = check.removeprefix("dtype('").removesuffix("')")
    return _RULES.get(check, check) if dtype == check else f"dtype is not {dtype}"


_RULES = {
    "column_in_dataframe": "column is missing",
    "column_in_schema": "column is not part of this table",
    "not_nullable": "null where a value is required",
    "field_uniqueness": "value occurs more than once",
}
