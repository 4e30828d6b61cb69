"""The libraries that sandboxes are lent: whole, for their Python, and made once."""

import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from agentbench.cli.cache_entries import CacheContents
from agentbench.errors import UnavailableError
from agentbench.extensions.symbolic.libraries import (
    LIBRARY_MOUNT,
    PROGRAMS_MOUNT,
    library_folder,
    python_of,
    symbolic_mounts,
)
from agentbench.sandbox.interface import Command, Limits
from tests.needed import INDEX
from tests.patience import HANG_SECONDS

OURS = sys.version_info[:2]
IMPORT_ALL = (
    "import sys; sys.path.append(sys.argv[1])\n"
    "import crosshair.core_and_libs, hypothesis, z3\n"
    "print(crosshair.__file__.startswith(sys.argv[1]), z3.get_version_string())"
)


@pytest.fixture(scope="module")
def lent(tmp_path_factory):
    cache = tmp_path_factory.mktemp("lent")
    before = os.umask(0o077)
    try:
        return cache, library_folder(cache, OURS)
    finally:
        os.umask(before)


def imported(sandbox):
    place = str(sandbox.mounted(LIBRARY_MOUNT))
    argv = ("python", "-I", "-c", IMPORT_ALL, place)
    return sandbox.run(Command(argv=argv, timeout=timedelta(seconds=HANG_SECONDS)))


def test_sandbox_without_network_imports_the_libraries(provider, cache_dir):
    image = provider.resolve_image(None)
    mounted = symbolic_mounts(cache_dir, OURS)
    with provider.open(image, limits=Limits(), network=False, mounts=mounted) as sandbox:
        assert python_of(sandbox) == OURS
        result = imported(sandbox)
        assert sandbox.mounted(PROGRAMS_MOUNT)
    assert result.stdout.startswith("True ")


@pytest.mark.docker
def test_container_imports_the_libraries(cache_dir):
    from agentbench.sandbox.docker.provider import DockerProvider

    engine = DockerProvider.connect()
    image = engine.resolve_image(None)
    with engine.open(image, limits=Limits(), network=False) as sandbox:
        python = python_of(sandbox)
    mounted = symbolic_mounts(cache_dir, python)
    with engine.open(image, limits=Limits(), network=False, mounts=mounted) as sandbox:
        assert imported(sandbox).stdout.startswith("True ")


def test_concurrent_makers_make_the_folder_once(tmp_path):
    with ThreadPoolExecutor(4) as threads:
        folders = set(threads.map(lambda _number: library_folder(tmp_path, OURS), range(4)))
    (folder,) = folders
    assert [path for path in folder.parent.iterdir() if path.is_dir()] == [folder]
    inode = folder.stat().st_ino
    assert library_folder(tmp_path, OURS).stat().st_ino == inode


def test_folder_is_in_use_until_its_process_ends(lent):
    cache, folder = lent
    (thing,) = [each for each in CacheContents(folder=cache, engine=None).entries() if each.in_use]
    assert (thing.kind, thing.folders) == ("symbolic library", (folder,))


def test_unused_folder_can_be_removed(tmp_path):
    made = "from pathlib import Path; from agentbench.extensions.symbolic import libraries"
    argv = [
        sys.executable,
        "-c",
        f"{made}; libraries.library_folder(Path({str(tmp_path)!r}), {OURS})",
    ]
    subprocess.run(argv, check=True, timeout=HANG_SECONDS)
    cache = CacheContents(folder=tmp_path, engine=None)
    (thing,) = cache.entries()
    assert cache.give_up(thing)
    assert not cache.entries()


def test_leftover_of_a_killed_maker_is_remade(lent, tmp_path):
    cache, folder = lent
    whole = tmp_path / folder.relative_to(cache)
    half = whole.with_name(whole.name + ".new")
    shutil.copytree(folder, half)
    (half / "crosshair" / "core.py").unlink()
    assert library_folder(tmp_path, OURS) == whole
    assert (whole / "crosshair" / "core.py").is_file()
    assert not half.exists()


def test_every_user_may_read_the_folder_under_any_umask(lent):
    _, folder = lent
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    assert modes == {0o755, 0o644}


def test_byte_code_is_hash_based_and_unchecked(lent):
    _, folder = lent
    (code,) = (folder / "crosshair" / "__pycache__").glob("core.cpython-*.pyc")
    assert code.read_bytes()[4:8] == b"\x01\0\0\0"  # hash-based, and not to be checked


def test_each_minor_version_has_its_own_compiled_parts(tmp_path):
    other = (3, 12) if OURS != (3, 12) else (3, 13)
    try:
        folder = library_folder(tmp_path, other)
    except UnavailableError as fault:
        INDEX.refuse(str(fault))
    assert list(folder.glob(f"_crosshair_tracers.cpython-3{other[1]}-*.so"))


def test_unsupported_python_is_an_error(tmp_path):
    with pytest.raises(UnavailableError) as refusal:
        library_folder(tmp_path, (3, 8))
    assert "the sandbox has Python 3.8, agentbench" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not [path for path in (tmp_path / "symbolic").iterdir() if path.is_dir()]
