"""Saved decisions: a file that a later session loads, also after transactions were categorized or added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from accounting_analytics.atomic_files import write_text
from accounting_analytics.errors import InputError
from accounting_analytics.review_grid.rows import KEY
from accounting_analytics.review_grid.staged_decisions import OPEN, SKIPPED

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.review_grid.record import ReviewRecord


class SavedDecision(msgspec.Struct, frozen=True):
    """Decision of one row: the id of its new category, or None where it is skipped."""

    transaction_id: str
    category_ledger_id: str
    updated_category_ledger_id: str | None


class SavedReview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of a file of saved decisions."""

    format: Literal["accounting_analytics.review/1"]
    decisions: list[SavedDecision]


def save_decisions(record: ReviewRecord, path: Path) -> None:
    """Write all decisions to a file, completely or not at all."""
    chosen = record.staged.chosen
    decided = np.flatnonzero(chosen != OPEN)
    keys = zip(*(record.rows.frame[name].iloc[decided] for name in KEY), strict=True)
    decisions = [
        SavedDecision(transaction_id, old, record.categories[number] if number >= 0 else None)
        for (transaction_id, old), number in zip(keys, chosen[decided].tolist(), strict=True)
    ]
    content = msgspec.json.encode(SavedReview("accounting_analytics.review/1", decisions))
    write_text(path, msgspec.json.format(content, indent=1).decode() + "\n")


def load_decisions(record: ReviewRecord, path: Path) -> str:
    """Stage the decisions of a file as one decision, which can be undone; return what was loaded and left out."""
    saved = _read(path)
    keys = zip(*(record.rows.frame[name].tolist() for name in KEY), strict=True)
    row_of = {key: row for row, key in enumerate(keys)}
    choices: dict[int, int] = {}
    absent = refused = 0
    for one in saved.decisions:
        row = row_of.get((one.transaction_id, one.category_ledger_id))
        number = (
            SKIPPED if one.updated_category_ledger_id is None else record.numbers.get(one.updated_category_ledger_id)
        )
        if row is None:
            absent += 1
        elif number is None or not record.may_choose(row, number):
            refused += 1
        else:
            choices[row] = number
    rows = np.fromiter(choices, dtype=np.int64, count=len(choices))
    numbers = np.fromiter(choices.values(), dtype=np.int32, count=len(choices))
    record.staged.choose(rows, numbers, f"{len(rows):,} loaded decision(s)")
    sentences = [f"{len(rows):,} of {len(saved.decisions):,} decision(s) of {path} are staged."]
    if absent:
        sentences.append(f"{absent:,} are of transactions that are not in the queue any more.")
    if refused:
        sentences.append(f"{refused:,} name a category that cannot be chosen for their transaction.")
    return " ".join(sentences)


def _read(path: Path) -> SavedReview:
    try:
        return msgspec.json.decode(path.read_bytes(), type=SavedReview)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; review.save(path) writes one") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{path} holds no saved decisions: {error}; review.save(path) writes them") from error
