"""The smallest image that sandboxes can use: a shell and a few programs, nothing of ours."""

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

PROGRAMS = ("sh", "cat", "head", "id", "ls", "mkdir", "rm", "sleep", "touch")


def root_file_system() -> bytes:
    """A tar of this machine's shell and programs with the libraries that they need."""
    buffer = io.BytesIO()
    added: set[str] = set()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as tar:
        for program in PROGRAMS:
            path = shutil.which(program)
            assert path is not None
            _add(tar, path, f"bin/{program}", added)
            listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True)
            for library in re.findall(r"(/\S+) \(0x", listed.stdout):
                _add(tar, library, library.lstrip("/"), added)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, source: str, name: str, added: set[str]) -> None:
    if name not in added:
        added.add(name)
        tar.add(Path(source).resolve(), arcname=name)
