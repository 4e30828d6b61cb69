"""Virtual environments with old and new versions of pytest, made once a machine."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from agentbench.core.file_locks import FileLock

PYTEST_VERSIONS = ("6.2.5", "7.4.4", "8.4.2", "9.2.0")
NEWEST = PYTEST_VERSIONS[-1]
_XDIST = {"6": "3.5.0", "7": "3.6.1", "8": "3.6.1", "9": "3.8.0"}


def requirements(version):
    """What stands in an environment: xdist everywhere, the subtests plugin where it was apart."""
    extra = ["pytest-subtests==0.13.1"] if version.startswith("7.") else []
    return [f"pytest=={version}", f"pytest-xdist=={_XDIST[version[0]]}", *extra]


def find_python(version):
    """An interpreter of this version on this machine, or None."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return Path(sys.executable)
    # What pyenv puts on PATH may answer only to another version: look for the real ones first.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    real = sorted(pyenv.glob(f"{version}.*/bin/python"))
    found = shutil.which(f"python{version}")
    return real[-1] if real else found and Path(found)


def interpreter(*packages, python="3.11"):
    """The python of an environment that holds these packages, made when it is not there yet."""
    name = "-".join([f"python{python}", *packages]).replace("==", "-")
    return environment(name, packages, find_python(python) or Path(sys.executable))


@functools.cache
def environment(name, packages, base=Path(sys.executable)):
    """The python of the environment of this name, made of these packages when it is not there."""
    cache = Path(os.environ.get("AGENTBENCH_TEST_CACHE", Path.home() / ".cache/agentbench-tests"))
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / name
    with FileLock(cache / f"{name}.lock"):
        if not (home / "done").exists():
            _make(home, packages, base)
            (home / "done").touch()
    return home / "bin" / "python"


def _make(home, packages, base):
    shutil.rmtree(home, ignore_errors=True)
    options = [] if packages else ["--without-pip"]
    subprocess.run([base, "-m", "venv", *options, home], check=True, timeout=300)
    if not packages:
        return
    install = [home / "bin" / "python", "-m", "pip", "install", "--quiet", *packages]
    created = subprocess.run(install, capture_output=True, text=True, timeout=900)
    if created.returncode != 0:
        raise RuntimeError(
            f"the tests need {', '.join(packages)}, and pip could not install them:\n"
            f"{created.stderr}"
        )
