"""The example notebooks on the command line."""

import json


def test_copy(run, tmp_path):
    """The copied files are printed on stdout and what to do next on stderr; files that differ need --force."""
    finished = run("notebooks", "copy", "my folder", "--json")
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    assert "notebooks/01_cash_flow.ipynb" in result["copied"]
    assert result["unchanged"] == []
    assert "next: jupyter lab 'my folder'" in finished.stderr
    (tmp_path / "my folder" / "data" / "rules.toml").write_text("mine", encoding="utf-8")
    refused = run("notebooks", "copy", "my folder")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: 1 file in my folder unlike")
    forced = run("notebooks", "copy", "my folder", "--force")
    assert forced.returncode == 0
    assert forced.stdout.startswith("copied: data/rules.toml\n")
