"""Types of accounts by name or number: the path of an account of another program."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import InputError
from accounting_analytics.ledger_names import PATH_SEPARATOR
from accounting_analytics.service.imports.account_paths import TYPE_OF_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RANGE = re.compile(r"(\d+)\s*-\s*(\d+)")
_CODE_BEFORE = re.compile(r"(\d+)\b")
_CODE_AFTER = re.compile(r".*\((\d+)\)")


class ForeignAccount(NamedTuple):
    """An account as another program names it, with its number and type where the file has them."""

    name: str
    code: str = ""
    type: str = ""

    def number(self) -> str:
        """Return the number of its column, or that before or after its name."""
        found = _CODE_BEFORE.match(self.name) or _CODE_AFTER.fullmatch(self.name)
        return self.code or (found[1] if found else "")


class AccountTypes:
    """The rules of a mapping; the first one that matches decides."""

    def __init__(self, accounts: Mapping[str, str], types: Mapping[str, str]) -> None:
        for key, value in (*accounts.items(), *types.items()):
            if _root(value) not in TYPE_OF_ROOT:
                raise InputError(
                    f"the mapping has {key!r} = {value!r}: a type is assets, liabilities, equity, income or expenses, "
                    "and a path starts with one"
                )
        self._accounts = accounts
        self._types = types

    def path(self, account: ForeignAccount) -> str | None:
        """Path of an account; None if no rule matches."""
        target = self._target(account)
        if target is None:
            return None
        if PATH_SEPARATOR in target:
            return target
        segments = [" ".join(segment.split()) for segment in account.name.split(PATH_SEPARATOR)]
        name = PATH_SEPARATOR.join(filter(None, segments))
        if TYPE_OF_ROOT.get(_root(name)) == TYPE_OF_ROOT[_root(target)] and PATH_SEPARATOR in name:
            return name
        return f"{target}{PATH_SEPARATOR}{name}"

    def _target(self, account: ForeignAccount) -> str | None:
        number = account.number()
        for key, target in self._accounts.items():
            if _matches(key, account.name, number):
                return target
        if account.type:
            return _first(self._types.items(), account.type)
        root = _root(account.name)
        return root if PATH_SEPARATOR in account.name and root in TYPE_OF_ROOT else None


def _first(rules: Iterable[tuple[str, str]], text: str) -> str | None:
    return next((target for key, target in rules if _matches(key, text, "")), None)


def _matches(key: str, name: str, number: str) -> bool:
    found = _RANGE.fullmatch(key.strip())
    if found:
        return number.isdigit() and len(number) == len(found[1]) and int(found[1]) <= int(number) <= int(found[2])
    return number == key or fnmatch.fnmatchcase(name.casefold(), key.casefold())


def _root(path: str) -> str:
    return path.partition(PATH_SEPARATOR)[0].strip().casefold()
