r"""Rules: which description means which category, read from a TOML file.

::

    [[rule]]
    name = "coffee"
    contains = "SQ *"                      # or: regex = '^SQ \*(BLUE|RED)'
    category = "Expenses:Meals"            # a ledger's id, its name where that is unique, or its path
    direction = "outflow"                  # optional, as are min_amount, max_amount, ledger and comment
    max_amount = 100.00                    # of the whole transaction, without its sign
    ledger = "Operating Account"           # only transactions of this account: id, unique name or path
    comment = "the office orders in on Fridays"

The first rule that fits wins. Both ``contains`` and ``regex`` ignore case and see runs of white space as one space.
Expressions are RE2's: no look-around and no back-references, and in return none can run for ever.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.errors import AmountError, RulesError
from accounting_analytics.money import MAX_SCALE, parse_amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

_KEYS = frozenset(
    {"name", "contains", "regex", "category", "direction", "min_amount", "max_amount", "ledger", "comment"}
)
_DIRECTIONS = frozenset({"inflow", "outflow"})


@dataclass(frozen=True)
class Rule:
    """One rule: what must fit, and the category it gives.

    Parameters
    ----------
    name : str
        Its name, unique in the file.
    pattern : str
        RE2 expression that the description must contain, case ignored.
    category : str
        Id, unique name or path of the ledger it gives.
    direction : str, optional
        ``inflow`` or ``outflow``.
    min_amount, max_amount : Decimal, optional
        Bounds of the transaction's amount without its sign, both inclusive.
    ledger : str, optional
        Id, unique name or path of the account it is for.
    """

    name: str
    pattern: str
    category: str
    direction: str | None = None
    min_amount: Decimal | None = None
    max_amount: Decimal | None = None
    ledger: str | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any], number: int) -> Self:
        """Read a rule of the file; everything that cannot work is refused here, by the rule's name."""
        name = entry.get("name")
        where = f"rule {number}{f' ({name!r})' if isinstance(name, str) else ''}"
        if not isinstance(name, str) or not name.strip():
            msg = f"{where} has no name"
            raise RulesError(msg)
        unknown = entry.keys() - _KEYS
        if unknown:
            msg = f"{where} has an unknown key {min(unknown)!r}; the keys are {', '.join(sorted(_KEYS))}"
            raise RulesError(msg)
        direction = _text(entry, "direction", where)
        if direction is not None and direction not in _DIRECTIONS:
            msg = f"{where}: direction must be inflow or outflow, not {direction!r}"
            raise RulesError(msg)
        category = _text(entry, "category", where)
        if category is None:
            msg = f"{where} has no category"
            raise RulesError(msg)
        _text(entry, "comment", where)
        least, most = _amount(entry, "min_amount", where), _amount(entry, "max_amount", where)
        if least is not None and most is not None and least > most:
            msg = f"{where}: min_amount is above max_amount, so it can never fit"
            raise RulesError(msg)
        return cls(
            name=name.strip(),
            pattern=_pattern(entry, where),
            category=category,
            direction=direction,
            min_amount=least,
            max_amount=most,
            ledger=_text(entry, "ledger", where),
        )


@dataclass(frozen=True)
class Rules:
    """The rules of a file, in its order."""

    rules: tuple[Rule, ...]
    source: str

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def first_fitting(self, transactions: pd.DataFrame, accounts: Mapping[str, str]) -> list[str | None]:
        """Name of the first rule that fits each transaction; None where none does.

        Parameters
        ----------
        transactions : DataFrame
            ``description``, ``amount``, ``direction`` and ``ledger_id``, as in the queue.
        accounts : mapping of str to str
            Ledger id of the account that each rule with a ``ledger`` is for, by the rule's name.
        """
        descriptions = pa.array([_normalized(text) for text in transactions["description"]], pa.large_string())
        sizes = [amount.copy_abs() for amount in transactions["amount"]]  # abs() would round to 28 digits
        known = list(zip(sizes, transactions["direction"], transactions["ledger_id"], strict=True))
        decided: list[str | None] = [None] * len(known)
        for rule in self.rules:
            matches = pc.match_substring_regex(descriptions, rule.pattern, ignore_case=True).to_pylist()
            account = accounts.get(rule.name)
            for at, (size, direction, ledger_id) in enumerate(known):
                if (
                    matches[at]
                    and decided[at] is None
                    and rule.direction in (None, direction)
                    and account in (None, ledger_id)
                    and (rule.min_amount is None or size >= rule.min_amount)
                    and (rule.max_amount is None or size <= rule.max_amount)
                ):
                    decided[at] = rule.name
        return decided


def load_rules(path: str | Path) -> Rules:
    """Load rules from a TOML file.

    Parameters
    ----------
    path : path
        A file with ``[[rule]]`` tables; see :mod:`accounting_analytics.categorization.rules`.

    Raises
    ------
    RulesError
        The file cannot be read, or a rule in it cannot work; the message names the rule.
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        msg = f"the rules file {file} cannot be read: {error.strerror}"
        raise RulesError(msg) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        msg = f"the rules file {file} is not TOML: {error}"
        raise RulesError(msg) from error
    entries = content.pop("rule", None)
    if content or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        msg = f"the rules file {file} must hold [[rule]] tables and nothing else"
        raise RulesError(msg)
    rules = tuple(Rule.of(entry, number) for number, entry in enumerate(entries, start=1))
    (name, times), *_ = Counter(rule.name for rule in rules).most_common(1) or [("", 0)]
    if times > 1:
        msg = f"the rules file {file} has two rules named {name!r}; a plan could not say which one decided"
        raise RulesError(msg)
    return Rules(rules, str(file))


def _text(entry: Mapping[str, Any], key: str, where: str) -> str | None:
    """Text of a key without outer spaces; None where it is left out."""
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        msg = f"{where}: {key} must be text that is not empty"
        raise RulesError(msg)
    return value.strip()


def _pattern(entry: Mapping[str, Any], where: str) -> str:
    contains, regex = _text(entry, "contains", where), _text(entry, "regex", where)
    if (contains is None) == (regex is None):
        msg = f"{where} needs either contains or regex"
        raise RulesError(msg)
    pattern = str(entry["regex"]) if contains is None else _literal(contains)
    try:
        pc.match_substring_regex(pa.array([""]), pattern, ignore_case=True)
    except pa.ArrowInvalid as error:
        msg = f"{where}: the regex does not compile: {error}"
        raise RulesError(msg) from None
    return pattern


def _literal(text: str) -> str:
    r"""Expression that fits this text only; what :func:`re.escape` adds before letters of other scripts RE2 refuses."""
    return re.sub(r"([\\.^$*+?()\[\]{}|])", r"\\\1", _normalized(text))


def _amount(entry: Mapping[str, Any], key: str, where: str) -> Decimal | None:
    value = entry.get(key)
    if value is None:
        return None
    try:
        amount = parse_amount(value, MAX_SCALE).amount
    except AmountError as error:
        msg = f"{where}: {key}: {error}"
        raise RulesError(msg) from error
    if amount < 0:
        msg = f"{where}: {key} is compared without sign, so it cannot be negative; say direction instead"
        raise RulesError(msg)
    return amount


def _normalized(text: str) -> str:
    """Text with single spaces."""
    return " ".join(text.split())
