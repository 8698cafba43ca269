r"""Rules: conditions on a transaction and the category that follows, read from a TOML file.

::

    [[rule]]
    name = "coffee"
    contains = "SQ *"                      # or: regex = '^SQ \*(BLUE|RED)', or: merchant = "Blue Bottle"
    category = "Expenses:Meals"            # a ledger's id, its name where that is unique, or its path
    direction = "outflow"                  # optional, as are all other keys
    max_amount = 100.00                    # and min_amount: of the whole transaction, without its sign
    ledger = "Operating Account"           # only transactions of this account: id, unique name or path
    day_of_month = "1-5, 15"               # only on these local days of each month; a single day may be a number
    tag = "tag_17"                         # only transactions with this tag: its id
    comment = "team lunch on Fridays"
    exact = true                           # optional: the command ``categorize`` may apply it without a person

The first matching rule decides. The order in the file is the only priority and every match stops the search, so there
are no keys for either: a rule for a special case is written before the general rule, as in ::

    [[rule]]
    name = "rent of the shop"              # decides first, on the days it names
    contains = "GREENPOINT PROPERTIES"
    day_of_month = "1-5"
    category = "Rent"

    [[rule]]
    name = "repairs of the landlord"       # decides what is left
    contains = "GREENPOINT PROPERTIES"
    category = "Repairs"

``report_rules`` names each rule that earlier ones leave nothing to decide.

``merchant`` compares the normalized name of :mod:`accounting_analytics.categorization.merchants`, which ``group_queue``
shows. ``contains`` and ``regex`` ignore case and treat each run of white space as one space.
Regular expressions are RE2's: without lookaround and backreferences, so that matching time is linear in the text.

Each condition is one entry of ``CONDITIONS``: a function that parses its value and one that matches transactions.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.arguments import to_path
from accounting_analytics.atomic_files import write_text
from accounting_analytics.categorization.category_ledgers import Categories
from accounting_analytics.categorization.choices import Decidable
from accounting_analytics.categorization.merchants import merchants
from accounting_analytics.categorization.transaction_groups import NO_DESCRIPTION, with_groups
from accounting_analytics.categorization.uncategorized_queue import exact_queue
from accounting_analytics.column_conversion import split_list
from accounting_analytics.errors import AmountError, InputError, RulesError
from accounting_analytics.messages import count_of, fit_terminal, printable, quote
from accounting_analytics.money import MAX_SCALE, parse_amount
from accounting_analytics.schemas import Ledgers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd

    from accounting_analytics.ledger_names import LedgerNames


if TYPE_CHECKING:
    Matches = npt.NDArray[np.bool_]

_RULE_HEADER = re.compile(r"\s*\[\[\s*rule\s*\]\]")
_DIRECTIONS = ("inflow", "outflow")
_DAYS = re.compile(r"(\d{1,2})(?:\s*-\s*(\d{1,2}))?")
_LAST_DAY = 31


class Transactions:
    """What conditions compare: one array element per transaction of the queue.

    `account_ids` are the ledger ids of the accounts that rules name, by the text in the rule.
    """

    def __init__(self, queue: pd.DataFrame, account_ids: Mapping[str, str]) -> None:
        self._queue = queue
        self.account_ids = account_ids
        self.descriptions = pa.array([_single_spaced(text) for text in queue["description"]], pa.large_string())
        # abs() rounds to 28 digits
        self.sizes = np.array([amount.copy_abs() for amount in queue["amount"]], object)
        self.directions = queue["direction"].to_numpy(object)
        self.ledger_ids = queue["ledger_id"].to_numpy(object)

    @cached_property
    def merchants(self) -> npt.NDArray[np.object_]:
        """Normalized name of each merchant."""
        return np.array(merchants(self._queue["description"]), object)

    @cached_property
    def days(self) -> npt.NDArray[np.int64]:
        """Local day of the month of each transaction."""
        if "local_date" not in self._queue or self._queue["local_date"].isna().any():
            raise RulesError(
                "local dates are not known: the line entries have no column local_date and state no load, or are of "
                "the zone localtime; load them with time_zone=..., or read them with read_line_entries(path, "
                "time_zone=...)"
            )
        days: npt.NDArray[np.int64] = self._queue["local_date"].dt.day.to_numpy(np.int64)
        return days

    @cached_property
    def tag_ids(self) -> list[set[str]]:
        """Ids of the tags of each transaction; empty where they are not known."""
        return [split_list(text) or set() for text in self._queue["tag_ids"]]


class Condition(NamedTuple):
    """A condition that a rule may state.

    `parse` converts the value in the file and raises RulesError or AmountError; `match` returns one boolean per
    transaction.
    """

    parse: Callable[[object], Any]
    match: Callable[[Transactions, Any], Matches]


@dataclass(frozen=True)
class Rule:
    """One rule: the conditions that a transaction must meet, and its category: an id, unique name or path.

    `conditions` has the parsed value of each condition by its key in ``CONDITIONS``. `line` is that of its
    ``[[rule]]``, None where the file writes rules in another form. `exact` is whether it may be applied without a
    person.
    """

    name: str
    category: str
    conditions: Mapping[str, Any]
    line: int | None = None
    exact: bool = False

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any], number: int, line: int | None = None) -> Self:
        """Read a ``[[rule]]`` table; a rule that can never work is refused by its name."""
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            raise RulesError(f"rule {number}{_at_line(line)} has no name")
        where = f"rule {number} ({name!r}){_at_line(line)}"
        values = _parse_values(entry, where)
        _require_complete(values, where)
        conditions = {key: value for key, value in values.items() if key in CONDITIONS}
        return cls(name.strip(), values["category"], conditions, line, exact=values.get("exact", False))

    @property
    def ledger(self) -> str | None:
        """Id, unique name or path of the account whose transactions the rule is limited to."""
        return self.conditions.get("ledger")

    def describe(self) -> str:
        """Conditions as text: ``direction outflow, max_amount 100``."""
        return ", ".join(f"{key} {value}" for key, value in self.conditions.items())

    def match(self, transactions: Transactions) -> Matches:
        """Which transactions meet all conditions."""
        matches = np.ones(len(transactions.sizes), np.bool_)
        for key, value in self.conditions.items():
            try:
                matches &= CONDITIONS[key].match(transactions, value)
            except RulesError as error:
                raise RulesError(f"rule {self.name!r}{_at_line(self.line)}: {key}: {error}") from None
        return matches


@dataclass(frozen=True, repr=False)
class Rules:
    """The rules of a file, in its order."""

    rules: tuple[Rule, ...]
    source: str

    def __repr__(self) -> str:
        rules = [
            f"- {rule.name}{' (exact)' if rule.exact else ''}: {rule.category}, where {rule.describe()}"
            for rule in self.rules
        ]
        return fit_terminal("\n".join(map(printable, [f"{count_of(len(self), 'rule')} of {self.source}", *rules])))

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def match(self, queue: pd.DataFrame, account_ids: Mapping[str, str]) -> list[str | None]:
        """Name of the first matching rule of each transaction; None where no rule matches."""
        deciding: list[str | None] = RuleMatches(self, Transactions(queue, account_ids)).deciding.tolist()
        return deciding


class RuleMatches:
    """Which transactions each rule matches, and the rule that decides each: the first that matches it, or none."""

    def __init__(self, rules: Rules, transactions: Transactions) -> None:
        self._by_rule = {rule.name: rule.match(transactions) for rule in rules}
        self.deciding = np.full(len(transactions.sizes), None, object)
        for name, matches in reversed(self._by_rule.items()):  # an earlier rule overwrites a later one
            self.deciding[matches] = name

    def deciding_instead(self, name: str) -> list[str]:
        """Rules that decide what a rule matches, the most frequent first."""
        return [one for one, _ in Counter(filter(None, self.deciding[self._by_rule[name]])).most_common()]


def load_rules(path: str | Path) -> Rules:
    """Load rules from a TOML file.

    Parameters
    ----------
    path : path
        A file with ``[[rule]]`` tables; see :mod:`accounting_analytics.categorization.rules`.

    Raises
    ------
    RulesError
        The file cannot be read, or a rule in it can never work; the message names the rule.
    """
    file = to_path(path, "path")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RulesError(f"the rules file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RulesError(f"the rules file {file} is not valid TOML: {error}") from error
    return parse_rules(text, str(file))


def parse_rules(text: str, source: str) -> Rules:
    """Parse the text of a rules file; `source` names it in messages."""
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RulesError(f"the rules file {source} is not valid TOML: {error}") from error
    entries = content.pop("rule", None)
    if content or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RulesError(f"the rules file {source} must contain [[rule]] tables and nothing else")
    lines = _rule_lines(text, len(entries))
    rules = tuple(
        Rule.from_entry(entry, number, line)
        for number, (entry, line) in enumerate(zip(entries, lines, strict=True), start=1)
    )
    (name, count), *_ = Counter(rule.name for rule in rules).most_common(1) or [("", 0)]
    if count > 1:
        raise RulesError(f"the rules file {source} has two rules named {name!r}; give each rule its own name")
    return Rules(rules, source)


def _rule_lines(text: str, count: int) -> list[int] | list[None]:
    """Find the line of each ``[[rule]]``; None for all where they are not written like that."""
    lines = text.splitlines()
    found = [number for number, line in enumerate(lines, start=1) if _RULE_HEADER.match(line)]
    if len(found) > count:  # text of several lines may contain what is written like a header
        found = [number for number in found if _is_toml("\n".join(lines[: number - 1]))]
    return found if len(found) == count else [None] * count


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _at_line(line: int | None) -> str:
    return "" if line is None else f" at line {line}"


def _parse_values(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Parse the value of each key but the name."""
    parsers: dict[str, Callable[[object], Any]] = {
        "category": _parse_text,
        "comment": _parse_text,
        "exact": _parse_boolean,
    }
    parsers |= {key: condition.parse for key, condition in CONDITIONS.items()}
    unknown = entry.keys() - parsers.keys() - {"name"}
    if unknown:
        raise RulesError(f"{where}: unknown key {min(unknown)!r}; the keys are {', '.join(sorted({'name', *parsers}))}")
    values = {}
    for key in [key for key in parsers if key in entry]:
        try:
            values[key] = parsers[key](entry[key])
        except (AmountError, RulesError) as error:
            raise RulesError(f"{where}: {key}: {error}") from error
    return values


