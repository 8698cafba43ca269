"""Private files that hold the secret of an access token or an OAuth client."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from accounting_analytics.atomic_files import remove_temporary_files, replace_file
from accounting_analytics.errors import ConfigurationError
from accounting_analytics.service.auth.access_tokens import add_token
from accounting_analytics.service.auth.oauth_clients import add_client
from accounting_analytics.service.storage.store import read_instance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from accounting_analytics.service.storage.store import Store


def check_new_file(path: Path) -> None:
    """Refuse a file whose folder is missing, or that exists: it may hold the only copy of another secret."""
    if path.exists():
        msg = f"{path} exists already; nothing was issued, give a new file"
        raise ConfigurationError(msg)
    if not path.absolute().parent.is_dir():
        msg = f"there is no folder {path.absolute().parent} for {path.name}; nothing was issued"
        raise ConfigurationError(msg)


def write_secret(path: Path, secret: str) -> None:
    """Write a file that only its owner can read, also while it is being written."""
    try:
        remove_temporary_files(path)  # they hold secrets
        replace_file(path, lambda file: file.write(f"{secret}\n".encode()), private=True)
    except OSError as error:
        msg = f"the secret cannot be written to {path}: {error.strerror}; nothing was issued"
        raise ConfigurationError(msg) from error


@contextmanager
def issuing(store: Store, path: Path) -> Iterator[tuple[Connection, Callable[[str], None]]]:
    """Give a connection that writes, and a function that saves the secret it issues: issued and saved, or neither."""
    with ExitStack() as on_error:

        def save(secret: str) -> None:
            write_secret(path, secret)
            on_error.callback(path.unlink, missing_ok=True)

        with store.writing() as connection:
            yield connection, save
        on_error.pop_all()


def save_new_token(
    store: Store, instance_id: str, path: Path, *, lifetime: float | None = None, label: str = ""
) -> None:
    """Issue an access token into a new private file; it is issued only if it is saved."""
    check_new_file(path)
    with issuing(store, path) as (connection, save):
        instance = read_instance(connection, instance_id)
        save(add_token(connection, instance.pk, lifetime=lifetime, label=label))


def save_new_client(store: Store, instance_id: str, path: Path, *, label: str = "") -> str:
    """Create an OAuth client, save its secret in a new private file, and return its id; both or nothing."""
    check_new_file(path)
    with issuing(store, path) as (connection, save):
        credentials = add_client(connection, read_instance(connection, instance_id).pk, label=label)
        save(credentials.client_secret)
    return credentials.client_id
