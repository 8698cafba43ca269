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
from itertools import islice, repeat, starmap
from typing import TYPE_CHECKING, Any

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.errors import AmountError
from accounting_analytics.service.bookkeeping.entries_to_post import NewTag, NewTransaction
from accounting_analytics.service.imports.parsed_books import FileLine, ImportOptions, ParsedBooks, build_books
from accounting_analytics.service.imports.table_files import (
    AmountParser,
    ImportErrors,
    InstantParser,
    TableRows,
    csv_rows,
    is_parquet,
    parquet_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

REQUIRED_COLUMNS = ("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount")
TRANSACTION_COLUMNS = ("transaction_id", "transaction_description", "personal", "review_status", "source_account_id")
OPTIONAL_COLUMNS = ("description", *TRANSACTION_COLUMNS, "tags")
_PERSONAL = {"": False, "false": False, "true": True}
_REVIEW_STATUS = ("reviewed", "unreviewed")
_SIDES = frozenset(side.value for side in DebitCredit)
_EMPTY = frozenset({None, ""})
_BATCH_ROWS = 10_000


def read_line_table(path: Path, options: ImportOptions = ImportOptions()) -> ParsedBooks:  # noqa: B008 (immutable)
    """Read a line table (CSV or Parquet, recognized by content) into ledgers and balanced entries.

    Raises
    ------
    ImportRefusedError
        A line is malformed, an entry does not balance, or a commodity is selected, of which a line table has one; the
        message names file, line and problem.
    """
    errors = ImportErrors(path)
    if options.commodity is not None:
        problem = "a line table has no commodity column, so no commodity can be selected"
        raise errors.fatal(problem)
    table = parquet_rows(path, errors) if is_parquet(path, errors) else csv_rows(path, errors)
    _check_columns(table, errors)
    instants = InstantParser(options.time_zone)
    parser = _LineParser(table.columns, instants, AmountParser(options.scale), errors)
    books = build_books(_parse_lines(table, parser), options, errors)
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


class _LineParser:
    """Parses rows as lines: a batch by columns if all its values are valid, otherwise row by row to find the errors."""

    def __init__(
        self, columns: Sequence[str], instants: InstantParser, amounts: AmountParser, errors: ImportErrors
    ) -> None:
        self._columns = columns
        self._transaction_columns = [name for name in TRANSACTION_COLUMNS if name in columns]
        self._instants = instants
        self._amounts = amounts
        self._tags = _TagParser()
        self._errors = errors

    def parse(self, rows: Sequence[tuple[str, Sequence[Any]]]) -> Iterable[FileLine]:
        """Lines of a batch of rows; what is wrong with a row is added to the errors."""
        locations = [location for location, _ in rows]
        columns = dict(zip(self._columns, zip(*(row for _, row in rows), strict=True), strict=True))
        try:
            lines = self._parse_columns(locations, columns)
        except (ValueError, AmountError):
            lines = None
        return lines if lines is not None else self._parse_rows(rows)

    def _parse_columns(self, locations: list[str], columns: Mapping[str, tuple[Any, ...]]) -> Iterable[FileLine] | None:
        """Lines of a batch without transactions whose values are all valid; None for any other batch."""
        ids, accounts, sides = columns["entry_id"], columns["ledger"], columns["debit_credit"]
        entry_descriptions = columns["entry_description"]
        descriptions = columns.get("description", ("",) * len(ids))
        is_plain = (
            set(map(type, ids + accounts)) == {str}
            and set(map(type, entry_descriptions + descriptions)) <= {str, type(None)}
            and set(sides) <= _SIDES
            and all(map(str.strip, ids))
            and all(map(str.strip, accounts))
            and all(set(columns[name]) <= _EMPTY for name in self._transaction_columns)
        )
        if not is_plain:
            return None
        lines = zip(
            locations,
            ids,
            map(self._instants.parse, columns["datetime"]),
            [text or "" for text in entry_descriptions],
            accounts,
            map(_signed, map(self._amounts.parse, columns["amount"]), sides),
            [text or "" for text in descriptions],
            repeat(None),
            map(self._tags.parse, columns["tags"]) if "tags" in columns else repeat(()),
            repeat(False),  # noqa: FBT003 (must_be_transaction)
        )
        return list(starmap(FileLine, lines))

    def _parse_rows(self, rows: Iterable[tuple[str, Sequence[Any]]]) -> Iterator[FileLine]:
        for location, row in rows:
            value = dict(zip(self._columns, row, strict=True))
            try:
                description = _text(value.get("description"), "description")
                entry_description = _text(value["entry_description"], "entry_description")
                transaction = _transaction(
                    {name: value[name] for name in self._transaction_columns}, description or entry_description
                )
                yield FileLine(
                    location,
                    _required_text(value["entry_id"], "entry_id"),
                    self._instants.parse(value["datetime"]),
                    entry_description,
                    _required_text(value["ledger"], "ledger"),
                    _signed(self._amounts.parse(value["amount"]), value["debit_credit"]),
                    description,
                    transaction,
                    self._tags.parse(value.get("tags")),
                    must_be_transaction=transaction is not None,
                )
            except (ValueError, AmountError) as error:
                self._errors.add(location, str(error))


def _parse_lines(table: TableRows, parser: _LineParser) -> Iterator[FileLine]:
    while rows := list(islice(table.rows, _BATCH_ROWS)):
        yield from parser.parse(rows)


def _text(value: Any, name: str) -> str:  # noqa: ANN401 (any value of a Parquet cell)
    if value is None:
        return ""
    if not isinstance(value, str):
        msg = f"{name} {value!r} is not text"
        raise ValueError(msg)  # noqa: TRY004 (one exception type for every invalid value)
    return value


def _required_text(value: Any, name: str) -> str:  # noqa: ANN401 (any value of a Parquet cell)
    text = _text(value, name)
    if not text.strip():
        msg = f"{name} is empty"
        raise ValueError(msg)
    return text


def _signed(amount: Decimal, side: object) -> Decimal:
    if side == DebitCredit.DEBIT:
        return amount
    if side == DebitCredit.CREDIT:
        return amount.copy_negate()  # unary minus would round to the context precision
    msg = f"debit_credit must be 'debit' or 'credit', not {side!r}"
    raise ValueError(msg)


def _transaction(values: Mapping[str, Any], default_description: str) -> NewTransaction | None:
    """Transaction of a line, or None if all its columns are empty."""
    given = {name: value for name, value in values.items() if value not in _EMPTY}
    if not given:
        return None
    status = _text(given.get("review_status"), "review_status") or "unreviewed"
    if status not in _REVIEW_STATUS:
        msg = f"review_status must be 'reviewed' or 'unreviewed', not {status!r}"
        raise ValueError(msg)
    return NewTransaction(
        description=_text(given.get("transaction_description"), "transaction_description") or default_description,
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


class _TagParser:
    """Parses ``group=name;group=name``, each distinct text once."""

    def __init__(self) -> None:
        self._parsed: dict[object, tuple[NewTag, ...]] = {None: (), "": ()}

    def parse(self, value: object) -> tuple[NewTag, ...]:
        tags = self._parsed.get(value)
        if tags is None:
            tags = self._parsed[value] = tuple(map(_parse_tag, _text(value, "tags").split(";")))
        return tags


def _parse_tag(text: str) -> NewTag:
    group, equals, name = (part.strip() for part in text.partition("="))
    if not (group and equals and name):
        msg = f"tag {text!r} is not group=name (several are separated by ';')"
        raise ValueError(msg)
    return NewTag(group, name)