def _require_complete(values: Mapping[str, Any], where: str) -> None:
    """Refuse a rule without category, without exactly one condition on the text, or with an empty amount range."""
    if "category" not in values:
        raise RulesError(f"{where}: category is missing")
    if len(values.keys() & {"contains", "regex", "merchant"}) != 1:
        raise RulesError(f"{where}: state either contains or regex or merchant")
    if values.get("min_amount", 0) > values.get("max_amount", float("inf")):
        raise RulesError(f"{where}: min_amount is greater than max_amount, so no transaction can match")


def _parse_text(value: object) -> str:
    """Text without outer spaces."""
    if not isinstance(value, str) or not value.strip():
        raise RulesError(f"must be non-empty text, not {quote(value)}")
    return value.strip()


def _parse_boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise RulesError(f"must be true or false, not {quote(value)}")
    return value


def _parse_contains(value: object) -> str:
    r"""RE2 pattern of literal text; not by :func:`re.escape`, whose escapes of other scripts RE2 rejects."""
    return _parse_regex(re.sub(r"([\\.^$*+?()\[\]{}|])", r"\\\1", _single_spaced(_parse_text(value))))


def _parse_regex(value: object) -> str:
    _parse_text(value)
    pattern = str(value)
    try:
        pc.match_substring_regex(pa.array([""]), pattern, ignore_case=True)
    except pa.ArrowInvalid as error:
        raise RulesError(f"the pattern does not compile: {error}") from None
    return pattern


