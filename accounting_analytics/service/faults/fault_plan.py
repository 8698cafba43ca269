"""The fault plan: which faults are injected, how often, and into which requests.

A plan is written as ``name:setting=value:setting=value``, several separated by commas::

    http_503:p=0.1,rate_limit:per_minute=320,latency:ms=20,empty_page:every=5,expired_token:after=3,late_entry:every=50

The seed and the number of a request, among those a fault applies to, decide whether the fault is injected. So a run can
be repeated.
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
class FaultSetting:
    """A setting of a fault: a number within bounds."""

    convert: Callable[[str], float]
    least: float
    most: float
    allowed: str

    def parse(self, name: str, text: str) -> float:
        """Value of a setting from its text."""
        try:
            value = self.convert(text)
        except ValueError:
            value = float("nan")
        if not self.least <= value <= self.most:
            raise ConfigurationError(f"fault {name}={text!r} must be {self.allowed}")
        return value


_COUNT = FaultSetting(int, 1, 10**9, "a whole number, 1 or more")
_COUNT_OR_NONE = FaultSetting(int, 0, 10**9, "a whole number, 0 or more")
_MILLISECONDS = FaultSetting(float, 0, 3_600_000, "milliseconds, 0 to 3600000")
_WHEN = {
    "p": FaultSetting(float, 0, 1, "a probability from 0 to 1"),
    "every": _COUNT,
    "after": _COUNT_OR_NONE,
    "times": _COUNT,
}


@dataclass(frozen=True)
class FaultKind:
    """The operations that a fault can be injected into, its own settings, and those that decide when.

    `has_operation` says whether ``on=`` can limit it to one of its operations.
    """

    operations: frozenset[str] = OPERATIONS
    settings: Mapping[str, FaultSetting] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    when: Mapping[str, FaultSetting] = field(default_factory=lambda: _WHEN)
    has_operation: bool = True


_STATUS = FaultKind(settings={"retry_after": FaultSetting(float, 0, 86_400, "seconds, 0 to 86400")})
FAULT_KINDS: Mapping[str, FaultKind] = {
    "drop_connection": FaultKind(),
    "duplicate_record": FaultKind(LISTING),
    "empty_page": FaultKind(LISTING),
    "expired_page_token": FaultKind(LISTING),
    "expired_token": FaultKind(settings={"after": _COUNT_OR_NONE}, required=("after",), when={}),
    "garbage_body": FaultKind(),
    "html_200": FaultKind(),
    "http_408": _STATUS,
    "http_500": _STATUS,
    "http_502": _STATUS,
    "http_503": _STATUS,
    "http_504": _STATUS,
    "late_entry": FaultKind(LISTING),
    "latency": FaultKind(settings={"ms": _MILLISECONDS}, required=("ms",)),
    "late_write": FaultKind(CHANGES, settings={"ms": _MILLISECONDS}, required=("ms",)),
    "lost_answer": FaultKind(CHANGES),
    "rate_limit": FaultKind(settings={"per_minute": _COUNT}, required=("per_minute",), when={}, has_operation=False),
    "repeated_page_token": FaultKind(LISTING),
    "short_page": FaultKind(LISTING, {"keep": _COUNT}),
    "slow_drip": FaultKind(settings={"ms": _MILLISECONDS, "bytes": _COUNT}, required=("ms",)),
    "stall": FaultKind(settings={"ms": _MILLISECONDS}),
    "truncated_body": FaultKind(),
}
"""Every fault there is."""


@dataclass(frozen=True)
class Fault:
    """A fault of a plan, the operations that it is injected into, and its settings as written."""

    name: str
    operations: frozenset[str]
    settings: Mapping[str, float]

    def __str__(self) -> str:
        on = [f"on={'+'.join(sorted(self.operations))}"] if self.operations != FAULT_KINDS[self.name].operations else []
        return ":".join([self.name, *(f"{name}={value:g}" for name, value in self.settings.items()), *on])


class FaultPlan:
    """Faults to inject, as they are written in a text; `injected` counts them by name.

    The same seed and requests give the same faults.
    """

    def __init__(self, text: str, seed: int = 1) -> None:
        self.faults = [_parse_fault(part) for part in text.split(",")]
        self.seed = seed
        self.injected: Counter[str] = Counter()
        self._requests: Counter[int] = Counter()
        self._injected: Counter[int] = Counter()
        self._tokens: Counter[bytes] = Counter()

    def __str__(self) -> str:
        return f"{','.join(map(str, self.faults))} (seed {self.seed})"

    @property
    def requests_per_minute(self) -> int | None:
        """Limit of the fault ``rate_limit``, if it is in the plan."""
        limits = [int(fault.settings["per_minute"]) for fault in self.faults if fault.name == "rate_limit"]
        return min(limits, default=None)

    def next_faults(self, operation: str, token: bytes, *, names: Iterable[str]) -> list[Fault]:
        """Faults to inject into the next request of an operation, among `names`, in the order of the plan."""
        possible = set(names)
        return [
            fault
            for index, fault in enumerate(self.faults)
            if fault.name in possible and operation in fault.operations and self._is_next(index, fault, token)
        ]

    def count(self, fault: Fault) -> None:
        """Count a fault that was injected."""
        self.injected[fault.name] += 1
        self._injected[self.faults.index(fault)] += 1

    def random_for(self, *key: object) -> random.Random:
        """Random numbers that depend on the seed and on a key."""
        return random.Random(":".join(map(str, (self.seed, *key))))  # noqa: S311 (nothing secret)

    def _is_next(self, index: int, fault: Fault, token: bytes) -> bool:
        if fault.name == "expired_token":
            self._tokens[token] += 1
            return self._tokens[token] > fault.settings["after"]
        self._requests[index] += 1
        number = self._requests[index] - int(fault.settings.get("after", 0))
        if number <= 0 or self._injected[index] >= fault.settings.get("times", float("inf")):
            return False
        if "every" in fault.settings and number % int(fault.settings["every"]):
            return False
        return self.random_for(index, fault.name, number).random() < fault.settings.get("p", 1)


def _parse_fault(text: str) -> Fault:
    name, *settings = [part.strip() for part in text.split(":")]
    kind = FAULT_KINDS.get(name)
    if kind is None:
        raise ConfigurationError(f"unknown fault {name!r}; the faults are: {', '.join(FAULT_KINDS)}")
    known = {**kind.when, **kind.settings}
    values: dict[str, float] = {}
    operations = kind.operations
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key == "on" and kind.has_operation and value in kind.operations:
            operations = frozenset({value})
        elif not equals or key not in known or key in values:
            on = [f"on={'|'.join(sorted(kind.operations))}"] if kind.has_operation else []
            settings_of_fault = ", ".join([*known, *on])
            raise ConfigurationError(
                f"fault {name}: {setting!r} is not one of its settings, or is given twice; it has: {settings_of_fault}"
            )
        else:
            values[key] = known[key].parse(f"{name}:{key}", value)
    missing = [key for key in kind.required if key not in values]
    if missing:
        raise ConfigurationError(f"fault {name} needs {missing[0]}: write {name}:{missing[0]}=...")
    return Fault(name, operations, values)
