"""Pandera models of every table that crosses a module boundary, and the cash flow report made of them.

Dtypes throughout: ids and text ``str`` (never parsed as numbers), amounts Arrow ``decimal128(38, scale)``, instants
``datetime64[us, UTC]``, lists Arrow ``list<string>``, yes/no that may be unknown ``boolean``. Absent and null are both
null in a frame; what was never expanded is not a column.
"""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa
import pyarrow.compute as pc
from pandera.errors import SchemaErrors
from pandera.typing.pandas import Series  # noqa: TC002 (pandera reads the annotations)

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.dtypes import BOOLEAN, INSTANT, TEXT, TEXT_LIST
from accounting_analytics.errors import FrameError
from accounting_analytics.money import DEFAULT_SCALE, EXACT, PRECISION, format_amount, pandas_dtype, parse_amount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accounting_analytics.periods import Period

_SHOWN_FAILURES = 3

Instant = Annotated[pd.DatetimeTZDtype, "us", "UTC"]
TextList = Annotated[pd.ArrowDtype, pa.list_(pa.string())]


def scale_of(column: pd.Series[Any]) -> int:
    """Fraction digits of an amount column; refuses a column that is not exact decimals."""
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        kind = dtype.pyarrow_dtype
        if pa.types.is_decimal128(kind) and kind.precision == PRECISION:
            return int(kind.scale)
    msg = f"column {column.name!r} holds {dtype}, not exact amounts (decimal128({PRECISION}, scale))"
    raise FrameError(msg)


class Table(pandera.DataFrameModel):
    """What all tables share: exactly their columns, nothing coerced, amounts of one scale."""

    class Config:
        """Unknown columns are an error."""

        strict = True

    @classmethod
    def amount_columns(cls) -> list[str]:
        """Names of the columns that hold amounts (typed ``Any`` above, because their scale varies)."""
        return [name for name, column in cls.to_schema().columns.items() if column.dtype is None]

    @classmethod
    def checked(cls, frame: pd.DataFrame) -> pd.DataFrame:
        """Return `frame` if it is this table; else raise FrameError naming columns and rules, never values."""
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
    def of(cls, columns: Mapping[str, Sequence[Any]], scale: int = DEFAULT_SCALE) -> pd.DataFrame:
        """Table of columns of plain values, each given its dtype; not checked."""
        dtypes = cls.dtypes(scale)
        return pd.DataFrame({name: pd.Series(values, dtype=dtypes[name]) for name, values in columns.items()})

    @classmethod
    def without_rows(cls, scale: int = DEFAULT_SCALE) -> pd.DataFrame:
        """Table without rows: the required columns with their dtypes."""
        return cls.of({name: [] for name, column in cls.to_schema().columns.items() if column.required}, scale)


class LineEntries(Table):
    """Line entries of one or more ledgers, one row a line, ordered by (datetime, id)."""

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
    """The chart of accounts, one row a ledger, ordered by (sort_code, id).

    `parent_id` is null for a root and where the parent is unknown; `parent_known` tells the two apart (a frame without
    that column claims to know all parents). `found_by` says how discovery met the ledger. A ledger of which the service
    shows nothing but a balance has no type, side or flags.
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
    """Ledgers that moved cash in a period, ordered by (sort_code, id); `total_*` null where parents are unknown."""

    ledger_id: Series[str] = pandera.Field(unique=True)
    name: Series[str]
    net_cash_flow: Series[Any]
    total_net_cash_flow: Series[Any] = pandera.Field(nullable=True)


class CashFlowLines(Table):
    """Cash flow lines, one row a category line: positive into cash, negative out of cash."""

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
    """Uncategorized transactions, one row a transaction and uncategorized ledger, largest first.

    `amount` is into cash (positive) or out of it (negative); `category_amount` is the uncategorized part of it, null
    where that is not certain. `opposing_ledger_ids` are all categories of the transaction: several in a split.
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
    """Rows of the queue with the category that a rule gives them."""

    updated_category_ledger_id: Series[str]
    updated_category_ledger_name: Series[str]
    rule: Series[str]


class PlanItems(Table):
    """Items of a recategorization plan: what is expected now, and what it is to become.

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
    """What became of each item of a plan, in the plan's order."""

    transaction_id: Series[str]
    ledger_id: Series[str]
    category_ledger_id: Series[str]
    updated_category_ledger_id: Series[str]
    outcome: Series[str] = pandera.Field(
        isin=["would_change", "done", "already_done", "changed_elsewhere", "refused", "not_done", "unknown"]
    )
    reason: Series[str]


