"""How a service is found: option over environment over profile over default, and secrets kept."""

import pytest

import accounting_analytics as aa
from accounting_analytics.client.configuration import load_settings
from accounting_analytics.errors import ConfigurationError

VARIABLES = ("BASE_URL", "TOKEN", "TOKEN_FILE", "INSTANCE_ID", "INSTANCE_HEADER", "TIME_ZONE", "PROFILE")


@pytest.fixture(autouse=True)
def profile(tmp_path, monkeypatch):
    """Return a function that writes the configuration file; nothing else is configured."""
    for name in (*VARIABLES, "REQUESTS_PER_MINUTE"):
        monkeypatch.delenv(f"ACCOUNTING_ANALYTICS_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "accounting-analytics" / "config.toml"
    file.parent.mkdir()

    def write(text, mode=0o600):
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)

    return write


@pytest.fixture
def token_file(tmp_path):
    """Return a token file that only its owner reads."""
    file = tmp_path / "books.token"
    file.write_text("canary\n")
    file.chmod(0o600)
    return file


def test_the_nearer_setting_wins(profile, monkeypatch):
    """An option beats the environment, the environment the profile, the profile the default; each says whence."""
    profile('[default]\nbase_url = "http://profile"\ninstance_id = "profile"\ntime_zone = "Europe/Berlin"\n')
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BASE_URL", "http://environment")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_INSTANCE_ID", "environment")
    settings = load_settings(base_url="http://option")
    shown = settings.frame().set_index("setting")
    assert settings["base_url"] == "http://option"
    assert settings["instance_id"] == "environment"
    assert settings.time_zone == "Europe/Berlin"
    assert settings["instance_header"] == "service-instance-id"
    assert (
        shown["source"].to_dict() | {"base_url": "option", "time_zone": "profile 'default'"}
        == shown["source"].to_dict()
    )


def test_connects_from_the_environment(monkeypatch, token_file):
    """Base URL, instance and token file are enough; the token is not shown."""
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_INSTANCE_ID", "ins")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_TOKEN_FILE", str(token_file))
    with aa.connect() as client:
        assert client.instance_id == "ins"
        assert "canary" not in repr(client) + repr(load_settings())


def test_secrets_are_masked_when_shown(monkeypatch):
    """A token in the environment is shown as stars."""
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_TOKEN", "canary")
    settings = load_settings()
    assert "canary" not in repr(settings) + settings.frame().to_string()
    assert "***" in repr(settings)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_tokens_that_others_can_read_are_refused(token_file, profile, mode):
    """A token file or a profile with a token must be its owner's alone; the message says how."""
    token_file.chmod(mode)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        aa.connect(base_url="http://x", instance_id="i", token_file=str(token_file))
    profile('[default]\ntoken = "canary"\n', mode)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("[default", None, "cannot be read"),
        ("[default]\nurl = 'x'", None, "settings other than"),
        ("", "work", "no profile 'work'"),
    ],
)
def test_bad_configuration_is_refused(profile, text, name, said):
    """A broken file, an unknown setting and an unknown profile are named."""
    profile(text)
    with pytest.raises(ConfigurationError, match=said):
        load_settings(name)


def test_nothing_configured_helps():
    """Without any configuration the message says what to set and how to try the demo."""
    with pytest.raises(ConfigurationError, match=r"ACCOUNTING_ANALYTICS_BASE_URL.*demo"):
        aa.connect()


def test_empty_and_missing_token_files(token_file):
    """A token file that is empty or not there is named."""
    token_file.write_text("\n")
    for file, said in ((token_file, "empty"), (token_file.with_name("none"), "cannot be read")):
        with pytest.raises(ConfigurationError, match=said):
            aa.connect(base_url="http://x", instance_id="i", token_file=str(file))
