"""Pandera models of every table passed between modules.

Dtypes: ids and text are ``str`` (never parsed as numbers), instants ``datetime64[us, UTC]``, local dates
``datetime64[us]`` at midnight, booleans that may be unknown ``boolean``, lists of ids text joined by ``|``. Amounts are
float64 of whole minor units, NaN where null, or Arrow ``decimal128(38, scale)``. Absent and null are both null in a
frame; a field that was not expanded has no column. Shares are float64 too, and no amounts.

No result depends on the index of a frame, or on the order of its columns: rows are numbered before they are joined.

:meth:`Table.checked` takes a frame back after it was saved, joined or calculated with.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal, localcontext
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.chart_of_accounts import DebitCredit
from accounting_analytics.core.column_conversion import (
    BOOLEAN,
    INSTANT,
    LOCAL_DATE,
    TEXT,
    ExactFrame,
    are_distinct,
    arrow_column,
    convert,
    decimal_scale,
    exact_frame,
    in_floats,
    signed,
    total,
)
from accounting_analytics.core.errors import FrameError
from accounting_analytics.core.messages import join_ids
from accounting_analytics.core.money import DEFAULT_SCALE, EXACT, are_whole_units, pandas_dtype, to_float

with warnings.catch_warnings():
    # if PySpark is installed, pandera imports its pandas API, in two modules only when it first validates
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    import pandera.pandas as pandera
    from pandera.dtypes import DataType, immutable
    from pandera.engines import pandas_engine
    from pandera.errors import SchemaErrors
    from pandera.typing.pandas import Series  # noqa: TC002 (pandera reads the annotations)

    for _name in ("pandera.typing.pyspark", "pandera.backends.pandas.builtin_checks"):
        import_module(_name)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Row = Mapping[str, Any] | Sequence[Any]


_MAX_FAILURES = 3
_ARGUMENTS = {
    "LineEntries": ("line_entries", "load_line_entries(client, ...) returns them"),
    "Ledgers": ("ledgers", "discover_ledgers(client, ...) returns them"),
    "Queue": ("queue", "uncategorized_queue(books) returns it"),
    "Proposals": ("proposals", "propose(queue, rules, books) returns them"),
    "Outcomes": ("outcomes", "apply_plan(client, plan, ...) and verify_plan(client, plan) return them"),
}
"""Argument name of each table that functions take, and the function that returns it."""

Instant = Annotated[pd.DatetimeTZDtype, "us", "UTC"]


@pandas_engine.Engine.register_dtype
@immutable
class Text(pandas_engine.STRING):
    """Text dtype of pandas, without Pandera's slow check that builds a table of wrong values."""

    def check(self, pandera_dtype: DataType, data_container: Any = None) -> bool:  # noqa: ANN401, ARG002 (Pandera's)
        """Return whether a column has this dtype."""
        return isinstance(pandera_dtype, pandas_engine.STRING) and pandera_dtype.type == TEXT

    def __str__(self) -> str:
        return "str"


def _expanded(path: str) -> Any:  # noqa: ANN401 (Pandera's field)
    """Declare an optional column for an expanded field.

    The service sends the field only if a request expands it.
    """
    return pandera.Field(nullable=True, metadata={"path": path, "expand": path.partition(".")[0]})


def _not_empty() -> Any:  # noqa: ANN401 (Pandera's field)
    """Declare a column of non-empty texts."""
    return pandera.Field(str_length={"min_value": 1})