class Differences(Table):
    """Where a reported and a recomputed cash flow report differ, one row a difference.

    `what` names the figure: ``line``, ``net_cash_flow``, ``total_net_cash_flow``, ``starting_balance``,
    ``starting_total_balance``, ``ending_balance``, ``ending_total_balance``, ``starting_cash_balance``,
    ``ending_cash_balance`` or ``identity``. `reported` or `recomputed` is null where that side has no such row;
    `difference` is reported minus recomputed, and zero where only a line's day or entry differs.
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


def signed(amounts: pd.Series[Any], sides: pd.Series[Any]) -> pd.Series[Any]:
    """Signed amounts of a column: ``+amount`` on the debit side, ``-amount`` on the credit side; same dtype."""
    values = amounts.array.__arrow_array__().combine_chunks()
    debit = pa.array((sides == DebitCredit.DEBIT).to_numpy(dtype=bool))
    flipped = pc.if_else(debit, values, pc.negate(values))
    return pd.Series(pd.arrays.ArrowExtensionArray(flipped), index=amounts.index, name="signed_amount")


def total(amounts: pd.Series[Any]) -> Decimal:
    """Exact sum of an amount column; zero at the column's scale for no rows."""
    scale = scale_of(amounts)
    # 128-bit sums wrap around silently past 38 digits
    wide = amounts.array.__arrow_array__().cast(pa.decimal256(2 * PRECISION, scale))
    return parse_amount(pc.sum(wide).as_py() or 0, scale).amount


@dataclass(frozen=True)
class CashFlowReport:
    """A cash flow report, loaded from the service or recomputed from line entries.

    Parameters
    ----------
    period : Period
        The days reported, with their time zone.
    ledgers : DataFrame
        :class:`CashFlowLedgers`.
    lines : DataFrame
        :class:`CashFlowLines`, in the order of `ledgers`, then (datetime, line_id).
    starting_balances, ending_balances : DataFrame
        :class:`CashBalances` at the start of the first day and the end of the last.
    starting_cash_balance, ending_cash_balance : Decimal
        Sums of the plain balances (not of the totals, which count children twice).
    anchored : bool
        True when the starting balances were taken over, not summed from history: they then prove nothing.
    tag_ids : tuple of str
        Tags the lines were filtered by; balances never are, so a tagged report has no identity to check.
    partial : bool
        True when lines are known to be missing, so that no figure is sure.
    notes : tuple of str
        What a reader must know: readings chosen, values normalized, parts left out.
    """

    period: Period
    ledgers: pd.DataFrame
    lines: pd.DataFrame
    starting_balances: pd.DataFrame
    ending_balances: pd.DataFrame
    starting_cash_balance: Decimal
    ending_cash_balance: Decimal
    anchored: bool = False
    tag_ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    partial: bool = False

    def checked(self) -> CashFlowReport:
        """Return the report if its four tables are valid; else raise FrameError."""
        CashFlowLedgers.checked(self.ledgers)
        CashFlowLines.checked(self.lines)
        CashBalances.checked(self.starting_balances)
        CashBalances.checked(self.ending_balances)
        return self

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return scale_of(self.ledgers["net_cash_flow"])

    @property
    def net_cash_flow(self) -> Decimal:
        """Sum of the plain net cash flows of all ledgers."""
        return total(self.ledgers["net_cash_flow"])

    @property
    def identity_gap(self) -> Decimal:
        """Net cash flow minus the change of the cash balance; zero in a sound untagged report."""
        with localcontext(EXACT):
            return self.net_cash_flow - (self.ending_cash_balance - self.starting_cash_balance)

    def _repr_html_(self) -> str:
        summary = pd.DataFrame(
            {
                "amount": [
                    format_amount(self.starting_cash_balance),
                    format_amount(self.net_cash_flow),
                    format_amount(self.ending_cash_balance),
                ]
            },
            index=[
                "starting cash balance (anchored)" if self.anchored else "starting cash balance",
                "net cash flow",
                "ending cash balance",
            ],
        )
        columns = ["name", "net_cash_flow", "total_net_cash_flow"]
        amounts = dict.fromkeys(columns[1:], lambda amount: "" if amount is pd.NA else format_amount(amount))
        shown = self.ledgers[columns].to_html(index=False, escape=True, formatters=amounts)
        stamp = "<strong>PARTIAL</strong> " if self.partial else ""
        return (
            f"<p>{stamp}Cash flow report, {html.escape(str(self.period))}</p>{summary.to_html(escape=True)}"
            f'<div style="max-height: 26em; overflow: auto">{shown}</div>'
        )


_NATIVE: dict[str, Any] = {
    "string[pyarrow]": TEXT,
    "str": TEXT,
    "bool": bool,
    "boolean": BOOLEAN,
    "datetime64[us, UTC]": INSTANT,
    "list<item: string>[pyarrow]": TEXT_LIST,
}


def _failures(error: SchemaErrors) -> str:
    """Which columns fail which rules, and in how many rows; values stay out of it."""
    rules: Counter[str] = Counter()
    for column, check, failure in error.failure_cases[["column", "check", "failure_case"]].itertuples(index=False):
        absent_or_extra = check in {"column_in_dataframe", "column_in_schema"}
        rules[f"{failure if absent_or_extra else column}: {_rule(check)}"] += 1
    shown = [f"{rule} ({count}x)" for rule, count in rules.most_common(_SHOWN_FAILURES)]
    more = len(rules) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def _rule(check: str) -> str:
    dtype = check.removeprefix("dtype('").removesuffix("')")
    return _RULES.get(check, check) if dtype == check else f"dtype is not {dtype}"


_RULES = {
    "column_in_dataframe": "column is missing",
    "column_in_schema": "column does not belong here",
    "not_nullable": "null where a value is required",
    "field_uniqueness": "value occurs more than once",
}
