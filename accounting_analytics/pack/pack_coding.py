"""Section of a pack about its coding: entries to look at before the month is closed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from accounting_analytics.core.periods import day_label
from accounting_analytics.pack.pack_table import PackRow, PackTable, amount_head, make_table, text_head
from accounting_analytics.recategorization.check_coding import KINDS
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR

if TYPE_CHECKING:
    from accounting_analytics.pack.pack_sentences import Sentence
    from accounting_analytics.recategorization.check_coding import CodingCheck

CODING = "coding"
_LISTED = 20


def coding_table(check: CodingCheck) -> PackTable:
    """Make the table of findings, by kind, the largest first."""
    rows = []
    for number, finding in enumerate(check.findings[:_LISTED], start=1):
        amount = replace(check[finding.key], key=f"finding {number}{KEY_SEPARATOR}amount")
        who = finding.counterparty or finding.account or finding.category
        why = f"{KINDS[finding.kind]}: {finding.why}"
        rows.append(PackRow(who, [day_label(finding.day), finding.category, why, amount]))
    heads = [text_head("Date"), text_head("Category"), text_head("Why"), amount_head("Amount")]
    rest = len(check.findings) - len(rows)
    notes = [f"{rest:,} more are not listed: accounting-analytics finds them with check-coding."] if rest else []
    found = notes if rows else ["Nothing to look at was found."]
    return make_table(CODING, "What to look at in the coding", heads, rows, [*found, *check.notes])


def coding_sentence(check: CodingCheck) -> list[Sentence]:
    """Write a sentence that counts the findings by kind, or none without findings."""
    return [(check.counts("the coding"),)] if check.findings else []