class Table(pandera.DataFrameModel):
    """Base of all tables: exactly the declared columns, and one scale, in ``attrs["scale"]``."""

    class Config:
        """Refuse undeclared columns."""

        strict = True

    @pandera.dataframe_check(error="amounts are whole minor units")
    @classmethod
    def _floats_are_whole_units(cls, frame: pd.DataFrame) -> bool:
        scale = frame.attrs.get("scale", DEFAULT_SCALE)
        floats = [frame[name] for name in cls.amount_columns() if name in frame and frame[name].dtype == np.float64]
        return all(are_whole_units(column.to_numpy(), scale) for column in floats)

    @classmethod
    def amount_columns(cls) -> list[str]:
        """Return the amount columns, which are annotated ``Any``."""
        return [name for name, column in cls.to_schema().columns.items() if column.dtype is None]

    @classmethod
    def checked(cls, frame: pd.DataFrame, *, scale: int | None = None) -> pd.DataFrame:
        """Return `frame` as a valid table, also after it was saved and read, or went through polars or DuckDB.

        Parameters
        ----------
        frame : DataFrame
            Columns may have other dtypes that hold the same values: text as ``object`` or ``category``, instants of
            another unit or zone, or as ISO 8601 text (without a zone they are UTC), booleans as ``object``. Amounts are
            float64, decimals, or integers, which are major units.
        scale : int, optional
            Fraction digits of the amounts; by default those of a decimal dtype, else those that ``frame.attrs``
            states, else 2.

        Returns
        -------
        DataFrame
            A copy with the dtypes of the table. Rounding noise of arithmetic is removed from amounts;
            ``attrs["notes"]`` counts it.

        Raises
        ------
        FrameError
            A column is missing, unknown, or breaks a rule; the message names columns and rules.
        AmountError
            An amount is not a whole number of minor units.
        """
        exact = cls.checked_exact(frame, scale=scale)
        table = cls.with_floats(exact.frame)
        notes = tuple(dict.fromkeys([*frame.attrs.get("notes", ()), *exact.notes]))
        table.attrs = {"scale": exact.scale} | frame.attrs | {"notes": notes}
        return table

    @classmethod
    def checked_exact(cls, frame: pd.DataFrame, *, scale: int | None = None) -> ExactFrame:
        """Convert a frame as :meth:`exact` does, and also refuse unknown columns."""
        exact = cls.exact(frame, scale=scale)
        unknown = [name for name in frame.columns if name not in exact.frame]
        if unknown:
            raise FrameError(f"{cls.__name__} is not valid: {join_ids(unknown)}: column is not part of this table")
        return exact

    @classmethod
    def require_frame(cls, frame: object) -> None:
        """Refuse a value that is not a DataFrame. The message names the function that returns one."""
        require_type(frame, pd.DataFrame, *_ARGUMENTS.get(cls.__name__, ("the table", "pass a DataFrame of pandas")))

    @classmethod
    def exact(cls, frame: pd.DataFrame, *, scale: int | None = None) -> ExactFrame:
        """Convert a frame for calculations, with exact amounts and the table's dtypes."""
        cls.require_frame(frame)
        dtypes = cls.dtypes()
        amounts = [name for name in cls.amount_columns() if name in frame]
        columns = {
            name: frame[name] if name in amounts else convert(frame[name], dtype)
            for name, dtype in dtypes.items()
            if name in frame
        }
        table = pd.DataFrame(columns, index=frame.index)
        table.attrs = frame.attrs
        exact = exact_frame(table, amounts, scale=scale)
        return exact._replace(frame=cls.require_valid(exact.frame))

    @classmethod
    def from_exact(cls, frame: pd.DataFrame, scale: int) -> pd.DataFrame:
        """Convert Arrow decimals to float64 and return a valid table."""
        table = cls.with_floats(frame)
        table.attrs = {"scale": scale}
        return cls.require_valid(table)

    @classmethod
    def with_floats(cls, frame: pd.DataFrame) -> pd.DataFrame:
        """Convert exact amounts to float64. Refuse amounts that are too large for it."""
        return frame.assign(**{name: in_floats(frame[name]) for name in cls.amount_columns() if name in frame})

    @classmethod
    def require_valid(cls, frame: pd.DataFrame) -> pd.DataFrame:
        """Return `frame` if it is valid, else raise an error that names columns and rules."""
        valid = frame.copy(deep=False)
        valid.attrs = {"scale": frame.attrs.get("scale", DEFAULT_SCALE)}  # each column that is checked copies them
        try:
            valid = pd.DataFrame(cls.validate(valid, lazy=True, inplace=True))
        except SchemaErrors as error:
            raise FrameError(f"{cls.__name__} is not valid: {_failures(error)}") from None
        valid.attrs = frame.attrs
        return valid

    @classmethod
    def dtypes(cls) -> dict[str, Any]:
        """Return the dtype of every column, required or not."""
        return {
            name: np.dtype(np.float64) if column.dtype is None else _NATIVE[str(column.dtype)]
            for name, column in cls.to_schema().columns.items()
        }

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[Any]], scale: int = DEFAULT_SCALE) -> pd.DataFrame:
        """Create a table from plain values and Decimals, without validation."""
        amounts = cls.amount_columns()
        floats = {name: [to_float(amount, scale) for amount in columns[name]] for name in amounts if name in columns}
        return cls._from_values({**columns, **floats}, cls.dtypes(), scale)

    @classmethod
    def exact_from_columns(cls, columns: Mapping[str, Sequence[Any]], scale: int = DEFAULT_SCALE) -> pd.DataFrame:
        """Create a table with Arrow decimals for calculations, without validation."""
        amounts = dict.fromkeys(cls.amount_columns(), pandas_dtype(scale))
        return cls._from_values(columns, cls.dtypes() | amounts, scale)

    @classmethod
    def from_rows(cls, rows: Iterable[Row], scale: int = DEFAULT_SCALE) -> pd.DataFrame:
        """Make a table of rows, without validation. A row is a mapping, or the values of all columns in order."""
        return cls.from_columns(cls._columns_of(rows), scale)

    @classmethod
    def exact_from_rows(cls, rows: Iterable[Row], scale: int = DEFAULT_SCALE) -> pd.DataFrame:
        """Make a table of rows with Arrow decimals, for calculations and text, without validation."""
        return cls.exact_from_columns(cls._columns_of(rows), scale)

    @classmethod
    def _columns_of(cls, rows: Iterable[Row]) -> dict[str, list[Any]]:
        """Collect the values of the rows' columns, in the table's order. Without rows, all columns are empty."""
        names = list(cls.dtypes())
        named = [row if isinstance(row, Mapping) else dict(zip(names, row, strict=True)) for row in rows]
        return {name: [row[name] for row in named] for name in names if not named or name in named[0]}

    @classmethod
    def _from_values(cls, columns: Mapping[str, Sequence[Any]], dtypes: Mapping[str, Any], scale: int) -> pd.DataFrame:
        frame = pd.DataFrame({name: pd.Series(values, dtype=dtypes[name]) for name, values in columns.items()})
        frame.attrs["scale"] = scale
        return frame

    @classmethod
    def without_rows(cls, scale: int = DEFAULT_SCALE) -> pd.DataFrame:
        """Create a table of the required columns, without rows."""
        columns: dict[str, list[Any]] = {
            name: [] for name, column in cls.to_schema().columns.items() if column.required
        }
        return cls.from_columns(columns, scale)


