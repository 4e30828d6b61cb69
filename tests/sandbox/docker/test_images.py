"""Images: the base image is made once, others are found, built or refused with a remedy."""

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath
from uuid import uuid4

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.docker import images
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, ImageId
from agentbench.sandbox.ownership import PYTHON, RECIPE
from agentbench.sandbox.python_stacks import STACKS, base_image_name
from agentbench.sandbox.toolchains import parse_tools
from tests.sandbox.compose_services import compose
from tests.sandbox.conformance_base import LIMITS, PATIENCE, sh
from tests.sandbox.docker_fixtures import engine, foreign_image, image, provider

__all__ = ["compose", "engine", "foreign_image", "image", "provider"]

pytestmark = pytest.mark.docker


@pytest.fixture
def dockerfile(tmp_path: Path, image: ImageId) -> Path:
    path = tmp_path / "Dockerfile"
    path.write_text(f"FROM {image}\nCOPY note /note\nCMD ['never run']\n")
    return path


@pytest.fixture
def created(engine: Engine) -> Iterator[list[ImageId]]:
    """Images to be removed in the end: these alone, since others are built at the same time."""
    ids: list[ImageId] = []
    yield ids
    with engine.api("remove task images") as api:
        for own in ids:
            api.remove_image(own)


def test_an_image_that_is_up_to_date_is_not_built_again(engine: Engine, image: ImageId) -> None:
    reported: list[str] = []
    again = images.build_base_image(engine, progress=reported.append)
    assert again.id == image
    assert reported == [f"{again.name} is up to date"]


def test_the_base_image_is_listed_and_is_the_default(engine: Engine, image: ImageId) -> None:
    listed = images.list_images(engine)
    assert image in {found.id for found in listed}
    assert (
        images.resolve_image(engine, None)
        == images.resolve_image(engine, "agentbench/python:3.11")
        == image
    )
    # Another test may build an image with tools at the same time: its name goes on with them.
    assert all(
        re.fullmatch(rf"agentbench/python:{re.escape(found.python)}(-[a-z]+[\d.]+)*", found.name)
        for found in listed
    )
    assert all(found.size_bytes > 0 for found in listed)


@pytest.mark.usefixtures("image")
def test_missing_base_image_is_refused_with_the_build_command(engine: Engine) -> None:
    with pytest.raises(UnavailableError, match=r"agentbench images build --python 3\.8"):
        images.resolve_image(engine, "agentbench/python:3.8")


def test_a_missing_image_with_tools_is_refused_with_its_build_command(engine: Engine) -> None:
    command = r"agentbench images build --python 3\.13 --with go=1\.24 --with rust=1\.85`"
    with pytest.raises(UnavailableError, match=command):
        images.resolve_image(engine, "agentbench/python:3.13-go1.24-rust1.85")


@pytest.mark.soak
def test_an_image_with_tools_runs_them(engine: Engine, provider: DockerProvider) -> None:
    tools = ["go", "java", "node", "rust"]
    built = images.build_base_image(engine, "3.11", parse_tools(tools, "3.11"))
    assert built.name == "agentbench/python:3.11-go1.19-java17-node18-rust1.63"
    assert not images.is_outdated(engine, "3.11")
    versions = " && ".join(f"{each} --version" for each in ("mvn", "node", "cargo", "pytest"))
    with provider.open(built.id, limits=LIMITS, network=False) as sandbox:
        ended = sh(sandbox, f"(go version && {versions}) 2>&1")
    assert ended.ok, ended.stdout
    for part in ("go1.19", "Java version: 17", "v18.", "cargo 1.65", "pytest 9"):
        assert part in ended.stdout


def test_unknown_image_is_refused_with_a_remedy(engine: Engine) -> None:
    with pytest.raises(UnavailableError, match="docker load"):
        images.resolve_image(engine, "localhost:1/no/such:image")


def test_a_dockerfile_is_built_once_for_each_content(
    provider: DockerProvider, dockerfile: Path, created: list[ImageId]
) -> None:
    note = dockerfile.parent / "note"
    note.write_text(uuid4().hex)
    created.append(first := provider.resolve_image(None, dockerfile=dockerfile))
    assert provider.resolve_image(None, dockerfile=dockerfile) == first
    note.write_text(another := uuid4().hex)
    created.append(second := provider.resolve_image(None, dockerfile=dockerfile))
    assert second != first
    with provider.open(second, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "cat /note").stdout == another


