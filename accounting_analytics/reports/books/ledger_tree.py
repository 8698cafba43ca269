"""The tree of ledgers: names, display order, cash ledgers, and totals of subtrees."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import narwhals as nw

from accounting_analytics.core.chart_of_accounts import Hierarchy, display_order
from accounting_analytics.core.errors import FrameError, HierarchyError
from accounting_analytics.core.exact_sums import collect, is_on, is_within, null_message, require_columns, wrap
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import format_amount, from_minor_units

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from accounting_analytics.core.exact_sums import Days, ExactLines

_COLUMNS = ("id", "name", "report_cash_flow", "parent_id", "sort_code")
_OPTIONAL_COLUMNS = ("parent_known", "type")


class Trees(NamedTuple):
    """Trees of ledgers, by their roots, where the parents of some ledgers are not known.

    Attributes
    ----------
    unknown : set of str
        Roots of trees that might include another one, so that their totals are not known.
    inferred : set of str
        Ledgers without a known parent that are taken for roots, because no other tree might be a part of theirs.
    unplaced : set of str
        Ledgers without a known parent that a tree in `unknown` might include.
    """

    unknown: set[str]
    inferred: set[str]
    unplaced: set[str]


class LedgerTree:
    """The chart of accounts: names, display order, hierarchy and cash ledgers."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.names = {row["id"]: row["name"] for row in rows}
        self.sort_codes = {row["id"]: row["sort_code"] for row in rows}
        self.cash = [row["id"] for row in rows if row["report_cash_flow"]]
        self.hierarchy = Hierarchy({row["id"]: row["parent_id"] for row in rows})
        self.ordered = self._in_display_order()
        self.without_known_parent = {
            row["id"] for row in rows if row["parent_id"] is None and row.get("parent_known") is False
        }
        self._tree_types = {self.hierarchy.root(row["id"]): row["type"] for row in rows if row.get("type") is not None}

    @classmethod
    def from_frame(cls, ledgers: Any) -> Self:  # noqa: ANN401 (any frame narwhals knows)
        """Read a frame of ledgers of any engine."""
        frame = wrap(ledgers, "ledgers", (*_COLUMNS, *_OPTIONAL_COLUMNS))
        schema = frame.collect_schema()
        require_columns(schema, _COLUMNS, "ledgers")
        optional = [name for name in _OPTIONAL_COLUMNS if name in schema]
        rows = collect(frame.select(*_COLUMNS, *optional)).to_pylist()
        for name in ("id", "name", "report_cash_flow", "sort_code"):
            if any(row[name] is None for row in rows):
                raise FrameError(null_message("ledgers", name))
        if len({row["id"] for row in rows}) < len(rows):
            raise FrameError("ledgers: a ledger id occurs more than once")
        return cls(rows)

    def _in_display_order(self) -> list[str]:
        """Order the ledgers by sort code and id."""
        known = sorted(
            (ledger_id for ledger_id, code in self.sort_codes.items() if code),
            key=lambda ledger_id: display_order(self.sort_codes[ledger_id], ledger_id),
        )
        ordered: dict[str, None] = {}
        # a ledger without a code is just before its first descendant with a code, else last
        for ledger_id in known:
            without_code = [above for above in self.hierarchy.ancestors(ledger_id) if self.sort_codes.get(above) == ""]
            ordered.update(dict.fromkeys([*reversed(without_code), ledger_id]))
        return list(ordered | dict.fromkeys(sorted(self.names)))

    def require(
        self, ledger_ids: Collection[str | None], describe: Callable[[Collection[str]], Iterable[str]] | None = None
    ) -> None:
        """Refuse used ledgers, and parents of used ledgers, that the chart lacks."""
        absent = {ledger_id for ledger_id in ledger_ids if ledger_id not in self.names}
        if absent:
            known = [ledger_id for ledger_id in absent if ledger_id is not None]
            named = absent if describe is None or len(known) < len(absent) else describe(known)
            raise FrameError(
                f"{count_of(len(absent), 'ledger')} of the line entries not in ledgers: {join_ids(named)}; "
                "whether they report cash flow is not known, so no figure would be reliable"
            )
        in_use = self.names.keys() & {*ledger_ids, *self.cash}
        ancestors = {parent for ledger_id in in_use for parent in self.hierarchy.ancestors(ledger_id)}
        parents = ancestors - self.names.keys()
        if parents:
            raise HierarchyError(
                f"{count_of(len(parents), 'parent ledger')} not in ledgers: "
                f"{join_ids(parents)}; add them, or leave the parents null with parent_known false"
            )

    def trees(self, *own: Mapping[str, int]) -> Trees:
        """Find the trees of ledgers with amounts in `own`, and which totals are not known.

        A ledger without a known parent may be a descendant of any ledger of the same type in another tree.
        """
        roots = {self.hierarchy.root(ledger_id) for amounts in own for ledger_id in amounts}
        used = {self.hierarchy.root(ledger_id) for amounts in own for ledger_id, amount in amounts.items() if amount}
        loose = used & self.without_known_parent
        counts = Counter(map(self._tree_types.get, loose))

        def may_include_another(root: str) -> bool:
            kind = self._tree_types.get(root)
            alike = len(loose) if kind is None else counts[kind] + counts[None]
            return alike > (root in loose)

        unknown = set(filter(may_include_another, roots))
        kinds = set(map(self._tree_types.get, unknown))
        unplaced = {root for root in loose if None in kinds or self._tree_types.get(root) in {None, *kinds}}
        return Trees(unknown, inferred=loose - unknown, unplaced=unplaced if unknown else set())

    def totals(self, own: Mapping[str, int], trees: Trees) -> dict[str, int | None]:
        """Add up the units of each subtree. A total is None where it is not known."""
        sums: dict[str, int | None] = {}
        for ledger_id, units in own.items():
            including = (ledger_id, *self.hierarchy.ancestors(ledger_id))
            unknown = including[-1] in trees.unknown
            for including_id in including:
                sums[including_id] = None if unknown else (sums.get(including_id) or 0) + units
        return sums

    def in_order(self, ledger_ids: Collection[str]) -> list[str]:
        """Sort ledgers in display order."""
        return [ledger_id for ledger_id in self.ordered if ledger_id in ledger_ids]

    def notes(self, *trees: Trees) -> Iterator[str]:
        """Yield sentences about ledgers whose parents are not known."""
        if inferred := self.in_order(set().union(*(part.inferred for part in trees))):
            yield (
                f"The hierarchy is inferred: the parents of {count_of(len(inferred), 'ledger')} are not known "
                f"({self._listed(inferred)}), so each is taken for a root; ancestors may be missing from the list."
            )
        if unplaced := self.in_order(set().union(*(part.unplaced for part in trees))):
            yield (
                f"The parents of {count_of(len(unplaced), 'ledger')} are not known ({self._listed(unplaced)}): totals "
                "that might include them are left null, and their ancestors may be missing from the list; give them as "
                "parents= of discover_ledgers."
            )

    def _listed(self, ledger_ids: Iterable[str]) -> str:
        return join_ids([self.names[ledger_id] for ledger_id in ledger_ids])


def describe_ledgers(
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    exact: ExactLines,
    days: Days,
    ledger_ids: Collection[str],
) -> list[str]:
    """Describe ledgers that the chart lacks by their lines."""
    stated = wrap(line_entries, "line_entries", ("ledger_id", "ledger_name"))
    names: dict[str, str] = {}
    if "ledger_name" in stated.collect_schema():
        named = collect(stated.select("ledger_id", "ledger_name").filter(is_on(ledger_ids)).unique())
        names = {row["ledger_id"]: row["ledger_name"] for row in named.to_pylist() if row["ledger_name"]}
    lines = exact.lines.select("ledger_id", "datetime", "units").filter(is_on(ledger_ids) & is_within(days))
    rows = collect(lines.group_by("ledger_id").agg(nw.col("units").sum(), count=nw.len())).to_pylist()
    described = []
    for row in rows:
        ledger_id, count = row["ledger_id"], row["count"]
        name = f"{names[ledger_id]} ({ledger_id})" if ledger_id in names else ledger_id
        total = format_amount(from_minor_units(exact.to_units(row["units"]), exact.scale))
        described.append(f"{name} with {count_of(count, 'line that sums', 'lines that sum')} to {total}")
    return described
