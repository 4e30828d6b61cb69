import pytest

from agentbench.tasks.importers.harbor.form import HarborForm, parse_form
from agentbench.tasks.importers.harbor.unfit import not_used, reasons_against
from tests.tasks.importers.harbor.harbor_folders import harbor_folder


def form(text: str) -> HarborForm:
    found = parse_form(text, where="task.toml")
    assert isinstance(found, HarborForm), found
    return found


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('[[steps]]\nname = "one"\n', "steps"),
        ('[environment]\nos = "Windows"\n', "environment.os"),
        ("[environment]\ngpus = 1\n", "environment.gpus"),
        ('[environment.tpu]\ntype = "v4"\ntopology = "2x2"\n', "environment.tpu"),
        ('[[environment.mcp_servers]]\nname = "a"\nurl = "b"\n', "environment.mcp_servers"),
        ('[environment.healthcheck]\ncommand = "true"\n', "environment.healthcheck"),
        ("[verifier.environment]\ngpus = 2\n", "verifier.environment.gpus"),
        ('[[verifier.collect]]\ncommand = "dump"\n', "verifier.collect"),
    ],
)
def test_what_a_sandbox_cannot_be_is_refused_by_its_key(tmp_path, text, field):
    found = list(reasons_against(form(text), harbor_folder(tmp_path)))
    assert [name for name, _ in found] == [field]
    assert all(reason for _, reason in found)


@pytest.mark.parametrize("name", ["docker-compose.yaml", "compose.yaml"])
def test_several_containers_are_refused_by_their_file(tmp_path, name):
    folder = harbor_folder(tmp_path, {f"environment/{name}": "services: {}\n"})
    ((field, reason),) = reasons_against(form(""), folder)
    assert field == f"environment/{name}"
    assert "a single one" in reason


def test_neither_an_image_nor_a_dockerfile_is_too_little(tmp_path):
    folder = harbor_folder(tmp_path, {"environment/Dockerfile": None})
    ((field, _),) = reasons_against(form(""), folder)
    assert field == "environment/Dockerfile"
    assert not list(reasons_against(form('[environment]\ndocker_image = "a"\n'), folder))


def test_what_means_nothing_here_is_named():
    text = (
        'source = "a"\nartifacts = ["b"]\n[agent]\nuser = "me"\n[environment]\nspeed = 1\n'
        'skills_dir = "/s"\n[verifier.environment]\ndocker_image = "c"\ncpus = 2\n'
    )
    assert list(not_used(form(text))) == [
        "environment.skills_dir",
        "agent.user",
        "source",
        "verifier.environment.cpus",
        "environment.speed",
    ]


def test_artifacts_are_of_use_to_a_separate_verifier_alone():
    assert list(not_used(form('artifacts = ["a"]\n'))) == ["artifacts"]
