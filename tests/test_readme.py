"""The README and its guides are tested against the program: their blocks run, and their results are looked at."""

import os
import re
import shlex
from pathlib import Path

import pytest

import accounting_analytics as aa

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text(encoding="utf-8")
GUIDES = {
    name: (PROJECT / "accounting_analytics" / name / "README.md").read_text(encoding="utf-8")
    for name in ("client", "loading", "recategorization", "local_books", "exports", "service")
}
GUIDES["service"] += (PROJECT / "accounting_analytics" / "service" / "administration.md").read_text(encoding="utf-8")
INDEX = (PROJECT / "notebooks" / "README.md").read_text(encoding="utf-8")
PROGRAM = "accounting-analytics"
STRICT = "import warnings; warnings.simplefilter('error')"
LONGEST_LINE, LONGEST_PARAGRAPH = 170, 4
PYTHON_RESULTS = {
    "README": """
assert len(cash["Rent", "2026-05"].entries) > 0
assert aa.check_completeness(books).complete
assert aa.verify_pack("may.html").verified
""",
    "loading": """
assert len(cash[cash.amount == 7514.02]) == 1, cash
assert len(matched) == len(bank) == 13, matched
assert list(matched[matched.id.isna()].text) == ["STOP PAYMENT FEE"], matched
assert len(figure.mark("inflow|2026-05").entries) > 0
""",
    "recategorization": """
assert len(plan) > 0 and "Travel" in set(plan.frame["updated_category_ledger_name"]), plan
journal = __import__("pathlib").Path("recategorize.journal").read_text()
assert journal.count('"outcome": "done"') > 100 and '"outcome": "unknown"' not in journal
""",
}
"""What the Python blocks have made."""
PRINTED = {
    "import": r"entries: [1-9]",
    "bridge": r"Net change in cash",
    "statements ageing": r"open on \d+ May 20\d\d",
    "outlook": r"due until \d",
    "queue": r"groups?",
    "reconcile": r"agree to the last digit",
    "preview": r"\d+\.\d\d",
    "statements income --books": r"Net income",
    "books history": r"20\d\d-",
    "verify-export": r"^Verified: ",
}
"""What commands print, by their beginning."""


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text):
    """Return the commands of all shell blocks that end by themselves and need no database server."""
    lines = [line for block in blocks(text, "sh") for line in block.splitlines() if line.startswith(PROGRAM)]
    return [line for line in lines if " serve " not in line and "postgresql://" not in line]


@pytest.mark.parametrize("name", PYTHON_RESULTS)
def test_python_blocks_run(checkout, fork_server, name):
    text = GUIDES.get(name, README)
    code = [STRICT, *blocks(text, "python"), PYTHON_RESULTS[name]]
    fork_server.start("\n".join(code), folder=checkout)
    finished = fork_server.wait()
    assert finished.returncode == 0, finished.stderr
    agrees = "agree to the last digit" in " ".join(finished.stdout.split())
    assert agrees == (name != "recategorization")


@pytest.fixture
def run_commands(checkout, command_line):
    """Return a function that runs commands one after the other in one folder."""

    def run_commands(commands, **environment):
        for command in commands:
            words = shlex.split(command, comments=True)[1:]
            finished = command_line(words, checkout, os.environ | environment)
            assert finished.returncode == 0, f"{command}\n{finished.stderr}"
            for beginning, text in PRINTED.items():
                if command.startswith(f"{PROGRAM} {beginning}"):
                    assert re.search(text, finished.stdout + finished.stderr), f"{command}\n{finished.stdout}"

    return run_commands


SHORTER_GUIDES = [text for name, text in GUIDES.items() if name != "service"]
# what is enough of the books to run each command: the fewer days are before its own, the less it loads
FEWER_MONTHS = {
    "2026-01-01": "2025-05-01",
    "2026-06-30": "2025-05-31",
    "2026-": "2025-",
    "sync --demo": "sync --demo --start-date 2025-04-01 --end-date 2025-06-30",
}
# the formats of a pack have tests of their own, and an outlook needs half a year
LONG = ("pack --demo --period 2026-05 --excel", "outlook")


