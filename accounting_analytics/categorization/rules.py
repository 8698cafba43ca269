r"""Rules: which description means which category, read from a TOML file.

::

    [[rule]]
    name = "coffee"
    contains = "SQ *"                      # or: regex = "^SQ \\\\*(BLUE|RED)"
    category = "Expenses:Meals"            # a ledger's id, its name where that is unique, or its path
    direction = "outflow"                  # optional, as are min_amount, max_amount (absolute) and ledger
    max_amount = "100.00"

The first rule that fits wins. ``contains`` ignores case and runs of white space.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from accounting_analytics.errors import AmountError, RulesError
from accounting_analytics.money import MAX_SCALE, parse_amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from decimal import Decimal

_KEYS = frozenset(
    {"name", "contains", "regex", "category", "direction", "min_amount", "max_amount", "ledger", "comment"}
)
_DIRECTIONS = frozenset({"inflow", "outflow"})
_LONGEST_DESCRIPTION = 500


@dataclass(frozen=True)
class Rule:
    """One rule: what must fit, and the category it gives."""

    name: str
    pattern: re.Pattern[str]
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
        category = entry.get("category")
        if not isinstance(category, str) or not category.strip():
            msg = f"{where} has no category"
            raise RulesError(msg)
        direction, ledger = entry.get("direction"), entry.get("ledger")
        if direction is not None and direction not in _DIRECTIONS:
            msg = f"{where}: direction must be inflow or outflow, not {direction!r}"
            raise RulesError(msg)
        if ledger is not None and not isinstance(ledger, str):
            msg = f"{where}: ledger must be text, the id or name of the account"
            raise RulesError(msg)
        return cls(
            name=name.strip(),
            pattern=_pattern(entry, where),
            category=category.strip(),
            direction=direction,
            min_amount=_amount(entry, "min_amount", where),
            max_amount=_amount(entry, "max_amount", where),
            ledger=ledger,
        )

    def fits(self, *, description: str, amount: Decimal, direction: str, ledger: tuple[str, str]) -> bool:
        """Whether a transaction fits; `ledger` is the account's id and name."""
        size = abs(amount)
        return (
            (self.direction is None or self.direction == direction)
            and (self.min_amount is None or size >= self.min_amount)
            and (self.max_amount is None or size <= self.max_amount)
            and (self.ledger is None or self.ledger in ledger)
            and self.pattern.search(_normalized(description)) is not None
        )


@dataclass(frozen=True)
class Rules:
    """The rules of a file, in its order."""

    rules: tuple[Rule, ...]
    source: str

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def first(self, *, description: str, amount: Decimal, direction: str, ledger: tuple[str, str]) -> str | None:
        """Name of the first rule that fits a transaction; `ledger` is the account's id and name."""
        fitting = (
            rule.name
            for rule in self.rules
            if rule.fits(description=description, amount=amount, direction=direction, ledger=ledger)
        )
        return next(fitting, None)

    def __len__(self) -> int:
        return len(self.rules)


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
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"the rules file {file} cannot be read: {error.strerror}"
        raise RulesError(msg) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"the rules file {file} is not TOML: {error}"
        raise RulesError(msg) from error
    entries = content.pop("rule", None)
    if content or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        msg = f"the rules file {file} must hold [[rule]] tables and nothing else"
        raise RulesError(msg)
    rules = tuple(Rule.of(entry, number) for number, entry in enumerate(entries, start=1))
    names = [rule.name for rule in rules]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        msg = f"the rules file {file} has two rules named {repeated[0]!r}; a plan could not say which one decided"
        raise RulesError(msg)
    return Rules(rules, str(file))


def _pattern(entry: Mapping[str, Any], where: str) -> re.Pattern[str]:
    contains, regex = entry.get("contains"), entry.get("regex")
    if (contains is None) == (regex is None):
        msg = f"{where} needs either contains or regex"
        raise RulesError(msg)
    text = contains if regex is None else regex
    if not isinstance(text, str) or not text.strip():
        msg = f"{where}: {'contains' if regex is None else 'regex'} must be text that is not empty"
        raise RulesError(msg)
    if regex is None:
        return re.compile(re.escape(_normalized(text)), re.IGNORECASE)
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        msg = f"{where}: the regex does not compile: {error}"
        raise RulesError(msg) from error


def _amount(entry: Mapping[str, Any], key: str, where: str) -> Decimal | None:
    value = entry.get(key)
    if value is None:
        return None
    try:
        return parse_amount(value, MAX_SCALE).amount
    except AmountError as error:
        msg = f"{where}: {key}: {error} (write it as text, in quotes)"
        raise RulesError(msg) from error


def _normalized(text: str) -> str:
    """Text with single spaces; cut where no bank writes on, so that no pattern runs long."""
    return " ".join(text.split())[:_LONGEST_DESCRIPTION]
