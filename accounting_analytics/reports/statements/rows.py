"""Rows of statements: sections of ledgers, their trees, and totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from accounting_analytics.core.chart_of_accounts import (
    TYPE_OF_SUB_TYPE,
    FinancialAccountType,
    LedgerType,
    RequiredLedger,
    SubType,
    required_roles,
)
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.messages import count_of, join_ids, quote, shorten
from accounting_analytics.core.periods import day_label
from accounting_analytics.reports.figures.figure import OWN

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection, Mapping, Sequence

    from accounting_analytics.reports.books.ledger_tree import LedgerTree

RowKind = Literal["heading", "ledger", "own", "subtotal", "total", "balance", "percent"]
Measure = Literal["flow", "opened", "movement", "balance", "opening", "earlier_years", "this_year"]
"""Lines that a row sums: all lines of its column's days (``movement``), lines of entries that touch cash and have no
opening balances (``flow``) or have opening balances (``opened``), or all lines up to a day."""

CASH_FLOW_SECTIONS: Mapping[str, str] = {
    SubType.TRANSFERS_BETWEEN_ACCOUNTS: "transfers",
    "loan": "financing",
    SubType.NON_CURRENT_LIABILITIES: "financing",
    SubType.EQUITY: "financing",
    SubType.NON_CURRENT_ASSETS: "investing",
}
"""Section of the cash flow statement by financial_account_type, else by sub_type. All other ledgers are operating."""
OPENING_BALANCES = "opening_balances"
"""Row of the cash that entries of opening balances bring. Such cash is in no section, and not in the net change."""
OPENINGS_NOTE = (
    "Entries of opening balances are no inflow: they are in no section and not in the net change in cash. A report of "
    "the service counts them as cash flow."
)
SUSPENSE_NOTE = (
    "In suspense are payments and receipts that are not decided: they are in total assets, so that these agree with "
    "liabilities and equity, and are not assets."
)
NOT_CATEGORIZED = "Not categorized (in less out)"
OUTSIDE_BUDGET = "outside_budget"
"""Row of amounts in ledgers and months without a budget. The rows above have the same lines."""
CASH_PARTS = ("cash_in_accounts", "cash_owed")
"""Rows of the parts of cash at the end. The row above has the same lines."""
_MAX_CASH_NAMES = 8
_CASH_FLOW_ORDER = ("operating", "investing", "financing", "transfers", "uncategorized")
_UNCATEGORIZED = (RequiredLedger.UNCATEGORIZED_INFLOW, RequiredLedger.UNCATEGORIZED_OUTFLOW)


class Row(NamedTuple):
    """A row of a statement.

    Attributes
    ----------
    key : str
        The ledger id, ``own:`` and the id for a parent's own amount, or a name such as ``net_income``.
    label : str
        Text of the row.
    kind : str
        ``heading`` (no amounts), ``ledger``, ``own``, ``subtotal`` of a section, ``total``, ``balance``, or
        ``percent``: its first term in percent of its second.
    section : str
        Key of its section.
    level : int
        Indentation.
    factor : int
        1 where debits are positive, -1 where credits are.
    measure : str
        The lines that it sums.
    ledger_ids : tuple of str
        Ledgers whose lines it sums; empty where it is made of other rows.
    terms : tuple of (int, str)
        Rows that it is made of, added (1) or subtracted (-1).
    favourable : int
        1 if more is favourable, -1 if less is, else 0.
    children : tuple of str
        Rows that sum to it, where it is a total of ledgers.
    path : str or None
        Path of its ledger.
    is_known : bool
        Whether all ledgers that belong to it are known.
    """

    key: str
    label: str
    kind: RowKind
    section: str = ""
    level: int = 0
    factor: int = 1
    measure: Measure = "movement"
    ledger_ids: tuple[str, ...] = ()
    terms: tuple[tuple[int, str], ...] = ()
    favourable: int = 0
    children: tuple[str, ...] = ()
    path: str | None = None
    is_known: bool = True


class StatementSection(NamedTuple):
    """A section of a statement: its ledgers, and how they are summed."""

    key: str
    title: str
    ledger_ids: Sequence[str]
    factor: int
    measure: Measure
    favourable: int = 0


class _Branches(NamedTuple):
    """A section whose trees are being added.

    `children` has the children of ledgers, and `moved` the ledgers with amounts.
    """

    section: StatementSection
    children: Mapping[str, list[str]]
    moved: set[str]


class Chart:
    """The chart of accounts, with the type and sub_type of each ledger.

    `roles` maps each role to the ids of the required ledgers that the chart states.
    """

    def __init__(self, rows: list[dict[str, Any]], tree: LedgerTree, roles: Mapping[str, str]) -> None:
        self.tree = tree
        self.names = LedgerNames(tree.names, tree.hierarchy)
        self._rows = {row["id"]: row for row in rows}
        self.required = required_roles(rows, roles)

    def field(self, ledger_id: str, name: str) -> str:
        """Return a field of a ledger, or "" if it is null."""
        return self._rows[ledger_id][name] or ""

    def uncategorized(self) -> list[str]:
        """Find the two uncategorized ledgers, in display order."""
        return [ledger_id for ledger_id in self.tree.ordered if self.required.get(ledger_id) in _UNCATEGORIZED]

    def openings(self) -> list[str]:
        """Find the ledgers of opening balances, in display order."""
        return [
            ledger_id
            for ledger_id in self.tree.ordered
            if self.required.get(ledger_id) == RequiredLedger.OPENING_BALANCE
        ]

    def type_of(self, ledger_id: str) -> str:
        """Return the type of a ledger, else the type of its sub_type."""
        sub_type = self.field(ledger_id, "sub_type")
        return self.field(ledger_id, "type") or (
            TYPE_OF_SUB_TYPE[SubType(sub_type)] if sub_type in list(SubType) else ""
        )

    def of_types(self, *types: LedgerType) -> list[str]:
        """Return ledgers of some types, without uncategorized ones, in display order."""
        suspense = set(self.uncategorized())
        return [
            ledger_id
            for ledger_id in self.tree.ordered
            if self.type_of(ledger_id) in types and ledger_id not in suspense
        ]

    def of_unknown_type(self) -> list[str]:
        """Return ledgers of none of the five types, in display order."""
        suspense = set(self.uncategorized())
        return [
            ledger_id
            for ledger_id in self.tree.ordered
            if self.type_of(ledger_id) not in list(LedgerType) and ledger_id not in suspense
        ]


class Layout(NamedTuple):
    """The rows of a statement: the shown rows, and all rows by key."""

    title: str
    shown: list[Row]
    by_key: dict[str, Row]
    share_of: str
    left_out: int
    notes: tuple[str, ...] = ()
    inflows: str = ""
    outside: str = ""


class LayoutBuilder:
    """Builder that adds the rows of a statement from the top.

    Parameters
    ----------
    chart : Chart
        The chart of accounts.
    moved : callable
        Tests if a ledger has an amount of a measure in any column.
    unknown_roots : collection of str
        Roots of trees whose totals are not known.
    depth : int or None
        Levels of ledgers that are shown.
    budgeted : collection of str or None
        Ledgers with a budget; None of a statement without one.
    """

    def __init__(
        self,
        chart: Chart,
        moved: Callable[[Measure, str], bool],
        unknown_roots: Collection[str],
        depth: int | None,
        budgeted: Collection[str] | None = None,
    ) -> None:
        if depth is not None and (not isinstance(depth, int) or depth < 1):
            raise InputError(f"depth must be 1 or more, or None for all levels, not {quote(depth)}")
        self.chart, self.moved, self._unknown, self._depth = chart, moved, unknown_roots, depth
        self._budgeted, self._outside = budgeted, ""
        self.shown: list[Row] = []
        self.by_key: dict[str, Row] = {}
        self.left_out = 0

    def add(self, row: Row, *, shown: bool = True) -> Row:
        """Add a row, with an underscore at the end of its key if another row has the key."""
        while row.key in self.by_key or (row.kind not in {"ledger", "own"} and row.key in self.chart.tree.names):
            row = row._replace(key=f"{row.key}_")
        if shown:
            self.shown.append(row)
        if row.kind != "heading":
            self.by_key[row.key] = row
        return row

    def section(self, section: StatementSection, *, level: int = 0, total: str | None = None) -> Row:
        """Add a heading, trees of ledgers and a subtotal, and return the subtotal."""
        inside = set(section.ledger_ids)
        parent = self.chart.tree.hierarchy.parent
        roots = [ledger_id for ledger_id in section.ledger_ids if parent(ledger_id) not in inside]
        children: dict[str, list[str]] = {}
        for ledger_id in section.ledger_ids:
            if ledger_id not in roots:
                children.setdefault(str(parent(ledger_id)), []).append(ledger_id)
        moved = self._with_amounts(section, children)
        branches = _Branches(section, children, moved)
        position = len(self.shown)
        hidden = self._equal_to_section(roots, branches)
        for root in roots:
            self._tree(root, branches, level + 1, 1, hidden)
        if len(self.shown) > position:
            self.shown.insert(position, Row("", section.title, "heading", section.key, level))
        below = children[hidden[-1]] if hidden else roots
        parts = tuple(ledger_id for ledger_id in below if self.by_key[ledger_id] in self.shown)
        return self.add(
            Row(
                section.key,
                total or f"Total {section.title[0].lower()}{section.title[1:]}",
                "subtotal",
                section.key,
                level,
                section.factor,
                section.measure,
                tuple(section.ledger_ids),
                favourable=section.favourable,
                children=parts,
            ),
            shown=bool(moved),
        )

    def _with_amounts(self, section: StatementSection, children: Mapping[str, list[str]]) -> set[str]:
        """Find the ledgers with an amount.

        A ledger with a budget counts, too, if no ledger below has an amount.
        """
        found = {ledger_id for ledger_id in section.ledger_ids if self.moved(section.measure, ledger_id)}
        ancestors = self.chart.tree.hierarchy.ancestors
        budgeted = [ledger_id for ledger_id in section.ledger_ids if ledger_id in (self._budgeted or ())]
        for ledger_id in sorted(budgeted, key=lambda ledger_id: len(list(ancestors(ledger_id))), reverse=True):
            if found.isdisjoint(_subtree(ledger_id, children)):
                found.add(ledger_id)
        return found

    def _equal_to_section(self, roots: Sequence[str], branches: _Branches) -> list[str]:
        """Find the top ledgers whose total equals the total of the section."""
        _, children, moved = branches
        found: list[str] = []
        while True:
            active = [root for root in roots if not moved.isdisjoint(_subtree(root, children))]
            if len(active) != 1 or active[0] in moved or self.chart.tree.hierarchy.root(active[0]) in self._unknown:
                return found
            found.append(active[0])
            roots = children[active[0]]

    def _tree(self, ledger_id: str, branches: _Branches, level: int, depth: int, hidden: Collection[str]) -> None:
        """Add rows for a ledger, its own amount and its children.

        Ledgers that are hidden do not indent their children.
        """
        section, children, moved = branches
        subtree = _subtree(ledger_id, children)
        names, tree = self.chart.tree.names, self.chart.tree
        is_known = tree.hierarchy.root(ledger_id) not in self._unknown
        is_level = is_known and ledger_id not in hidden
        shown = not moved.isdisjoint(subtree) and (self._depth is None or depth <= self._depth)
        self.left_out += ledger_id not in moved and moved.isdisjoint(subtree)
        parts = [child for child in children.get(ledger_id, ()) if not moved.isdisjoint(_subtree(child, children))]
        own = Row(
            f"{OWN}{ledger_id}",
            f"{names[ledger_id]} (own)" if is_known else self._name(ledger_id),
            "own",
            section.key,
            level + 1 if is_known else level,
            section.factor,
            section.measure,
            (ledger_id,),
            favourable=section.favourable,
            path=self.chart.names.path(ledger_id),
        )
        has_own = bool(parts) and ledger_id in moved
        is_cut = self._depth is not None and depth >= self._depth
        row = own._replace(
            key=ledger_id,
            label=self._tree_label(ledger_id, section, subtree),
            kind="ledger",
            level=level,
            ledger_ids=tuple(subtree),
            is_known=is_known,
            children=() if is_cut else (*([own.key] if has_own else []), *parts),
        )
        self.add(row, shown=shown and is_level)
        self.add(own, shown=shown and ((has_own and not is_cut) if is_known else ledger_id in moved))
        for child in children.get(ledger_id, ()):
            below = (level + 1, depth + 1) if is_level else (level, depth + (ledger_id not in hidden))
            self._tree(child, branches, *below, hidden)

    def _name(self, ledger_id: str) -> str:
        """Name a ledger, by its path if other ledgers have its name."""
        names = self.chart.names
        return names.path(ledger_id) if len(names.matches(names.name(ledger_id))) > 1 else names.name(ledger_id)

    def _tree_label(self, ledger_id: str, section: StatementSection, subtree: Collection[str]) -> str:
        """Name a ledger.

        Add the section if ledgers below are in other sections.
        """
        ancestors = self.chart.tree.hierarchy.ancestors
        elsewhere = (
            other_id
            for other_id in self.chart.tree.ordered
            if other_id not in subtree and ledger_id in ancestors(other_id)
        )
        is_part = any(self.moved(section.measure, other_id) for other_id in elsewhere)
        name = self.chart.tree.names[ledger_id]
        return f"{name} ({section.title[:1].lower()}{section.title[1:]})" if is_part else name

    def total(
        self, key: str, label: str, terms: Sequence[tuple[int, Row]], *, favourable: int = 1, level: int = 0
    ) -> Row:
        """Add a total of other rows."""
        made = tuple((factor, row.key) for factor, row in terms)
        return self.add(Row(key, label, "total", key, level, terms=made, favourable=favourable))

    def margin(self, key: str, label: str, part: Row, whole: Row) -> None:
        """Add a row in percent of another row, if the other row is shown."""
        terms = ((1, part.key), (1, whole.key))
        self.add(Row(key, label, "percent", key, terms=terms, favourable=1), shown=whole in self.shown)

    def not_categorized(self) -> None:
        """Add the uncategorized ledgers, and their total: received less paid."""
        ids = self.chart.uncategorized()
        row = Row(
            "not_categorized", NOT_CATEGORIZED, "subtotal", "not_categorized", 0, -1, "movement", tuple(ids),
            children=tuple(ledger_id for ledger_id in ids if self.moved("movement", ledger_id)),
        )  # fmt: skip
        self.add(row)
        section = StatementSection("not_categorized", NOT_CATEGORIZED, ids, -1, "movement")
        branches = _Branches(section, {}, set(row.children))
        for ledger_id in ids:
            self._tree(ledger_id, branches, 1, 1, ())

    def outside_budget(self, measure: Measure, ledger_ids: Sequence[str]) -> None:
        """Add a row of the amounts without a budget: cash in less cash out."""
        if self._budgeted is not None:
            ids, label = tuple(ledger_ids), "Booked outside of the budget"
            row = Row(OUTSIDE_BUDGET, label, "subtotal", OUTSIDE_BUDGET, 0, -1, measure, ids)
            self._outside = self.add(row).key

    def build(self, title: str, share_of: str, notes: tuple[str, ...] = ()) -> Layout:
        """Return the layout."""
        return Layout(title, self.shown, self.by_key, share_of, self.left_out, notes, outside=self._outside)


def _subtree(ledger_id: str, children: Mapping[str, list[str]]) -> list[str]:
    """List a ledger and its descendants within the section, parents first."""
    found = [ledger_id]
    for parent_id in found:  # the list grows in the loop
        found.extend(children.get(parent_id, ()))
    return found


class CashRows(NamedTuple):
    """The form of the cash rows: balances, movements, or only opening balances."""

    since: dt.date | None
    is_report: bool
    is_explained: bool = True
    has_balances: bool = True


def cash_flow_rows(build: LayoutBuilder, sections: Mapping[str, str], cash_rows: CashRows | None) -> Layout:
    """Make the rows of the cash flow statement."""
    chart, placed = build.chart, _place_ledgers(build.chart, sections)
    parts = [
        build.section(
            StatementSection(
                key, key[:1].upper() + key[1:], _revenues_first(chart, ledger_ids), -1, "flow", favourable=1
            )
        )
        for key, ledger_ids in placed.items()
        if ledger_ids
    ]
    every = tuple(ledger_id for ledger_ids in placed.values() for ledger_id in ledger_ids)
    shown = tuple(row.key for row in parts if row in build.shown)
    net = build.add(
        Row("net_cash_flow", "Net change in cash", "total", "cash", 0, -1, "flow", every, (), 1, children=shown)
    )
    has_openings = cash_rows is not None and _cash_rows(build, net, cash_rows)
    build.outside_budget("flow", every)
    inflows = build.add(Row("total_inflows", "Total inflows", "total", "cash", 0, -1, "flow"), shown=False)
    named_cash = join_ids(
        [shorten(chart.tree.names[ledger_id]) for ledger_id in chart.tree.cash], limit=_MAX_CASH_NAMES
    )
    notes = (
        f"Cash is what reports cash flow: {named_cash}.",
        _sections_note(sections),
        *([OPENINGS_NOTE] if has_openings else []),
    )
    return build.build("Cash flow statement", inflows.key, notes)._replace(inflows=inflows.key)


def _place_ledgers(chart: Chart, sections: Mapping[str, str]) -> dict[str, list[str]]:
    """Place the ledgers in the sections of the cash flow statement."""
    placed: dict[str, list[str]] = {section: [] for section in _CASH_FLOW_ORDER}
    uncategorized, elsewhere = set(chart.uncategorized()), {*chart.tree.cash, *chart.openings()}
    chosen = _sections_of_ledgers(chart, sections)
    for ledger_id in chart.tree.ordered:
        if ledger_id in elsewhere:
            continue
        account_type, sub_type = chart.field(ledger_id, "financial_account_type"), chart.field(ledger_id, "sub_type")
        from_ledger_up = (ledger_id, *chart.tree.hierarchy.ancestors(ledger_id))
        named = next((chosen[candidate] for candidate in from_ledger_up if candidate in chosen), None)
        section = named or sections.get(account_type) or sections.get(sub_type) or "operating"
        placed.setdefault("uncategorized" if ledger_id in uncategorized else section, []).append(ledger_id)
    return placed


def _cash_rows(build: LayoutBuilder, net: Row, cash_rows: CashRows) -> bool:
    """Add starting cash, opening balances and ending cash, where known.

    Cash at the end is cash at the start plus the opening balances and the net change. Returns whether there are
    opening balances.
    """
    made_of, openings = [net], (*net.ledger_ids, *build.chart.openings())
    ids, start, end, suffix = tuple(build.chart.tree.cash), "Cash at the start", "Cash at the end", ""
    if cash_rows.since:
        suffix = f" since {cash_rows.since}"
        moved = f"Movement of cash since {day_label(cash_rows.since)}"
        start, end = f"{moved}, at the start", f"{moved}, at the end"
    if cash_rows.has_balances:
        starting = Row(f"starting_cash_balance{suffix}", start, "balance", "cash", 0, 1, "opening", ids)
        made_of.insert(0, build.add(starting))
    has_openings = any(build.moved("opened", ledger_id) for ledger_id in openings)
    opened = Row(OPENING_BALANCES, "Opening balances", "balance", "cash", 0, -1, "opened", openings)
    opened = build.add(opened, shown=has_openings)
    if has_openings:
        made_of.insert(-1, opened)
    if cash_rows.has_balances:
        terms = tuple((1, row.key) for row in made_of) if cash_rows.is_explained else ()
        ending = made_of[0]._replace(key=f"ending_cash_balance{suffix}", label=end, measure="balance", favourable=1)
        if cash_rows.is_report:
            ending = ending._replace(terms=terms)
        build.add(ending._replace(children=tuple(key for _, key in terms)))
        if not cash_rows.since:
            _split_cash(build, ending)
    return has_openings


def _sections_note(sections: Mapping[str, str]) -> str:
    """Write a note that says which section each category is in."""
    if sections == CASH_FLOW_SECTIONS:
        return (
            "Loans, long-term debt and equity are financing, long-term assets investing, transfers between own "
            "accounts a section of their own, and all other categories operating."
        )
    table = ", ".join(f"{name}: {section}" for name, section in sections.items())
    return f"Sections by category: {table}; all else: operating."


def _split_cash(build: LayoutBuilder, ending: Row) -> None:
    """Add cash in accounts and amounts owed below ending cash.

    If cash or owed amounts are absent, nothing is added.
    """
    chart = build.chart
    owed = tuple(ledger_id for ledger_id in ending.ledger_ids if chart.type_of(ledger_id) == LedgerType.LIABILITY)
    held = tuple(ledger_id for ledger_id in ending.ledger_ids if ledger_id not in owed)
    if not owed or not held:
        return
    are_cards = {chart.field(ledger_id, "financial_account_type") for ledger_id in owed} == {
        FinancialAccountType.CREDIT_CARD
    }
    part = ending._replace(level=1, terms=(), children=())
    build.add(part._replace(key=CASH_PARTS[0], label="In accounts", ledger_ids=held))
    label = "Less owed on credit cards" if are_cards else "Less owed on cards and loans"
    build.add(part._replace(key=CASH_PARTS[1], label=label, ledger_ids=owed))


def _revenues_first(chart: Chart, ledger_ids: Sequence[str]) -> list[str]:
    """Sort ledgers in display order, revenues before all others."""
    hierarchy = chart.tree.hierarchy
    return sorted(ledger_ids, key=lambda ledger_id: chart.type_of(hierarchy.root(ledger_id)) != LedgerType.REVENUE)


def _sections_of_ledgers(chart: Chart, sections: Mapping[str, str]) -> dict[str, str]:
    """Read the sections that a caller gave to ledgers. Refuse unknown names."""
    kinds = {*SubType, *FinancialAccountType}
    kinds |= {
        chart.field(ledger_id, name)
        for ledger_id in chart.tree.names
        for name in ("sub_type", "financial_account_type")
    }
    found = {}
    for text, section in sections.items():
        if not isinstance(section, str) or not section:
            raise InputError(f"sections: the section of {quote(text)} is {quote(section)}, not a text")
        if text in kinds:
            continue
        try:
            ledger_id = chart.names.find(text)
        except InputError as error:
            raise InputError(f"sections: {error}") from None
        if ledger_id in {*chart.tree.cash, *chart.uncategorized(), *chart.openings()}:
            raise InputError(
                f"sections: {quote(text)} is a ledger of cash, of opening balances, or uncategorized: it has its own "
                "place"
            )
        found[ledger_id] = section
    return found


def income_rows(build: LayoutBuilder) -> Layout:
    """Make the rows of the income statement."""
    revenues, expenses = (_by_section(build.chart, kind) for kind in (LedgerType.REVENUE, LedgerType.EXPENSE))

    def section(of: Mapping[str, list[str]], key: str, title: str) -> Row:
        side, favourable = (-1, 1) if of is revenues else (1, -1)
        return build.section(StatementSection(key, title, of.get(key, []), side, "movement", favourable))

    sales = section(revenues, SubType.OPERATING_REVENUES, "Operating revenues")
    goods = section(expenses, SubType.COST_OF_GOODS_SOLD, "Cost of goods sold")
    gross = build.total("gross_profit", "Gross profit", [(1, sales), (-1, goods)])
    build.margin("gross_margin", "Gross margin", gross, sales)
    operating = section(expenses, SubType.OPERATING_EXPENSES, "Operating expenses")
    profit = build.total("operating_income", "Operating income", [(1, gross), (-1, operating)])
    terms = [
        (1, profit),
        (1, section(revenues, SubType.OTHER_INCOME, "Other income")),
        (-1, section(expenses, SubType.OTHER_EXPENSES, "Other expenses")),
    ]
    notes = []
    for sign, of, kind in ((1, revenues, LedgerType.REVENUE), (-1, expenses, LedgerType.EXPENSE)):
        if _other(kind) in of:
            terms.append((sign, section(of, _other(kind), _other_title(kind))))
            notes.append(_other_note(kind, of))
    terms.extend((1, row) for row in _unknown_types(build, "movement"))
    net = build.total("net_income", "Net income", terms)
    build.margin("net_margin", "Net margin", net, sales)
    build.not_categorized()
    build.outside_budget("movement", build.chart.of_types(LedgerType.REVENUE, LedgerType.EXPENSE))
    return build.build("Income statement", sales.key, tuple(notes))


def _by_section(chart: Chart, kind: LedgerType) -> dict[str, list[str]]:
    """Group ledgers of a type by sub_type. Ledgers with an unknown sub_type are in the section of others."""
    found: dict[str, list[str]] = {}
    for ledger_id in chart.of_types(kind):
        sub_type = chart.field(ledger_id, "sub_type")
        is_known = sub_type in _SECTIONS and TYPE_OF_SUB_TYPE[SubType(sub_type)] == kind
        found.setdefault(sub_type if is_known else _other(kind), []).append(ledger_id)
    return found


def _other(kind: LedgerType) -> str:
    """Return the key of the section of other ledgers."""
    return f"{kind}_other"


def _other_title(kind: LedgerType) -> str:
    return f"Other ({kind})"


def _other_note(kind: LedgerType, of: Mapping[str, list[str]]) -> str:
    """Say how many ledgers are in the section of others."""
    return (
        f"{_other_title(kind)} has {count_of(len(of[_other(kind)]), 'ledger')} of type {kind} whose sub_type is "
        "unknown, or belongs to another type."
    )


def _unknown_types(build: LayoutBuilder, measure: Measure) -> list[Row]:
    """Add ledgers of unknown type. Totals that include them are not known."""
    ids = build.chart.of_unknown_type()
    if not ids:
        return []
    row = build.section(StatementSection("unknown_type", "Ledgers of unknown type", ids, 1, measure))
    if row not in build.shown:
        return []
    return [build.add(row._replace(key="unknown_type_side", is_known=False), shown=False)]


def _suspense(build: LayoutBuilder, notes: list[str]) -> Row:
    """Add a section of uncategorized ledgers to the assets, with a note."""
    ids = build.chart.uncategorized()
    section = StatementSection("suspense", "In suspense: not decided, not assets", ids, 1, "balance")
    row = build.section(section, level=1, total="Total in suspense, not assets")
    if row in build.shown:
        notes.append(SUSPENSE_NOTE)
    return row


def balance_rows(build: LayoutBuilder) -> Layout:
    """Make the rows of the balance sheet."""
    chart = build.chart
    all_known = not any(build.moved("balance", ledger_id) for ledger_id in chart.of_unknown_type())

    def total(of: str, factor: int, parts: Sequence[Row], ids: Sequence[str], favourable: int = 0) -> Row:
        shown = tuple(row.key for row in parts if row in build.shown)
        key = f"total_{of.replace(' ', '_')}"
        row = Row(key, f"Total {of}", "total", key, 0, factor, "balance", tuple(ids), children=shown)
        return build.add(row._replace(favourable=favourable, is_known=all_known))

    suspense = chart.uncategorized()
    of_type = chart.of_types(LedgerType.ASSET)
    transfers = _by_section(chart, LedgerType.ASSET).get(SubType.TRANSFERS_BETWEEN_ACCOUNTS, [])
    build.add(Row("", "Assets", "heading"))
    notes: list[str] = []
    parts = _sub_type_sections(build, LedgerType.ASSET, notes)
    lines = StatementSection("transfers", "Transfers between accounts", transfers, 1, "balance", favourable=1)
    parts = [*parts, build.section(lines, level=1), _suspense(build, notes)]
    _unknown_types(build, "balance")
    assets = total("assets", 1, parts, [*of_type, *suspense], 1)

    liabilities = chart.of_types(LedgerType.LIABILITY)
    build.add(Row("", "Liabilities", "heading"))
    parts = _sub_type_sections(build, LedgerType.LIABILITY, notes)
    owed = total("liabilities", -1, parts, liabilities, -1)

    equity = chart.of_types(LedgerType.EQUITY)
    earned = chart.of_types(LedgerType.REVENUE, LedgerType.EXPENSE)
    build.add(Row("", "Equity", "heading"))
    parts = _sub_type_sections(build, LedgerType.EQUITY, notes)
    before = Row("earnings_of_earlier_periods", "Earnings of earlier periods", "balance", "equity", 1, -1)
    this = before._replace(key="earnings_of_the_period", label="Earnings of the period", measure="this_year")
    for row in (before._replace(measure="earlier_years"), this):
        parts.append(build.add(row._replace(ledger_ids=tuple(earned), favourable=1)))
    owned = total("equity", -1, parts, [*equity, *earned], 1)
    both = [*liabilities, *equity, *earned]
    total("liabilities and equity", -1, [owed, owned], both)
    return build.build("Balance sheet", assets.key, tuple(notes))


def _sub_type_sections(build: LayoutBuilder, kind: LedgerType, notes: list[str]) -> list[Row]:
    """Add a section for each sub_type, and a section for other ledgers."""
    factor, favourable = (1 if kind == LedgerType.ASSET else -1), (-1 if kind == LedgerType.LIABILITY else 1)
    of = _by_section(build.chart, kind)
    titles = {str(sub_type): title for sub_type, title in _TITLES.items() if TYPE_OF_SUB_TYPE[sub_type] == kind}
    if _other(kind) in of:
        notes.append(_other_note(kind, of))
    return [
        build.section(StatementSection(key, title, of[key], factor, "balance", favourable), level=1)
        for key, title in {**titles, _other(kind): _other_title(kind)}.items()
        if key in of
    ]


_TITLES = {
    SubType.CURRENT_ASSETS: "Current assets",
    SubType.NON_CURRENT_ASSETS: "Non-current assets",
    SubType.CURRENT_LIABILITIES: "Current liabilities",
    SubType.NON_CURRENT_LIABILITIES: "Non-current liabilities",
    SubType.EQUITY: "Equity accounts",
}
"""Sections of the balance sheet."""
_SECTIONS = {*SubType} - {SubType.UNCATEGORIZED_ASSETS}
"""Sub_types that have their own section or row in the statements."""


def trial_rows(build: LayoutBuilder) -> Layout:
    """Make the rows of the trial balance: every ledger's own balance."""
    ids = build.chart.tree.ordered
    for ledger_id in ids:
        path = build.chart.names.path(ledger_id)
        row = Row(ledger_id, build.chart.tree.names[ledger_id], "ledger", "", 0, 1, "balance", (ledger_id,), path=path)
        shown = build.moved("balance", ledger_id)
        build.left_out += not shown
        build.add(row, shown=shown)
    keys = tuple(row.key for row in build.shown)
    build.add(Row("total", "Total", "total", "", 0, 1, "balance", tuple(ids), children=keys))
    return build.build("Trial balance", "total")
