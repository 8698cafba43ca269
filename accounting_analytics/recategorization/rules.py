r"""Rules: conditions on a transaction and the category that follows, read from a TOML file.

::

    [[rule]]
    name = "coffee"
    contains = "SQ *"                      # or: regex = '^SQ \*(BLUE|RED)', or: counterparty = "Blue Bottle"
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

``counterparty`` compares the normalized name of :mod:`accounting_analytics.reports.books.merchants`, which
``group_queue`` shows. ``contains`` and ``regex`` ignore case, Unicode forms and invisible characters, and treat each
run of white space as one space. Regular expressions are RE2's: without lookaround and backreferences, so that matching
time is linear in the text.

Each condition is an entry of ``CONDITIONS``: a function that parses its value, and a function that compares rows.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.arguments import require_type, to_path
from accounting_analytics.core.atomic_files import write_text
from accounting_analytics.core.column_conversion import split_list, total
from accounting_analytics.core.errors import AmountError, InputError, RulesError
from accounting_analytics.core.load_metadata import attach_notes
from accounting_analytics.core.messages import count_of, fit_terminal, printable, quote
from accounting_analytics.core.money import MAX_SCALE, parse_amount
from accounting_analytics.core.name_keys import name_key, plain_name
from accounting_analytics.core.schemas import RuleReports
from accounting_analytics.recategorization.open_queue import OpenQueue
from accounting_analytics.recategorization.queue import NO_DESCRIPTION, categorized_transactions
from accounting_analytics.reports.books.category_ledgers import find_named
from accounting_analytics.reports.books.merchants import merchants
from accounting_analytics.reports.books.value import to_books

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from accounting_analytics.reports.books.category_ledgers import Categories
    from accounting_analytics.reports.books.value import Books

_RULE_HEADER = re.compile(r"\s*\[\[\s*rule\s*\]\]")
_DIRECTIONS = ("inflow", "outflow")
_SIGNS = re.compile(r"[\\.^$*+?()\[\]{}|]")
_DAYS = re.compile(r"\s*(\d{1,2})(?:\s*-\s*(\d{1,2}))?\s*")
_LAST_DAY = 31


class Condition(NamedTuple):
    """A condition that a rule may state.

    `parse` converts the value in the file and raises RulesError or AmountError. `match` compares the rows of a queue.
    The column `text` of these rows is the description with single spaces, and `size` is the amount without its sign.
    """

    parse: Callable[[object], Any]
    match: Callable[[pd.DataFrame, Any], Any]


class Matches(NamedTuple):
    """The transactions that each rule matches, and for each transaction the first rule that matches, or None."""

    by_rule: Mapping[str, npt.NDArray[np.bool_]]
    deciding: npt.NDArray[np.object_]


@dataclass(frozen=True)
class Rule:
    """One rule: the conditions that a transaction must meet, and its category: an id, unique name or path.

    `conditions` has the parsed value of each condition by its key in ``CONDITIONS``. `line` is the number of the
    text line with its ``[[rule]]``, or None if the file has rules in another form. An `exact` rule may be applied
    without a person.
    """

    name: str
    category: str
    conditions: Mapping[str, Any]
    line: int | None = None
    exact: bool = False

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any], number: int, line: int | None = None) -> Self:
        """Read a ``[[rule]]`` table. Refuse a rule that can never match, and name the rule."""
        name = entry.get("name")
        where = f"rule {number}{f' ({name!r})' if isinstance(name, str) else ''}{_at_line(line)}"
        values = {}
        for key, value in entry.items():
            if key not in _PARSERS:
                raise RulesError(f"{where}: unknown key {key!r}; the keys are {', '.join(sorted(_PARSERS))}")
            try:
                values[key] = _PARSERS[key](value)
            except (AmountError, RulesError) as error:
                raise RulesError(f"{where}: {key}: {error}") from error
        for key in ("name", "category"):
            if key not in values:
                raise RulesError(f"{where}: {key} is missing")
        if len(values.keys() & {"contains", "regex", "counterparty"}) != 1:
            raise RulesError(f"{where}: state either contains or regex or counterparty")
        if values.get("min_amount", 0) > values.get("max_amount", float("inf")):
            raise RulesError(f"{where}: min_amount is greater than max_amount, so no transaction can match")
        conditions = {key: value for key, value in values.items() if key in CONDITIONS}
        return cls(values["name"], values["category"], conditions, line, exact=values.get("exact", False))

    def match(self, rows: pd.DataFrame, account_ids: Mapping[str, str]) -> npt.NDArray[np.bool_]:
        """Find the rows that meet all conditions.

        `account_ids` maps the text by which a rule names an account to the ledger id.
        """
        matches = np.ones(len(rows), np.bool_)
        for key, value in self.conditions.items():
            compared = account_ids[value] if key == "ledger" else value
            try:
                matches &= np.asarray(CONDITIONS[key].match(rows, compared), np.bool_)
            except RulesError as error:
                raise RulesError(f"rule {self.name!r}{_at_line(self.line)}: {key}: {error}") from None
        return matches


@dataclass(frozen=True, repr=False)
class Rules:
    """The rules of a file, in its order."""

    rules: tuple[Rule, ...]
    source: str

    def __repr__(self) -> str:
        lines = [f"{count_of(len(self), 'rule')} of {self.source}"]
        for rule in self.rules:
            conditions = ", ".join(f"{key} {value}" for key, value in rule.conditions.items())
            lines.append(f"- {rule.name}{' (exact)' if rule.exact else ''}: {rule.category}, where {conditions}")
        return fit_terminal("\n".join(map(printable, lines)))

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def match(self, queue: pd.DataFrame, chart: Categories) -> Matches:
        """Compare every rule with the transactions of an exact queue."""
        account_ids = {
            account: find_named(chart.find_account, account, f"rule {rule.name!r}", RulesError)
            for rule in self
            if (account := rule.conditions.get("ledger"))
        }
        sizes = [amount.copy_abs() for amount in queue["transaction_amount"]]  # abs() rounds to 28 digits
        rows = queue.assign(
            text=[" ".join(plain_name(text).split()) for text in queue["description"]],
            size=pd.Series(sizes, queue.index, dtype=object),
        )
        by_rule = {rule.name: rule.match(rows, account_ids) for rule in self}
        deciding = np.full(len(queue), None, object)
        for name, matches in reversed(by_rule.items()):  # an earlier rule overwrites a later one
            deciding[matches] = name
        return Matches(by_rule, deciding)


def load_rules(path: str | Path) -> Rules:
    """Load rules from a TOML file.

    Parameters
    ----------
    path : path
        A file with ``[[rule]]`` tables; see :mod:`accounting_analytics.recategorization.rules`.

    Raises
    ------
    RulesError
        The file cannot be read, or a rule in it can never work; the message names the rule.
    """
    file = to_path(path, "path")
    return parse_rules(_read_text(file), str(file))


def _read_text(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except OSError as error:
        raise RulesError(f"the rules file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RulesError(f"the rules file {file} is not valid TOML: {error}") from error


def parse_rules(text: str, source: str) -> Rules:
    """Parse the text of a rules file. Messages name the file by `source`."""
    try:
        content = tomllib.loads(text.removeprefix("\ufeff"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RulesError(f"the rules file {source} is not valid TOML: {error}") from error
    entries = content.pop("rule", None)
    if content or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RulesError(f"the rules file {source} must contain [[rule]] tables and nothing else")
    lines: list[int | None] = [
        number for number, line in enumerate(text.splitlines(), start=1) if _RULE_HEADER.match(line)
    ]
    if len(lines) != len(entries):  # the file has rules in another form, or a text contains such a line
        lines = [None] * len(entries)
    rules = tuple(map(Rule.from_entry, entries, range(1, len(entries) + 1), lines))
    for name, count in Counter(rule.name for rule in rules).items():
        if count > 1:
            raise RulesError(f"the rules file {source} has two rules named {name!r}; give each rule its own name")
    return Rules(rules, source)


def _at_line(line: int | None) -> str:
    return "" if line is None else f" at line {line}"


def _parse_text(value: object) -> str:
    """Return text without outer spaces."""
    if not isinstance(value, str) or not value.strip():
        raise RulesError(f"must be non-empty text, not {quote(value)}")
    return value.strip()


def _parse_boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise RulesError(f"must be true or false, not {quote(value)}")
    return value


def _parse_regex(value: object) -> str:
    """Normalize a pattern like the texts that it is compared with.

    A pattern whose special characters would change is not normalized.
    """
    _parse_text(value)
    plain = plain_name(str(value))
    pattern = plain if _SIGNS.findall(plain) == _SIGNS.findall(str(value)) else str(value)
    try:
        pc.match_substring_regex(pa.array([""]), pattern, ignore_case=True)
    except pa.ArrowInvalid as error:
        raise RulesError(f"the pattern does not compile: {error}") from None
    return pattern


def _parse_direction(value: object) -> str:
    if value not in _DIRECTIONS:
        raise RulesError(f"must be inflow or outflow, not {quote(value)}")
    return str(value)


def _parse_bound(value: object) -> Decimal:
    amount = parse_amount(value, MAX_SCALE).amount
    if amount < 0:
        raise RulesError("is compared without sign, so it cannot be negative; use direction instead")
    return amount


def _parse_days(value: object) -> list[int]:
    """Parse days: a number, text such as ``1-5, 15``, or a list."""
    days: set[int] = set()
    for text in ",".join(map(str, value if isinstance(value, list) else [value])).split(","):
        match = _DAYS.fullmatch(text)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= _LAST_DAY:
            raise RulesError(
                f"must be days from 1 to {_LAST_DAY}, such as 1, [1, 15], '28-31' or '28-31, 1-3', not {quote(value)}"
            )
        days.update(range(first, last + 1))
    return sorted(days)


def _match_text(rows: pd.DataFrame, key: str) -> Any:  # noqa: ANN401 (one boolean per row)
    return [key in name_key(text) for text in rows["text"]]


def _match_pattern(rows: pd.DataFrame, pattern: str) -> Any:  # noqa: ANN401 (one boolean per row)
    texts = pa.array(rows["text"], pa.large_string())
    return pc.match_substring_regex(texts, pattern, ignore_case=True).to_numpy(zero_copy_only=False)


def _match_days(rows: pd.DataFrame, days: list[int]) -> Any:  # noqa: ANN401 (one boolean per row)
    if "local_date" not in rows or rows["local_date"].isna().any():
        raise RulesError(
            "local dates are not known: the line entries have no column local_date and state no load; "
            "load them with time_zone=..., or read them with read_line_entries(path, time_zone=...)"
        )
    return rows["local_date"].dt.day.isin(days)


CONDITIONS: dict[str, Condition] = {
    "contains": Condition(lambda value: name_key(_parse_text(value)), _match_text),
    "regex": Condition(_parse_regex, _match_pattern),
    "counterparty": Condition(
        lambda value: merchants([_parse_text(value)])[0],
        lambda rows, counterparty: rows["counterparty"] == counterparty,
    ),
    "direction": Condition(_parse_direction, lambda rows, direction: rows["direction"] == direction),
    "min_amount": Condition(_parse_bound, lambda rows, bound: rows["size"] >= bound),
    "max_amount": Condition(_parse_bound, lambda rows, bound: rows["size"] <= bound),
    "ledger": Condition(_parse_text, lambda rows, ledger_id: rows["ledger_id"] == ledger_id),
    "day_of_month": Condition(_parse_days, _match_days),
    "tag": Condition(_parse_text, lambda rows, tag: [tag in (split_list(text) or ()) for text in rows["tag_ids"]]),
}
"""Every condition that a rule may state, by its key in the file."""
_PARSERS: dict[str, Callable[[object], Any]] = {
    "name": _parse_text,
    "category": _parse_text,
    "comment": _parse_text,
    "exact": _parse_boolean,
    **{key: condition.parse for key, condition in CONDITIONS.items()},
}
"""The parser of the value of each key."""


def report_rules(queue: pd.DataFrame, rules: Rules, books: Books) -> pd.DataFrame:
    """Report what each rule decides, what contradicts it, and which rules decide nothing.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    rules : Rules
        The rules; the first that matches decides.
    books : Books
        The books, in whose ledgers categories and accounts are looked up; their transactions that have one category
        already are compared with the rules.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.RuleReports`, one row per rule in the order of the file.
        ``attrs["notes"]`` lists rules without effect, contradicted ones, and those whose category is a parent ledger
        or unknown, each with its line.

    Raises
    ------
    InputError
        An argument is of another type.
    RulesError
        The account of a rule is unknown, ambiguous or does not report cash flow.
    """
    books = to_books(books)
    asked, lines = OpenQueue(queue, books.ledgers), books.lines
    require_type(rules, Rules, "rules", "load_rules(path) reads them")
    exact, chart = asked.exact, asked.chart
    known = categorized_transactions(books, asked.ledgers)
    compared = [(rows, rules.match(rows, chart)) for rows in (asked.rows, known)]
    rows = [_report(rule, compared, chart) for rule in rules]
    report = RuleReports.from_rows(rows, exact.scale)
    attach_notes(report, (*exact.notes, *_notes(rows, rules, chart)), queue, lines)
    return report


def _report(rule: Rule, compared: list[tuple[pd.DataFrame, Matches]], chart: Categories) -> dict[str, Any]:
    """Report one rule, compared with the queue and categorized transactions."""
    name = rule.name
    rows, known = (frame[matches.deciding == name] for frame, matches in compared)
    deciding = [
        deciding_name
        for _, matches in compared
        for deciding_name in dict.fromkeys(matches.deciding[matches.by_rule[name]])
    ]
    transactions = rows.drop_duplicates(["ledger_id", "transaction_id"])  # some have two uncategorized parts: two rows
    agreeing = known["category_ledger_id"].isin(chart.names.matches(rule.category))
    contradicting = known[~agreeing]
    status = "decides" if len(rows) else "idle" if name in deciding else "shadowed" if deciding else "dead"
    return {
        "rule": name,
        "line": rule.line or 0,
        "category": rule.category,
        "status": status,
        "transaction_count": len(transactions),
        "amount": total(transactions["transaction_amount"]),
        "description": _describe_first(rows),
        "shadowed_by": deciding[0] if status == "shadowed" else None,
        "agreeing_count": int(agreeing.sum()),
        "contradicting_count": len(contradicting),
        "contradicting_example": _describe_first(contradicting, chart),
    }


def _describe_first(rows: pd.DataFrame, chart: Categories | None = None) -> str | None:
    """Describe the first row, with its category if a chart is given."""
    if rows.empty:
        return None
    text = str(rows["description"].iloc[0])
    return text if chart is None else f"{text}: {chart.names.path(rows['category_ledger_id'].iloc[0])}"


def _notes(rows: list[dict[str, Any]], rules: Rules, chart: Categories) -> Iterator[str]:
    names = {rule.name: repr(rule.name) + (f" at line {rule.line}" if rule.line else "") for rule in rules}
    for row in rows:
        where, instead = names[row["rule"]], row["shadowed_by"]
        if instead is not None:
            yield f"Rule {where} is shadowed: earlier rules, such as {names[instead]}, decide all."
        if row["status"] == "dead":
            yield f"Rule {where} is dead: it matches no transaction of the period."
        if row["contradicting_count"]:
            yield (
                f"Rule {where} contradicts {count_of(row['contradicting_count'], 'transaction')} of another category, "
                f"such as {row['contradicting_example']}."
            )
    for rule in rules:
        try:
            doubts = list(chart.parent_notes([chart.find_category(rule.category)]))
        except InputError as error:
            doubts = [str(error)]
        yield from (f"Rule {names[rule.name]}: {doubt}" for doubt in doubts)


def add_rule(path: str | Path, asked: OpenQueue, key: str, category: str, *, day_of_month: str | None = None) -> str:
    """Append a rule for a group or transaction to a rules file.

    The rule has the counterparty, direction and account of the group. The file keeps its text and comments, and is
    created if it is missing. The new rule is the last one, so that earlier rules still decide all transactions that
    they match.
    """
    file = to_path(path, "path")
    chart, row = asked.chart, asked.rows.iloc[asked.find_free(key)[0]]
    if row["counterparty"] == NO_DESCRIPTION:
        raise InputError(f"{quote(key)} has no description, so no rule can match it; decide it by hand")
    account, direction, counterparty = (str(row[name]) for name in ("ledger_id", "direction", "counterparty"))
    days = {} if day_of_month is None else {"day_of_month": day_of_month}
    values = {
        "name": ", ".join(
            [counterparty.casefold(), direction, chart.names.name(account), *(f"day {text}" for text in days.values())]
        ),
        "counterparty": counterparty,
        "category": chart.names.unique_path(chart.find_category(category)),
        "direction": direction,
        "ledger": chart.names.unique_path(account),
        **days,
    }
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items()]
    rule = f"[[rule]]\n{''.join(lines)}"
    _append(file, rule)
    return rule


def _append(file: Path, rule: str) -> None:
    """Append a rule with the line breaks of the file. Refuse a rule with which the file is not valid."""
    text = _read_text(file) if file.exists() else ""
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text.rstrip("\r\n") + newline * 2 if text else ""
    written = before + rule.replace("\n", newline)
    parse_rules(written, f"{file}, with the new rule,")
    write_text(file, written)
