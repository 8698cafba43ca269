"""Connection settings: options over environment variables over a TOML profile over defaults."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import platformdirs

from accounting_analytics.client.auth import ClientCredentials, Credentials, TokenFile
from accounting_analytics.client.ledger_client import LedgerClient
from accounting_analytics.client.secret import MASK, read_secret_file, require_private
from accounting_analytics.core.errors import ConfigurationError
from accounting_analytics.core.messages import HEADING, is_heading, quote
from accounting_analytics.core.money import DEFAULT_SCALE, MAX_SCALE

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

_PREFIX = "ACCOUNTING_ANALYTICS_"
DEFAULT_PROFILE = "default"
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/]*@")
_DEFAULTS = {"instance_header": "service-instance-id", "fiscal_year_start_month": "1"}
_SECRETS = ("token", "client_secret")
_TOKEN_SOURCES = ("token", "token_file", "token_url")
"""Settings that state a token or its source. Of those set with the highest priority, the first is used."""
_NAMES_OF_CLIENTS = (
    "base_url",
    *_TOKEN_SOURCES,
    "client_id",
    "client_secret",
    "client_secret_file",
    "instance_id",
    "instance_header",
    "time_zone",
    "requests_per_minute",
    "scale",
    "company",
    "currency",
    "fiscal_year_start_month",
)
_NAMES = (*_NAMES_OF_CLIENTS, "books", "browser", "depreciation")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_MONTHS = tuple(map(str, range(1, 13)))
_SCALES = tuple(map(str, range(MAX_SCALE + 1)))


def connect(profile: str | None = None, **options: Any) -> LedgerClient:  # noqa: ANN401 (LedgerClient's own)
    """Connect to the configured service.

    Parameters
    ----------
    profile : str, optional
        Name of a profile in the configuration file.
    **options
        Settings by name (``base_url``, ``token``, ``token_file``, ``token_url``, ``client_id``, ``client_secret``,
        ``client_secret_file``, ``instance_id``, ``instance_header``, ``time_zone``, ``requests_per_minute``,
        ``scale``, ``company``, ``currency``, ``fiscal_year_start_month``), which override everything else, and any
        further option of :class:`~accounting_analytics.LedgerClient`.

    Raises
    ------
    ConfigurationError
        A required setting is missing; the message says what to set.
    PeriodError
        The configured time zone is unknown.
    """
    token = options.pop("token", None)
    credentials: Credentials | None = None if token is None or isinstance(token, str) else token
    named = {name: options.pop(name) for name in _NAMES_OF_CLIENTS if name in options}
    settings = load_settings(profile, **named, token=None if credentials else token)
    missing = [name for name in ("base_url", "instance_id") if not settings[name]]
    token_source = settings.first_set(_TOKEN_SOURCES)
    if token_source is None and credentials is None:
        missing.append("token_file")
    if missing:
        variables = ", ".join(f"{_PREFIX}{name.upper()}" for name in missing)
        raise ConfigurationError(
            f"no Ledger Accounting Service is configured: set {variables} (or a profile in {settings.file}); "
            "to try the demo company instead: accounting_analytics.demo() in Python, --demo in the shell, or "
            "accounting-analytics demo --lab"
        )
    scale = settings.scale()
    return LedgerClient(
        str(settings["base_url"]),
        token=credentials or _credentials(settings, str(token_source)),
        instance_id=str(settings["instance_id"]),
        instance_header=str(settings["instance_header"]),
        requests_per_minute=settings.number("requests_per_minute"),
        time_zone=settings["time_zone"],
        scale=DEFAULT_SCALE if scale is None else scale,
        **settings.presentation()._asdict(),
        **options,
    )


def _credentials(settings: Settings, token_source: str) -> str | Credentials:
    if token_source == "token":  # noqa: S105 (name of a setting)
        return str(settings["token"])
    if token_source == "token_file":  # noqa: S105 (name of a setting)
        return TokenFile(str(settings["token_file"]))
    secret = settings["client_secret"]
    if settings.first_set(("client_secret", "client_secret_file")) == "client_secret_file":
        secret = read_secret_file(Path(str(settings["client_secret_file"])), "client secret")
    if not settings["client_id"] or not secret:
        raise ConfigurationError(
            f"token_url needs {_PREFIX}CLIENT_ID, and {_PREFIX}CLIENT_SECRET_FILE or {_PREFIX}CLIENT_SECRET"
        )
    return ClientCredentials(str(settings["token_url"]), str(settings["client_id"]), secret)


class Presentation(NamedTuple):
    """Company and currency for headings, and first month of the fiscal year.

    The service states none of these values.
    """

    company: str | None = None
    currency: str | None = None
    fiscal_year_start_month: int = 1


class Setting(NamedTuple):
    """A setting: its name, value, source, and the rank of the source. The source with the lowest rank is used."""

    name: str
    value: str | None
    source: str
    rank: int

    @property
    def masked_value(self) -> str | None:
        """The value with secrets masked, also a password in an address."""
        if self.name in _SECRETS and self.value:
            return MASK
        return self.value and _USER_OF_ADDRESS.sub(f"{MASK}@", self.value)


@dataclass(frozen=True, repr=False)
class Settings:
    """All settings. Secrets are masked when they are printed."""

    settings: tuple[Setting, ...]
    profile: str
    file: Path

    def __getitem__(self, name: str) -> str | None:
        return self._setting(name).value

    def _setting(self, name: str) -> Setting:
        return next(setting for setting in self.settings if setting.name == name)

    def presentation(self) -> Presentation:
        """Check and return company, currency and first month of the fiscal year."""
        for name in ("company", "currency"):
            text = self[name]
            self._require(text is None or is_heading(text), name, HEADING)
        month = str(self["fiscal_year_start_month"])
        self._require(month in _MONTHS, "fiscal_year_start_month", "a month from 1 to 12")
        return Presentation(self["company"], self["currency"], int(month))

    def scale(self) -> int | None:
        """Check and return the fraction digits of the currency, or None if they are not set."""
        digits = self["scale"]
        self._require(digits is None or digits in _SCALES, "scale", f"the currency's fraction digits, 0 to {MAX_SCALE}")
        return None if digits is None else int(digits)

    def number(self, name: str) -> float | None:
        """Return the value of a setting as a number."""
        text = self[name]
        self._require(text is None or _NUMBER.fullmatch(text), name, "a number")
        return None if text is None else float(text)

    def _require(self, condition: object, name: str, expected: str) -> None:
        """Refuse a setting if `condition` is false. The message names its value, its source and what is expected."""
        if not condition:
            setting = self._setting(name)
            where = f"{setting.source} of {self.file}" if setting.source.startswith("profile") else setting.source
            raise ConfigurationError(f"{name} is {quote(setting.value)} ({where}); it must be {expected}")

    def depreciation(self) -> tuple[str, ...]:
        """Return the ledgers of depreciation, which semicolons separate in the setting."""
        return tuple(filter(None, map(str.strip, (self["depreciation"] or "").split(";"))))

    def names_books(self) -> bool:
        """Return whether local books are configured with a higher priority than a service."""
        return self.first_set(("base_url", "books")) == "books"

    def first_set(self, names: tuple[str, ...]) -> str | None:
        """Return the name that is set with the highest priority, or None if none is set."""
        found = [setting for setting in map(self._setting, names) if setting.value]
        return min(found, key=lambda setting: setting.rank).name if found else None

    def __repr__(self) -> str:
        return f"Settings(\n{self.frame.to_string(index=False)}\n)"

    @property
    def frame(self) -> pd.DataFrame:
        """Table of the settings: name, value (secrets masked) and source."""
        import pandas as pd  # noqa: PLC0415 (slow to import, and not needed to connect)

        rows = [(setting.name, setting.masked_value, setting.source) for setting in self.settings]
        return pd.DataFrame(rows, columns=["setting", "value", "source"])


def configuration_file() -> Path:
    """Return the path of the configuration file, which need not exist."""
    return platformdirs.user_config_path("accounting-analytics") / "config.toml"


def load_settings(profile: str | None = None, **options: str | int | None) -> Settings:
    """Load the settings: options over environment variables over the profile over defaults."""
    _require_known(options, "")
    profile = profile or os.environ.get(f"{_PREFIX}PROFILE") or DEFAULT_PROFILE
    file = configuration_file()
    stored = _profile(file, profile)

    def setting(name: str) -> Setting:
        variable = f"{_PREFIX}{name.upper()}"
        sources = {
            "option": options.get(name),
            f"environment {variable}": os.environ.get(variable) or None,
            f"profile {profile!r}": stored.get(name),
            "default": _DEFAULTS.get(name),
        }
        for rank, (source, value) in enumerate(sources.items()):
            if value is not None:
                return Setting(name, str(value), source, rank)
        return Setting(name, None, "not set", len(sources))

    return Settings(tuple(map(setting, _NAMES)), profile, file)


def _require_known(names: Iterable[str], where: str) -> None:
    unknown = set(names) - set(_NAMES)
    if unknown:
        raise ConfigurationError(f"{where}unknown setting {quote(min(unknown))}; the settings are {', '.join(_NAMES)}")


def _profile(file: Path, name: str) -> dict[str, Any]:
    """Return the settings of a profile. Only the default profile may be missing."""
    try:
        profiles = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        profiles = {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"the configuration file {file} cannot be read: {error}") from None
    for key, value in profiles.items():
        if not isinstance(value, dict):
            line = f"write it below a line such as [{DEFAULT_PROFILE}]"
            raise ConfigurationError(f"{quote(key)} in {file} is not in a profile; {line}")
    if name not in profiles and name != DEFAULT_PROFILE:
        raise ConfigurationError(f"no profile {name!r} in {file}; profiles: {', '.join(profiles) or 'none'}")
    stored: dict[str, Any] = profiles.get(name, {})
    _require_known(stored, f"profile {name!r} in {file}: ")
    if stored.keys() & set(_SECRETS):
        require_private(file, file.stat().st_mode)
    return stored
