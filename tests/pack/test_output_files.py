"""Files of a pack: replaced together, or left as they were; and the workbook, which has all that is on the page."""

import errno
import os
import stat
import unicodedata
import zipfile
from decimal import Decimal

import openpyxl
import pytest
from interruptions import COUNTED

import accounting_analytics as aa
from accounting_analytics.core import atomic_files
from accounting_analytics.core.errors import EmptyPeriodError, InputError
from accounting_analytics.pack.pack_files import OutputFiles, pack_name

OLD = {".html": b"old page", ".pdf": b"old paper", ".xlsx": b"old sheets"}
NEW = {".html": b"new page", ".pdf": b"new paper", ".xlsx": b"new sheets"}
PROGRAM = f"""
{COUNTED}
from accounting_analytics.pack.pack_files import OutputFiles

folder, name = arguments
os.open, os.fsync = counted(os.open), counted(os.fsync)
pathlib.Path.replace = counted(pathlib.Path.replace)
files = OutputFiles(pathlib.Path(folder), name)
with files.locked():
    files.replace({NEW!r})
"""


@pytest.fixture
def files(tmp_path):
    """Return the files of a pack, as an earlier run wrote them to a new folder."""
    files = OutputFiles(tmp_path / "packs", "harbor_2026-05")
    with files.locked():
        files.replace(OLD)
    return files


@pytest.fixture
def stored(files):
    """Return a function that reads what is in the folder, without the lock."""

    def stored():
        return {path.name: path.read_bytes() for path in files.folder.iterdir() if not path.name.startswith(".")}

    return stored


def named(contents):
    return {f"harbor_2026-05{suffix}": content for suffix, content in contents.items()}


@pytest.mark.parametrize(
    ("company", "days", "name"),
    [
        ("Harbor Lane Coffee Roasters", ("2026-05-01", "2026-05-31"), "harbor-lane-coffee-roasters_2026-05"),
        ("A/B & Söhne, Inc.", ("2026-04-01", "2026-06-30"), "a-b-söhne-inc_2026-Q2"),
        ("東京珈琲", ("2025-01-01", "2025-12-31"), "東京珈琲_2025"),
        ("../../etc", ("2026-05-01", "2026-05-30"), "etc_2026-05-01_2026-05-30"),
        (None, ("2024-02-01", "2024-02-29"), "pack_2024-02"),
        ("...", ("2026-02-01", "2026-03-31"), "pack_2026-02-01_2026-03-31"),
        ("x" * 300, ("2026-05-01", "2026-05-31"), f"{'x' * 60}_2026-05"),
        (unicodedata.normalize("NFD", "Söhne"), ("2026-05-01", "2026-05-31"), "söhne_2026-05"),
    ],
)
def test_names_have_company_words_and_a_short_period(company, days, name):
    assert pack_name(company, aa.Period(*days)) == name


def test_quarter_is_named_in_the_fiscal_year():
    assert pack_name("A", aa.Period("2025-01-01", "2025-03-31"), 7) == "a_2024-25-Q3"
    assert pack_name("A", aa.Period("2025-05-01", "2025-05-31"), 7) == "a_2025-05"


def test_a_run_replaces_the_files_of_the_run_before(files, stored):
    for contents in (OLD, {".html": b"new page", ".xlsx": b"new sheets"}):
        with files.locked():
            assert files.replace(contents) == {suffix: files.path(suffix) for suffix in contents}
        assert stored() == named(contents)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files.folder.iterdir()} == {0o600}


def test_a_failed_run_changes_nothing(files, stored):
    with pytest.raises(EmptyPeriodError), files.locked():
        raise EmptyPeriodError("no line entries")
    assert stored() == named(OLD)
    with files.locked():
        files.replace(NEW)
    assert stored() == named(NEW)


def test_second_run_of_a_name_is_refused(files, stored):
    with files.locked():
        refused = pytest.raises(InputError, match=r"another run writes harbor_2026-05 in .*; nothing was changed")
        with refused, OutputFiles(files.folder, files.name).locked():
            pytest.fail("locked twice")
        assert stored() == named(OLD)
        with OutputFiles(files.folder, "harbor_2026-06").locked():
            pass
    with files.locked():
        pass


@pytest.mark.parametrize("fails_at", range(1, 4))
def test_a_full_disk_changes_no_file(files, stored, monkeypatch, fails_at):
    synced = []

    def fsync(descriptor):
        synced.append(descriptor)
        if len(synced) % fails_at == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic_files.os, "fsync", fsync)
    message = "cannot be written: No space left on device; no new file was written"
    with pytest.raises(InputError, match=message), files.locked():
        files.replace(NEW)
    assert stored() == named(OLD)


def test_unwritable_folder_is_named_before_anything(tmp_path):
    (tmp_path / "file").write_text("")
    refused = pytest.raises(InputError, match=r"the folder .*file/packs cannot be written: Not a directory")
    with refused, OutputFiles(tmp_path / "file" / "packs", "harbor_2026-05").locked():
        pytest.fail("locked")


