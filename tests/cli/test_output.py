"""What commands print on stderr: notes, and commands to run next."""

from accounting_analytics.cli.output import command_line


def test_command_to_run_next():
    """Options that were not given are left out, flags have no value, and a shell reads each argument as it is."""
    command = command_line("plan", decisions="my file.csv", start_date="2026-05-01", profile=None, all=False, demo=True)
    assert command == "accounting-analytics plan --decisions 'my file.csv' --start-date 2026-05-01 --demo"
