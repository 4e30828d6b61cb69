"""The set-up commands that install a project and what its tests need."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType

from packaging.metadata import parse_email

from agentbench.tasks.project.tree_text import text_of

_PIP = "python -m pip install"
DATED_PIP = "26.0"
"""The first pip that leaves out what was uploaded after a day."""

_VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "setuptools[-_]scm|hatch-vcs|use_scm_version": ("SETUPTOOLS_SCM_PRETEND_VERSION",),
        r"\bpbr\b": ("PBR_VERSION",),
        "pdm-backend|pdm-pep517": ("PDM_BUILD_SCM_VERSION",),
        "poetry-dynamic-versioning": ("POETRY_DYNAMIC_VERSIONING_BYPASS",),
        "uv-dynamic-versioning": ("UV_DYNAMIC_VERSIONING_BYPASS",),
    }
)
_DESCRIPTIONS = ("pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is installed, and where it was read that it is needed."""

    project: bool
    extras: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def setup_commands(what: Installation, *, on: date | None = None) -> tuple[str, ...]:
    """The commands for a sandbox whose environment has pip and the newest pytest.

    Args:
        what: What is to be installed.
        on: Nothing is taken that was uploaded after this day; pytest is the one of that day, too.
    """
    arguments = [*_project(what), *(part for name in what.files for part in ("-r", name))]
    words = shlex.join([*arguments, *dict.fromkeys(what.requirements)])
    if on is None:
        return (f"{_PIP} {words}",) if words else ()
    until = f"--uploaded-prior-to={on + timedelta(days=1)}T00:00:00Z"
    return (
        f"{_PIP} --upgrade 'pip>={DATED_PIP}'",
        f"{_PIP} --force-reinstall {until} pytest",
        *((f"{_PIP} {until} {words}",) if words else ()),
    )


def told_version(tree: Path) -> dict[str, str]:
    """The variables that tell a build its version, where it would ask git and a release's files.

    Empty for a tree that bears no release's metadata: set-up knows what git says.
    """
    metadata = text_of(tree, "PKG-INFO")
    if metadata is None:
        return {}
    version = parse_email(metadata)[0].get("version", "")
    if not re.fullmatch(r"[0-9A-Za-z.+!-]+", version):
        return {}
    described = "\n".join(text_of(tree, name) or "" for name in _DESCRIPTIONS)
    return {
        variable: version
        for pattern, variables in _VARIABLES.items()
        if re.search(pattern, described)
        for variable in variables
    }


def _project(what: Installation) -> tuple[str, ...]:
    if not what.project:
        return ()
    extras = ",".join(dict.fromkeys(what.extras))
    return ("-e", f".[{extras}]" if extras else ".")
