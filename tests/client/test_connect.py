"""Configuration: options over environment over profile over defaults, and masked secrets."""

import base64

import pytest

import accounting_analytics as aa
from accounting_analytics.client.settings import load_settings
from accounting_analytics.core.errors import ConfigurationError

VARIABLES = ("BASE_URL", "TOKEN", "TOKEN_FILE", "INSTANCE_ID", "INSTANCE_HEADER", "TIME_ZONE", "PROFILE", "AMOUNTS")
SHOWN = ("COMPANY", "CURRENCY", "FISCAL_YEAR_START_MONTH")
SERVICE = {"base_url": "http://127.0.0.1:1", "instance_id": "i", "token": "canary"}
OAUTH = ("TOKEN_URL", "CLIENT_ID", "CLIENT_SECRET", "CLIENT_SECRET_FILE")


@pytest.fixture(autouse=True)
def profile(tmp_path, monkeypatch):
    """Return a function that writes the configuration file; nothing else is configured."""
    for name in (*VARIABLES, *SHOWN, *OAUTH, "REQUESTS_PER_MINUTE", "SCALE"):
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
    """Return a token file that only its owner can read."""
    file = tmp_path / "books.token"
    file.write_text("canary\n")
    file.chmod(0o600)
    return file


def test_the_setting_with_the_highest_priority_is_used(profile, monkeypatch):
    profile('[default]\nbase_url = "http://profile"\ninstance_id = "profile"\ntime_zone = "Europe/Berlin"\n')
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BASE_URL", "http://environment")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_INSTANCE_ID", "environment")
    settings = load_settings(base_url="http://option")
    frame = settings.frame.set_index("setting")
    assert settings["base_url"] == "http://option"
    assert settings["instance_id"] == "environment"
    assert settings["time_zone"] == "Europe/Berlin"
    assert settings["instance_header"] == "service-instance-id"
    assert list(frame.loc[["base_url", "time_zone"], "source"]) == ["option", "profile 'default'"]


def test_base_url_instance_and_token_file_are_enough(monkeypatch, token_file):
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_INSTANCE_ID", "ins")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_TOKEN_FILE", str(token_file))
    with aa.connect() as client:
        assert client.instance_id == "ins"
        assert "canary" not in repr(client) + repr(load_settings())
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_TOKEN", "canary")
    settings = load_settings()
    assert "canary" not in repr(settings) + settings.frame.to_string()
    assert "***" in repr(settings)


@pytest.mark.parametrize("configured", [None, "Europe/Berlin"])
def test_the_configured_zone_is_the_clients(monkeypatch, configured):
    if configured:
        monkeypatch.setenv("ACCOUNTING_ANALYTICS_TIME_ZONE", configured)
    with aa.connect(**SERVICE) as client:
        assert client.time_zone == configured
    with aa.connect(**SERVICE, time_zone="UTC") as client:
        assert client.time_zone == "UTC"


def test_the_configured_scale_is_the_clients(profile, monkeypatch):
    def scale(**options):
        with aa.connect(**SERVICE, **options) as client:
            return client.scale

    assert (scale(), load_settings().scale()) == (2, None)
    profile("[default]\nscale = 8\n")
    assert scale() == 8
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_SCALE", "3")
    assert scale() == 3
    assert scale(scale=0) == 0
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_SCALE", "two")
    message = "scale is 'two' .environment ACCOUNTING_ANALYTICS_SCALE.; it must be the currency's fraction digits"
    with pytest.raises(ConfigurationError, match=message):
        aa.connect(**SERVICE)
    for wrong in (11, -1, 2.5, "02"):
        with pytest.raises(ConfigurationError, match=r"scale is .* 0 to 10"):
            aa.connect(**SERVICE, scale=wrong)


def test_settings_of_statements_have_the_same_priority(profile, monkeypatch):
    assert load_settings().presentation() == (None, None, 1)
    profile('[default]\ncompany = "Café 東京"\ncurrency = "JPY"\nfiscal_year_start_month = 4\n')
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_CURRENCY", "USD")
    assert load_settings().presentation() == ("Café 東京", "USD", 4)
    assert load_settings(currency="EUR", fiscal_year_start_month="12").presentation() == ("Café 東京", "EUR", 12)
    sources = load_settings().frame.set_index("setting")["source"]
    assert sources["company"] == sources["fiscal_year_start_month"] == "profile 'default'"
    assert sources["currency"] == "environment ACCOUNTING_ANALYTICS_CURRENCY"
    with aa.connect(**SERVICE) as client:
        assert (client.company, client.currency, client.fiscal_year_start_month) == ("Café 東京", "USD", 4)
    with aa.connect(**SERVICE, company="x") as client:
        assert client.company == "x"


