"""Write a rule for a group or a transaction of the queue to a rules file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from accounting_analytics.arguments import to_path
from accounting_analytics.atomic_files import write_text
from accounting_analytics.categorization.category_ledgers import Categories
from accounting_analytics.categorization.decided_by_hand import Decidable
from accounting_analytics.categorization.rules import load_rules, parse_rules
from accounting_analytics.categorization.transaction_groups import NO_DESCRIPTION, with_groups
from accounting_analytics.categorization.uncategorized_queue import exact_queue
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.schemas import Ledgers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.ledger_names import LedgerNames


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
