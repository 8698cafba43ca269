"""Metadata and notes of a load: the request, missing lines, and completeness.

A pandas frame carries the metadata in ``attrs["load"]``, an Arrow table in the metadata of its schema. If a frame has
no metadata, this package did not load it, or an engine dropped the metadata: nothing is known about the load.

pandas copies `attrs` at each step, one value after the other. What has a value for each ledger is therefore one JSON
text: ``ledgers`` and ``sums``.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import pyarrow as pa

from accounting_analytics.core.errors import EmptyPeriodError, InputError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.periods import Period, day_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

LOAD_METADATA_KEY = b"accounting_analytics.load"
NOISE_REMOVED = ("amount", "had float rounding noise, within 1e-6 of the exact value, which was removed")
CHARACTERS_REPLACED = (
    "character",
    "replaced in texts: lone surrogates by U+FFFD, '|' in names of tags, which separates them in a frame, by '\u00a6'",
)
"""Noun and text of the note about replaced characters."""

_BOOKS = "books_notes"
"""Key under which a frame that was made from local books has the note on their age."""
_PANDAS_ATTRS = b"PANDAS_ATTRS"
"""Key under which pandas writes the ``attrs`` of a frame in a Parquet file."""


def stated_attrs(frame: Any) -> Mapping[Any, Any]:  # noqa: ANN401 (any frame)
    """Return the ``attrs`` of a pandas frame, or their equivalent in Arrow metadata."""
    if isinstance(frame, pa.Table):
        stated = frame.schema.metadata or {}
        attrs: dict[Any, Any] = json.loads(stated.get(_PANDAS_ATTRS, b"{}"))
        return attrs | ({"load": json.loads(stated[LOAD_METADATA_KEY])} if LOAD_METADATA_KEY in stated else {})
    other = getattr(frame, "attrs", None)
    return other if isinstance(other, dict) else {}


def read_load_metadata(line_entries: Any) -> Mapping[str, Any] | None:  # noqa: ANN401 (any frame)
    """Return the load metadata of a frame or table, or None without metadata."""
    metadata = stated_attrs(line_entries).get("load")
    return metadata if isinstance(metadata, dict) else None


def stated_scales(frame: Any) -> tuple[int | None, ...]:  # noqa: ANN401 (any frame)
    """Return the fraction digits that a frame or table states."""
    attrs = stated_attrs(frame)
    return attrs.get("scale"), (read_load_metadata(frame) or {}).get("scale")


def to_table_metadata(metadata: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Write load metadata as metadata of an Arrow schema."""
    return {LOAD_METADATA_KEY: json.dumps(metadata).encode()}


def loaded_period(metadata: Mapping[str, Any]) -> Period:
    """Return the period that was requested."""
    return Period.of(metadata["start_date"], metadata["end_date"], metadata["time_zone"])


def notes(frame_or_result: object) -> tuple[str, ...]:
    """Return the notes of a frame or a result: what was assumed, normalized or left out.

    Parameters
    ----------
    frame_or_result : DataFrame or result
        A frame that this package returned (``attrs["notes"]``), or a result such as a report (``notes``).

    Returns
    -------
    tuple of str
        One sentence each; empty where nothing is noted, or for any other object.
    """
    attrs = getattr(frame_or_result, "attrs", None)
    found = attrs.get("notes") if isinstance(attrs, dict) else getattr(frame_or_result, "notes", None)
    return tuple(map(str, found)) if isinstance(found, tuple | list) else ()


def books_notes(*frames: Any) -> tuple[str, ...]:  # noqa: ANN401 (any frame)
    """Collect the notes on the age of the local books behind frames."""
    found: dict[str, None] = {}
    for frame in frames:
        attrs = stated_attrs(frame)
        of_books = (
            attrs.get("notes", ()) if "books_version" in (read_load_metadata(frame) or {}) else attrs.get(_BOOKS, ())
        )
        found |= dict.fromkeys(of_books)
    return tuple(found)


def attach_notes(frame: pd.DataFrame, own: Iterable[str], *sources: Any) -> None:  # noqa: ANN401 (any frame)
    """Attach notes to a frame, together with the notes on its local books."""
    of_books = books_notes(*sources)
    frame.attrs["notes"] = tuple(dict.fromkeys([*own, *of_books]))
    if of_books:
        frame.attrs[_BOOKS] = of_books


