"""What a forked process must not share with its parent: connections, locks and the state of the rate limit.

A child that writes to a connection of its parent may read the response to a request of the parent, or of another child.
A lock that another thread held during the fork stays locked in the child for ever.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """An object that does not work in a forked process as it is."""

    def after_fork(self) -> None:
        """Replace in the child what it must not share; no other thread runs yet."""
        ...


_objects: WeakSet[ForkAware] = WeakSet()


def reset_in_child(fork_aware: ForkAware) -> None:
    """Call ``after_fork`` of an object in every child that this process forks; the object is referenced weakly."""
    _objects.add(fork_aware)


def _reset_all() -> None:
    for fork_aware in list(_objects):
        fork_aware.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_reset_all)
