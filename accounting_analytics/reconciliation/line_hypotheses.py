"""Assumptions about the lines that differ, each of which counts only if it makes every figure agree exactly."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, Self

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from accounting_analytics.column_conversion import LIST_SEPARATOR
from accounting_analytics.exact_sums import in_microseconds_utc, is_within
from accounting_analytics.load_metadata import native_frame
from accounting_analytics.money import from_minor_units, sum_by_key, to_minor_units
from accounting_analytics.periods import Period
from accounting_analytics.reconciliation.differences import amount_or_zero, amounts_by_ledger
from accounting_analytics.reconciliation.hypotheses import Hypothesis, describe_entries
from accounting_analytics.schemas import CashFlowLedgers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.reconciliation.differences import Difference
    from accounting_analytics.reconciliation.given_books import GivenBooks

_MAX_EXCHANGED = 10


class DifferingLines(NamedTuple):
    """Lines that differ, by what is different: only in one report, with the sign turned, or counted twice."""

    omitted: list[Difference]
    extra: list[Difference]
    turned: list[Difference]
    repeated: list[Difference]
    others: list[Difference]

    @classmethod
    def from_differences(cls, differences: Sequence[Difference]) -> Self:
        """Sort the lines that differ."""
        found = cls([], [], [], [], [])
        for one in differences:
            if one.what != "line":
                continue
            if one.reported is None:
                found.omitted.append(one)
            elif one.recomputed is None:
                found.extra.append(one)
            elif one.recomputed and one.reported == -one.recomputed:
                found.turned.append(one)
            elif one.recomputed and one.reported == 2 * one.recomputed:
                found.repeated.append(one)
            else:
                found.others.append(one)
        return found


def find_opening(books: GivenBooks, changes: DifferingLines, *, others: bool) -> Iterator[Hypothesis]:
    """Try opening entries before the period as flows of it, and those of the first day as opening balances.

    With `others`, also whatever entries one report alone has as flows.
    """
    period = books.period
    before, within = books.within(period.instants_before()), books.within(period.instants())
    on_opening = books.entries.of_entries_with(books.entries.on(books.opening_ledgers))
    first_day = books.within(Period(period.start_date, period.start_date, period.time_zone).instants())
    start = pd.Timestamp(period.instants()[0].start)
    moves = [(before & on_opening, 0), (first_day & on_opening, -1)]
    if others:
        moves.append((before & books.of_entries(_entries(changes.extra)), 0))
        moves.append((first_day & books.of_entries(_entries(changes.omitted)), -1))
    tried: set[bytes] = set()
    for chosen, microseconds in moves:
        if not chosen.any() or chosen.tobytes() in tried:
            continue
        tried.add(chosen.tobytes())
        is_flow = microseconds == 0
        masks = (before & ~chosen, within | chosen) if is_flow else (before | chosen, within & ~chosen)
        if not books.may_fit(*masks):
            continue
        moved = start + pd.Timedelta(microseconds=microseconds)
        instants = books.lines["datetime"].to_pandas().mask(chosen, moved)
        if books.fits(books.with_column("datetime", instants), dated=books.lines):
            ids = tuple(dict.fromkeys(books.lines["journal_entry_id"].filter(pa.array(chosen)).to_pylist()))
            subject = "the opening balance" if (on_opening & chosen).any() else "entries of before the period"
            of_first_day = "the opening balance" if (on_opening & chosen).any() else "entries of the first day"
            named = describe_entries(books, ids)
            sentence = (
                f"The report counts {subject} ({named}) as a flow of the period, not in its starting balance."
                if is_flow
                else f"The report counts {of_first_day} ({named}) in its starting balance, not as a flow."
            )
            yield Hypothesis("opening balance", sentence, ids)
            return


def find_signs(books: GivenBooks, changes: DifferingLines) -> Iterator[Hypothesis]:
    """Try flows with their sign turned: all, those of some ledgers or entries, alone or with their balances."""
    base, nets = books.recomputed, _nets(books)
    turned = {one.line_id for one in changes.turned}
    if not turned:
        ledgers = {one for one, (reported, recomputed) in nets.items() if reported and reported == -recomputed}
        turned = set(base.lines.loc[base.lines["ledger_id"].isin(ledgers), "line_id"])
    if not turned:
        return
    chosen = base.lines["line_id"].isin(turned)
    ids = tuple(dict.fromkeys(base.lines.loc[chosen, "journal_entry_id"]))
    what = f"of all {len(chosen):,} flows" if chosen.all() else f"of {describe_entries(books, ids)}"
    amounts = [-amount if is_turned else amount for amount, is_turned in zip(base.lines["amount"], chosen, strict=True)]
    lines = base.lines.assign(amount=pd.Series(amounts, dtype=base.lines["amount"].dtype))
    assumed = with_flows(books, lines)
    entries = books.of_entries(ids)
    if books.agrees(assumed):
        yield Hypothesis("sign", f"The report has the sign {what} turned; its balances are right.", ids)
    elif chosen.all() and books.agrees(_negated(assumed)):
        yield Hypothesis("sign", "The report has the sign of all flows and balances turned.", ids)
    elif _may_fit(books, factor=np.where(entries, -1, 1)) and books.fits(books.with_factor(entries, -1)):
        yield Hypothesis("sign", f"The report has the sign {what} turned, in its flows and balances.", ids)


def find_tags(books: GivenBooks) -> Iterator[Hypothesis]:
    """Try the report with only the lines that carry a tag, or all the tags that its lines have in common."""
    base = books.recomputed
    tags = _tags_by_line(books)
    if not tags:
        return
    reported_ids = [one for one in books.reported.lines["line_id"] if one in tags]
    common = set.intersection(*(tags[one] for one in reported_ids)) if reported_ids else set()
    candidates = [{one} for one in sorted(common or set().union(*tags.values()))]
    if len(common) > 1:
        candidates.append(common)
    net = books.reported.exact_sums().net_cash_flow
    of_lines = [tags.get(one, set()) for one in base.lines["line_id"]]
    for wanted in candidates:
        kept = np.array([wanted <= one for one in of_lines], np.bool_)
        if not kept.any() or kept.all() or sum(base.lines["amount"][kept], Decimal(0)) != net:
            continue
        if books.agrees(with_flows(books, base.lines[kept].reset_index(drop=True))):
            named = ", ".join(sorted(wanted))
            yield Hypothesis(
                "tag", f"The report looks filtered by tag: it has only the {int(kept.sum()):,} lines tagged {named}."
            )
            return


def find_exchanged_ledgers(books: GivenBooks) -> Iterator[Hypothesis]:
    """Try two ledgers exchanged with all their lines."""
    nets = {one: amounts for one, amounts in _nets(books).items() if amounts[0] != amounts[1]}
    if not 2 <= len(nets) <= _MAX_EXCHANGED:  # noqa: PLR2004 (a pair)
        return
    for first, second in combinations(sorted(nets), 2):
        if nets[first] != nets[second][::-1] or {first, second} & set(books.tree.cash):
            continue
        exchanged = {first: second, second: first}
        ids = [exchanged.get(one, one) for one in books.lines["ledger_id"].to_pylist()]
        if books.fits(books.with_column("ledger_id", ids)):
            yield Hypothesis(
                "exchanged ledgers",
                f"The report has {books.names([first])} and {books.names([second])} exchanged, with all their lines.",
            )
            return


def find_entries(books: GivenBooks, changes: DifferingLines) -> Iterator[Hypothesis]:
    """Try the report without the entries that it omits, and with lines under the categories that it has them under."""
    moved = {one.line_id: one.ledger_id for one in changes.extra}
    lacking = [one for one in changes.omitted if one.line_id not in moved]
    if set(moved) - {one.line_id for one in changes.omitted} or changes.others or changes.turned or changes.repeated:
        return
    ids = tuple(sorted(_entries(lacking)))
    categories = [
        moved.get(line_id, ledger_id)
        for line_id, ledger_id in zip(books.lines["id"].to_pylist(), books.lines["ledger_id"].to_pylist(), strict=True)
    ]
    lines = books.with_column("ledger_id", categories).filter(pa.array(~books.of_entries(ids)))
    if not (moved or ids) or not books.fits(lines):
        return
    if moved:
        entry_ids = tuple(sorted(_entries(changes.extra)))
        yield Hypothesis(
            "categories",
            f"The report has other categories for {describe_entries(books, entry_ids)}.",
            entry_ids,
        )
    if ids:
        yield Hypothesis("missing entries", f"The report lacks {describe_entries(books, ids)}.", ids)


def with_flows(books: GivenBooks, lines: pd.DataFrame) -> CashFlowReport:
    """Recomputed report with other lines, and what follows from them; its balances stay."""
    base, tree = books.recomputed, books.tree
    sums = sum_by_key(zip(lines["ledger_id"], lines["amount"], strict=True))
    net = {ledger_id: to_minor_units(amount, books.scale) for ledger_id, amount in sums.items()}
    totals = tree.totals(net, tree.trees(net))
    ledger_ids = tree.in_order(totals)
    columns = {
        "ledger_id": ledger_ids,
        "name": [tree.names[one] for one in ledger_ids],
        "net_cash_flow": [from_minor_units(net.get(one, 0), books.scale) for one in ledger_ids],
        "total_net_cash_flow": [
            None if totals[one] is None else from_minor_units(totals[one] or 0, books.scale) for one in ledger_ids
        ],
    }
    return replace(base, ledgers=CashFlowLedgers.from_columns(columns, books.scale, as_decimals=True), lines=lines)


def _negated(report: CashFlowReport) -> CashFlowReport:
    """Report with the sign of its balances turned."""

    def negate(balances: pd.DataFrame) -> pd.DataFrame:
        columns = ("cash_balance", "total_cash_balance")
        return balances.assign(
            **{
                name: pd.Series([None if pd.isna(one) else -one for one in balances[name]], dtype=balances[name].dtype)
                for name in columns
            }
        )

    return replace(
        report,
        starting_balances=negate(report.starting_balances),
        ending_balances=negate(report.ending_balances),
        starting_cash_balance=-report.exact_sums().starting_cash_balance,
        ending_cash_balance=-report.exact_sums().ending_cash_balance,
    )


def _may_fit(books: GivenBooks, factor: object) -> bool:
    period = books.period
    return books.may_fit(books.within(period.instants_before()), books.within(period.instants()), factor=factor)


def _nets(books: GivenBooks) -> dict[str, tuple[Decimal, Decimal]]:
    """Return the reported and the recomputed net cash flow of each ledger."""
    nets = [amounts_by_ledger(one.ledgers, "net_cash_flow") for one in (books.reported, books.recomputed)]
    return {one: (amount_or_zero(nets[0], one), amount_or_zero(nets[1], one)) for one in {**nets[0], **nets[1]}}


def _tags_by_line(books: GivenBooks) -> dict[str, set[str]]:
    """Tags of the recomputed lines, by their names where these are known; empty where tags are not given."""
    frame = nw.from_native(native_frame(books.line_entries)).lazy()
    columns = [name for name in ("tag_ids", "tag_names") if name in frame.collect_schema()]
    if "tag_ids" not in columns:
        return {}
    schema, line_ids = frame.collect_schema(), set(books.recomputed.lines["line_id"])
    dated = frame.select("id", *columns, in_microseconds_utc(frame, schema["datetime"]))
    tagged = dated.filter(is_within(books.period.instants()) & (nw.col("tag_ids").cast(nw.String) != ""))
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in tagged.select("id", *columns).collect("pyarrow").to_arrow().to_pylist():
        if row["id"] not in line_ids:
            continue
        ids = row["tag_ids"].split(LIST_SEPARATOR)
        names = (row.get("tag_names") or "").split(LIST_SEPARATOR)
        names = names if len(names) == len(ids) else [""] * len(ids)
        found[row["id"]] = {f"{name} ({one})" if name else one for one, name in zip(ids, names, strict=True)}
    return found


def _entries(differences: Sequence[Difference]) -> set[str]:
    return {one.journal_entry_id for one in differences if one.journal_entry_id}
