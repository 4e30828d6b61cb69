"""The shared commands of set-up run once, for all tasks that have the same ones."""

import hashlib
import json

import pytest

from agentbench.attempt.preparation_cache import preparation_key, shared_setup_key
from agentbench.attempt.preparing import prepare_task
from agentbench.errors import UnavailableError
from agentbench.sandbox.docker.cleanup import stored_images
from agentbench.sandbox.interface import Limits
from agentbench.tasks.mirror import tree_digest
from agentbench.tasks.task import TaskSetup
from tests.e2e.small_task import SERIAL, SmallTask
from tests.fakes.staging import small_task
from tests.sandbox.conformance_base import sh

LIMITS = Limits(memory_mib=256, disk_mib=256)
TOKEN = '"$(dirname "$(command -v python)")/token"'  # a file of the environment
PACKAGES = 12_000_000  # bytes that the shared commands install
SHARED = (
    f"head -c {PACKAGES} /dev/urandom > {TOKEN}.packages; "
    f"cat /proc/sys/kernel/random/uuid >> {TOKEN}  # {SERIAL}"
)


@pytest.fixture
def prepare(back_end, workshop):
    resources = workshop(back_end)
    keys = set()

    def prepare(task):
        image = back_end.resolve_image(None)
        keys.update((resources.cache.key(task, image), resources.cache.shared_key(task, image)))
        return prepare_task(task, resources).prepared.snapshot

    yield prepare
    for key in keys:
        resources.cache.forget(key)


def variant(folder, name, *commands, shared=SHARED):
    files = {**SmallTask().files, "name.txt": name}
    lines = [f"shared = ['''{shared}''']", f"commands = {list(commands)}", "network = false"]
    return small_task(folder / name, files=files, setup="\n".join(lines))


def test_tasks_with_equal_shared_commands_start_from_one_state(tmp_path, back_end, prepare):
    tokens = []
    for name in ("one", "two"):
        snapshot = prepare(variant(tmp_path, name, "cp name.txt prepared.txt"))
        with back_end.open(snapshot, limits=LIMITS, network=False) as box:
            tokens.append(sh(box, f"cat {TOKEN}").stdout)
            assert sh(box, "cat prepared.txt").stdout == name
            assert sh(box, "git status --porcelain").stdout == "?? prepared.txt\n"
    assert tokens[0] == tokens[1]
    assert len(tokens[0].splitlines()) == 1


@pytest.mark.docker
@pytest.mark.parametrize("back_end", ["docker"], indirect=True)
def test_second_task_takes_no_space_for_the_shared_state(tmp_path, back_end, prepare):
    names = [prepare(variant(tmp_path, name)) for name in ("one", "two")]
    known = {each.name: each for each in stored_images(back_end.engine)}
    one, two = (known[name] for name in names)
    assert one.parent is not None
    assert one.parent == two.parent
    assert known[one.parent].size_bytes >= PACKAGES
    assert max(one.size_bytes, two.size_bytes) < PACKAGES / 4


def test_failed_shared_command_is_evidence_of_setup(tmp_path, prepare):
    task = variant(tmp_path, "one", shared="echo no such package; exit 3")
    with pytest.raises(UnavailableError, match=r"SETUP_FAILED.*exit code 3"):
        prepare(task)


def test_keys_without_shared_commands_are_unchanged(tmp_path, provider):
    task, image = small_task(tmp_path), provider.resolve_image(None)
    shared = task.replace(setup=TaskSetup(shared=("true",)))
    source = task.source.replace(files=None, url="x", commit="a" * 40)
    other = shared.replace(source=source)
    before = {
        "format": 3,
        "provider": provider.name,
        "image": image,
        "repo": tree_digest(task.source.files),
        "workdir": "None",
        "setup": {"commands": [], "timeout_s": 600.0, "network": True},
        "env": {},
    }
    digest = hashlib.sha256(json.dumps(before, sort_keys=True).encode()).hexdigest()
    assert preparation_key(task, image, provider) == digest[:32]
    assert preparation_key(task, image, provider) != preparation_key(shared, image, provider)
    assert shared_setup_key(shared, image, provider) == shared_setup_key(other, image, provider)
