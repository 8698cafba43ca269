"""Checks of the machine really use what they check: each one can fail, and says what to do."""

import shutil
import zoneinfo
from pathlib import Path

import matplotlib as mpl
import pytest

import accounting_analytics as aa
from accounting_analytics.core.periods import time_zone_names
from accounting_analytics.diagnosis import Part
from accounting_analytics.diagnosis.doctor import (
    check_disk,
    check_fonts,
    check_library,
    check_machine,
    check_time_zones,
)
from accounting_analytics.diagnosis.findings import run_check


@pytest.fixture
def zone_folders():
    """Return a function that sets the folders of the system's zone data, and restore them at the end."""
    before = zoneinfo.TZPATH
    yield lambda *folders: zoneinfo.reset_tzpath(to=[str(folder) for folder in folders])
    zoneinfo.reset_tzpath(to=before)


def test_zone_without_data_is_named(monkeypatch):
    names = time_zone_names() | {"Mars/Olympus"}
    monkeypatch.setitem(check_time_zones.__globals__, "time_zone_names", lambda: names)
    finding = run_check(Part.MACHINE, "time zones", check_time_zones)
    assert (finding.verdict, finding.exit_code) == ("failed", 2)
    assert "Mars/Olympus" in finding.message


def test_damaged_zone_file_is_found(zone_folders, tmp_path):
    (tmp_path / "Antarctica").mkdir()
    (tmp_path / "Antarctica" / "Troll").write_bytes(b"TZif")
    zone_folders(tmp_path)
    zoneinfo.ZoneInfo.clear_cache(only_keys=["Antarctica/Troll"])
    finding = run_check(Part.MACHINE, "time zones", check_time_zones)
    assert (finding.verdict, finding.exit_code) == ("failed", 2)
    assert "Antarctica/Troll" in finding.message


def test_missing_folder_is_checked_by_its_nearest_parent(tmp_path):
    finding = check_disk(tmp_path / "not" / "there")
    assert finding.verdict in {"ok", "warning"}
    assert f"MB free in {tmp_path}" in finding.message
    assert not (tmp_path / "not").exists()


def test_unwritable_folder_fails_the_check():
    finding = run_check(Part.MACHINE, "disk", lambda: check_disk(Path("/proc/sys")))
    assert (finding.verdict, finding.exit_code) == ("failed", 2)
    assert "cannot write to /proc/sys" in finding.message


@pytest.mark.parametrize(("free", "verdict"), [(10, "failed"), (500, "warning"), (5000, "ok")])
def test_low_disk_space_warns_and_none_fails(tmp_path, monkeypatch, free, verdict):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free << 20))
    finding = check_disk(tmp_path)
    assert finding.verdict == verdict
    assert f"{free:,} MB free" in finding.message


def test_broken_library_is_a_warning_with_its_reason(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("raise ImportError('libexample.so is missing')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    finding = check_library("broken_library", "charts cannot be drawn")
    assert (finding.verdict, finding.exit_code) == ("warning", 0)
    assert finding.message == "charts cannot be drawn: ImportError: libexample.so is missing"


@pytest.mark.long
def test_all_checks_are_made_unless_configuration_is_wrong(tmp_path, monkeypatch):
    findings = {finding.check: finding for finding in check_machine(tmp_path)}
    assert set(findings) == {"time zones", "disk", "JupyterLab", "fonts", "plotly"}
    for check in ("time zones", "JupyterLab", "plotly"):
        assert findings[check].verdict == "ok", findings[check]
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BASE_URL", "ledgers.example.com")
    result = aa.doctor()
    assert (result.exit_code, len(result.findings)) == (2, 6)
    assert {finding.part for finding in result.findings} == {Part.MACHINE}


def test_fonts_that_cannot_be_listed_are_not_checked(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert run_check(Part.MACHINE, "fonts", check_fonts).message.startswith("not checked: fc-list of fontconfig")


def test_scripts_without_a_font_are_named(tmp_path, monkeypatch):
    fonts = tmp_path / "fonts.conf"
    folders = f"<dir>{mpl.get_data_path()}/fonts/ttf</dir><cachedir>{tmp_path}</cachedir>"
    rejected = "<selectfont><rejectfont><glob>*LastResort*</glob></rejectfont></selectfont>"
    fonts.write_text(f"<fontconfig>{folders}{rejected}</fontconfig>", encoding="utf-8")
    monkeypatch.setenv("FONTCONFIG_FILE", str(fonts))
    finding = run_check(Part.MACHINE, "fonts", check_fonts)
    assert finding.verdict == "ok"
    assert finding.message.startswith("none for Chinese, Japanese, Korean, Devanagari, Thai: a PDF of a pack has boxes")
