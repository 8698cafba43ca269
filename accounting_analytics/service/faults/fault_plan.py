"""The fault dial: which faults are played, how often, and on which requests.

A dial is written as ``name:setting=value:setting=value``, several separated by commas::

    http_503:p=0.1,rate_limit:per_minute=320,latency:ms=20,empty_page:every=5,expired_token:after=3,late_entry:every=50

When a fault is played follows from the seed and from the number of the request among those the fault is for, so that a
run replays.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accounting_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

READS = frozenset({"list_line_entries", "retrieve_cash_flow_report"})
CHANGES = frozenset({"create_ledger", "recategorize_transaction"})
OPERATIONS = READS | CHANGES
LISTING = frozenset({"list_line_entries"})


@dataclass(frozen=True)
class Setting:
    """What a setting of a fault may be: a number within bounds."""

    kind: Callable[[str], float]
    least: float
    most: float
    wanted: str

    def read(self, where: str, text: str) -> float:
        """Value of a setting as it was written."""
        try:
            value = self.kind(text)
        except ValueError:
            value = float("nan")
        if not self.least <= value <= self.most:
            msg = f"fault {where}={text!r} must be {self.wanted}"
            raise ConfigurationError(msg)
        return value


_COUNT = Setting(int, 1, 10**9, "a whole number, 1 or more")
_COUNT_OR_NONE = Setting(int, 0, 10**9, "a whole number, 0 or more")
_MILLISECONDS = Setting(float, 0, 3_600_000, "milliseconds, 0 to 3600000")
_WHEN = {
    "p": Setting(float, 0, 1, "a probability from 0 to 1"),
    "every": _COUNT,
    "after": _COUNT_OR_NONE,
    "times": _COUNT,
}


@dataclass(frozen=True)
class Kind:
    """What there is to know of a fault.

    Attributes
    ----------
    operations : frozenset of str
        Operations it can be played on.
    settings : mapping
        Its own settings.
    required : tuple of str
        Those of them that must be given.
    when : mapping
        Settings that say when it is played.
    chosen : bool
        Whether it may be played on one of its operations only.
    """

    operations: frozenset[str] = OPERATIONS
    settings: Mapping[str, Setting] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    when: Mapping[str, Setting] = field(default_factory=lambda: _WHEN)
    chosen: bool = True


_STATUS = Kind(settings={"retry_after": Setting(float, 0, 86_400, "seconds, 0 to 86400")})
KINDS: Mapping[str, Kind] = {
    "drop_connection": Kind(),
    "duplicate_record": Kind(LISTING),
    "empty_page": Kind(LISTING),
    "expired_page_token": Kind(LISTING),
    "expired_token": Kind(settings={"after": _COUNT_OR_NONE}, required=("after",), when={}),
    "garbage_body": Kind(),
    "html_200": Kind(),
    "http_408": _STATUS,
    "http_500": _STATUS,
    "http_502": _STATUS,
    "http_503": _STATUS,
    "http_504": _STATUS,
    "late_entry": Kind(LISTING),
    "latency": Kind(settings={"ms": _MILLISECONDS}, required=("ms",)),
    "lost_answer": Kind(CHANGES),
    "rate_limit": Kind(settings={"per_minute": _COUNT}, required=("per_minute",), when={}, chosen=False),
    "repeated_page_token": Kind(LISTING),
    "short_page": Kind(LISTING, {"keep": _COUNT}),
    "slow_drip": Kind(settings={"ms": _MILLISECONDS, "bytes": _COUNT}, required=("ms",)),
    "stall": Kind(settings={"ms": _MILLISECONDS}),
    "truncated_body": Kind(),
}
"""Every fault there is."""


@dataclass(frozen=True)
class Fault:
    """A fault as it was asked for.

    Attributes
    ----------
    name : str
        One of :data:`KINDS`.
    operations : frozenset of str
        Operations it is played on.
    settings : mapping of str to float
        As they were given.
    """

    name: str
    operations: frozenset[str]
    settings: Mapping[str, float]

    def __str__(self) -> str:
        on = [f"on={'+'.join(sorted(self.operations))}"] if self.operations != KINDS[self.name].operations else []
        return ":".join([self.name, *(f"{name}={value:g}" for name, value in self.settings.items()), *on])


class FaultDial:
    """Faults that are played, and the count that decides when.

    Parameters
    ----------
    text : str
        The dial as it is written, see above.
    seed : int
        Same seed, same requests: same faults.

    Attributes
    ----------
    faults : list of Fault
        What was asked for.
    played : Counter
        How often each fault was really played, by name.

    Raises
    ------
    ConfigurationError
        An unknown fault or setting, or a value that is none; the message names it.
    """

    def __init__(self, text: str, seed: int = 1) -> None:
        self.faults = [_fault(part) for part in text.split(",")]
        self.seed = seed
        self.played: Counter[str] = Counter()
        self._requests: Counter[int] = Counter()
        self._played: Counter[int] = Counter()
        self._tokens: Counter[bytes] = Counter()

    def __str__(self) -> str:
        return f"{','.join(map(str, self.faults))} (seed {self.seed})"

    @property
    def requests_per_minute(self) -> int | None:
        """What ``rate_limit`` allows, if it is on."""
        limits = [int(fault.settings["per_minute"]) for fault in self.faults if fault.name == "rate_limit"]
        return min(limits, default=None)

    def due(self, operation: str, token: bytes, *, names: Iterable[str]) -> list[Fault]:
        """Faults that are due on the next request of an operation, among `names`, in the order they were written.

        Parameters
        ----------
        operation : str
            Which operation is asked for.
        token : bytes
            The access token of the request, or a hash of it.
        names : iterable of str
            Faults that this request can show.
        """
        wanted = set(names)
        return [
            fault
            for place, fault in enumerate(self.faults)
            if fault.name in wanted and operation in fault.operations and self._is_due(place, fault, token)
        ]

    def note(self, fault: Fault) -> None:
        """Count a fault that was really played."""
        self.played[fault.name] += 1
        self._played[self.faults.index(fault)] += 1

    def chance(self, *about: object) -> random.Random:
        """Randomness that depends on the seed, and on what it is about."""
        return random.Random(":".join(map(str, (self.seed, *about))))  # noqa: S311 (nothing secret)

    def _is_due(self, place: int, fault: Fault, token: bytes) -> bool:
        if fault.name == "expired_token":
            self._tokens[token] += 1
            return self._tokens[token] > fault.settings["after"]
        self._requests[place] += 1
        number = self._requests[place] - int(fault.settings.get("after", 0))
        if number <= 0 or self._played[place] >= fault.settings.get("times", float("inf")):
            return False
        if "every" in fault.settings and number % int(fault.settings["every"]):
            return False
        return self.chance(place, fault.name, number).random() < fault.settings.get("p", 1)


def _fault(text: str) -> Fault:
    name, *settings = [part.strip() for part in text.split(":")]
    kind = KINDS.get(name)
    if kind is None:
        msg = f"there is no fault {name!r}; there are: {', '.join(KINDS)}"
        raise ConfigurationError(msg)
    known = {**kind.when, **kind.settings}
    values: dict[str, float] = {}
    operations = kind.operations
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key == "on" and kind.chosen and value in kind.operations:
            operations = frozenset({value})
        elif not equals or key not in known or key in values:
            on = [f"on={'|'.join(sorted(kind.operations))}"] if kind.chosen else []
            has = ", ".join([*known, *on])
            msg = f"fault {name}: {setting!r} is no setting of it, or given twice; it has: {has}"
            raise ConfigurationError(msg)
        else:
            values[key] = known[key].read(f"{name}:{key}", value)
    missing = [key for key in kind.required if key not in values]
    if missing:
        msg = f"fault {name} needs {missing[0]}: write {name}:{missing[0]}=..."
        raise ConfigurationError(msg)
    return Fault(name, operations, values)
