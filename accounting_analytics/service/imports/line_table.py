"""Our line table, CSV or Parquet: one row a line entry.

=======================  ============================================================================================
entry_id                 id of the journal entry; its rows share datetime and entry_description
datetime                 ISO 8601; a bare date is that local day at noon, a time without offset is local time
entry_description        free text
ledger                   account path such as ``assets:bank:checking``, or the id or path of a ledger that exists
debit_credit             ``debit`` or ``credit``
amount                   exact number; a negative amount means the other side
=======================  ============================================================================================

Optional: description; and on lines of cash accounts transaction_id, transaction_description, personal (true or false),
review_status (reviewed or unreviewed), source_account_id; tags (``group=name``, several separated by ``;``).
"""

from __future__ import annotations

from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.errors import AmountError
from accounting_analytics.money import DEFAULT_SCALE
from accounting_analytics.service.bookkeeping.new_entries import NewTag, NewTransaction
from accounting_analytics.service.imports.import_errors import Refusals
from accounting_analytics.service.imports.parsed_books import Amounts, FileLine, ImportedBooks, Instants, books_of
from accounting_analytics.service.imports.table_files import Rows, csv_rows, is_parquet, parquet_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

    from accounting_analytics.service.wire.stored_records import StoredLedger

REQUIRED_COLUMNS = ("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount")
TRANSACTION_COLUMNS = ("transaction_id", "transaction_description", "personal", "review_status", "source_account_id")
OPTIONAL_COLUMNS = ("description", *TRANSACTION_COLUMNS, "tags")
_PERSONAL = {"": False, "false": False, "true": True}
_REVIEW_STATUS = ("reviewed", "unreviewed")
_SIDES = frozenset(side.value for side in DebitCredit)
_NOTHING = frozenset({None, ""})
_ROWS_AT_ONCE = 10_000


def read_line_table(
    path: Path,
    *,
    time_zone: str = "UTC",
    cash: Sequence[str] = (),
    commodity: str | None = None,
    scale: int = DEFAULT_SCALE,
    existing: Iterable[StoredLedger] = (),
) -> ImportedBooks:
    """Read a line table (CSV or Parquet, told apart by content) into ledgers and balanced entries.

    Parameters
    ----------
    path : Path
        The file.
    time_zone : str
        Zone of bare dates and of times without an offset.
    cash : sequence of str
        Glob patterns of the accounts that report cash flow; they must match the whole path, in any case.
    commodity : str, optional
        A line table is in one commodity, so anything but None is refused.
    scale : int
        Fraction digits of the instance's currency.
    existing : iterable of StoredLedger
        Ledgers the instance has already.

    Raises
    ------
    ImportRefusedError
        Anything is malformed or unbalanced; the message names file, line and rule.
    """
    refusals = Refusals(path)
    if commodity is not None:
        reason = "a line table has no commodity column, so no commodity can be selected"
        raise refusals.refuse(reason)
    table = parquet_rows(path, refusals) if is_parquet(path, refusals) else csv_rows(path, refusals)
    _check_columns(table, refusals)
    lines = _lines(table, Instants(time_zone), Amounts(scale), refusals)
    return books_of(lines, cash=cash, existing=existing, refusals=refusals)


def _check_columns(table: Rows, refusals: Refusals) -> None:
    missing = [name for name in REQUIRED_COLUMNS if name not in table.columns]
    foreign = [name for name in table.columns if name not in (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)]
    if missing:
        refusals.add("line 1", f"these columns are missing: {', '.join(missing)}")
    if foreign:
        refusals.add(
            "line 1",
            f"these columns are not known: {', '.join(map(repr, foreign))}; optional are {', '.join(OPTIONAL_COLUMNS)}",
        )
    refusals.raise_if_any()


