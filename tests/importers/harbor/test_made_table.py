from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from agentbench.importers.dockerfiles import DockerfileEnd
from agentbench.importers.harbor.conversion import UnsupportedTaskError, convert_task_file
from agentbench.importers.harbor.task_toml import HarborTaskFile, parse_harbor_task_file
from agentbench.tasks.problem import TaskId
from tests.importers.harbor.harbor_folders import harbor_folder

APP = PurePosixPath("/app")


def table(folder, text: str, workdir: PurePosixPath = APP):
    form = parse_harbor_task_file(text, where="task.toml")
    assert isinstance(form, HarborTaskFile), form
    return convert_task_file(
        harbor_folder(folder), form, TaskId("x"), DockerfileEnd(workdir=workdir)
    )


def test_limits_that_are_not_given_are_ours(tmp_path):
    made = table(tmp_path, "")
    limits = made.environment
    assert (limits.cpus, limits.memory_mib, limits.disk_mib) == (1.0, 2048, 4096)
    assert (made.title, made.agent.timeout_s) == ("x", 1800.0)


def test_a_long_description_gives_a_title_of_a_line(tmp_path):
    made = table(tmp_path, f'[task]\nname = "a/b"\ndescription = "{"d" * 300}"\n')
    assert made.title == "d" * 200


def test_tags_that_are_no_words_are_left_out(tmp_path):
    made = table(tmp_path, '[metadata]\ntags = ["a", "", 3, "a"]\ncategory = 7\n')
    assert made.tags == ("harbor", "a")


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
def test_a_value_beyond_what_can_be_here_is_unsuitable_by_its_field(tmp_path, text, workdir, field):
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


def test_excluded_files_of_an_artifact_are_left(tmp_path):
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
    made = convert_task_file(harbor_folder(tmp_path), form, TaskId("x"), image)
    assert made.environment.user == user
