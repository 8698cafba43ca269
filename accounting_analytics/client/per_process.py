"""What a forked process must not share with its parent: connections, locks and the state of the rate limit.

A child that writes to a connection of its parent may read the response to a request of the parent, or of another child.
A lock that another thread held during the fork stays locked in the child for ever.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

State = TypeVar("State")


class PerProcess(Generic[State]):
    """A state that each process makes for itself when it first needs it, without a lock, which a fork might leave held.

    Parameters
    ----------
    make : callable
        Makes the state. Threads that need it at the same time may each make one; all use the one that is stored first.
    first : optional
        The state of this process, if it is made already.
    """

    def __init__(self, make: Callable[[], State], first: State | None = None) -> None:
        self._make = make
        self._by_process: dict[int, State] = {} if first is None else {os.getpid(): first}

    @property
    def is_made(self) -> bool:
        """Whether this process has made its state."""
        return os.getpid() in self._by_process

    def get(self) -> State:
        """State of this process; that of the parent is dropped."""
        process = os.getpid()
        state = self._by_process.get(process)
        if state is None:
            state = self._by_process.setdefault(process, self._make())
            for parent in self._by_process.keys() - {process}:
                self._by_process.pop(parent, None)
        return state