class _LineReader:
    """Reads rows as lines: many at once where all are plain, one by one where any may be refused."""

    def __init__(self, columns: Sequence[str], instants: Instants, amounts: Amounts, refusals: Refusals) -> None:
        self._columns = columns
        self._transaction_columns = [name for name in TRANSACTION_COLUMNS if name in columns]
        self._instants = instants
        self._amounts = amounts
        self._tags = _Tags()
        self._refusals = refusals

    def read(self, rows: Sequence[tuple[str, Sequence[Any]]]) -> Iterable[FileLine]:
        """Lines of some rows; those that are refused are added to the refusals."""
        places = [place for place, _ in rows]
        columns = dict(zip(self._columns, zip(*(row for _, row in rows), strict=True), strict=True))
        try:
            lines = self._plain(places, columns)
        except (ValueError, AmountError):
            lines = None
        return lines if lines is not None else self._one_by_one(rows)

    def _plain(self, places: list[str], columns: Mapping[str, tuple[Any, ...]]) -> Iterable[FileLine] | None:
        """Lines whose values are all what they should be, without a look at each; None where some are not."""
        ids, accounts, sides = columns["entry_id"], columns["ledger"], columns["debit_credit"]
        said = columns["entry_description"]
        own = columns.get("description", ("",) * len(ids))
        usual = (
            set(map(type, ids + accounts)) == {str}
            and set(map(type, said + own)) <= {str, type(None)}
            and set(sides) <= _SIDES
            and all(map(str.strip, ids))
            and all(map(str.strip, accounts))
            and all(set(columns[name]) <= _NOTHING for name in self._transaction_columns)
        )
        if not usual:
            return None
        lines = zip(
            places,
            ids,
            map(self._instants.read, columns["datetime"]),
            [text or "" for text in said],
            accounts,
            map(_signed, map(self._amounts.read, columns["amount"]), sides),
            [text or "" for text in own],
            repeat(None),
            map(self._tags.read, columns["tags"]) if "tags" in columns else repeat(()),
            repeat(False),  # noqa: FBT003 (must_be_transaction)
        )
        return list(map(FileLine._make, lines))

    def _one_by_one(self, rows: Iterable[tuple[str, Sequence[Any]]]) -> Iterator[FileLine]:
        for place, row in rows:
            value = dict(zip(self._columns, row, strict=True))
            try:
                own = _text(value.get("description"), "description")
                said = _text(value["entry_description"], "entry_description")
                transaction = _transaction({name: value[name] for name in self._transaction_columns}, own or said)
                yield FileLine(
                    place,
                    _required_text(value["entry_id"], "entry_id"),
                    self._instants.read(value["datetime"]),
                    said,
                    _required_text(value["ledger"], "ledger"),
                    _signed(self._amounts.read(value["amount"]), value["debit_credit"]),
                    own,
                    transaction,
                    self._tags.read(value.get("tags")),
                    must_be_transaction=transaction is not None,
                )
            except (ValueError, AmountError) as error:
                self._refusals.add(place, str(error))


def _lines(table: Rows, instants: Instants, amounts: Amounts, refusals: Refusals) -> Iterator[FileLine]:
    reader = _LineReader(table.columns, instants, amounts, refusals)
    while rows := list(islice(table.rows, _ROWS_AT_ONCE)):
        yield from reader.read(rows)


def _text(value: Any, name: str) -> str:  # noqa: ANN401 (whatever a Parquet cell holds)
    if value is None:
        return ""
    if not isinstance(value, str):
        msg = f"{name} {value!r} is not text"
        raise ValueError(msg)  # noqa: TRY004 (one kind of error per unusable value)
    return value


def _required_text(value: Any, name: str) -> str:  # noqa: ANN401 (whatever a Parquet cell holds)
    text = _text(value, name)
    if not text.strip():
        msg = f"{name} is empty"
        raise ValueError(msg)
    return text


def _signed(amount: Decimal, side: object) -> Decimal:
    if side == DebitCredit.DEBIT:
        return amount
    if side == DebitCredit.CREDIT:
        return amount.copy_negate()  # minus would round to the digits of the context
    msg = f"debit_credit must be 'debit' or 'credit', not {side!r}"
    raise ValueError(msg)


def _transaction(values: Mapping[str, Any], said: str) -> NewTransaction | None:
    """Transaction of a line, or None when all its columns are empty; without a description it has the line's."""
    given = {name: value for name, value in values.items() if value not in _NOTHING}
    if not given:
        return None
    status = _text(given.get("review_status"), "review_status") or "unreviewed"
    if status not in _REVIEW_STATUS:
        msg = f"review_status must be 'reviewed' or 'unreviewed', not {status!r}"
        raise ValueError(msg)
    return NewTransaction(
        description=_text(given.get("transaction_description"), "transaction_description") or said,
        personal=_personal(given.get("personal", "")),
        review_status=status,
        source_account_id=_text(given.get("source_account_id"), "source_account_id") or None,
        id=_text(given.get("transaction_id"), "transaction_id") or None,
    )


def _personal(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _PERSONAL:
        return _PERSONAL[value.lower()]
    msg = f"personal must be true or false, not {value!r}"
    raise ValueError(msg)


class _Tags:
    """Reads ``group=name;group=name``, remembering what it read."""

    def __init__(self) -> None:
        self._read: dict[object, tuple[NewTag, ...]] = {None: (), "": ()}

    def read(self, value: object) -> tuple[NewTag, ...]:
        known = self._read.get(value)
        if known is None:
            known = self._read[value] = tuple(map(_tag, _text(value, "tags").split(";")))
        return known


def _tag(text: str) -> NewTag:
    group, equals, name = (part.strip() for part in text.partition("="))
    if not (group and equals and name):
        msg = f"tag {text!r} is not group=name (several are separated by ';')"
        raise ValueError(msg)
    return NewTag(group, name)