class LineEntries(Table):
    """Line entries of one or more ledgers, one row per line, ordered by (datetime, id).

    The metadata of a column says where it comes from: ``path`` is the field of a line on the wire (by default its own
    name; ``tags.id`` is the id of each tag; empty for a calculated column), ``expand`` the value that requests it.
    """

    id: Series[Text]
    ledger_id: Series[Text]
    ledger_name: Series[Text] = pandera.Field(nullable=True)
    journal_entry_id: Series[Text]
    journal_entry_description: Series[Text] = pandera.Field(nullable=True)
    datetime: Series[Instant]
    local_date: Series[pd.Timestamp] | None = pandera.Field(nullable=True, metadata={"path": ""})
    amount: Series[Any]
    debit_credit: Series[Text] = pandera.Field(isin=list(DebitCredit))
    signed_amount: Series[Any] = pandera.Field(metadata={"path": ""})
    description: Series[Text] = pandera.Field(nullable=True)
    transaction_id: Series[Text] = pandera.Field(nullable=True)
    related_line_entry_id: Series[Text] = pandera.Field(nullable=True)
    editable: Series[pd.BooleanDtype] = pandera.Field(nullable=True)
    opposing_ledger_ids: Series[Text] | None = _expanded("opposing_ledger_ids")
    tag_ids: Series[Text] = pandera.Field(nullable=True, metadata={"path": "tags.id"})
    tag_names: Series[Text] | None = pandera.Field(nullable=True, metadata={"path": "tags.name"})
    tag_group_ids: Series[Text] | None = pandera.Field(nullable=True, metadata={"path": "tags.tag_group_id"})
    transaction_amount: Series[Any] | None = _expanded("transaction.amount")
    transaction_description: Series[Text] | None = _expanded("transaction.description")
    transaction_personal: Series[pd.BooleanDtype] | None = _expanded("transaction.personal")
    transaction_posted_status: Series[Text] | None = _expanded("transaction.posted_status")
    transaction_review_status: Series[Text] | None = _expanded("transaction.review_status")
    source_account_id: Series[Text] | None = _expanded("transaction.source_account_id")
    journal_entry_line_entry_ids: Series[Text] | None = _expanded("journal_entry.line_entry_ids")

    @pandera.check("id", error="value occurs more than once")
    @classmethod
    def _ids_are_distinct(cls, ids: pd.Series[Any]) -> bool | pd.Series[bool]:
        return are_distinct(arrow_column(ids)) or ~ids.duplicated(keep=False)

    @pandera.dataframe_check(error="signed_amount is +amount on the debit side, -amount on the credit side")
    @classmethod
    def _sign_follows_side(cls, frame: pd.DataFrame) -> bool:
        expected = signed(frame["amount"], frame["debit_credit"])
        return bool((expected == frame["signed_amount"]).all())


class Ledgers(Table):
    """The chart of accounts, one row per ledger, ordered by (sort_code, id).

    `parent_id` is null for a root and where the parent is unknown; `parent_known` distinguishes the two (in a frame
    without that column all parents are known). `found_by` names the step of the discovery that found the ledger. A
    ledger without lines in the service has no side or flags; its type is that of its parents and children.
    """

    id: Series[Text] = pandera.Field(unique=True)
    name: Series[Text]
    type: Series[Text] = pandera.Field(nullable=True)
    sub_type: Series[Text] = pandera.Field(nullable=True)
    debit_credit: Series[Text] = pandera.Field(isin=list(DebitCredit), nullable=True)
    financial_account_type: Series[Text] = pandera.Field(nullable=True)
    report_cash_flow: Series[bool]
    is_required: Series[pd.BooleanDtype] = pandera.Field(nullable=True)
    editable: Series[pd.BooleanDtype] = pandera.Field(nullable=True)
    parent_id: Series[Text] = pandera.Field(nullable=True)
    sort_code: Series[Text]
    created_at: Series[Instant] = pandera.Field(nullable=True)
    found_by: Series[Text] | None = pandera.Field(nullable=True)
    parent_known: Series[bool] | None


