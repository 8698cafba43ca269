"""Names that load on first use, and imports that the garbage collector does not interrupt."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import lazy_loader  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def collector_paused() -> Iterator[None]:
    """Collect no garbage meanwhile: what an import makes is there to stay, and looking through it takes a third more.

    Whoever has the collector off keeps it off.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def names_of_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose stub, beside `file`, lists its names."""
    load, listed, names = lazy_loader.attach_stub(package, file)

    def loaded(name: str) -> Any:  # noqa: ANN401 (any public name)
        with collector_paused():
            return load(name)

    return loaded, listed, names