@pytest.mark.parametrize(
    ("name", "wrong", "expected"),
    [
        ("fiscal_year_start_month", "13", "a month from 1 to 12"),
        ("fiscal_year_start_month", "07", "a month from 1 to 12"),
        ("company", "   ", "1 to 200 printable characters"),
        ("company", "x" * 201, "1 to 200 printable characters"),
        ("currency", r"U\nD", "1 to 200 printable characters"),
    ],
)
def test_unusable_setting_of_statements_names_its_source(profile, monkeypatch, name, wrong, expected):
    profile(f'[work]\n{name} = "{wrong}"\n')
    settings = load_settings("work")
    where = rf"\(profile 'work' of .*config\.toml\); it must be {expected}"
    with pytest.raises(ConfigurationError, match=f"{name} is '.*{where}"):
        settings.presentation()
    monkeypatch.setenv(f"ACCOUNTING_ANALYTICS_{name.upper()}", wrong.replace(r"\n", "\n"))
    with pytest.raises(ConfigurationError, match=rf"\(environment ACCOUNTING_ANALYTICS_{name.upper()}\)"):
        load_settings("work").presentation()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_tokens_that_others_can_read_are_refused(token_file, profile, mode):
    token_file.chmod(mode)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        aa.connect(base_url="http://x", instance_id="i", token_file=str(token_file))
    for secret in ("token", "client_secret"):
        profile(f'[default]\n{secret} = "canary"\n', mode)
        with pytest.raises(ConfigurationError, match="chmod 600"):
            load_settings()


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("[default", None, "cannot be read"),
        ("[default]\nurl = 'x'", None, "unknown setting 'url'; the settings are base_url, "),
        ("base_url = 'x'", None, r"'base_url' in .* is not in a profile; write it below a line such as \[default\]"),
        ("", "work", "no profile 'work'"),
    ],
)
def test_broken_files_and_unknown_settings_are_named(profile, text, name, message):
    profile(text)
    with pytest.raises(ConfigurationError, match=message):
        load_settings(name)


def test_missing_configuration_says_what_to_set():
    with pytest.raises(ConfigurationError, match=r"ACCOUNTING_ANALYTICS_BASE_URL.*demo"):
        aa.connect()


def test_empty_and_missing_token_files_are_named(token_file):
    token_file.write_text("\n")
    for file, message in ((token_file, "empty"), (token_file.with_name("none"), "cannot be read")):
        with pytest.raises(ConfigurationError, match=message):
            aa.connect(base_url="http://x", instance_id="i", token_file=str(file))


def test_token_url_id_and_secret_file_are_enough(monkeypatch, token_file):
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_TOKEN_URL", "http://127.0.0.1:1/oauth/token")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_CLIENT_ID", "me")
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_CLIENT_SECRET_FILE", str(token_file))
    with aa.connect(base_url="http://127.0.0.1:1", instance_id="ins") as client:
        credentials = client._credentials
        assert base64.b64decode(credentials._basic.reveal()) == b"me:canary"
        assert "canary" not in repr(credentials)
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_CLIENT_SECRET", "canary")
    assert "canary" not in repr(load_settings()).replace(str(token_file), "")


@pytest.mark.parametrize(
    ("set_where", "expected"),
    [
        (({"token": "o"}, {"TOKEN_FILE": "FILE"}, ""), "token"),
        (({"token_file": "FILE"}, {"TOKEN": "e"}, ""), "token_file"),
        (({}, {"TOKEN": "e"}, 'token_file = "FILE"'), "token"),
        (({}, {"TOKEN_FILE": "FILE"}, 'token = "p"'), "token_file"),
        (({"token_url": "http://x/t"}, {"TOKEN": "e"}, ""), "token_url"),
        (({}, {"TOKEN": "e", "TOKEN_FILE": "FILE", "TOKEN_URL": "http://x/t"}, ""), "token"),
    ],
)
def test_the_token_source_with_the_highest_priority_is_used(profile, monkeypatch, token_file, set_where, expected):
    option, variable, stored = set_where
    profile(f"[default]\n{stored}".replace("FILE", str(token_file)))
    for name, value in variable.items():
        monkeypatch.setenv(f"ACCOUNTING_ANALYTICS_{name}", value.replace("FILE", str(token_file)))
    settings = load_settings(**{name: value.replace("FILE", str(token_file)) for name, value in option.items()})
    assert settings.first_set(("token", "token_file", "token_url")) == expected


@pytest.mark.parametrize("given", [{}, {"client_id": "me"}, {"client_secret": "s"}])
def test_incomplete_client_credentials_are_refused(given):
    with pytest.raises(ConfigurationError, match="CLIENT_SECRET_FILE"):
        aa.connect(base_url="http://x", instance_id="i", token_url="http://x/t", **given)


def test_token_may_be_a_credentials_object():
    credentials = aa.client.ClientCredentials("http://127.0.0.1:1/t", "me", "canary")
    with aa.connect(base_url="http://127.0.0.1:1", instance_id="i", token=credentials) as client:
        assert client._credentials is credentials
