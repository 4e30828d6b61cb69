"""The Python that sandboxes without an image of their own borrow from this machine."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

_DISTRIBUTIONS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_SCRIPT = "#!{python}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n"


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

    Args:
        venv: A virtual environment of this Python.
        seen_as: The path under which programs will see that environment.

    Returns:
        All files and folders that were made.

    Raises:
        OSError: the environment cannot be written.
    """
    from importlib.metadata import distribution

    (purelib,) = (venv / "lib").glob("python3*/site-packages")
    made: dict[Path, None] = {}
    for name in _DISTRIBUTIONS:
        found = distribution(name)
        for file in found.files or ():
            if ".." in file.parts or "__pycache__" in file.parts:
                continue
            target = purelib / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(found.locate_file(file)), target)
            made[target] = None
            made.update((folder, None) for folder in target.parents if purelib in folder.parents)
    for script in ("pytest", "py.test"):
        path = venv / "bin" / script
        path.write_text(_SCRIPT.format(python=seen_as / "bin" / "python"))
        path.chmod(0o755)
        made[path] = None
    return list(made)
