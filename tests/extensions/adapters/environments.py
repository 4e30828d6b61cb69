"""An environment for each package that has an adapter: some do not go together with others."""

import hashlib
import sys
import tomllib
from functools import cache
from pathlib import Path

from tests.test_runs.interpreters import environment

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
_REQUIREMENTS = Path(__file__).parent / "requirements"


def package_programs(name: str) -> Path:
    requirements = (*_own_requirements(), *_pinned(name))
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()[:12]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return environment(f"{version}-{name}-{digest}", requirements).parent


@cache
def _own_requirements() -> tuple[str, ...]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return tuple(project["dependencies"])


def _pinned(name: str) -> tuple[str, ...]:
    lines = (_REQUIREMENTS / f"{name}.txt").read_text("utf-8").splitlines()
    return tuple(line.partition("#")[0].strip() for line in lines)