def test_files_killed_at_any_step_are_old_or_new(tmp_path, fork_server):
    mixed = set()
    for step in range(1, 100):
        files = OutputFiles(tmp_path / str(step), "harbor_2026-05")
        with files.locked():
            files.replace(OLD)
        fork_server.start(PROGRAM, step, files.folder, files.name, folder=tmp_path)
        finished = fork_server.wait()
        found = {suffix: files.path(suffix).read_bytes() for suffix in OLD}
        for suffix, content in found.items():
            assert content in {OLD[suffix], NEW[suffix]}
        mixed.add(tuple(found.values()))
        with files.locked():
            assert [*files.folder.glob("*.unfinished")] == []
            files.replace(NEW)
        if finished.returncode == 0:
            break
        assert finished.returncode == -9, finished.stderr
    assert finished.returncode == 0
    assert step > 6
    assert {tuple(OLD.values()), tuple(NEW.values())} <= mixed


@pytest.fixture(scope="module")
def path(demo_pack, tmp_path_factory):
    """Return the workbook of the pack of May 2026."""
    path = tmp_path_factory.mktemp("workbook") / "pack.xlsx"
    demo_pack.save_workbook(path)
    return path


@pytest.fixture(scope="module")
def workbook(path):
    return openpyxl.load_workbook(path)


def test_page_one_is_the_first_sheet_entries_the_last(workbook):
    assert workbook.sheetnames == [
        *("Summary", "Income statement", "Cash flow statement", "Balance sheet", "Twelve months", "Key ratios"),
        *("Cash bridge", "Cash accounts"),
        *("Cash by day", "Cash in and out", "Top customers", "Top payees", "Recurring payments"),
        *("Due next", "By age", "Not categorized", "Coding", "Reconciliation", "Appendix"),
        *("Entries, income statement", "Entries, cash flow statement", "Entries, balance sheet"),
    ]


def test_every_table_of_a_pack_is_a_sheet(workbook, demo_pack):
    on_page_one = {"key_figures", "sentences"}
    titles = {made.table.title for name, made in demo_pack.content.tables.items() if name not in on_page_one}
    assert titles <= {sheet["A1"].value for sheet in workbook} | {*workbook.sheetnames}


def cell_value(figure):
    """Return what a cell stores of a figure: of a percentage its hundredth, which its format shows."""
    exact = figure.exact()
    return float(exact if isinstance(figure.units, int) else exact.scaleb(-2))


def test_rows_and_amounts_are_those_of_the_page(path, demo_pack):
    sheets = openpyxl.load_workbook(path, data_only=True)
    names = {"income": "Income statement", "cash_flow": "Cash flow statement", "balance": "Balance sheet"}
    names |= {"cash_bridge": "Cash bridge", "payees": "Top payees", "uncategorized": "Not categorized"}
    for name, title in (names | {"key_figures": "Summary", "cash_by_day": "Cash by day"}).items():
        rows = [[one.value for one in row] for row in sheets[title].iter_rows()]
        texts = [tuple(str(one) for one in row if one is not None) for row in rows]
        table = demo_pack.content.tables[name]
        for row in table.table.rows:
            amounts = [cell_value(table.figure(cell.key)) for cell in row.cells if cell.key and cell.mark != "unknown"]
            found = [one for one in rows if one[0] == row.label]
            numbers = [[cell for cell in one[1:] if isinstance(cell, float | int)] for one in found]
            assert amounts in numbers or (not amounts and found), (title, row.label, amounts, numbers, texts[:3])


@pytest.mark.long
def test_workbook_has_page_one_with_pictures_and_fingerprint(path, workbook, demo_pack):
    sheet = workbook["Summary"]
    texts = {cell.value for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str)}
    assert {"Cash flow proven", *demo_pack.reasons, *demo_pack.sentences} <= texts
    assert f"Fingerprint of the page: {demo_pack.fingerprint}" in texts
    with zipfile.ZipFile(path) as archive:
        images = [name for name in archive.namelist() if name.startswith("xl/media/")]
        drawing = archive.read("xl/drawings/drawing1.xml").decode()
    assert len(images) == len(demo_pack.content.pictures) >= 3
    assert all(picture.text in drawing for picture in demo_pack.content.pictures.values())


def test_figures_are_linked_to_their_entries(workbook):
    rows = {row[0].value: row for row in workbook["Income statement"].iter_rows()}
    name, _, cells = rows["Rent"][1].hyperlink.location.rpartition("!")
    assert name == "'Entries, income statement'"
    (entry,) = workbook[name.strip("'")][cells]
    assert Decimal(str(entry[4].value)) == 7900


def test_a_name_that_is_not_of_a_workbook_is_refused(demo_pack, tmp_path):
    with pytest.raises(InputError, match="a workbook needs a name that ends in"):
        demo_pack.save_workbook(tmp_path / "pack.xls")
    assert not list(tmp_path.iterdir())
