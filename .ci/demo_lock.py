"""Write ``demo.lock``: the packages of ``requirements.lock`` that the demo and JupyterLab need, with the same hashes.

python .ci/demo_lock.py > .ci/demo.lock
"""

import re
import sys
import tomllib
from pathlib import Path

CI = Path(__file__).parent
EXTRAS = ("books", "excel")
BUILD = ("hatchling", "editables")
"""What pip needs to install the project."""


def main() -> None:
    """Print the blocks of what the project and these extras need, and what needs that, by the comments of the lock."""
    project = tomllib.loads((CI.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    roots = {name_of(one) for one in [*wanted, *BUILD]}
    blocks = re.split(r"^(?=[a-z0-9])", (CI / "requirements.lock").read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = [
        (name_of(block), block, set(re.findall(r"^ +#(?: via)? +([\w.-]+)$", block, re.MULTILINE)))
        for block in blocks[1:]
    ]
    needed = {name for name, _, _ in named if name in roots}
    while added := {name for name, _, users in named if users & needed} - needed:
        needed |= added
    sys.stdout.write("".join(block for name, block, _ in named if name in needed))


def name_of(requirement: str) -> str:
    """Return the normalized name at the beginning of a requirement."""
    return re.sub("[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()


if __name__ == "__main__":
    main()
