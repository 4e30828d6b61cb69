"""Tasks of one repository start from a shared checkout, and are as if they had their own."""

import subprocess
from pathlib import Path

import pytest

from agentbench.attempt.preparing import prepare_task
from agentbench.attempt.shared_checkouts import SharedCheckouts, changed_bytes
from agentbench.integrity.trees import read_tree
from agentbench.sandbox.docker.cleanup import stored_images
from agentbench.sandbox.interface import Limits
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.task import RepoSource
from tests.e2e.small_task import SERIAL, SmallTask
from tests.fakes.staging import mirrors, small_task
from tests.sandbox.conformance_base import sh

LIMITS = Limits(memory_mib=512, disk_mib=512)
LARGE = 6_000_000  # bytes of one file
CHANGES = {  # what a commit does to the one before it
    "first": f"""
        mkdir -p tests pkg/deep gone/deep was-folder; echo 'x = 1' > pkg/a.py; echo same > pkg/same
        echo 1 > pkg/deep/b; echo 1 > gone/deep/c; echo 1 > was-folder/d; echo 1 > was-file
        echo run > script; ln -s pkg link; printf '*.log\\n' > .gitignore; echo kept > kept.log
        echo 'def test(): pass' > tests/test_a.py; head -c {LARGE} /dev/urandom > large
    """,
    "similar": """
        echo 'x = 2' > pkg/a.py; rm -r gone was-folder was-file; echo file > was-folder
        mkdir was-file; echo 2 > was-file/e; chmod +x script; rm link; ln -s tests link
        echo new > new
        rm kept.log; echo other > other.log; mkdir -p sub/.hidden; echo 1 > 'sub/.hidden/sp ace'
    """,
    "distant": f"head -c {2 * LARGE} /dev/urandom > large; echo 3 > pkg/a.py",
}


def git(folder: Path, *arguments: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ("git", *names, *arguments), cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def commits(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("origin")
    git(folder, "init", "--quiet", "--initial-branch=main")
    found = {"url": folder.as_uri()}
    for path, text in SmallTask().files.items():  # the files that its patches need
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    for name, script in CHANGES.items():
        subprocess.run(("sh", "-ec", script), cwd=folder, check=True)
        git(folder, "add", "--all", "--force", ".")
        git(folder, "commit", "--quiet", "--message", name)
        found[name] = git(folder, "rev-parse", "HEAD")
    return found


@pytest.fixture
def prepare(back_end, workshop, commits, tmp_path):
    resources = workshop(back_end)
    image = back_end.resolve_image(None)
    keys = set()

    def prepare(name: str, *, shared: str = f"true {SERIAL}", commands: str = ""):
        task = small_task(
            tmp_path / f"{name}-{len(keys)}",
            repo=f'url = "{commits["url"]}"\ncommit = "{commits[name]}"',
            setup=f"shared = [{repr(shared) if shared else ''}]\ncommands = [{commands}]",
        )
        cache = resources.cache
        keys.add(cache.key(task, image))
        if shared:
            shared_key = cache.shared_key(task, image)
            known = SharedCheckouts(cache, shared_key, task.source.url or "")
            keys.update((shared_key, *(known.key_of(commit) for commit in commits.values())))
        return prepare_task(task, resources).prepared.snapshot

    yield prepare
    for key in keys:
        resources.cache.forget(key)


def facts(provider, snapshot):
    """All that a task may see of its repository; times are no part of it."""
    with provider.open(snapshot, limits=LIMITS, network=False) as box:
        with box.read_tree(box.workspace) as chunks:
            tree = {path: (e.kind, e.digest, e.executable) for path, e in read_tree(chunks).items()}
        log = sh(box, "git log --format='%H %an %ad %s' --all; git status --porcelain").stdout
        objects = sh(box, "git cat-file --batch-all-objects --batch-check | sort").stdout
        files = sh(box, "find .git -type f ! -path '.git/objects/*' | sort").stdout
        whole = sh(box, "git fsck --unreachable --full 2>&1; ls -A /results 2>&1").stdout
        return tree, log, objects, files, whole


def test_task_on_a_shared_checkout_has_its_own_files(back_end, prepare):
    own = facts(back_end, prepare("similar", shared=""))
    prepare("first")
    assert facts(back_end, prepare("similar")) == own
    assert own[1].count("\n") == 1


def test_first_task_on_a_checkout_has_its_own_files(back_end, prepare):
    own = facts(back_end, prepare("first", shared=""))
    assert facts(back_end, prepare("first")) == own


@pytest.mark.docker
@pytest.mark.parametrize("back_end", ["docker"], indirect=True)
def test_similar_commit_shares_equal_files(back_end, prepare):
    first, similar, distant = (prepare(name) for name in CHANGES)
    known = {each.name: each for each in stored_images(back_end.engine)}
    one, two, three = (known[name] for name in (first, similar, distant))
    assert one.parent == two.parent != three.parent
    assert known[one.parent].size_bytes > LARGE
    assert max(each.size_bytes for each in (one, two, three)) < LARGE / 20


def test_setup_commands_do_not_reach_another_task(back_end, prepare):
    prepare("first", commands='"touch litter pkg/litter; echo x >> pkg/same"')
    with back_end.open(prepare("similar"), limits=LIMITS, network=False) as box:
        assert (
            sh(box, "git status --porcelain; ls pkg; cat pkg/same").stdout
            == "a.py\ndeep\nsame\nsame\n"
        )


def test_missing_commit_is_never_similar(commits):
    mirror = mirrors().of(RepoSource(url=commits["url"], commit=commits["similar"]))
    assert changed_bytes(mirror, commits["similar"]) == 0
    assert 0 < changed_bytes(mirror, commits["first"]) < 200
    assert (
        changed_bytes(Mirror(path=mirror.path, commit=commits["distant"]), commits["first"]) > LARGE
    )
    assert changed_bytes(mirror, "0" * 40) == float("inf")
