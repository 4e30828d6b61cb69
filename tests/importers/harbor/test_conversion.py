import pytest

from agentbench.importers.harbor.importing import unsupported_features, unused_keys
from agentbench.importers.harbor.task_toml import HarborTaskFile, parse_harbor_task_file
from tests.importers.harbor.harbor_folders import harbor_folder


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
def test_what_a_sandbox_cannot_be_is_refused_by_its_key(tmp_path, text, field):
    found = list(unsupported_features(form(text), harbor_folder(tmp_path)))
    assert [name for name, _ in found] == [field]
    assert all(reason for _, reason in found)


def test_neither_an_image_nor_a_dockerfile_is_too_little(tmp_path):
    folder = harbor_folder(tmp_path, {"environment/Dockerfile": None})
    ((field, _),) = unsupported_features(form(""), folder)
    assert field == "environment/Dockerfile"
    assert not list(unsupported_features(form('[environment]\ndocker_image = "a"\n'), folder))


def test_what_means_nothing_here_is_named():
    text = (
        'source = "a"\nartifacts = ["b"]\n[agent]\nuser = "me"\n[environment]\nspeed = 1\n'
        'skills_dir = "/s"\n[verifier.environment]\ndocker_image = "c"\nstorage_mb = 99\n'
    )
    assert list(unused_keys(form(text))) == [
        "source",
        "verifier.environment.storage_mb",
        "environment.speed",
    ]


def test_artifacts_are_of_use_to_a_separate_verifier_alone():
    assert list(unused_keys(form('artifacts = ["a"]\n'))) == ["artifacts"]