@pytest.mark.long
def test_shell_commands_run_as_they_are(run_commands, checkout):
    run_commands([command for text in (README, *SHORTER_GUIDES) for command in commands(text)])
    check_files(checkout, "2026-05-01_2026-05-31")
    (workbook,) = checkout.glob("packs/*.xlsx")
    assert workbook.stat().st_size > 50_000


def test_shell_commands_run_on_fewer_months(run_commands, demo_company, checkout):
    all_commands = [command for text in (README, *SHORTER_GUIDES) for command in commands(text)]
    shorter = [command for command in all_commands if not any(text in command for text in LONG)]
    for text, months in FEWER_MONTHS.items():
        assert any(text in command for command in shorter)
        shorter = [command.replace(text, months) for command in shorter]
    run_commands([command.replace(" --demo", "") for command in shorter], **demo_company.environment())
    check_files(checkout, "2025-05-01_2025-05-31")


def check_files(checkout, days):
    """Check that the commands of the README have written files with rows."""
    assert (checkout / "plan.csv").stat().st_size > 1_000
    assert (checkout / "runs" / f"scheduled_report_{days}.html").stat().st_size > 100_000


def test_shell_commands_of_the_service_run(run_commands):
    run_commands(commands(GUIDES["service"]))


def test_sample_files_are_imported_as_their_readme_says(run_commands, checkout):
    commands = re.findall(rf"`({PROGRAM} import [^`]+)`", (checkout / "data" / "README.md").read_text(encoding="utf-8"))
    assert len(commands) == 2
    run_commands(commands)


def test_readme_and_guides_have_commands():
    assert len(commands(README)) == len(blocks(README, "sh")[1].splitlines()) == 6
    assert len([command for text in SHORTER_GUIDES for command in commands(text)]) >= 8
    assert len(commands(GUIDES["service"])) >= 5


@pytest.mark.parametrize("text", [README, INDEX, *SHORTER_GUIDES], ids=lambda text: text.partition("\n")[0])
def test_no_line_paragraph_or_cell_is_too_long(text):
    assert max(map(len, text.splitlines())) <= LONGEST_LINE
    paragraphs = re.split(r"\n\s*\n", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    prose = [one for one in paragraphs if not one.lstrip().startswith(("|", "-", "!", "#"))]
    assert max(one.strip().count("\n") + 1 for one in prose) <= LONGEST_PARAGRAPH


def test_questions_of_the_index_have_answers(demo_company, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("budget.csv").write_text("ledger,month,amount\nRent,2026-05,7000\n", encoding="utf-8")
    books = aa.load_books(demo_company.client, (demo_company.start_date, demo_company.end_date), progress=False)
    section = INDEX.partition("## Answer\n")[2].partition("\n## ")[0]
    calls = re.findall(r"`(aa\.[^`]+)`", section)
    answers = [eval(call, {"aa": aa, "books": books}) for call in calls]  # noqa: S307 (our own text)
    assert len(answers) > 10
    assert [
        call for call, one in zip(calls, answers, strict=True) if isinstance(one, aa.Figure) and one.units is None
    ] == []


def test_every_public_name_is_in_the_index():
    functions = [name for name in aa.__all__ if name[0].islower() and name not in {"errors", "charts", "schemas"}]
    others = {"cash_flow_statement", "balance_sheet", "trial_balance"}
    called = {name: len(re.findall(rf"aa\.{name}\b", INDEX)) for name in functions if name not in others}
    assert {name: count for name, count in called.items() if count < 1} == {}


def test_links_lead_to_files():
    texts = {PROJECT: README, PROJECT / "notebooks": INDEX}
    texts |= {PROJECT / "accounting_analytics" / name: text for name, text in GUIDES.items()}
    for folder, text in texts.items():
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
            assert (folder / target).exists(), (folder, target)
