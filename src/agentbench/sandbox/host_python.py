"""The Python that sandboxes without an image of their own borrow from this machine."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_DISTRIBUTIONS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_INSTALLER = ("pip", "setuptools")  # what `venv` brings where the system has not split it off
_SCRIPT = "#!{python}\nimport sys\nfrom {module} import {main}\nsys.exit({main}())\n"
_SCRIPTS = {
    "pytest": ("pytest", "console_main"),
    "py.test": ("pytest", "console_main"),
    "pip": ("pip._internal.cli.main", "main"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPython:
    """An interpreter outside any virtual environment."""

    prefix: Path
    executable: Path
    version: str  # "3.11"
    full_version: str

    @property
    def image_name(self) -> str:
        """What a task calls a base image of this version."""
        return f"agentbench/python:{self.version}"


def host_python() -> HostPython:
    """The interpreter that runs the harness, without the environment it may run in."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    prefix = Path(sys.base_prefix)
    return HostPython(
        prefix=prefix,
        executable=prefix / "bin" / f"python{version}",
        version=version,
        full_version=sys.version.split()[0],
    )


def pytest_version() -> str:
    """The version of pytest that environments are given."""
    from importlib.metadata import version

    return version("pytest")


def install_pytest(venv: Path, *, seen_as: Path) -> list[Path]:
    """Copy pytest and what it needs from the harness's own environment, without a network.

    Pip comes along where `venv` did not bring it, as on a Debian without python3-venv.

    Args:
        venv: A virtual environment of this Python.
        seen_as: The path under which programs will see that environment.

    Returns:
        All files and folders that were made.

    Raises:
        OSError: the environment cannot be written.
    """
    (purelib,) = (venv / "lib").glob("python3*/site-packages")
    missing = () if (purelib / "pip").is_dir() else _INSTALLER
    made: dict[Path, None] = {}
    for name in (*_DISTRIBUTIONS, *missing):
        for target in _copied(name, purelib):
            made[target] = None
            made.update((folder, None) for folder in target.parents if purelib in folder.parents)
    for script, (module, main) in _SCRIPTS.items():
        path = venv / "bin" / script
        if not path.exists():
            python = seen_as / "bin" / "python"
            path.write_text(_SCRIPT.format(python=python, module=module, main=main))
            path.chmod(0o755)
            made[path] = None
    return list(made)


def _copied(name: str, purelib: Path) -> Iterator[Path]:
    """Copy a distribution, if the harness's own environment has it."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(name)
    except PackageNotFoundError:
        return
    for file in found.files or ():
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        target = purelib / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(found.locate_file(file)), target)
        yield target