class CashFlowLedgers(Table):
    """Ledgers with cash flow in a period, ordered by (sort_code, id); `total_*` is null where parents are unknown."""

    ledger_id: Series[Text] = pandera.Field(unique=True)
    name: Series[Text]
    net_cash_flow: Series[Any]
    total_net_cash_flow: Series[Any] = pandera.Field(nullable=True)


class CashFlowLines(Table):
    """Cash flow lines, one row per category line: positive into cash, negative out of cash."""

    line_id: Series[Text]
    ledger_id: Series[Text]
    amount: Series[Any]
    datetime: Series[Instant]
    cash_flow_ledger_name: Series[Text] = pandera.Field(nullable=True)
    journal_entry_id: Series[Text]
    journal_entry_description: Series[Text] = pandera.Field(nullable=True)


class CashBalances(Table):
    """Debit balances of the ledgers that report cash flow, ordered by (sort_code, id)."""

    ledger_id: Series[Text] = pandera.Field(unique=True)
    ledger_name: Series[Text]
    sort_code: Series[Text]
    cash_balance: Series[Any]
    total_cash_balance: Series[Any] = pandera.Field(nullable=True)


class ExactReport(NamedTuple):
    """The four tables of a cash flow report with Arrow decimals, and its cash balances as Decimals."""

    ledgers: pd.DataFrame
    lines: pd.DataFrame
    starting_balances: pd.DataFrame
    ending_balances: pd.DataFrame
    starting_cash_balance: Decimal
    ending_cash_balance: Decimal

    @property
    def net_cash_flow(self) -> Decimal:
        """Sum of the net cash flows of all ledgers, without their totals."""
        return total(self.ledgers["net_cash_flow"])

    @property
    def identity_gap(self) -> Decimal:
        """Net cash flow minus the change of the cash balance."""
        with localcontext(EXACT):
            return self.net_cash_flow - (self.ending_cash_balance - self.starting_cash_balance)

    @property
    def sums(self) -> dict[str, Decimal]:
        """The two cash balances and the net cash flow, by name."""
        return {
            "starting_cash_balance": self.starting_cash_balance,
            "net_cash_flow": self.net_cash_flow,
            "ending_cash_balance": self.ending_cash_balance,
        }

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        scale = decimal_scale(self.ledgers["net_cash_flow"])
        return DEFAULT_SCALE if scale is None else scale

    def checked(self) -> ExactReport:
        """Return the report if its tables are valid, else raise FrameError."""
        CashFlowLedgers.require_valid(self.ledgers)
        CashFlowLines.require_valid(self.lines)
        for balances in (self.starting_balances, self.ending_balances):
            CashBalances.require_valid(balances)
        return self

    def copy(self) -> ExactReport:
        """Return the report with shallow copies of its tables."""
        tables = {name: table.copy(deep=False) for name, table in self._asdict().items() if name in _REPORT_TABLES}
        return self._replace(**tables)


_REPORT_TABLES = ExactReport._fields[:4]


class Register(Table):
    """Line entries of a ledger and those below it, ordered by (datetime, id); debits are positive.

    `opposing_ledgers` has the names of the other ledgers of the entry that were loaded, separated by commas.
    """

    id: Series[Text]
    datetime: Series[Instant]
    local_date: Series[pd.Timestamp]
    journal_entry_id: Series[Text]
    journal_entry_description: Series[Text] = pandera.Field(nullable=True)
    ledger_name: Series[Text]
    opposing_ledgers: Series[Text]
    amount: Series[Any]
    running_total: Series[Any]


class _UncategorizedTransactions(Table):
    """Columns that both a queue and its proposals have."""

    transaction_id: Series[Text]
    ledger_id: Series[Text]
    ledger_name: Series[Text] = pandera.Field(nullable=True)
    line_entry_id: Series[Text]
    journal_entry_id: Series[Text]
    datetime: Series[Instant]
    local_date: Series[pd.Timestamp] | None = pandera.Field(nullable=True)
    direction: Series[Text] = pandera.Field(isin=["inflow", "outflow"])
    description: Series[Text]
    category_ledger_id: Series[Text]
    opposing_ledger_ids: Series[Text]
    review_status: Series[Text] = pandera.Field(nullable=True)
    tag_ids: Series[Text] = pandera.Field(nullable=True)
    group_id: Series[Text]


