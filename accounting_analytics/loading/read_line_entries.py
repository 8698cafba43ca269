"""Reading of line entries from CSV and Excel files, with ids as text and exact amounts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.column_conversion import (
    BOOLEAN,
    LOCAL_DATE,
    ExactColumn,
    are_midnights_elsewhere,
    decimal_scale,
    exact_amounts,
    find_scale,
    in_floats,
    local_midnights,
    parse_amounts,
)
from accounting_analytics.core.edited_files import ERRORS, cell_text, read_workbook
from accounting_analytics.core.errors import FrameError, InputError, with_context
from accounting_analytics.core.load_metadata import noise_notes, stated_scales
from accounting_analytics.core.messages import count_of, join_ids, shorten
from accounting_analytics.core.periods import choose_zone, zone
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.reports.books.zone_of_lines import refuse_other_days

if TYPE_CHECKING:
    from accounting_analytics.core.periods import ZoneLike

_BOOLEANS = {"true": True, "false": False}


def read_line_entries(
    path: str | Path,
    *,
    scale: int | None = None,
    time_zone: ZoneLike | None = None,
    midnights: Literal["days", "instants"] | None = None,
    expected_rows: int | None = None,
) -> pd.DataFrame:
    """Read line entries from a CSV or Excel file, such as one that was saved from a frame.

    Ids and other text stay text: ``00123`` keeps its zeros. Amounts that are text are read digit by digit, never as
    floats. An instant without a zone is in UTC. An empty cell is null; in CSV, ``""`` is empty text.

    A CSV file that was cut after a row looks like a complete file, unlike an Excel file. Pass the number of rows
    that were saved as `expected_rows`; without it a note says that the file is not known to be whole.

    Parameters
    ----------
    path : str or Path
        A ``.csv`` or ``.xlsx`` file with the columns of :class:`~accounting_analytics.schemas.LineEntries`. Excel files
        need the extra ``excel``; the sheet with these columns is read.
    scale : int, optional
        Fraction digits of the amounts; 2 by default.
    time_zone : str or ZoneInfo, optional
        Zone of the column ``local_date``; by default that column is as in the file.
    midnights : {"days", "instants"}, optional
        Meaning of instants that are all midnights of UTC, as some programs write days: those days in `time_zone`, at
        noon, or the instants themselves. They are refused without it, unless ``local_date`` of the file shows it.
    expected_rows : int, optional
        Number of line entries that the file must have, such as ``len(lines)`` when it was saved.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.LineEntries` with float64 amounts. ``attrs["notes"]`` lists what was
        assumed or normalized.

    Raises
    ------
    InputError
        The file cannot be read, or has another number of rows than `expected_rows`.
    FrameError
        A column is missing, unknown, or breaks a rule.
    AmountError
        An amount is not a whole number of minor units, or too large for float64.
    """
    file = to_path(path, "path")
    read = _READERS.get(file.suffix.lower())
    if read is None:
        raise InputError(f"{file}: line entries are read from {', '.join(_READERS)} files; save them as one of these")
    try:
        frame = _in_floats(_counted(read(file), file, expected_rows), scale)
        if midnights is not None:
            check_midnights(midnights, time_zone)
        return LineEntries.checked(frame if time_zone is None else _with_local_dates(frame, time_zone, midnights))
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror or error})") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{file} is damaged or another kind of file ({shorten(str(error))})") from None
    except InputError as error:
        raise with_context(error, f"file {file}") from None


def _counted(frame: pd.DataFrame, file: Path, expected_rows: int | None) -> pd.DataFrame:
    """Check the number of rows.

    Write a note for a CSV file without an expected number.
    """
    if expected_rows is not None and len(frame) != expected_rows:
        raise InputError(
            f"it has {count_of(len(frame), 'row')}, and expected_rows is {expected_rows:,}: it was cut or is another "
            "file"
        )
    if file.suffix.lower() == ".csv" and expected_rows is None:
        note = (
            f"{file.name} is not known to be whole: a CSV file that was cut after a row reads like a whole one; pass "
            "expected_rows=."
        )
        frame.attrs["notes"] = (*frame.attrs.get("notes", ()), note)
    return frame


def _read_csv(path: Path) -> pd.DataFrame:
    """Read every cell as text. Empty cells are null, unless they are quoted."""
    options = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(LineEntries.dtypes(), pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    lines = arrow_csv.ParseOptions(newlines_in_values=True)
    table = arrow_csv.read_csv(path, convert_options=options, parse_options=lines)
    return _parse_cells(_to_pandas(table))


def _read_excel(path: Path) -> pd.DataFrame:
    """Read the sheet that has the columns of line entries. Empty cells and errors are null."""
    sheet = read_workbook(path.read_bytes(), Path(path.name), LineEntries.dtypes(), read_only=True)
    cells = pd.DataFrame([row.cells for row in sheet.rows], dtype=object)
    cells = cells.mask(cells.isin(["", *ERRORS]), None).dropna(axis="columns", how="all")  # such as formatted rows
    header = ["" if name is None else cell_text(name) for name in cells.iloc[0]] if len(cells) else []
    if "" in header:
        raise FrameError(f"column {header.index('') + 1} has cells, but no name in the first row; name it or clear it")
    _require_each_once(header)
    return _parse_cells(cells[1:].set_axis(header, axis="columns").dropna(how="all").reset_index(drop=True))


_READERS = {".csv": _read_csv, ".xlsx": _read_excel}


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    """Convert a table to pandas, with Arrow decimals unchanged."""
    _require_each_once(table.column_names)
    frame: pd.DataFrame = table.to_pandas(
        types_mapper=lambda kind: pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else None
    )
    return frame


def _require_each_once(names: list[str]) -> None:
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise FrameError(f"column occurs more than once: {join_ids(repeated)}")


def _parse_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert the texts of boolean columns, and leave all other cells unchanged."""
    booleans = [name for name, dtype in LineEntries.dtypes().items() if name in frame and dtype == BOOLEAN]
    texts = [name for name in booleans if pd.api.types.infer_dtype(frame[name], skipna=True) == "string"]
    return frame.assign(**{name: _parse_booleans(frame[name]) for name in texts})


def _parse_booleans(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert "true" and "false" in any case.

    A column with other words stays unchanged.
    """
    words = column.str.lower()
    known = words.isna() | words.isin(list(_BOOLEANS))
    return words.map(_BOOLEANS).astype(BOOLEAN) if known.all() else column


def _in_floats(frame: pd.DataFrame, scale: int | None) -> pd.DataFrame:
    """Convert amounts to floats of one scale. Texts are parsed digit by digit."""
    names = [name for name in LineEntries.amount_columns() if name in frame]
    stated = [scale, *stated_scales(frame), *(decimal_scale(frame[name]) for name in names)]
    found = find_scale(stated)
    ids = frame["id"] if "id" in frame else frame.index.to_series(name="row")
    exact = {name: _exact(frame[name], found.scale, ids) for name in names}
    noise = noise_notes(sum(exact_column.noise_removed for exact_column in exact.values()))
    floats = frame.assign(**{name: in_floats(exact_column.column) for name, exact_column in exact.items()})
    floats.attrs = frame.attrs | {"scale": found.scale, "notes": (*frame.attrs.get("notes", ()), *found.notes, *noise)}
    return floats


def _exact(column: pd.Series[Any], scale: int, ids: pd.Series[Any]) -> ExactColumn:
    """Convert a column of texts, or of any numbers, to exact amounts."""
    is_text = pd.api.types.infer_dtype(column, skipna=True) == "string"
    return (parse_amounts if is_text else exact_amounts)(column, scale, ids)


def check_midnights(midnights: str, time_zone: ZoneLike | None) -> None:
    """Refuse an unknown meaning of midnights, and days without a zone."""
    if midnights not in {"days", "instants"}:
        raise InputError(f"midnights is {midnights!r}; it must be 'days' or 'instants'")
    if midnights == "days" and time_zone is None:
        raise InputError("midnights='days' needs time_zone=, the zone of these days")


def _with_local_dates(frame: pd.DataFrame, time_zone: ZoneLike, midnights: str | None) -> pd.DataFrame:
    chosen = choose_zone(time_zone)
    given = LineEntries.checked(frame)
    lines = given.drop(columns="local_date", errors="ignore")
    dates = local_midnights(lines["datetime"], chosen.name)
    if midnights == "days":
        lines["datetime"], dates = _noons(lines, chosen.name)
    elif (
        midnights is None
        and are_midnights_elsewhere(lines["datetime"], chosen.name)
        and not ("local_date" in given and given["local_date"].eq(dates).all())
    ):
        first = lines["datetime"].min()
        raise InputError(
            f"all instants are midnights of UTC: as days the first is {first:%Y-%m-%d}, as instants it is "
            f"{first.tz_convert(chosen.name):%Y-%m-%d %H:%M} in {chosen.name}; state midnights='days' or "
            "midnights='instants'"
        )
    refuse_other_days(given.assign(datetime=lines["datetime"]), chosen.name)
    lines["local_date"] = dates
    lines.attrs["notes"] = (*given.attrs["notes"], *chosen.notes)
    return lines


def _noons(lines: pd.DataFrame, time_zone: str) -> tuple[pd.Series[Any], pd.Series[Any]]:
    """Return local noon and day of lines that state only days.

    A line that is not at midnight of UTC is refused.
    """
    instants = lines["datetime"]
    others = lines.loc[instants.ne(instants.dt.normalize()), "id"]
    if len(others):
        raise InputError(f"midnights='days': these lines are not at midnight of UTC: {join_ids(others)}")
    days = instants.dt.tz_localize(None)
    noons = (days + pd.Timedelta(hours=12)).dt.tz_localize(zone(time_zone)).dt.tz_convert("UTC")
    return noons.astype(instants.dtype), days.astype(LOCAL_DATE)
