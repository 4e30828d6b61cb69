"""MCP servers and skills of Harbor's tasks become those of ours."""

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from agentbench.extensions.harbor.conversion import UnsupportedTaskError, convert_task_file
from agentbench.extensions.harbor.importing import unsupported_features, unused_keys
from agentbench.extensions.harbor.task_toml import HarborTaskFile, parse_harbor_task_file
from agentbench.importers.dockerfiles import DockerfileEnd
from agentbench.tasks.problem import TaskId
from tests.extensions.harbor.harbor_folders import harbor_folder
from tests.extensions.harbor.test_importing import refused, task


def form(text: str) -> HarborTaskFile:
    found = parse_harbor_task_file(text, where="task.toml")
    assert isinstance(found, HarborTaskFile), found
    return found


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('[environment]\nos = "Windows"\n', "environment.os"),
        ("[environment]\ngpus = 1\n", "environment.gpus"),
        ('[environment.tpu]\ntype = "v4"\ntopology = "2x2"\n', "environment.tpu"),
        ("[verifier.environment]\ngpus = 2\n", "verifier.environment.gpus"),
        (
            '[[steps]]\nname = "a"\n[steps.verifier.environment]\ngpus = 2\n',
            "steps.0.verifier.environment.gpus",
        ),
    ],
)
def test_unsupported_features_are_refused_by_key(tmp_path, text, field):
    found = list(unsupported_features(form(text), harbor_folder(tmp_path)))
    assert [name for name, _ in found] == [field]
    assert all(reason for _, reason in found)


def test_missing_image_and_dockerfile_are_refused(tmp_path):
    folder = harbor_folder(tmp_path, {"environment/Dockerfile": None})
    ((field, _),) = unsupported_features(form(""), folder)
    assert field == "environment/Dockerfile"
    assert not list(unsupported_features(form('[environment]\ndocker_image = "a"\n'), folder))


def test_unused_keys_are_named():
    text = (
        'source = "a"\nartifacts = ["b"]\n[agent]\nuser = "me"\n[environment]\nspeed = 1\n'
        'skills_dir = "/s"\n[verifier.environment]\ndocker_image = "c"\nstorage_mb = 99\n'
    )
    assert list(unused_keys(form(text))) == [
        "source",
        "verifier.environment.storage_mb",
        "environment.speed",
    ]


def test_artifacts_need_a_separate_verifier():
    assert list(unused_keys(form('artifacts = ["a"]\n'))) == ["artifacts"]


APP = PurePosixPath("/app")


def table(folder, text: str, workdir: PurePosixPath = APP):
    form = parse_harbor_task_file(text, where="task.toml")
    assert isinstance(form, HarborTaskFile), form
    return convert_task_file(
        harbor_folder(folder), form, TaskId("x"), DockerfileEnd(workdir=workdir)
    )


def test_missing_limits_get_our_defaults(tmp_path):
    created = table(tmp_path, "")
    limits = created.environment
    assert (limits.cpus, limits.memory_mib, limits.disk_mib) == (1.0, 2048, 4096)
    assert (created.title, created.agent.timeout_s) == ("x", 1800.0)


def test_a_long_description_gives_a_title_of_a_line(tmp_path):
    created = table(tmp_path, f'[task]\nname = "a/b"\ndescription = "{"d" * 300}"\n')
    assert created.title == "d" * 200


def test_tags_of_other_types_are_ignored(tmp_path):
    created = table(tmp_path, '[metadata]\ntags = ["a", "", 3, "a"]\ncategory = 7\n')
    assert created.tags == ("harbor", "a")


@pytest.mark.parametrize(
    ("text", "workdir", "field"),
    [
        ("", "/run/a", "repo.workdir"),
        ('[environment]\ndocker_image = "a b"\n', "/app", "environment.image"),
        ('[environment.env]\n"A-B" = "1"\n', "/app", "environment.env.A-B"),
        ('artifacts = [{ source = "/" }]\n[verifier.environment]\n', "/app", "artifacts.0"),
        (
            'artifacts = [{ source = "a", service = "db" }]\n[verifier.environment]\n',
            "/app",
            "artifacts.0",
        ),
    ],
)
def test_out_of_range_value_is_refused_by_field(tmp_path, text, workdir, field):
    with pytest.raises(UnsupportedTaskError) as caught:
        table(tmp_path, text, PurePosixPath(workdir))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("source", "taken"),
    [("/app/out", "out"), ("out.txt", "out.txt"), ("/app/", "."), ("/var/log/x", "/var/log/x")],
)
def test_artifacts_are_all_that_a_separate_verifier_gets(tmp_path, source, taken):
    text = f'artifacts = ["{source}"]\n[verifier]\nenvironment_mode = "separate"\n'
    verifier = table(tmp_path, text).verifier
    assert verifier is not None
    assert verifier.takes == ("/logs/artifacts", taken)


