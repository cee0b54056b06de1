"""requirements.lock: all that setup.cfg requires, in versions that it allows."""

import configparser
import pathlib
import re

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = pathlib.Path(__file__).resolve().parents[2]


def declared_requirements():
    """Yields the requirements of the package and all its extras."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"].values()
    for lines in (setup["options"]["install_requires"], *extras):
        for line in filter(None, lines.splitlines()):
            if not line.startswith("#"):
                yield Requirement(line)


def test_every_requirement_is_locked_in_a_version_that_is_allowed():
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    locked = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", lock, re.M))
    not_locked = []
    for requirement in declared_requirements():
        name = canonicalize_name(requirement.name)
        if name not in locked:
            not_locked.append(name)
        else:
            assert requirement.specifier.contains(locked[name]), name
    # The package itself, and what depends on the machine.
    assert {*not_locked} == {"albert-keras", "torch"}


def test_the_lock_has_no_address_and_the_ruff_of_pre_commit():
    # pip checks that all versions have hashes.
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    assert "://" not in lock
    assert "--find-links" not in lock
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    locked = re.search(r"^ruff==(\S+)", lock, re.M)[1]
    assert re.search(r"rev: v(\S+)", hooks)[1] == locked
