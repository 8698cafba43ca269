"""The recipes of the guides: a crontab, units of systemd and a workflow; each is checked, and its command run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from accounting_analytics.demo_company.served_company import COMPANY

GUIDES = "".join(
    (Path(__file__).parents[2] / "accounting_analytics/pack" / name).read_text(encoding="utf-8")
    for name in ("README.md", "as_a_job.md")
)
MONTH = "2025-02"  # with little before it to load
PROGRAM = Path(sys.executable).with_name("accounting-analytics")
FILES = {f"harbor-lane-coffee-roasters_{MONTH}.{kind}" for kind in ("html", "pdf")}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDES, re.MULTILINE | re.DOTALL)


def check(*command):
    """Run a program that checks files; return what it prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (our own recipes)


@pytest.fixture
def run_shell(tmp_path, demo_company):
    """Return a function that runs a line of a recipe as its scheduler does, connected to the demo company."""
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/accounting-analytics").symlink_to(PROGRAM)
    variables = {"PATH": f"{tmp_path / 'venv/bin'}:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(tmp_path)}

    def run_shell(line, **environment):
        return subprocess.run(  # noqa: S603 (our own recipes)
            ["/bin/sh", "-e", "-c", line],
            cwd=tmp_path,
            env=variables | demo_company.environment() | environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run_shell


def written(folder):
    """Names of the files of a pack in a folder."""
    return {path.name for path in folder.glob("[!.]*_20*")}


@pytest.mark.long
@pytest.mark.browser
def test_commands_of_the_readme_run_in_one_folder(run_shell, tmp_path):
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) > 1
    for command in commands:
        finished = run_shell(command.replace(" --demo", ""), ACCOUNTING_ANALYTICS_COMPANY=COMPANY)
        assert finished.returncode == 0, finished.stderr
    assert {path.suffix for path in (tmp_path / "packs").glob("harbor*")} == {".html", ".pdf", ".xlsx"}


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.crontab
def test_crontab_is_accepted_and_prints_only_failures(run_shell, tmp_path):
    ((crontab),) = blocks("crontab")
    (tmp_path / "crontab").write_text(crontab, encoding="utf-8")
    check("crontab", "-n", tmp_path / "crontab")
    command = crontab.splitlines()[-1].split(maxsplit=5)[-1].replace("/srv/packs", str(tmp_path))
    assert "%" not in command  # cron takes it for a line break
    finished = run_shell(command.replace("last-month", MONTH))
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
    assert written(tmp_path / "out") == FILES
    assert "fingerprint" in (tmp_path / "pack.log").read_text(encoding="utf-8")
    assert run_shell(command.replace("last-month", "2030-05")).stdout == f"exit code 3: see {tmp_path}/pack.log\n"


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.systemd
def test_systemd_units_are_valid_and_write_the_pack(run_shell, tmp_path):
    service, timer = blocks("ini")
    program = "/opt/monthly-pack/bin/accounting-analytics"
    (tmp_path / "monthly-pack.service").write_text(service.replace(program, str(PROGRAM)), encoding="utf-8")
    (tmp_path / "monthly-pack.timer").write_text(timer, encoding="utf-8")
    verified = check("systemd-analyze", "verify", tmp_path / "monthly-pack.service", tmp_path / "monthly-pack.timer")
    assert verified.stdout + verified.stderr == ""
    days = re.search(r"^OnCalendar=(.*)$", timer, re.MULTILINE)[1]
    assert f"Normalized form: {days}" in check("systemd-analyze", "calendar", days).stdout
    command = re.search(r"^ExecStart=(.*)$", service, re.MULTILINE)[1].replace(program, "accounting-analytics")
    command = command.replace("/var/lib/monthly-pack", str(tmp_path / "packs"))
    finished = run_shell(command.replace("last-month", MONTH))
    assert finished.returncode == 0, finished.stderr
    assert written(tmp_path / "packs") == FILES


@pytest.mark.long
@pytest.mark.browser
def test_workflow_has_no_secret_and_writes_the_pack(run_shell, tmp_path):
    ((text),) = blocks("yaml")
    job = yaml.safe_load(text)["jobs"]["pack"]
    *_, step, upload = job["steps"]
    secrets = {name: value for name, value in step["env"].items() if "TOKEN" in name}
    assert secrets == {"ACCOUNTING_ANALYTICS_TOKEN": "${{ secrets.LEDGER_TOKEN }}"}
    finished = run_shell(step["run"], PERIOD=MONTH)
    assert finished.returncode == 0, finished.stderr
    assert written(tmp_path / upload["with"]["path"]) == FILES