def test_excluded_files_of_artifact_are_omitted(tmp_path):
    text = 'artifacts = [{ source = "out", exclude = ["*.tmp", "a/b"] }]\n[verifier.environment]\n'
    verifier = table(tmp_path, text).verifier
    assert verifier is not None
    names = ("out/x", "out/x.tmp", "out/c/d.tmp", "out/a/b", "out/a/b/c", "out/b", "other")
    taken = [name for name in names if verifier.is_taken(PurePosixPath(name))]
    assert taken == ["out/x", "out/b"]


@pytest.mark.parametrize(
    ("image", "named", "user"),
    [
        (DockerfileEnd(image="ubuntu:24.04"), "", "root"),
        (DockerfileEnd(image="a", user="app:staff"), "", "app"),
        (DockerfileEnd(image="a", user="0"), "", "root"),
        (DockerfileEnd(image="a", user="app"), "user = 0\n", "root"),
        (DockerfileEnd(image="a", user="app"), 'user = "tester"\n', "tester"),
        (DockerfileEnd(image="agentbench/python:3.11"), "", "agent"),
        (DockerfileEnd(image="agentbench/python:3.11", user="1000:1000"), "", "agent"),
        (DockerfileEnd(image="agentbench/python:3.11", user="root"), "", "root"),
    ],
)
def test_a_phase_has_the_user_that_it_names_or_that_of_the_image(tmp_path, image, named, user):
    form = parse_harbor_task_file(f"[agent]\n{named}", where="task.toml")
    assert isinstance(form, HarborTaskFile), form
    image = replace(image, workdir=APP)
    created = convert_task_file(harbor_folder(tmp_path), form, TaskId("x"), image)
    assert created.environment.user == user


SERVERS = """
[environment]
skills_dir = "/opt/skills"
[[environment.mcp_servers]]
name = "notes"
transport = "http"
url = "http://notes:8000/mcp"
headers = { X-Reader = "${READER:-anyone}", Authorization = "${TOKEN}", X-Plain = "1" }
[[environment.mcp_servers]]
name = "clock"
transport = "stdio"
command = "python3"
args = ["/opt/clock.py"]
"""


def test_servers_and_skills_are_imported(tmp_path):
    environment = task(harbor_folder(tmp_path, {"task.toml": SERVERS})).new.table.environment
    notes, clock = environment.mcp_servers
    assert environment.skills == "/opt/skills"
    assert (notes.transport, notes.url) == ("streamable-http", "http://notes:8000/mcp")
    assert notes.headers == {"X-Reader": "anyone", "X-Plain": "1"}
    assert notes.headers_from_host == {"X-Reader": "READER", "Authorization": "TOKEN"}
    assert (clock.transport, clock.command, clock.args) == ("stdio", "python3", ("/opt/clock.py",))


@pytest.mark.parametrize(
    ("table", "result"),
    [
        ('name = "a"\n', 'needs `url` with `transport = "sse"`'),
        ('name = "a"\ntransport = "stdio"\n', 'needs `command` with `transport = "stdio"`'),
        ('name = "a b"\nurl = "http://a"\n', "'a b'"),
        ('name = "a"\nurl = "ftp://a"\n', "'ftp://a'"),
        ('name = "a"\nurl = "http://a"\ntransport = "smoke"\n', "'smoke'"),
    ],
)
def test_unreachable_server_is_refused_by_field(tmp_path, table, result):
    text = f"[[environment.mcp_servers]]\n{table}"
    (one,) = refused(harbor_folder(tmp_path, {"task.toml": text}))
    assert one.startswith("task.toml: environment.mcp_servers.0")
    assert result in one
