"""Read a line table, CSV or Parquet: one row per line entry.

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

from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.errors import AmountError
from accounting_analytics.service.bookkeeping.post_entries import REVIEW_STATUSES, NewTag, NewTransaction
from accounting_analytics.service.imports.parsed_books import FileLine, ImportOptions, ParsedBooks, build_books
from accounting_analytics.service.imports.table_files import AmountParser, InstantParser, TableRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from decimal import Decimal

    from accounting_analytics.service.imports.import_errors import ImportErrors

REQUIRED_COLUMNS = ("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount")
TRANSACTION_COLUMNS = ("transaction_id", "transaction_description", "personal", "review_status", "source_account_id")
OPTIONAL_COLUMNS = ("description", *TRANSACTION_COLUMNS, "tags")
_PERSONAL = {"": False, "false": False, "true": True}
_EMPTY = frozenset({None, ""})
_BATCH_ROWS = 10_000


def read_line_table(table: TableRows, options: ImportOptions, errors: ImportErrors) -> ParsedBooks:
    """Read the rows of a line table into ledgers and balanced entries."""
    _check_columns(table, errors)
    instants = InstantParser(options.time_zone)
    books = build_books(_parse_lines(table, instants, AmountParser(options.scale), errors), options, errors)
    return replace(books, local_count=instants.local_count)


def _check_columns(table: TableRows, errors: ImportErrors) -> None:
    missing = [name for name in REQUIRED_COLUMNS if name not in table.columns]
    unknown = [name for name in table.columns if name not in (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)]
    if missing:
        errors.add("line 1", f"these columns are missing: {', '.join(missing)}")
    if unknown:
        errors.add(
            "line 1",
            f"these columns are unknown: {', '.join(map(repr, unknown))}; optional are {', '.join(OPTIONAL_COLUMNS)}",
        )
    errors.raise_if_any()


def _parse_lines(
    table: TableRows, instants: InstantParser, amounts: AmountParser, errors: ImportErrors
) -> Iterator[FileLine]:
    """Lines of the rows, parsed column by column in batches; what is wrong with a row is added to the errors."""
    while rows := list(islice(table.rows, _BATCH_ROWS)):
        batch = _Batch([location for location, _ in rows])
        values = dict(zip(table.columns, zip(*(row for _, row in rows), strict=True), strict=True))
        ids = batch.convert(partial(_required_text, name="entry_id"), values["entry_id"])
        entry_descriptions = batch.convert(partial(_text, name="entry_description"), values["entry_description"])
        accounts = batch.convert(partial(_required_text, name="ledger"), values["ledger"])
        moments = batch.convert(instants.parse, values["datetime"])
        signed = batch.convert(_signed, batch.convert(amounts.parse, values["amount"]), values["debit_credit"])
        missing = (None,) * len(rows)
        descriptions = batch.convert(partial(_text, name="description"), values.get("description", missing))
        tags = batch.convert(_tags, values.get("tags", missing))
        given = [values.get(name, missing) for name in TRANSACTION_COLUMNS]
        if all(set(column) <= _EMPTY for column in given):
            transactions: Sequence[Any] = missing
        else:
            transactions = batch.convert(_transaction, descriptions, entry_descriptions, *given)
        columns = (
            batch.locations,
            ids,
            moments,
            entry_descriptions,
            accounts,
            signed,
            descriptions,
            transactions,
            tags,
        )
        is_transaction = [transaction is not None for transaction in transactions]
        for row, line in enumerate(zip(*columns, is_transaction, strict=True)):
            if row in batch.problems:
                date, text = (str(values[name][row] or "") for name in ("datetime", "entry_description"))
                errors.add_line(batch.locations[row], batch.problems[row], ids[row], date=date[:10], description=text)
            else:
                yield FileLine(*line)


class _Batch:
    """Rows that are converted together, with the first problem of each row that has one."""

    def __init__(self, locations: list[str]) -> None:
        self.locations = locations
        self.problems: dict[int, str] = {}

    def convert(self, parse: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Values of a column; None where a value is not valid, or another column of its row was not."""
        try:
            if not self.problems:
                return list(map(parse, *columns))
        except (ValueError, AmountError):
            pass
        return [self._convert_row(row, parse, values) for row, values in enumerate(zip(*columns, strict=True))]

    def _convert_row(self, row: int, parse: Callable[..., Any], values: tuple[Any, ...]) -> Any:  # noqa: ANN401
        if row in self.problems:
            return None
        try:
            return parse(*values)
        except (ValueError, AmountError) as error:
            self.problems[row] = str(error)
            return None


def _text(value: Any, name: str) -> str:  # noqa: ANN401 (any value of a Parquet cell)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} {value!r} is not text")  # noqa: TRY004 (one exception type for every invalid value)
    return value


def _required_text(value: Any, name: str) -> str:  # noqa: ANN401 (any value of a Parquet cell)
    text = _text(value, name)
    if not text.strip():
        raise ValueError(f"{name} is empty")
    return text


def _signed(amount: Decimal, side: object) -> Decimal:
    if side == DebitCredit.DEBIT:
        return amount
    if side == DebitCredit.CREDIT:
        return amount.copy_negate()  # unary minus would round to the context precision
    raise ValueError(f"debit_credit must be 'debit' or 'credit', not {side!r}")


def _transaction(description: str, entry_description: str, *values: Any) -> NewTransaction | None:  # noqa: ANN401 (any value of a Parquet cell)
    """Transaction of a line, or None if all its columns are empty."""
    given = {name: value for name, value in zip(TRANSACTION_COLUMNS, values, strict=True) if value not in _EMPTY}
    if not given:
        return None
    status = _text(given.get("review_status"), "review_status") or "unreviewed"
    if status not in REVIEW_STATUSES:
        raise ValueError(f"review_status must be 'reviewed' or 'unreviewed', not {status!r}")
    return NewTransaction(
        description=_text(given.get("transaction_description"), "transaction_description")
        or description
        or entry_description,
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
    raise ValueError(f"personal must be true or false, not {value!r}")


@lru_cache(maxsize=4096)
def _tags(value: object) -> tuple[NewTag, ...]:
    """Tags of ``group=name;group=name``."""
    text = _text(value, "tags")
    return tuple(map(_parse_tag, text.split(";"))) if text else ()


def _parse_tag(text: str) -> NewTag:
    group, equals, name = (part.strip() for part in text.partition("="))
    if not (group and equals and name):
        raise ValueError(f"tag {text!r} is not group=name (several are separated by ';')")
    return NewTag(group, name)
