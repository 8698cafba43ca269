"""Names of ledgers: lookup by id, unique name or path, as people write it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Self

from accounting_analytics.core.chart_of_accounts import Hierarchy
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.name_keys import name_key

if TYPE_CHECKING:
    from collections.abc import KeysView, Mapping

    import pandas as pd

PATH_SEPARATOR = ":"
_MAX_LISTED = 3
_SHORTEST_WORD = 3


class LedgerNames:
    """Ids, names and paths of a chart of accounts.

    A path is the names from the root down, such as ``Expenses:Meals``. Names and paths are compared without case,
    Unicode forms and surplus spaces. An id has precedence over a name.

    Parameters
    ----------
    names : mapping of str to str
        Name of each ledger, by id.
    hierarchy : Hierarchy
        Parents of the ledgers; a ledger without a known parent is a root.

    Examples
    --------
    ::

        names = books.names  # or LedgerNames.from_frame(ledgers)
        meals = books.lines[books.lines["ledger_id"] == names.find("Expenses:Meals")]
    """

    def __init__(self, names: Mapping[str, str], hierarchy: Hierarchy) -> None:
        self._names = dict(names)
        self.hierarchy = hierarchy
        self._spellings: dict[str, str] = {}
        self._ids: dict[str, frozenset[str]] = {}
        for ledger_id, name in self._names.items():
            for spelling in (name, self.path(ledger_id)):
                key = _key(spelling)
                self._spellings.setdefault(key, spelling)
                self._ids[key] = self._ids.get(key, frozenset()) | {ledger_id}

    @classmethod
    def from_frame(cls, ledgers: pd.DataFrame) -> Self:
        """Read ``id``, ``name`` and ``parent_id`` of :class:`~accounting_analytics.schemas.Ledgers`.

        Raises
        ------
        HierarchyError
            The parents form a cycle.
        """
        parents = {
            ledger_id: parent if isinstance(parent, str) else None
            for ledger_id, parent in zip(ledgers["id"], ledgers["parent_id"], strict=True)
        }
        return cls(dict(zip(ledgers["id"], ledgers["name"], strict=True)), Hierarchy(parents))

    def __contains__(self, text: object) -> bool:
        """Return whether `text` is the id, name or path of a ledger."""
        return bool(self.matches(text))

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {count_of(len(self), 'ledger')}>"

    @property
    def ids(self) -> KeysView[str]:
        """Ids of all ledgers."""
        return self._names.keys()

    def find(self, text: object) -> str:
        """Return the id of the ledger with this id, unique name or path.

        Raises
        ------
        InputError
            No ledger or more than one matches; the message suggests similar names, or lists the paths and ids.
        """
        found = self.matches(text)
        if not found:
            raise InputError(self._unknown(text))
        if len(found) > 1:
            raise InputError(self.ambiguity(text, found))
        return next(iter(found))

    def matches(self, text: object) -> frozenset[str]:
        """Return the ids of matching ledgers. A text that is an id matches only its ledger."""
        if not isinstance(text, str):
            return frozenset()
        return frozenset({text}) if text in self._names else self._ids.get(_key(text), frozenset())

    def name(self, ledger_id: str) -> str:
        """Return the name of a ledger, or its id if the ledger is unknown."""
        return self._names.get(ledger_id, ledger_id)

    def path(self, ledger_id: str) -> str:
        """Return the path of a ledger: names from the root down."""
        upwards = (ledger_id, *self.hierarchy.ancestors(ledger_id))
        return PATH_SEPARATOR.join(reversed([self.name(ledger) for ledger in upwards]))

    def unique_path(self, ledger_id: str) -> str:
        """Return the path of a ledger, or its id if the path is not unique."""
        path = self.path(ledger_id)
        return path if self.matches(path) == {ledger_id} else ledger_id

    def close_to(self, text: object) -> list[str]:
        """Suggest at most three names or paths similar to `text`, the most similar first.

        Each ledger is suggested once: first by the last name of a path, then by spelling, then by the words of `text`.
        """
        by_ledger: dict[str, str] = {}
        written = _key(str(text))
        last = written.rpartition(PATH_SEPARATOR)[2]
        named = [last] if last in self._ids else []
        similar = get_close_matches(written, self._ids, n=2 * _MAX_LISTED)
        for key in [*named, *similar, *(self._with_words(last) if len(last) >= _SHORTEST_WORD else [])]:
            for ledger_id in sorted(self._ids[key]):
                is_unique = len(self._ids[key]) == 1
                by_ledger.setdefault(ledger_id, self._spellings[key] if is_unique else self.path(ledger_id))
        return list(by_ledger.values())[:_MAX_LISTED]

    def _with_words(self, text: str) -> list[str]:
        """Find names whose words begin with all words of a text.

        The shortest name is first.
        """
        words = text.split()
        found = [
            key
            for key in self._ids
            if all(any(key_word.startswith(word) for key_word in key.split()) for word in words)
        ]
        return sorted((key for key in found if PATH_SEPARATOR not in key), key=lambda key: (len(key), key))

    def suggestion(self, text: object) -> str:
        """Ask ``did you mean 'Meals'?``, or return "" without a similar name."""
        close = " or ".join(map(quote, self.close_to(text)))
        return f"did you mean {close}?" if close else ""

    def _unknown(self, text: object) -> str:
        if suggestion := self.suggestion(text):
            return f"no discovered ledger matches {quote(text)}; {suggestion}"
        return (
            f"no discovered ledger matches {quote(text)}; give its id, unique name or path (a ledger without lines in "
            "the period is not discovered: use a longer period; for a bank's file, name its path in categories=)"
        )

    def ambiguity(self, text: object, found: frozenset[str]) -> str:
        """Return the message for a text that several ledgers match."""
        listed = [
            f"{quote(path)} (id {ledger_id})"
            for path, ledger_id in sorted((self.path(candidate), candidate) for candidate in found)
        ]
        more = len(listed) - _MAX_LISTED
        return (
            f"several ledgers match {quote(text)}: {', '.join(listed[:_MAX_LISTED])}"
            f"{f' and {more} more' if more > 0 else ''}; give the path or id of one"
        )


def _key(text: str) -> str:
    """Normalize each name of a path for comparison."""
    return PATH_SEPARATOR.join(map(name_key, text.split(PATH_SEPARATOR)))