class Queue(_UncategorizedTransactions):
    """Uncategorized transactions, one row per transaction and uncategorized ledger, largest first.

    Amounts are positive into cash and negative out of cash. The sum of `uncategorized_amount` is the uncategorized
    total: the uncategorized part of each transaction, and the whole of it where `uncategorized_is_certain` is false.
    `transaction_amount` is that of the line of the account. `opposing_ledger_ids` are all categories of the
    transaction: several if it is split. `local_date` is that of the line entries, where they have it or the zone of
    their load is known. `group_id` is the group that one decision categorizes, of the `kind` ``counterparty``,
    ``transfer`` or ``split``; `counterparty` is the normalized name; `counterpart_ledger_id` is the other account of a
    likely transfer.
    """

    kind: Series[Text] = pandera.Field(isin=["counterparty", "transfer", "split"])
    counterparty: Series[Text]
    counterpart_ledger_id: Series[Text] = pandera.Field(nullable=True)

    uncategorized_amount: Series[Any]
    uncategorized_is_certain: Series[bool]
    transaction_amount: Series[Any]


class Proposals(_UncategorizedTransactions):
    """Rows of the queue with the category that a rule proposes, that was decided by hand, or that is suggested.

    Amounts are those of the queue. `confidence`, between 0 and 1, and `reason` are those of suggestions.
    """

    transaction_amount: Series[Any]
    uncategorized_amount: Series[Any]
    updated_category_ledger_id: Series[Text]
    updated_category_ledger_name: Series[Text]
    rule: Series[Text]
    confidence: Series[float] = pandera.Field(nullable=True, ge=0, le=1)
    reason: Series[Text] = pandera.Field(nullable=True)


class QueueGroups(Table):
    """Groups of the queue: one row per counterparty, direction and account; transfers and splits have their own.

    `age_days` and `newest_age_days` are the days since the first and the last transaction. `amount` is the exact sum of
    what is uncategorized. `share` and `cumulative_share` are between 0 and 1.
    """

    group_id: Series[Text] = pandera.Field(unique=True)
    kind: Series[Text] = pandera.Field(isin=["counterparty", "transfer", "split"])
    counterparty: Series[Text]
    direction: Series[Text] = pandera.Field(isin=["inflow", "outflow"])
    ledger_id: Series[Text]
    ledger_name: Series[Text] = pandera.Field(nullable=True)
    counterpart_ledger_name: Series[Text] = pandera.Field(nullable=True)
    transaction_count: Series[int]
    amount: Series[Any]
    share: Series[float]
    cumulative_share: Series[float]
    first_datetime: Series[Instant]
    last_datetime: Series[Instant]
    age_days: Series[int]
    newest_age_days: Series[int]
    description: Series[Text]


class RuleReports(Table):
    """Effect of each rule, one row per rule in the order of the file.

    `line` is 0 where it is not known. `status` is ``decides`` (part of the queue), ``idle`` (only transactions that
    have a category), ``shadowed`` (earlier rules decide all that it matches) or ``dead`` (it matches nothing).
    `description` is that of the largest transaction it decides.
    """

    rule: Series[Text] = pandera.Field(unique=True)
    line: Series[int]
    category: Series[Text]
    status: Series[Text] = pandera.Field(isin=["decides", "idle", "shadowed", "dead"])
    transaction_count: Series[int]
    amount: Series[Any]
    description: Series[Text] = pandera.Field(nullable=True)
    shadowed_by: Series[Text] = pandera.Field(nullable=True)
    agreeing_count: Series[int]
    contradicting_count: Series[int]
    contradicting_example: Series[Text] = pandera.Field(nullable=True)


class PaymentRhythms(Table):
    """Counterparties with a rhythm, one row each; cash that comes in is positive.

    `rhythm` and `usual_day` say how often and on which day; `status` is ``expected``, ``late`` or ``stopped``.
    `next_date` is due from `earliest_date` to `latest_date`, with `next_amount`; `smallest_amount` and `largest_amount`
    are those of the latest six, by size. `dearer_by` is the increase over all payments of the year before, since the
    day `dearer_since`. `met_count` of `tried_count` past days agreed with the rhythm.
    """

    key: Series[Text] = pandera.Field(unique=True)
    counterparty: Series[Text]
    category: Series[Text]
    direction: Series[Text] = pandera.Field(isin=["inflow", "outflow"])
    rhythm: Series[Text]
    usual_day: Series[Text]
    status: Series[Text] = pandera.Field(isin=["expected", "late", "stopped"])
    last_date: Series[pd.Timestamp]
    last_amount: Series[Any]
    next_date: Series[pd.Timestamp]
    earliest_date: Series[pd.Timestamp]
    latest_date: Series[pd.Timestamp]
    next_amount: Series[Any]
    smallest_amount: Series[Any]
    largest_amount: Series[Any]
    dearer_by: Series[Any]
    dearer_since: Series[pd.Timestamp] = pandera.Field(nullable=True)
    occurrence_count: Series[int]
    met_count: Series[int]
    tried_count: Series[int]