def _parse_direction(value: object) -> str:
    direction = _parse_text(value)
    if direction not in _DIRECTIONS:
        raise RulesError(f"must be inflow or outflow, not {quote(direction)}")
    return direction


def _parse_bound(value: object) -> Decimal:
    amount = parse_amount(value, MAX_SCALE).amount
    if amount < 0:
        raise RulesError("is compared without sign, so it cannot be negative; use direction instead")
    return amount


class Days(frozenset[int]):
    """Days of a month."""

    def __str__(self) -> str:
        """Write them as ``1 or 15``."""
        return " or ".join(map(str, sorted(self)))


def _parse_days(value: object) -> Days:
    """Days of a number, of text such as ``1-5, 15``, or of a list of both."""
    parts = value if isinstance(value, list) else [value]
    texts = [text for part in parts for text in (part.split(",") if isinstance(part, str) else [part])]
    found = Days(day for text in texts for day in _parse_range(text))
    if not found:
        raise RulesError(f"must be days such as 1, [1, 15] or '28-31', not {quote(value)}")
    return found


def _parse_range(value: object) -> range:
    """Days from the first to the last, inclusive."""
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    match = _DAYS.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= _LAST_DAY:
        wraps = f"; write '{first}-{_LAST_DAY}, 1-{last}'" if 1 <= last < first <= _LAST_DAY else ""
        raise RulesError(
            f"must be days from 1 to {_LAST_DAY}, such as 1, [1, 15] or '28-31', not {quote(value)}{wraps}"
        )
    return range(first, last + 1)


