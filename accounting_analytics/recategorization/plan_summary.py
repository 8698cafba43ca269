"""Summary of a plan: how many items, and which sum, by rule, by new category and by outcome."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.frame_columns import total
from accounting_analytics.json_text import to_json_text
from accounting_analytics.messages import fit_terminal, printable
from accounting_analytics.money import format_amount
from accounting_analytics.recategorization.outcomes import EXPECTED_OUTCOMES, require_outcomes_of
from accounting_analytics.recategorization.plan import require_plan
from accounting_analytics.schemas import PlanItems, PlanTotals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.recategorization.plan import Plan

_CATEGORY = ["updated_category_ledger_id", "updated_category_ledger_name"]
_OUTCOME = "outcome"
_MAX_HTML_ROWS = 50
_TITLES = {"rule": "By rule", "updated_category_ledger_name": "By new category"}


@dataclass(frozen=True, repr=False)
class PlanSummary:
    """Result of :func:`summarize_plan`.

    Parameters
    ----------
    title : str
        Which plan it is, and the number of its items.
    totals : DataFrame
        :class:`~accounting_analytics.schemas.PlanTotals` by rule, new category and, where known, outcome.
    """

    title: str
    totals: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """The totals by rule, new category and outcome."""
        return self.totals

    @property
    def by_rule(self) -> pd.DataFrame:
        """Totals by rule and outcome: those that are not done first, then the largest sum."""
        return _grouped(self.totals, ["rule"])

    @property
    def by_category(self) -> pd.DataFrame:
        """Totals by new category and outcome: those that are not done first, then the largest sum."""
        return _grouped(self.totals, _CATEGORY)

    def __repr__(self) -> str:
        return fit_terminal(self.explain())

    def summary(self) -> str:
        """One line: the plan, and the number of items of each outcome."""
        return ": ".join([self.title, *filter(None, [self._outcome_counts()])])

    def explain(self) -> str:
        """Plain text: the summary, and the totals by rule and by new category."""
        return "\n\n".join([printable(self.summary()), *("\n".join(_describe(*part)) for part in self._parts())])

    def to_json(self) -> str:
        """JSON text of the summary; amounts are strings."""
        tables = {"totals": self.totals, "by_rule": self.by_rule, "by_category": self.by_category}
        exact = {name: PlanTotals.exact(table).frame for name, table in tables.items()}
        return to_json_text({"summary": self.summary(), **exact})

    def _outcome_counts(self) -> str:
        if _OUTCOME not in self.totals:
            return ""
        counts = self.totals.groupby(_OUTCOME)["item_count"].sum().sort_values(ascending=False, kind="stable")
        return ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items()) or "nothing to do"

    def _parts(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Column that names each row, and the totals of one kind with exact amounts."""
        yield "rule", PlanTotals.exact(self.by_rule).frame
        yield "updated_category_ledger_name", PlanTotals.exact(self.by_category).frame

    def _repr_html_(self) -> str:
        tables = (f"<p>{_TITLES[name]}</p>{_to_html(name, totals)}" for name, totals in self._parts())
        return f"<p><strong>{escape(printable(self.summary()))}</strong></p>{''.join(tables)}"


def summarize_plan(plan: Plan, outcomes: pd.DataFrame | None = None) -> PlanSummary:
    """Count the items of a plan and sum their amounts, by rule, by new category and by outcome.

    Parameters
    ----------
    plan : Plan
        The plan.
    outcomes : DataFrame, optional
        Result of :func:`apply_plan` or :func:`verify_plan` for this plan; without it there are no outcomes.

    Returns
    -------
    PlanSummary
        ``by_rule`` and ``by_category`` are tables. An amount is the exact sum of what the items recategorize, positive
        into cash; of the whole transaction where its part is not known.

    Raises
    ------
    InputError
        An argument is of another type, or the outcomes belong to another plan.
    """
    require_plan(plan)
    items = plan.frame
    if outcomes is not None:
        items[_OUTCOME] = require_outcomes_of(plan, outcomes)[_OUTCOME].to_numpy()
    exact = PlanItems.exact(items)
    rows = items.assign(item_count=1, amount=exact.frame["category_amount"].fillna(exact.frame["amount"]))
    rows.attrs["scale"] = exact.scale
    return PlanSummary(plan.summary(), _grouped(rows, ["rule", *_CATEGORY], as_decimals=exact.as_decimals))


def _grouped(rows: pd.DataFrame, keys: list[str], *, as_decimals: bool | None = None) -> pd.DataFrame:
    """Totals by the keys and, where known, by outcome."""
    exact = PlanTotals.exact(rows)
    keys = [*keys, *([_OUTCOME] if _OUTCOME in exact.frame else [])]
    groups = [
        _Group(tuple(map(str, key)), int(group["item_count"].sum()), total(group["amount"]))
        for key, group in exact.frame.groupby(keys, sort=False)
    ]
    groups.sort(key=_Group.rank)
    columns: dict[str, list[Any]] = {name: [group.key[number] for group in groups] for number, name in enumerate(keys)}
    columns |= {"item_count": [group.item_count for group in groups], "amount": [group.amount for group in groups]}
    return PlanTotals.from_columns(
        columns, exact.scale, as_decimals=exact.as_decimals if as_decimals is None else as_decimals
    )


class _Group(NamedTuple):
    """Items with one key (a text for each column), whose last part is their outcome where that is known."""

    key: tuple[str, ...]
    item_count: int
    amount: Decimal

    def rank(self) -> tuple[bool, Decimal, tuple[str, ...]]:
        """Sort by: what is not done first, then the largest sum."""
        return self.key[-1] in EXPECTED_OUTCOMES, -self.amount.copy_abs(), self.key


def _describe(name: str, totals: pd.DataFrame) -> Iterator[str]:
    """Heading and one line for each of the totals."""
    yield f"{_TITLES[name]}:"
    for row in totals.to_dict("records"):
        outcome = f" {row[_OUTCOME]}" if _OUTCOME in row else ""
        yield printable(f"- {row[name]}: {row['item_count']:,} item(s){outcome}, {format_amount(row['amount'])}")


def _to_html(name: str, totals: pd.DataFrame) -> str:
    """Table of the first totals, with every digit of the amounts."""
    first = totals.head(_MAX_HTML_ROWS)
    columns = [column for column in (name, _OUTCOME, "item_count", "amount") if column in first]
    printed = first.assign(amount=[format_amount(amount) for amount in first["amount"]])
    more = f"<p>{len(first):,} of {len(totals):,} rows</p>" if len(first) < len(totals) else ""
    return printed[columns].to_html(index=False, escape=True) + more