class ExpectedPayments(Table):
    """Payments with a rhythm, open items, and known items, by the day they are due; cash that comes in is positive.

    `last_date` and `last_amount` are those of the counterparty's latest payment with a rhythm; null of an invoice or
    bill, whose `rhythm` is ``open item``, and of a known item, whose `counterparty` is its note and whose `rhythm` is
    ``known``.
    """

    date: Series[pd.Timestamp]
    counterparty: Series[Text]
    category: Series[Text] = pandera.Field(nullable=True)
    amount: Series[Any]
    rhythm: Series[Text]
    last_date: Series[pd.Timestamp] = pandera.Field(nullable=True)
    last_amount: Series[Any] = pandera.Field(nullable=True)


class CashWeeks(Table):
    """Weeks of cash ahead, one row each; cash that comes in is positive.

    `open_items` are invoices and bills that are open on the last day. `cash` is the balance at the end of the week,
    null where the cash of the last day is not known. 80 of 100 such balances are between `low` and `high`, which are
    null after six weeks, and where past weeks do not support it.
    """

    week: Series[int] = pandera.Field(unique=True, ge=1)
    start_date: Series[pd.Timestamp]
    end_date: Series[pd.Timestamp]
    recurring_receipts: Series[Any]
    recurring_payments: Series[Any]
    open_items: Series[Any]
    known_items: Series[Any]
    other_cash: Series[Any]
    net_cash_flow: Series[Any]
    cash: Series[Any] = pandera.Field(nullable=True)
    low: Series[Any] = pandera.Field(nullable=True)
    high: Series[Any] = pandera.Field(nullable=True)


class AgeingRows(Table):
    """Open amounts of each party of a ledger, by days since the entry.

    The rows of a ledger sum to its balance. Receivables and payables are both positive; null where the ages are not
    known. The counterparty ``not matched`` has payments without an item, below zero; ``not named`` has items whose
    texts name no party. `late` is open for longer than nine of ten items took that the party paid within a year, and
    null where these are fewer than five; `median_days` and `last_days` are the days that these took.
    """

    ledger_name: Series[Text]
    counterparty: Series[Text]
    days_0_30: Series[Any] = pandera.Field(nullable=True)
    days_31_60: Series[Any] = pandera.Field(nullable=True)
    days_61_90: Series[Any] = pandera.Field(nullable=True)
    days_over_90: Series[Any] = pandera.Field(nullable=True)
    total: Series[Any] = pandera.Field(nullable=True)
    late: Series[Any] = pandera.Field(nullable=True)
    median_days: Series[float] = pandera.Field(nullable=True)
    last_days: Series[float] = pandera.Field(nullable=True)


class OpenItems(Table):
    """Items of receivables and payables that are open, and payments without an item, below zero; oldest first.

    `invoice` has the numbers that the text names, separated by commas. An item is late after `late_after_days`, which
    nine tenths of the items of its counterparty took at most; null where that is not known.
    """

    ledger_name: Series[Text]
    line_id: Series[Text]
    counterparty: Series[Text]
    invoice: Series[Text] = pandera.Field(nullable=True)
    description: Series[Text]
    local_date: Series[pd.Timestamp]
    age_days: Series[int]
    amount: Series[Any]
    open_amount: Series[Any]
    late_after_days: Series[float] = pandera.Field(nullable=True)


class DaysToPayRows(Table):
    """Days until counterparties pay, or are paid, from items that cash settled in full within a year.

    `change_days` is the median minus that of the year before, null without one. Nine tenths of the items took at most
    `late_after_days`, null for fewer than five items. The slowest of a ledger on average is first.
    """

    ledger_name: Series[Text]
    counterparty: Series[Text]
    paid_items: Series[int]
    median_days: Series[float]
    average_days: Series[float]
    last_days: Series[int]
    last_date: Series[pd.Timestamp]
    change_days: Series[float] = pandera.Field(nullable=True)
    late_after_days: Series[float] = pandera.Field(nullable=True)


class PaidItems(Table):
    """Items of receivables and payables that cash settled in whole within a year, by the day of the last payment.

    `payment_line_ids` are separated by ``|``.
    """

    ledger_name: Series[Text]
    line_id: Series[Text]
    payment_line_ids: Series[Text]
    counterparty: Series[Text]
    invoice: Series[Text] = pandera.Field(nullable=True)
    local_date: Series[pd.Timestamp]
    paid_date: Series[pd.Timestamp]
    days: Series[int]
    amount: Series[Any]


