"""The first instance of a database, and the file beside it that holds its access token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accounting_analytics.atomic_files import remove_temporary_files, replace_file
from accounting_analytics.errors import ConfigurationError
from accounting_analytics.service.auth.access_tokens import issue_client, issue_token, revoke_client, revoke_token
from accounting_analytics.service.storage.store import NewInstance

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.service.storage.store import Store


@dataclass(frozen=True)
class Credentials:
    """Where to find what a client needs; the token itself is only in the file.

    Attributes
    ----------
    instance_id : str
        The instance.
    token_file : Path
        File with the token, readable by its owner only.
    """

    instance_id: str
    token_file: Path


def token_path(database: Path) -> Path:
    """File that holds the access token of a database's first instance."""
    return database.with_name(f"{database.name}.token")


def first_instance(
    store: Store, *, name: str = "books", localtime: str = "UTC", instance_id: str | None = None
) -> Credentials | None:
    """Create an instance and its token file in a database that has no instance yet; None when it has one.

    The token is written before anything says it exists, and never shown.
    """
    if store.instances():
        return None
    if store.path is None:
        msg = (
            f"the database {store.name} has no instance yet, and there is no folder beside it for a token: "
            "make one first with: accounting-analytics instances create --token-file FILE"
        )
        raise ConfigurationError(msg)
    made = store.create_first_instance(NewInstance(name, localtime=localtime, id=instance_id))
    if made is None:
        return None  # somebody else was faster
    created, token = made
    path = token_path(store.path)
    write_private(path, f"{token}\n")
    return Credentials(created, path)


def only_instance(store: Store, instance_id: str | None = None) -> str:
    """Instance that is meant: the one named, the only one there is, or a new one in a database without any.

    Raises
    ------
    ConfigurationError
        The one named is not there, or none is named and there are several.
    """
    made = first_instance(store, instance_id=instance_id)
    return named_instance(store, instance_id) if made is None else made.instance_id


def named_instance(store: Store, instance_id: str | None = None) -> str:
    """Instance that is meant, of those there are.

    Raises
    ------
    ConfigurationError
        The one named is not there, none is named and there are several, or there is none at all.
    """
    there = [instance.id for instance in store.instances()]
    if instance_id in there or (instance_id is None and len(there) == 1):
        return instance_id or there[0]
    if not there:
        msg = f"the database {store.name} has no instance; make one with: accounting-analytics instances create"
        raise ConfigurationError(msg)
    problem = "has several instances" if instance_id is None else f"has no instance {instance_id!r}"
    msg = f"the database {store.name} {problem}; name one of: {', '.join(there)}"
    raise ConfigurationError(msg)


def require_new(path: Path) -> None:
    """Refuse to write a secret where no folder is, or over a file: that may hold the only copy of another one."""
    if path.exists():
        msg = f"{path} exists already; nothing was issued, give a new file"
        raise ConfigurationError(msg)
    if not path.absolute().parent.is_dir():
        msg = f"there is no folder {path.absolute().parent} for {path.name}; nothing was issued"
        raise ConfigurationError(msg)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may ever read, also while it is being written."""
    try:
        remove_temporary_files(path)  # they hold secrets
        replace_file(path, lambda file: file.write(text.encode()), private=True)
    except OSError as error:
        msg = f"the secret cannot be written to {path}: {error.strerror}"
        raise ConfigurationError(msg) from error


def keep_token(store: Store, instance_id: str, path: Path, *, lifetime: float | None = None, label: str = "") -> None:
    """Issue an access token of an instance into a new private file; one that cannot be kept is revoked again."""
    require_new(path)
    token = issue_token(store, instance_id, lifetime=lifetime, label=label)
    try:
        write_private(path, f"{token}\n")
    except ConfigurationError:
        revoke_token(store, token)
        raise


def keep_client(store: Store, instance_id: str, path: Path, *, label: str = "") -> str:
    """Make an OAuth client, its secret in a new private file, and return its id."""
    require_new(path)
    made = issue_client(store, instance_id, label=label)
    try:
        write_private(path, f"{made.client_secret}\n")
    except ConfigurationError:
        revoke_client(store, made.client_id)
        raise
    return made.client_id