@pytest.mark.usefixtures("compose")
def test_a_dockerfile_for_buildkit_is_found_by_a_relative_path(
    provider: DockerProvider,
    dockerfile: Path,
    created: list[ImageId],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(dockerfile.parent)
    Path("note").write_text(text := uuid4().hex)
    Path("Dockerfile").write_text("FROM agentbench/python:3.11\nCOPY --chmod=644 note /note\n")
    created.append(found := provider.resolve_image(None, dockerfile=Path("Dockerfile")))
    with provider.open(found, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "cat /note").stdout == text


def test_a_dockerfile_that_fails_says_why(
    provider: DockerProvider, dockerfile: Path, image: ImageId
) -> None:
    # Its first step is what fails: a step before it would stay behind as a nameless image.
    dockerfile.write_text(f"FROM {image}\nRUN echo it went wrong; exit 3\n")
    with pytest.raises(UnavailableError, match="it went wrong"):
        provider.resolve_image(None, dockerfile=dockerfile)


def test_foreign_image_gives_a_sandbox(provider: DockerProvider, foreign_image: str) -> None:
    source = provider.resolve_image(foreign_image)
    with provider.open(source, limits=LIMITS, network=False) as sandbox:
        result = sh(sandbox, 'id -u; touch "$HOME/x" y /results/z && cat', stdin=b"input")
        assert result.stdout == "1000\ninput"
        snapshot = sandbox.snapshot("test-foreign")
    try:
        with provider.open(snapshot, limits=LIMITS, network=False) as sandbox:
            assert sh(sandbox, 'ls; ls "$HOME"; touch y z').stdout == "y\nx\n"
    finally:
        provider.discard(snapshot)


GONE = "failed to get digest sha256:74d0: open /var/lib/docker/image: no such file or directory"


@pytest.mark.parametrize(
    "error",
    [
        GONE,
        "No such image: sha256:fe07",
        "unknown parent image ID sha256:b6cb",
        'unable to find image "sha256:b8ea"',
    ],
)
def test_build_that_lost_a_step_is_repeated(error: str) -> None:
    builds = iter([[{"error": error}], [{"error": error}], [{"stream": "."}]])
    images.run_build(lambda: next(builds), "it")
    assert next(builds, None) is None


@pytest.mark.parametrize(("error", "starts"), [(GONE, 4), ("went wrong", 1)])
def test_failing_build_reports_its_last_output(error: str, starts: int) -> None:
    started = []
    with pytest.raises(UnavailableError, match=error.split(":", maxsplit=1)[0]):
        images.run_build(lambda: started.append(1) or [{"error": error}], "it")
    assert len(started) == starts


def test_failing_build_reports_the_end_of_its_commands_output() -> None:
    output = [
        "Step 1/2 : FROM a\n",
        " ---> 8580ee\n",
        *(f"\x1b[91mline {n}\x1b[0m\n" for n in range(50)),
    ]
    lines = [*({"stream": each} for each in output), {"error": "code: 100"}]
    with pytest.raises(UnavailableError) as caught:
        images.run_build(lambda: lines, "it")
    shown = str(caught.value).splitlines()
    assert shown == ["cannot build it: code: 100", *(f"line {n}" for n in range(40, 50))]


def test_a_base_image_of_another_recipe_is_outdated(engine: Engine, image: ImageId) -> None:
    assert not images.is_outdated(engine, "3.11")
    before = images.image_bytes(engine)
    assert before >= next(one.size_bytes for one in images.list_images(engine) if one.id == image)
    # A version of which this machine has no image, since the name is the outdated image's.
    python, name = next(
        (version, base_image_name(version))
        for version in STACKS
        if not images.image_exists(engine, base_image_name(version))
    )
    labels = f"LABEL {RECIPE}=another {PYTHON}={python}"
    with engine.api("build an outdated image", moves_files=True) as api:
        context = tar_of_file("Dockerfile", f"FROM {image}\n{labels}\n".encode())
        lines = api.build(
            fileobj=BytesIO(context), custom_context=True, tag=name, rm=True, decode=True
        )
        images.run_build(lambda: lines, name)
        try:
            assert images.image_exists(engine, name)
            assert images.is_outdated(engine, python)
        finally:
            api.remove_image(name)
    assert not images.image_exists(engine, name)


APP = PurePosixPath("/app")


@pytest.fixture
def foreign(
    provider: DockerProvider, engine: Engine, image: ImageId, tmp_path: Path
) -> Iterator[ImageId]:
    """An image with files of root's in /app."""
    dockerfile = tmp_path / "Dockerfile"
    (tmp_path / "note").write_text(uuid4().hex)
    dockerfile.write_text(f"FROM {image}\nUSER root\nCOPY note /app/deep/note\nWORKDIR /app\n")
    below = provider.resolve_image(None, dockerfile=dockerfile)
    created = provider.resolve_image(None, dockerfile=dockerfile, workdir=APP)
    yield created
    with engine.api("remove task images") as api:
        for own in (created, below):
            api.remove_image(own)


def test_workspace_of_the_image_belongs_to_the_user(
    provider: DockerProvider, foreign: ImageId
) -> None:
    with provider.open(foreign, limits=LIMITS, network=False) as box:
        assert box.workspace == APP
        assert sh(box, "pwd; ls deep; echo new >> deep/note && touch top").stdout == "/app\nnote\n"


def test_script_folders_are_writable(provider: DockerProvider, foreign: ImageId) -> None:
    with provider.open(foreign, limits=LIMITS, network=False) as box:
        box.write_tree(PurePosixPath("/tests"), tar_of_file("test.sh", b"echo 1"))
        done = sh(box, "sh /tests/test.sh > /logs/verifier/reward.txt && touch /solution/a")
        assert done.ok, done.stderr
        box.kill()
        with box.read_tree(PurePosixPath("/logs/verifier")) as chunks:
            assert b"reward.txt" in b"".join(chunks)


def test_snapshot_contains_the_workspace(provider: DockerProvider, foreign: ImageId) -> None:
    with provider.open(foreign, limits=LIMITS, network=False) as box:
        sh(box, "rm -r deep && echo mine > kept")
        snapshot = box.snapshot(f"test-{uuid4().hex}")
    try:
        with provider.open(snapshot, limits=LIMITS, network=False) as box:
            assert box.workspace == APP
            assert sh(box, "ls; touch more && ls -ld . | cut -c1-10").stdout == "kept\ndrwxr-xr-x\n"
    finally:
        provider.discard(snapshot)


def test_image_with_a_workdir_is_built_once(provider: DockerProvider, foreign: ImageId) -> None:
    assert foreign != provider.resolve_image(None, workdir=APP)
    first = provider.resolve_image(None, workdir=APP)
    assert provider.resolve_image(None, workdir=APP) == first
    assert provider.resolve_image(None, workdir=PurePosixPath("/srv/work")) != first
    with provider.open(first, limits=LIMITS, network=False) as box:
        done = box.run(Command(argv=("ls", "-A"), timeout=PATIENCE))
        assert (done.stdout, done.exit_code) == ("", 0)


@pytest.mark.parametrize("folder", ["/tmp", "/tmp/deep", "/home", "/opt", "/solution", "/srv"])
def test_a_shared_folder_of_the_image_can_be_the_workspace(
    provider: DockerProvider, engine: Engine, image: ImageId, tmp_path: Path, folder: str
) -> None:
    dockerfile, workdir = tmp_path / "Dockerfile", PurePosixPath(folder)
    (tmp_path / "note").write_text(uuid4().hex)
    dockerfile.write_text(f"FROM {image}\nUSER root\nCOPY note {folder}/deep/note\n")
    below = provider.resolve_image(None, dockerfile=dockerfile)
    own = provider.resolve_image(None, dockerfile=dockerfile, workdir=workdir)
    snapshot = None
    try:
        with provider.open(own, limits=LIMITS, network=False) as box:
            box.write_tree(box.workspace, tar_of_file("given", b"x"))
            shown = sh(box, "pwd; cat deep/note given; echo mine > kept; mktemp > /dev/null")
            assert (shown.stdout, shown.exit_code) == (
                f"{folder}\n{(tmp_path / 'note').read_text()}x",
                0,
            )
            snapshot = box.snapshot(f"test-{uuid4().hex}")
        with provider.open(snapshot, limits=LIMITS, network=False) as box:
            assert sh(box, "cat kept given deep/note").ok
            box.kill()
            with box.read_tree(workdir) as chunks:
                assert b"kept" in b"".join(chunks)
    finally:
        if snapshot is not None:
            provider.discard(snapshot)
        with engine.api("remove task images") as api:
            for each in (own, below):
                api.remove_image(each)