def count_notes(*counts: tuple[int, str, str]) -> tuple[str, ...]:
    """Write a note for each count that is not zero: ``3 lines sent twice.``."""
    return tuple(f"{count_of(count, noun)} {text}." for count, noun, text in counts if count)


def noise_notes(noise_removed: int) -> tuple[str, ...]:
    """Return a note if amounts had float rounding noise."""
    return count_notes((noise_removed, "amount", "had float rounding noise, which was removed"))


class Discovery(NamedTuple):
    """Extent and source of a discovery of ledgers, which the service cannot list.

    Attributes
    ----------
    ledgers : int
        Number of ledgers that were found.
    first_day : date or None
        Day of the first entry of the books; None where they have none.
    accepted : Period
        The days whose entries were followed: all, unless the service refuses some.
    instance_id : str
        Instance of the service; empty where it is not stated.
    """

    ledgers: int
    first_day: dt.date | None
    accepted: Period
    instance_id: str = ""

    @classmethod
    def stated(cls, ledgers: Any) -> Self | None:  # noqa: ANN401 (any frame)
        """Read the discovery of a chart of accounts, or return None for a partial chart."""
        stated = stated_attrs(ledgers).get("discovery")
        if not stated:
            return None
        first = stated["first_day"]
        days = first and dt.date.fromisoformat(first), Period.of(*stated["accepted"])
        found = cls(stated["ledgers"], *days, stated.get("instance_id", ""))
        return found if not hasattr(ledgers, "__len__") or len(ledgers) >= found.ledgers else None

    def attach(self, ledgers: pd.DataFrame) -> None:
        """Store this discovery in the attrs of a chart of accounts."""
        first, accepted = self.first_day, self.accepted
        days = [accepted.start_date.isoformat(), accepted.end_date.isoformat(), accepted.time_zone]
        stated = {"ledgers": self.ledgers, "first_day": first and str(first), "accepted": days}
        ledgers.attrs["discovery"] = stated | {"instance_id": self.instance_id}

    def refuse_other_lines(self, instance_id: str) -> None:
        """Refuse lines of another instance than the ledgers."""
        if instance_id and self.instance_id and instance_id != self.instance_id:
            raise InputError(
                f"the ledgers are those of instance {self.instance_id}, and the lines of {instance_id}: pass the "
                "ledgers of the same company"
            )

    def refuse_earlier(self, days: Period) -> None:
        """Refuse a period that ends before the first entry of the books."""
        if self.first_day and days.time_zone == self.accepted.time_zone and days.end_date < self.first_day:
            raise EmptyPeriodError(
                f"the first entry of the books is of {self.first_day}, so there is none in {days}: choose days from "
                "then on"
            )

    def claim(self) -> str:
        """Describe the known ledgers in a sentence."""
        if self.first_day is None:
            return f"{self.ledgers} ledgers are known, from no entry; the service has no list of ledgers."
        entries = f"all entries since {day_label(self.first_day)}"
        refused = [
            f"{side} {day_label(day)}"
            for side, day, end in (
                ("before", self.accepted.start_date, dt.date.min),
                ("after", self.accepted.end_date, dt.date.max),
            )
            if day != end
        ]
        more = f"; days {' and '.join(refused)} are refused" if refused else ""
        return f"{self.ledgers} ledgers are known from {entries}{more}; the service has no list of ledgers."


def refuse_file(file: str, what: str, needs: str, instead: str = "") -> NoReturn:
    """Refuse books from a file if a service is needed. The message suggests `instead`."""
    raise InputError(
        f"{what} {needs}, and these books were read from {file}: {instead}import the file and serve it "
        "(accounting-analytics import, then serve), and load the books with load_books(connect())"
    )


def known_ledgers_claim(ledgers: Any, count: int) -> str:  # noqa: ANN401 (any frame)
    """Describe the ledgers of a result: discovered, from a file, or given."""
    discovery = Discovery.stated(ledgers)
    if discovery is not None:
        return discovery.claim()
    if file := stated_attrs(ledgers).get("file"):
        named = " and those that were named for it" if stated_attrs(ledgers).get("named") else ""
        return f"The {count} ledgers are those with entries in {file}{named}, and their parents."
    return f"The {count} ledgers are those that were given; whether the books have others was not checked."
