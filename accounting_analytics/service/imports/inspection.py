"""What is recognized in a file, what is missing, and a mapping of it to edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from accounting_analytics.errors import ImportRefusedError, InputError
from accounting_analytics.messages import join_ids
from accounting_analytics.money import DEFAULT_SCALE
from accounting_analytics.service.imports.account_types import AccountTypes, ForeignAccount
from accounting_analytics.service.imports.import_errors import ImportErrors
from accounting_analytics.service.imports.mapped_table import (
    COLUMN_NAMES,
    MappedTable,
    TotalRow,
    find_header,
    map_table,
)
from accounting_analytics.service.imports.mapping import Mapping, read_mapping, shipped_mappings
from accounting_analytics.service.imports.ofx_statement import is_ofx
from accounting_analytics.service.imports.raw_rows import RawTable, read_rows

if TYPE_CHECKING:
    from pathlib import Path

_TO_FILL = "?"


class Inspection(NamedTuple):
    """Sentences about a file, and a mapping in TOML; empty where it needs none or nothing is recognized."""

    findings: tuple[str, ...]
    mapping: str


def inspect_file(path: Path, *, mapping: str | None = None, date_format: str | None = None) -> Inspection:
    """Describe a file as the given mapping reads it, or the shipped one that fits it best."""
    errors = ImportErrors(path)
    if is_ofx(path):
        return Inspection(("an OFX statement, which needs no mapping",), "")
    raw = read_rows(path, errors)
    name, chosen = (mapping, read_mapping(mapping)) if mapping else _best(raw)
    if date_format:
        chosen = replace(chosen, dates=(date_format,))
    findings = [f"{path.name} is {raw.layout}, of {len(raw.rows)} rows"]
    header = find_header(raw.rows, chosen)
    if header is None or not header.places:
        headings = next((row.filled for row in raw.rows if len(row.filled) > 1), [])
        findings.append(f"no headings of a shipped mapping are in it; its first row of several cells is {headings}")
        return Inspection(tuple(findings), _toml(chosen, name, {column: [_TO_FILL] for column in COLUMN_NAMES}, {}))
    row = raw.rows[header.row]
    columns = {column: [row.texts[place] for place in places] for column, places in header.places.items()}
    named = ", ".join(f"{column} = {' or '.join(headings)}" for column, headings in columns.items())
    findings.append(f"{row.location} has headings of {chosen.title or name} ({name}): {named}")
    unused = [text for text in row.filled if text not in {one for headings in columns.values() for one in headings}]
    if unused:
        findings.append(f"columns that are not imported: {join_ids(unused, limit=len(unused))}")
    if missing := header.missing(chosen):
        findings.append(f"missing: {', '.join(missing)}; write their headings into the mapping")
        return Inspection(
            tuple(findings), _toml(chosen, name, columns | {column: [_TO_FILL] for column in missing}, {})
        )
    try:
        table = map_table(raw.rows, chosen, DEFAULT_SCALE, errors)
    except ImportRefusedError as error:
        findings.append(str(error.problems[-1][-1]))
        return Inspection(tuple(findings), _toml(replace(chosen, dates=(_TO_FILL,)), name, columns, {}))
    findings += _describe(table)
    accounts = _accounts(table, chosen)
    if untyped := [account for account, path in accounts.items() if path == _TO_FILL]:
        findings.append(f"accounts without a type: {join_ids(untyped, limit=len(untyped))}")
    return Inspection(tuple(findings), _toml(replace(chosen, dates=(table.date_format,)), name, columns, accounts))


def _best(raw: RawTable) -> tuple[str, Mapping]:
    """Shipped mapping without missing columns, and with most of them."""

    def quality(one: tuple[str, Mapping]) -> tuple[int, int]:
        header = find_header(raw.rows, one[1])
        return (0, 0) if header is None else (-len(header.missing(one[1])), len(header.places))

    return max(shipped_mappings().items(), key=quality)


def _describe(table: MappedTable) -> list[str]:
    totals = sum(isinstance(row, TotalRow) for row in table.rows)
    counts = f"{len(table.lines)} lines, {totals} rows of totals, {len(table.left_out)} rows of titles and other text"
    return [
        counts,
        f"dates like {table.date_format}, decimal mark {table.decimal!r}",
        *(f"left out: {one}" for one in table.left_out),
    ]


def _accounts(table: MappedTable, mapping: Mapping) -> dict[str, str]:
    """Path of each account of a journal, or what to fill in."""
    if mapping.kind == "statement":
        return {}
    types = AccountTypes(mapping.accounts, mapping.types)
    found = {
        line.text("account"): ForeignAccount(line.text("account"), line.text("code"), line.text("type"))
        for line in table.lines
    }
    return {name: types.path(account) or _TO_FILL for name, account in sorted(found.items()) if name}


def _toml(mapping: Mapping, name: str, columns: dict[str, list[str]], accounts: dict[str, str]) -> str:
    """Text of a mapping that extends another one, with what was recognized to edit."""
    lines = [f"extends = {_text(name)}"]
    if mapping.dates:
        lines.append(f"dates = [{', '.join(map(_text, mapping.dates))}]")
    if mapping.kind == "statement":
        lines.append(f"account = {_text(mapping.account)}")
        lines.append(f"positive = {_text(mapping.positive)}  # credit: a positive amount is money out")
    lines += ["", "[columns]", *(_column(column, one) for column, one in columns.items())]
    if accounts:
        lines += ["", "# types, or paths such as assets:bank:checking", "[accounts]"]
        lines += [f"{_text(account)} = {_text(path)}" for account, path in accounts.items()]
    return "\n".join(lines) + "\n"


def _column(column: str, headings: list[str]) -> str:
    """Line of a column; an amount that is missing may be in two columns."""
    line = f"{column} = [{', '.join(map(_text, headings))}]"
    two = "  # or debit and credit; of a statement, paid_in and paid_out"
    return f"{line}{two}" if (column, headings) == ("amount", [_TO_FILL]) else line


def _text(text: str) -> str:
    """Text as a basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not escaped.isprintable():
        raise InputError(f"{text!r} has a character that cannot be printed")
    return f'"{escaped}"'