def _match_pattern(transactions: Transactions, pattern: str) -> Matches:
    matches = pc.match_substring_regex(transactions.descriptions, pattern, ignore_case=True)
    return np.asarray(matches.to_numpy(zero_copy_only=False), np.bool_)


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


CONDITIONS: dict[str, Condition] = {
    "contains": Condition(_parse_contains, _match_pattern),
    "regex": Condition(_parse_regex, _match_pattern),
    "merchant": Condition(
        lambda value: merchants([_parse_text(value)])[0], lambda rows, merchant: rows.merchants == merchant
    ),
    "direction": Condition(_parse_direction, lambda rows, direction: rows.directions == direction),
    "min_amount": Condition(_parse_bound, lambda rows, bound: rows.sizes >= bound),
    "max_amount": Condition(_parse_bound, lambda rows, bound: rows.sizes <= bound),
    "ledger": Condition(_parse_text, lambda rows, text: rows.ledger_ids == rows.account_ids[text]),
    "day_of_month": Condition(_parse_days, lambda rows, days: np.isin(rows.days, list(days))),
    "tag": Condition(_parse_text, lambda rows, tag: np.array([tag in tags for tags in rows.tag_ids], np.bool_)),
}
"""Every condition that a rule may state, by its key in the file."""


def add_rule(
    path: str | Path,
    queue: pd.DataFrame,
    key: str,
    category: str,
    ledgers: pd.DataFrame,
    *,
    day_of_month: str | None = None,
) -> str:
    """Append a rule for the merchant, direction and account of a group or a transaction to a rules file.

    The file keeps its text, comments included, and is created if missing. The rule is the last of the file, so
    transactions that an earlier rule matches are still decided by that.
    """
    file = to_path(path, "path")
    rows = exact_queue(queue).frame
    chart = Categories(Ledgers.checked(ledgers), set(rows["category_ledger_id"]))
    row = with_groups(rows).loc[Decidable.from_queue(rows).rows(key)[0]]
    if row["merchant"] == NO_DESCRIPTION:
        raise InputError(f"{quote(key)} has no description, so no rule can match it; decide it by hand")
    account, direction, merchant = (str(row[name]) for name in ("ledger_id", "direction", "merchant"))
    days = {} if day_of_month is None else {"day_of_month": day_of_month}
    values = {
        "name": ", ".join(
            [merchant.casefold(), direction, chart.names.name(account), *(f"day {one}" for one in days.values())]
        ),
        "merchant": merchant,
        "category": _written(chart.find(category), chart.names),
        "direction": direction,
        "ledger": _written(account, chart.names),
        **days,
    }
    rule = _toml(values)
    _append(file, rule)
    return rule


def _written(ledger_id: str, names: LedgerNames) -> str:
    """Path of a ledger as a person writes it; its id where other ledgers have the same path."""
    path = names.path(ledger_id)
    return path if names.matches(path) == {ledger_id} else ledger_id


def _toml(values: Mapping[str, str]) -> str:
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
    return f"[[rule]]\n{''.join(lines)}"


def _append(file: Path, rule: str) -> None:
    """Append a rule to a file whose rules stay valid, with the line breaks of the file."""
    text = ""
    if file.exists():
        load_rules(file)
        text = file.read_bytes().decode()
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text.rstrip("\r\n") + newline * 2 if text else ""
    written = before + rule.replace("\n", newline)
    parse_rules(written.removeprefix("\ufeff"), f"{file}, with the new rule,")
    write_text(file, written)