class CodingFindings(Table):
    """Findings about the coding of transactions, one row each.

    `key` finds its figure. `kind` is ``category`` (differs from earlier ones), ``twice`` (the same payment again),
    ``amount`` (far above earlier ones), ``parent`` (on a ledger with others below it) or ``text`` (without text).
    `confidence`, between 0 and 1, is the share of transactions with such a past that followed it on these books.
    `line_entry_ids` are separated by ``|``.
    """

    key: Series[Text] = pandera.Field(unique=True)
    kind: Series[Text] = pandera.Field(isin=["category", "twice", "amount", "parent", "text"])
    local_date: Series[pd.Timestamp]
    counterparty: Series[Text]
    ledger_name: Series[Text]
    category_ledger_name: Series[Text]
    expected_category_ledger_name: Series[Text] = pandera.Field(nullable=True)
    amount: Series[Any]
    why: Series[Text]
    confidence: Series[float] = pandera.Field(nullable=True, ge=0, le=1)
    transaction_id: Series[Text] = pandera.Field(nullable=True)
    line_entry_ids: Series[Text]


class PlanItems(Table):
    """Items of a recategorization plan: the expected current category and the new one.

    `opposing_ledger_ids` are all categories of the transaction when the plan was made. `group_id` is the group of the
    queue that the transaction belonged to, empty where it is not known.
    """

    transaction_id: Series[Text] = _not_empty()
    ledger_id: Series[Text] = _not_empty()
    journal_entry_id: Series[Text] = _not_empty()
    datetime: Series[Instant]
    description: Series[Text]
    transaction_amount: Series[Any]
    uncategorized_amount: Series[Any]
    category_ledger_id: Series[Text] = _not_empty()
    updated_category_ledger_id: Series[Text]
    updated_category_ledger_name: Series[Text]
    rule: Series[Text]
    group_id: Series[Text]
    opposing_ledger_ids: Series[Text]


class PlanTotals(Table):
    """Number of items of a plan and their exact sum, by rule, by new category and by outcome.

    A table has the columns that it is divided by; `outcome` is as in :class:`Outcomes`.
    """

    rule: Series[Text] | None
    updated_category_ledger_id: Series[Text] | None
    updated_category_ledger_name: Series[Text] | None
    outcome: Series[Text] | None
    item_count: Series[int]
    amount: Series[Any]


class LedgerChanges(Table):
    """Changes by a plan of the ledgers of a cash flow report, or of the totals at the roots.

    `before` is the net cash flow, of a root with its descendants; `after` is there once the effect is checked.
    """

    ledger_id: Series[Text] = pandera.Field(unique=True)
    name: Series[Text]
    before: Series[Any]
    change: Series[Any]
    predicted: Series[Any]
    after: Series[Any] | None


class ReportDifferences(Table):
    """Figures of a report after a run that differ from the prediction, one row per figure.

    `difference` is the figure after the run minus the predicted one, and `reason` says so in a sentence.
    """

    what: Series[Text] = pandera.Field(
        isin=["net_cash_flow", "starting_balance", "ending_balance", "starting_cash_balance", "ending_cash_balance"]
    )
    ledger_id: Series[Text] = pandera.Field(nullable=True)
    ledger_name: Series[Text] = pandera.Field(nullable=True)
    difference: Series[Any]
    reason: Series[Text]


class Outcomes(Table):
    """Outcome of each item of a plan, in the order of the plan."""

    transaction_id: Series[Text]
    ledger_id: Series[Text]
    category_ledger_id: Series[Text]
    updated_category_ledger_id: Series[Text]
    outcome: Series[Text] = pandera.Field(
        isin=["would_change", "done", "already_done", "changed_elsewhere", "refused", "not_done", "unknown"]
    )
    reason: Series[Text]


class Differences(Table):
    """Differences between a reported and a recomputed cash flow report, one row per difference.

    `what` names the figure: ``line``, ``net_cash_flow``, ``total_net_cash_flow``, ``starting_balance``,
    ``starting_total_balance``, ``ending_balance``, ``ending_total_balance``, ``starting_cash_balance``,
    ``ending_cash_balance`` or ``identity``. `reported` or `recomputed` is null where that report has no such row;
    `difference` is reported minus recomputed, and zero where only the day or entry of a line differs. `role` is
    ``consequence`` where a figure differs only because of others, and has no `explanation` then. `category` is the path
    of the ledger; a line has its day, the text of its transaction or entry, the cash account that its entry moved, and
    its transaction.
    """

    what: Series[Text]
    role: Series[Text] = pandera.Field(isin=["cause", "consequence"])
    ledger_id: Series[Text] = pandera.Field(nullable=True)
    ledger_name: Series[Text] = pandera.Field(nullable=True)
    line_id: Series[Text] = pandera.Field(nullable=True)
    journal_entry_id: Series[Text] = pandera.Field(nullable=True)
    reported: Series[Any] = pandera.Field(nullable=True)
    recomputed: Series[Any] = pandera.Field(nullable=True)
    difference: Series[Any]
    explanation: Series[Text]
    local_date: Series[pd.Timestamp] = pandera.Field(nullable=True)
    description: Series[Text] = pandera.Field(nullable=True)
    cash_account: Series[Text] = pandera.Field(nullable=True)
    category: Series[Text] = pandera.Field(nullable=True)
    transaction_id: Series[Text] = pandera.Field(nullable=True)


