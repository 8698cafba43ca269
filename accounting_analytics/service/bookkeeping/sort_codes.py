"""Sort codes that the service assigns: each sorts after those of its siblings, as text, within 20 characters."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from accounting_analytics.chart_of_accounts import MAX_SORT_CODE_LENGTH, LedgerType

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST_DIGIT = {
    LedgerType.ASSET: "1",
    LedgerType.LIABILITY: "2",
    LedgerType.EQUITY: "3",
    LedgerType.REVENUE: "4",
    LedgerType.EXPENSE: "5",
}
_STEP = 10
_WIDTH = 4
_NUMBER = re.compile(r"(?<=.)[0-9]+\Z", re.DOTALL)  # the first character says the type and is not counted up
_LEAVING_ROOM = MAX_SORT_CODE_LENGTH - 1 - _WIDTH
_RAISED_POSITIONS = (*range(_LEAVING_ROOM, 0, -1), *range(_LEAVING_ROOM + 1, MAX_SORT_CODE_LENGTH), 0)


def next_sort_code(siblings: Sequence[str], ledger_type: str, parent_code: str | None = None) -> str:
    """Sort code after those of the siblings, or the first one below a parent or of a type.

    Parameters
    ----------
    siblings : sequence of str
        Codes of the ledgers with the same type and parent.
    ledger_type : str
        Gives the first digit of the first code.
    parent_code : str, optional
        Begins the first code below a parent.
    """
    if siblings:
        return sort_code_after(max(siblings))
    if parent_code is None:
        return f"{_FIRST_DIGIT[LedgerType(ledger_type)]}{_first_number(_WIDTH)}"
    code = f"{parent_code}{_STEP}"
    return code if len(code) <= MAX_SORT_CODE_LENGTH else sort_code_after(parent_code)


def sort_code_after(code: str) -> str:
    """Sort code that is greater than a code as text; the same code only if there is none in 20 characters.

    The number at the end is counted up to the next multiple of ten. When its n digits are used up, n more are appended,
    at least four, which gives 10**n more codes: from 10010, the code has 20 characters after 10**8. Then a character
    that leaves room for a number of four digits is raised to the next letter or digit.
    """
    return _counted_up(code) or _lengthened(code) or _raised(code) or code


def _counted_up(code: str) -> str | None:
    number = _NUMBER.search(code)
    if number is None:
        return None
    digits = str((int(number[0]) // _STEP + 1) * _STEP).zfill(len(number[0]))
    return f"{code[: number.start()]}{digits}" if len(digits) == len(number[0]) else None


def _lengthened(code: str) -> str | None:
    number = _NUMBER.search(code)
    digits = _first_number(max(_WIDTH, len(number[0]) if number else 0))
    return f"{code}{digits}"[:MAX_SORT_CODE_LENGTH] if len(code) < MAX_SORT_CODE_LENGTH else None


def _raised(code: str) -> str | None:
    for position in _RAISED_POSITIONS:
        if following := _following_character(code[position]):
            return f"{code[:position]}{following}{_first_number(_WIDTH)}"[:MAX_SORT_CODE_LENGTH]
    return None


def _first_number(width: int) -> str:
    return str(_STEP).zfill(width)


@lru_cache(maxsize=256)
def _following_character(character: str) -> str:
    """Next letter or digit in the order of Unicode; empty after the last one."""
    following = map(chr, range(ord(character) + 1, sys.maxunicode + 1))
    return next(filter(str.isalnum, following), "")
