"""Mappings: how the table of another program becomes lines; shipped ones, and files in TOML that people write.

A mapping names the headings of the columns, formats, rows that are not lines, and the types of accounts. The keys of
``[accounts]`` are names (``*`` matches any characters), numbers, or ranges of numbers such as ``4000-4999``; their
values are types or paths. ``extends`` takes what is not given from another mapping.
"""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from accounting_analytics.errors import InputError
from accounting_analytics.messages import join_ids, quote

_SUFFIX = ".toml"
_Headings = tuple[str, ...]


class MappedColumns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Headings of each column, in any case; of several, the first one with a value in the row is used."""

    date: _Headings = ()
    number: _Headings = ()
    description: _Headings = ()
    line_description: _Headings = ()
    account: _Headings = ()
    code: _Headings = ()
    type: _Headings = ()
    debit: _Headings = ()
    credit: _Headings = ()
    amount: _Headings = ()
    paid_in: _Headings = ()
    paid_out: _Headings = ()
    balance: _Headings = ()


class Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a table becomes lines; the rows of a statement are entries of one account against uncategorized."""

    title: str = ""
    extends: str = ""
    kind: Literal["journal", "statement"] = "journal"
    numbers_are_ids: bool = False
    """Whether the number of an entry is its own for ever, and never that of another one."""
    dates: tuple[str, ...] = ()
    decimal: Literal["", ".", ","] = ""
    positive: Literal["debit", "credit"] = "debit"
    """Side of a positive amount; of a statement, debit is money in."""
    skip: str = ""
    total: str = ""
    heading: str = ""
    account: str = ""
    """Account of a statement."""
    cash: tuple[str, ...] = ()
    columns: MappedColumns = MappedColumns()
    types: dict[str, str] = {}
    accounts: dict[str, str] = {}


def shipped_mappings() -> dict[str, Mapping]:
    """Return the mappings of the package by name."""
    folder = resources.files(__package__) / "mappings"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(_SUFFIX))
    return {name.removesuffix(_SUFFIX): read_mapping(name.removesuffix(_SUFFIX)) for name in names}


def read_mapping(name: str) -> Mapping:
    """Read the mapping with a name, or of a TOML file."""
    content, source = _read(name)
    try:
        mapping = msgspec.convert(_with_base(content, {name}), Mapping)
        for pattern in (mapping.skip, mapping.total, mapping.heading):
            re.compile(pattern)
    except msgspec.ValidationError as error:
        raise InputError(f"mapping {source}: {error}") from None
    except re.error as error:
        raise InputError(
            f"mapping {source}: {quote(error.pattern)} is not a regular expression ({error.msg})"
        ) from None
    return mapping


def _with_base(content: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Content with what is not given in it from the mapping that it extends; its accounts come first."""
    base_name = content.get("extends")
    if not base_name:
        return content
    if not isinstance(base_name, str) or base_name in names:
        raise msgspec.ValidationError(f"extends {base_name!r}: a mapping extends another one by name or file")
    base = _with_base(_read(base_name)[0], {*names, base_name})
    merged = base | content
    for table in ("columns", "types", "accounts"):
        own = content.get(table, {})
        if not isinstance(own, dict):
            raise msgspec.ValidationError(f"{table} is a table: [{table}]")
        merged[table] = own | {key: value for key, value in base.get(table, {}).items() if key not in own}
    return merged


def _read(name: str) -> tuple[dict[str, Any], str]:
    """Content of a mapping and what to call it in messages."""
    shipped = resources.files(__package__) / "mappings" / f"{name}{_SUFFIX}"
    try:
        if name.isidentifier() and shipped.is_file():
            return tomllib.loads(shipped.read_text(encoding="utf-8")), name
        return tomllib.loads(Path(name).read_text(encoding="utf-8")), name
    except FileNotFoundError:
        folder = resources.files(__package__) / "mappings"
        known = [file.name.removesuffix(_SUFFIX) for file in folder.iterdir() if file.name.endswith(_SUFFIX)]
        raise InputError(f"there is no mapping {name!r}: give a TOML file or one of {join_ids(known)}") from None
    except OSError as error:
        raise InputError(f"mapping {name} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"mapping {name} is not TOML: {error}") from None