class MonthlyDifferences(Table):
    """Figures of ledgers that differ between reported and recomputed months, one row per figure and month.

    `what` and `difference` are as in :class:`Differences`; `start_date` is the first day of the month.
    """

    start_date: Series[pandera.DateTime]
    what: Series[Text]
    ledger_id: Series[Text] = pandera.Field(nullable=True)
    ledger_name: Series[Text] = pandera.Field(nullable=True)
    difference: Series[Any]


class Months(Table):
    """Reconciled calendar months, one row per month; amounts are the reported ones.

    `differences` counts the figures that differ, `not_compared` those that could not be compared; `anchored` is true
    where the starting balance proves nothing, `partial` where lines are known to be missing.
    """

    start_date: Series[pandera.DateTime]
    end_date: Series[pandera.DateTime]
    ties: Series[bool]
    differences: Series[int]
    not_compared: Series[int]
    starting_cash_balance: Series[Any]
    net_cash_flow: Series[Any]
    ending_cash_balance: Series[Any]
    anchored: Series[bool]
    partial: Series[bool]


class LedgerDrift(Table):
    """Changes between two versions of local books: one row per month, ledger and kind, the largest first in a month.

    `month` is ``2025-03``; `amount` the change of the ledger, positive where there is more on the normal side of its
    type; `entries` and `lines` count the journal entries and lines that changed.
    """

    month: Series[Text]
    ledger_id: Series[Text]
    ledger_name: Series[Text]
    kind: Series[Text] = pandera.Field(isin=["added", "removed", "recategorized", "amended"])
    amount: Series[Any]
    entries: Series[int]
    lines: Series[int]


class EntryDrift(Table):
    """Journal entries that changed between two versions of local books: one row per entry, in order of their days.

    `kind` is ``added``, ``removed``, ``recategorized`` (only ledgers of its lines changed) or ``amended``;
    `lines_added`, `lines_removed` and `lines_changed` count its lines. `before` and `after` are what it moved in cash,
    positive where money came in, and zero where the entry has no line on a cash ledger; `change` is their difference.
    `description` is that of the entry, `counterparty` that of its transaction or description, `ledgers` the
    names of the ledgers whose lines changed.
    """

    journal_entry_id: Series[Text]
    local_date: Series[pd.Timestamp] = pandera.Field(nullable=True)
    description: Series[Text] = pandera.Field(nullable=True)
    counterparty: Series[Text] = pandera.Field(nullable=True)
    ledgers: Series[Text]
    kind: Series[Text] = pandera.Field(isin=["added", "removed", "recategorized", "amended"])
    lines_added: Series[int]
    lines_removed: Series[int]
    lines_changed: Series[int]
    before: Series[Any]
    after: Series[Any]
    change: Series[Any]


class Problems(Table):
    """Problems of a load that is not complete, one row per problem.

    `difference` is null where the problem is not about an amount; `where` names ledger, days or report.
    """

    journal_entry_id: Series[Text] = pandera.Field(nullable=True)
    problem: Series[Text]
    line_entry_id: Series[Text] = pandera.Field(nullable=True)
    difference: Series[Any] = pandera.Field(nullable=True)
    where: Series[Text] = pandera.Field(nullable=True)


_NATIVE: dict[str, Any] = {
    "str": TEXT,
    "bool": bool,
    "int64": "int64",
    "float64": np.dtype(np.float64),
    "boolean": BOOLEAN,
    "datetime64[us, UTC]": INSTANT,
    "datetime64[ns]": LOCAL_DATE,  # Pandera writes the dtype of instants like this, whatever its unit
}


def _failures(error: SchemaErrors) -> str:
    """List columns, failed rules and numbers of rows, but no values."""
    rules: Counter[str] = Counter()
    for column, check, failure in error.failure_cases[["column", "check", "failure_case"]].itertuples(index=False):
        absent_or_extra = check in {"column_in_dataframe", "column_in_schema"}
        rules[f"{failure if absent_or_extra else column}: {_rule(check)}"] += 1
    listed = [f"{rule} ({count}x)" for rule, count in rules.most_common(_MAX_FAILURES)]
    more = len(rules) - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more > 0 else "")


def _rule(check: str) -> str:
    dtype = check.removeprefix("dtype('").removesuffix("')")
    return _RULES.get(check, check) if dtype == check else f"dtype is not {dtype.replace('[ns]', '[us]')}"


_RULES = {
    "column_in_dataframe": "column is missing",
    "column_in_schema": "column is not part of this table",
    "not_nullable": "null where a value is required",
    "field_uniqueness": "value occurs more than once",
    "str_length(1, None)": "empty where a value is required",
}
