"""The manifest of an export: its files with rows, sums and digests."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.json_text import to_json_text
from accounting_analytics.messages import fit_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

    import pyarrow as pa

    WriteTable = Callable[[pa.Table, BinaryIO], object]


MANIFEST_VERSION = 1


@dataclass(frozen=True)
class ExportedFile:
    """One file of an export."""

    name: str
    rows: int
    sums: dict[str, int]
    sha256: str
    columns: dict[str, str]


@dataclass(frozen=True, repr=False)
class Manifest:
    """Content of an export; ``manifest.json`` in the folder has the same fields.

    Parameters
    ----------
    folder : Path
        Where the export is.
    start_date, end_date, time_zone : str
        The period of the cash flow lines, and the time zone of every local date.
    scale : int
        Fraction digits: an amount is its minor units divided by ten to this power.
    partial : bool
        Whether lines are known to be missing.
    files : tuple of ExportedFile
        Name, rows, sums of the amount columns in minor units, sha256 and column types of each file.
    """

    folder: Path
    start_date: str
    end_date: str
    time_zone: str
    scale: int
    partial: bool
    files: tuple[ExportedFile, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """Table of the files: path, rows, sha256."""
        rows = [(str(self.folder / file.name), file.rows, file.sha256) for file in self.files]
        return pd.DataFrame(rows, columns=["file", "rows", "sha256"])

    def __repr__(self) -> str:
        return fit_terminal(self.explain())

    def summary(self) -> str:
        """One line: where the export is, and what it contains."""
        prefix = "PARTIAL: " if self.partial else ""
        rows = sum(file.rows for file in self.files)
        days = f"{self.start_date} to {self.end_date} ({self.time_zone})"
        return f"{prefix}Export in {self.folder}: {rows:,} rows in {len(self.files)} files, {days}."

    def explain(self) -> str:
        """Plain text: the summary, and the rows of each file."""
        return "\n".join([self.summary(), *(f"- {file.name}: {file.rows:,} rows" for file in self.files)])

    def to_json(self) -> str:
        """JSON text of the manifest, as in ``manifest.json``."""
        content = {"format": MANIFEST_VERSION, **asdict(self)}
        del content["folder"]
        return to_json_text(content)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.summary())}</p>{self.frame.to_html(index=False, escape=True)}"
