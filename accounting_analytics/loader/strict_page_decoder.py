"""Pages of line entries as Arrow tables via wire records; invalid values raise, naming page, line and field."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.column_conversion import LIST_SEPARATOR, SEPARATOR_IN_NAME
from accounting_analytics.errors import AmountError, ProtocolError
from accounting_analytics.loader.line_tables import AMOUNT, INSTANT, line_schema, requested_columns
from accounting_analytics.money import arrow_type, parse_amount
from accounting_analytics.periods import as_utc

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from accounting_analytics.client import records as wire


_TAG_NAMES = "tags.name"


class DecodedPage(NamedTuple):
    """A page of line entries, with counts of amounts that had rounding noise and of characters that were replaced."""

    table: pa.Table
    next_page_token: str | None
    noise_removed: int = 0
    characters_replaced: int = 0

    @property
    def ids(self) -> list[str]:
        """Ids of the lines."""
        ids: list[str] = self.table["id"].to_pylist()
        return ids


def decode_strictly(
    page: wire.LineEntryPage, where: str, *, ledger_id: str, expand: frozenset[str], scale: int
) -> DecodedPage:
    """Decode a page, checking every value that Arrow would let pass."""
    lines = page.records
    for line in lines:
        if line.ledger_id != ledger_id:
            raise ProtocolError(f"{where}: line {line.id} belongs to ledger {line.ledger_id}")
        if line.debit_credit not in {"debit", "credit"}:
            raise ProtocolError(
                f"{where}: line {line.id}: debit_credit {line.debit_credit!r} is neither debit nor credit"
            )
    columns: dict[str, Any] = {}
    noise_removed = separators_replaced = 0
    for name, kind, path, _ in requested_columns(expand):
        values = _read_field(lines, path)
        if kind == INSTANT:
            columns[name] = instants_in_utc(values, where)
        elif kind == AMOUNT and path:
            columns[name], with_noise = _exact_column(values, lines, f"{where}: {path}", scale)
            noise_removed += with_noise if name == "amount" else 0
        elif path == _TAG_NAMES:
            values, separators_replaced = _without_separators(values)
            columns[name] = [_join_list(value, f"{where}: {path}") for value in values]
        elif path:
            columns[name] = [_join_list(value, f"{where}: {path}") for value in values]
    is_debit = pa.array([line.debit_credit == "debit" for line in lines], pa.bool_())
    columns["signed_amount"] = pc.if_else(is_debit, columns["amount"], pc.negate(columns["amount"]))
    schema = line_schema(expand, scale)
    try:
        table = pa.table({name: columns[name] for name in schema.names}, schema=schema)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise ProtocolError(f"{where}: a value cannot be read: {error}") from None
    return DecodedPage(table, page.next_page_token, noise_removed, page.characters_replaced + separators_replaced)


def instants_in_utc(values: Iterable[dt.datetime], where: str) -> list[dt.datetime]:
    """Instants in UTC; without an offset they are UTC already. Arrow would drop any other offset."""
    try:
        return [as_utc(value) for value in values]
    except OverflowError:
        raise ProtocolError(f"{where}: an instant lies outside the calendar (years 1 to 9999 in UTC)") from None


def _read_field(lines: Sequence[wire.LineEntry], path: str) -> list[Any]:
    """Value of a field for each line; None where the field or the object that holds it is absent."""
    if not path:
        return []
    name, _, inner = path.partition(".")
    values = list(map(attrgetter(name), lines))
    if not inner:
        return values
    field = attrgetter(inner)
    return [
        None if value is None else [field(one) for one in value] if isinstance(value, list) else field(value)
        for value in values
    ]


def _join_list(value: Any, where: str) -> Any:  # noqa: ANN401 (a value of any field)
    """Elements of a list as one text, an absent one as empty text; any other value as it is."""
    if not isinstance(value, list):
        return value
    wrong = next((one for one in value if one and LIST_SEPARATOR in one), None)
    if wrong is not None:
        raise ProtocolError(
            f"{where}: id {wrong!r} contains {LIST_SEPARATOR!r}, which separates the ids of a list in frames"
        )
    return LIST_SEPARATOR.join(one or "" for one in value)


def _without_separators(lists: list[Any]) -> tuple[list[Any], int]:
    """Replace the separator of lists in names, and count how many there were."""
    count = sum(name.count(LIST_SEPARATOR) for names in lists for name in names or () if name)
    if not count:
        return lists, 0
    replaced = [
        names and [name and name.replace(LIST_SEPARATOR, SEPARATOR_IN_NAME) for name in names] for names in lists
    ]
    return replaced, count


def _exact_column(
    values: Sequence[Decimal | None], lines: Sequence[wire.LineEntry], where: str, scale: int
) -> tuple[pa.Array, int]:
    """Exact amounts, and how many of them had rounding noise."""
    absent = sum(value is None for value in values)
    try:
        column = pa.array(values, arrow_type(scale))
    except pa.ArrowInvalid:  # not all values fit the scale as they are
        column = None
    if column is not None and column.null_count == absent:  # Arrow turns NaN into null
        return column, 0
    exact, noise_removed = [], 0
    for value, line in zip(values, lines, strict=True):
        try:
            parsed = None if value is None else parse_amount(value, scale)
        except AmountError as error:
            raise ProtocolError(f"{where} of line {line.id}: {error}") from None
        exact.append(None if parsed is None else parsed.amount)
        noise_removed += parsed is not None and parsed.rounding_noise_removed
    return pa.array(exact, arrow_type(scale)), noise_removed
