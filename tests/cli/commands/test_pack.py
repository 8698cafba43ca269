"""Packs on the command line: what is written and verified, and of each fault its exit code and one message."""

import hashlib
import os
import re
import signal
import stat
import time

import matplotlib as mpl
import pytest
from alterations import alter
from small_packs import PLAIN_NAMES, make_books, page_html

import accounting_analytics as aa
from accounting_analytics.pack.pack_files import OutputFiles

JANUARY = ("--period", "2025-01", "--output", "packs")
CHANGES = ("--section", "income_statement", "--section", "changes")
WITHOUT_PICTURES = ("--section", "income_statement")
NAME = "harbor-lane_2025-01"
FINGERPRINT = r"[0-9a-f]{64}"
NOWHERE = "http://127.0.0.1:1"
MAIN = "from accounting_analytics.cli import main; main()"
OLD_PAGE = page_html(make_books(names=PLAIN_NAMES | {"company": "Harbor Lane"}))
OLD = {".html": OLD_PAGE.encode(), ".pdf": b"old paper"}


class PackFolder(OutputFiles):
    """The files of the pack of January, in a folder."""

    def write_old(self):
        """Write the files of an earlier run."""
        with self.locked():
            self.replace(OLD)

    def stored(self):
        """Return the contents of the files by name, without the lock."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if not path.name.startswith(".")}

    def read(self, suffix):
        return self.path(suffix).read_bytes()


@pytest.fixture
def folder(tmp_path):
    """Return the folder that the pack is written to, without files."""
    return PackFolder(tmp_path / "packs", NAME)


@pytest.fixture
def old(folder):
    """Return the folder with the files of an earlier run."""
    folder.write_old()
    return folder


@pytest.fixture
def settings(deep_books):
    """Return the settings of the service of small books, with the name of the company."""
    named = {"ACCOUNTING_ANALYTICS_COMPANY": "Harbor Lane", "ACCOUNTING_ANALYTICS_TIME_ZONE": "UTC"}
    return deep_books.environment() | named


@pytest.fixture
def run_pack(run, settings):
    """Return a function that runs the command on the books, perhaps through another address."""

    def pack(*options, base_url=None, **environment):
        address = {} if base_url is None else {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}
        return run("pack", *options, **settings | address | environment)

    return pack


def named(contents):
    return {f"{NAME}{suffix}": content for suffix, content in contents.items()}


def test_page_is_private_with_its_fingerprint_on_stderr(run_pack, folder):
    finished = run_pack(*JANUARY)
    assert finished.stdout == f"packs/{NAME}.html\n"
    (fingerprint,) = re.findall(
        rf"^Harbor Lane, Jan 2025: cash flow proven; fingerprint ({FINGERPRINT})$", finished.stderr, re.MULTILINE
    )
    assert fingerprint == hashlib.sha256(folder.read(".html")).hexdigest()
    assert folder.stored().keys() == {f"{NAME}.html"}
    assert stat.S_IMODE(folder.path(".html").stat().st_mode) == 0o600


def test_page_compares_with_a_budget_file(run_pack, folder, tmp_path):
    (tmp_path / "budget.csv").write_text("ledger,month,amount\nExpenses,2025-01,100\n", encoding="utf-8")
    run_pack(*JANUARY, "--section", "budget", "--budget", "budget.csv")
    assert "Budget and actual" in folder.read(".html").decode()


def test_depreciation_ledgers_give_ebitda_or_are_refused(run_pack, folder):
    run_pack(*JANUARY, "--section", "key_ratios", "--depreciation", "Rent")
    page = folder.read(".html").decode()
    assert ("EBITDA, Jan 2025" in page, "name the ledgers of depreciation" in page) == (True, False)
    assert "matches 'Rnt'" in run_pack(*JANUARY, "--depreciation", "Rnt", code=2).stderr


@pytest.mark.browser
def test_every_format_is_of_one_run(run_pack, old):
    (old.folder.parent / "note.md").write_text("We hired *one* person.\n", encoding="utf-8")
    result = run_pack(*JANUARY, "--pdf", "--excel", "--note", "note.md", "--json").content
    assert result["files"] == {kind: f"packs/{NAME}.{kind}" for kind in ("html", "xlsx", "pdf")}
    assert (result["title"], result["verdict"]) == ("Harbor Lane, Jan 2025", "cash flow proven")
    assert old.stored().keys() == {f"{NAME}{suffix}" for suffix in (".html", ".xlsx", ".pdf")}
    assert "We hired <em>one</em> person." in old.read(".html").decode()
    assert result["fingerprint"] == hashlib.sha256(old.read(".html")).hexdigest()


@pytest.mark.browser
def test_letters_missing_from_fonts_are_named_before_the_pdf(run_pack, folder, tmp_path):
    fonts = tmp_path / "fonts.conf"
    folders = f"<dir>{mpl.get_data_path()}/fonts/ttf</dir><cachedir>{tmp_path}</cachedir>"
    rejected = "<selectfont><rejectfont><glob>*LastResort*</glob></rejectfont></selectfont>"
    fonts.write_text(f"<fontconfig>{folders}{rejected}</fontconfig>", encoding="utf-8")
    names = {"ACCOUNTING_ANALYTICS_COMPANY": "Söhne 東京", "FONTCONFIG_FILE": str(fonts)}
    finished = run_pack(*JANUARY, *WITHOUT_PICTURES, "--pdf", **names)
    assert "note: no font of this machine has '京東': the PDF has boxes" in finished.stderr
    assert (folder.folder / "söhne-東京_2025-01.pdf").exists()


@pytest.mark.parametrize("name", ["Harbor & Lane", "HARBOR. LANE 🐻"])
def test_another_company_is_not_replaced(run_pack, old, assert_refused, name):
    """Names of equal letters make one file name; so do names of signs alone."""
    finished = run_pack(*JANUARY, base_url=NOWHERE, ACCOUNTING_ANALYTICS_COMPANY=name, code=2)
    assert_refused(finished, "is the pack of 'Harbor Lane'", "choose another folder", "nothing was changed")
    assert old.stored() == named(OLD)


def test_other_page_of_the_name_is_not_replaced(run_pack, old, assert_refused):
    old.path(".html").write_text("<h1>Notes</h1>", encoding="utf-8")
    assert_refused(run_pack(*JANUARY, base_url=NOWHERE, code=2), "is not a pack that can be read", "move it")
    assert old.read(".html") == b"<h1>Notes</h1>"


def test_pack_of_local_books_needs_no_service(run, demo_books, tmp_path):
    options = ("--period", "2025-03", "--output", "packs", "--books", demo_books, "--since", "0", *CHANGES)
    finished = run("pack", *options, ACCOUNTING_ANALYTICS_BASE_URL=NOWHERE)
    assert finished.stdout == "packs/pack_2025-03.html\n"
    page = (tmp_path / "packs" / "pack_2025-03.html").read_text(encoding="utf-8")
    assert '<section id="changes">' in page


REFUSED = {
    ("--perod", "2026-05"): "Unknown option: --perod. Did you mean --period?",
    ("--period", "2026-05", "--since", "2026-05-01"): "--since is for local books",
    ("--period", "2026-05", "--note", "absent.md"): "--note absent.md cannot be read: ",
    ("--period", "2026-05", "--budget", "absent.csv"): "budget: absent.csv cannot be read: No such file",
    ("--period", "2026-05", "--section", "sumary"): "'sumary'",
    ("--period", "2026-05", "--templates", "absent"): "absent is not a folder",
    ("--period", "2026-05", "--books", "absent"): "absent",
    ("--period", "2026-05", "--profile", "absent"): "no profile 'absent'",
}


@pytest.mark.parametrize("options", REFUSED, ids=" ".join)
def test_misspelt_parameters_are_named_with_suggestions(run_pack, old, assert_refused, options):
    assert_refused(run_pack(*options, "--output", "packs", code=2), REFUSED[options])
    assert old.stored() == named(OLD)


@pytest.mark.parametrize(
    "options",
    [
        ("--token", "{}"),
        ("{}",),
        ("--period", "2026-05", "--profile", "{}"),
        ("--period", "2026-05", "--time-zone", "Bearer {}"),
    ],
    ids=" ".join,
)
def test_secret_as_parameter_is_refused_and_not_repeated(run_pack, settings, old, assert_refused, options):
    token = settings["ACCOUNTING_ANALYTICS_TOKEN"]
    finished = run_pack(*(option.format(token) for option in options), "--output", "packs", code=2)
    assert_refused(finished)
    assert token not in finished.stderr
    assert old.stored() == named(OLD)


def test_unwritable_folder_is_refused_before_a_load(run_pack, tmp_path, assert_refused):
    (tmp_path / "packs").write_text("")
    assert_refused(run_pack(*JANUARY, base_url=NOWHERE, code=2), "the folder packs cannot be written: ")


def test_pdf_without_a_browser_is_refused_before_a_load(run_pack, old, assert_refused):
    finished = run_pack(*JANUARY, "--pdf", base_url=NOWHERE, ACCOUNTING_ANALYTICS_BROWSER="absent", code=2)
    assert_refused(finished, "browser is 'absent'", "install")
    assert old.stored() == named(OLD)


@pytest.mark.long
def test_failed_browser_leaves_the_page_but_no_old_pdf(run_pack, old, tmp_path):
    (tmp_path / "browser").write_text("#!/bin/sh\necho 'no display' >&2\nexit 7\n")
    (tmp_path / "browser").chmod(0o700)
    finished = run_pack(*JANUARY, "--pdf", ACCOUNTING_ANALYTICS_BROWSER=str(tmp_path / "browser"), code=1)
    assert finished.stdout == f"packs/{NAME}.html\n"
    assert f"(exit code 7): no display; the pack without it is packs/{NAME}.html" in finished.stderr
    assert old.stored().keys() == {f"{NAME}.html"}


def test_files_stay_when_the_service_is_down(run_pack, old, assert_refused):
    assert_refused(run_pack(*JANUARY, base_url=NOWHERE, code=4), "check the address")
    assert old.stored() == named(OLD)


@pytest.fixture
def wrong_service(settings, distortion, forwarding):
    """Return the address of a service whose reports state one unit of the currency too much."""

    def change(path, _, body):
        if "reports" in path:
            body["ending_cash_balance"] = body["ending_cash_balance"] + 1

    with forwarding(settings["ACCOUNTING_ANALYTICS_BASE_URL"], distortion(response=change)) as base_url:
        yield base_url


def test_unreconciled_pack_says_so_and_exits_3(run_pack, old, wrong_service):
    finished = run_pack(*JANUARY, *WITHOUT_PICTURES, base_url=wrong_service, code=3)
    assert finished.stdout == f"packs/{NAME}.html\n"
    title = rf"^Harbor Lane, Jan 2025: cash flow not proven; fingerprint {FINGERPRINT}$"
    assert re.search(title, finished.stderr, re.MULTILINE)
    reasons = re.findall("^error: the cash flow of the pack is not proven: .*Jan 2025", finished.stderr, re.MULTILINE)
    assert len(reasons) == 1
    assert b"cash flow not proven" in old.read(".html")
    assert old.stored().keys() == {f"{NAME}.html"}


def test_empty_period_needs_permission(run_pack, tmp_path, assert_refused):
    options = ("--period", "2030-05", "--output", "packs")
    assert_refused(
        run_pack(*options, code=3), "there are no line entries from 2030-05-01 to 2030-05-31", "--allow-empty"
    )
    assert [*(tmp_path / "packs").glob("*.html")] == []
    run_pack(*options, *WITHOUT_PICTURES, "--allow-empty")
    assert [path.name for path in (tmp_path / "packs").glob("*.html")] == ["harbor-lane_2030-05.html"]


@pytest.mark.long
def test_second_run_of_the_same_month_is_refused(run_pack, old, assert_refused):
    with old.locked():
        assert_refused(run_pack(*JANUARY, code=2), f"another run writes {NAME} in packs", "nothing was changed")
        run_pack("--period", "2024-12", "--output", "packs")
    assert named(OLD).items() <= old.stored().items()


@pytest.mark.long
def test_stopped_run_ends_the_browser(fork_server, settings, old, tmp_path):
    browser, started = tmp_path / "browser", tmp_path / "started"
    browser.write_text(f"#!/bin/sh\necho $$ > {started}.part\nmv {started}.part {started}\nexec sleep 600\n")
    browser.chmod(0o700)
    environment = os.environ | settings | {"ACCOUNTING_ANALYTICS_BROWSER": str(browser)}
    process_id = fork_server.start(MAIN, "pack", *JANUARY, "--pdf", folder=tmp_path, environment=environment)
    while not started.exists():
        os.kill(process_id, 0)  # fails if the run ended
        time.sleep(0.05)
    os.kill(process_id, signal.SIGTERM)
    assert fork_server.wait().returncode == 5
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert old.stored() == named(OLD)


def test_genuine_and_altered_packs_differ_in_exit_code(run, sent_pack):
    path, fingerprint = sent_pack
    genuine = run("verify-pack", path, "--fingerprint", fingerprint)
    assert genuine.stderr == ""
    assert genuine.stdout.startswith("Verified: 28 figures of ")
    other = run("verify-pack", path, "--fingerprint", f"0000{fingerprint[4:]}", code=3)
    assert "- fingerprint: shown 0000" in other.stdout
    path.write_text(alter("figure", 1, path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    altered = run("verify-pack", path, code=3)
    assert "- figure, " in altered.stdout
    assert "is not the page as it was written; ask its sender" in altered.stderr
    content = run("verify-pack", path, "--json", code=3).content
    assert (content["verified"], content["figures"]) == (False, 28)
    assert {fault["what"] for fault in content["faults"]} == {"figure"}


def test_what_is_not_a_pack_or_fingerprint_exits_2(run, assert_refused, sent_pack, tmp_path):
    (tmp_path / "page.html").write_text("<html></html>", encoding="utf-8")
    assert_refused(run("verify-pack", tmp_path / "page.html", code=2), "is not a pack: it has no data of its figures")
    assert_refused(run("verify-pack", sent_pack[0], "--fingerprint", "0123", code=2), "'0123' is not a fingerprint")


def test_pack_in_thousands_is_verified_in_its_unit(run_pack, folder):
    run_pack(*JANUARY, *WITHOUT_PICTURES, "--amounts-in", "k")
    assert b'<span data-field="amounts_in">thousands</span>' in folder.read(".html")
    assert aa.verify_pack(folder.path(".html")).verified
    run_pack(*JANUARY, "--amounts-in", "thousands", base_url=NOWHERE, code=2)
