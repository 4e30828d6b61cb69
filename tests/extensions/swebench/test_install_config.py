import pytest

from agentbench.extensions.swebench.environments import (
    DOCKERFILE,
    EnvironmentSources,
    UnknownEnvironmentError,
    environment_of,
)
from agentbench.extensions.swebench.instance import parse_instance
from agentbench.tasks.dataset_rows import DatasetRow
from tests.extensions.swebench.test_instance import WHOLE

FREEZE = """\
attrs==25.1.0
-e git+https://github.com/a/b@0000000#egg=b
numpy @ file:///croot/numpy_1708638681471/work
pytest==8.3.5
torch==2.0.0+cpu
"""
V1 = {
    "env_vars": {"TZ": "UTC", "N": 1},
    "env_yml_path": None,
    "install": "pip install -e .[all]",
    "log_parser": "parse_log_pytest",
    "no_use_env": None,
    "packages": "requirements.txt",
    "pip_packages": ["pytest", "mock>=4"],
    "pre_install": ["apt-get update && apt-get install -y gcc libxml2-dev", "make version"],
    "python": "3.9",
    "reqs_path": ["requirements/base.txt", "requirements/test.txt"],
    "test_cmd": "pytest --no-header -rA --tb=line --color=no -p no:cacheprovider",
}
V2 = {
    "base_image_name": "python_base_310",
    "docker_specs": None,
    "install": ["pip install -e .", "pip install pytest"],
    "log_parser": "parse_log_pytest",
    "test_cmd": ["pytest -rA"],
}


def environment(**changes):
    row = DatasetRow(where="in.jsonl:1", value={**WHOLE, **changes})
    return environment_of(parse_instance(row), EnvironmentSources())


def test_the_set_up_of_swe_rebench_installs_what_its_image_has():
    found = environment(install_config=V1, requirements=FREEZE, docker_image="x/y")
    assert found.setup.commands == (
        "python -m pip install --no-deps attrs==25.1.0 pytest==8.3.5",
        "if [ -f requirements/base.txt ]; then python -m pip install -r requirements/base.txt; fi",
        "if [ -f requirements/test.txt ]; then python -m pip install -r requirements/test.txt; fi",
        "make version",
        "python -m pip install pytest pytest 'mock>=4'",
        "pip install -e .[all]",
    )
    assert found.environment.env == {"TZ": "UTC", "N": "1"}
    dockerfile = found.files[DOCKERFILE].decode()
    assert dockerfile.startswith("FROM agentbench/python:3.9\n")
    assert "--no-install-recommends gcc libxml2-dev " in dockerfile


@pytest.mark.parametrize(
    ("config", "shared", "commands"),
    [
        (
            {"python": "3.9.21"},
            ("python -m pip install pytest",),
            ("python -m pip install -e .",),
        ),
        (
            {"packages": "requirements.txt", "install": ""},
            (),
            (
                "if [ -f requirements.txt ]; then python -m pip install -r requirements.txt; fi",
                "python -m pip install pytest",
                "python -m pip install -e .",
            ),
        ),
        (
            {"packages": "numpy scipy", "pip_packages": "a b>1", "pre_install": "make"},
            ("python -m pip install pytest numpy scipy a 'b>1'",),
            ("make", "python -m pip install -e ."),
        ),
        (
            {"pip_packages": '["a"]', "reqs_path": None, "install": ["x", "y"]},
            ("python -m pip install pytest a",),
            ("x && y",),
        ),
    ],
)
def test_fields_of_the_set_up_have_several_forms(config, shared, commands):
    setup = environment(install_config=config).setup
    assert (setup.shared, setup.commands) == (shared, commands)


def test_conda_s_file_is_read_from_its_frozen_form_or_left_to_the_image():
    conda = {**V1, "packages": "environment.yml", "pre_install": None}
    frozen = environment(install_config=conda, requirements=FREEZE)
    assert frozen.setup.commands[0].endswith("--no-deps attrs==25.1.0 pytest==8.3.5")
    in_image = environment(install_config=conda, docker_image="x/y:z")
    assert in_image.files[DOCKERFILE].startswith(b"FROM x/y:z\n")
    with pytest.raises(UnknownEnvironmentError, match="which needs conda; give an image"):
        environment(install_config=conda)


def test_a_row_of_v2_is_set_up_by_its_image_where_the_repository_has_its_own_folder():
    image = "docker.io/swerebenchv2/a-b:278-6a41299"
    found = environment(install_config=V2, image_name=image, language="python")
    dockerfile = found.files[DOCKERFILE].decode()
    assert dockerfile.startswith(f"FROM {image}\n")
    assert "rm -rf /b/.git && mv /b /testbed-made" in dockerfile
    assert "ln -s /workspace /b\n" in dockerfile


def test_the_set_up_of_another_language_installs_no_packages_of_python():
    config = {"install": ["npm ci", "npm run build"], "test_cmd": ["npx jest --verbose"]}
    found = environment(install_config=config, language="ts")
    assert (found.setup.shared, found.setup.commands) == ((), ("npm ci && npm run build",))


def test_a_row_of_swe_bench_live_is_set_up_by_the_image_of_its_id():
    found = environment(test_cmds=["pytest -rA"], pull_number="1", log_parser="pytest")
    dockerfile = found.files[DOCKERFILE].decode()
    assert dockerfile.startswith("FROM starryzhang/sweb.eval.x86_64.a_1776_b-1\n")
    assert "mv /testbed /testbed-made" in dockerfile


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"test_cmds": ["pytest -rA", "tox"]}, "test_cmds is 'tox', and agentbench judges"),
        ({"test_cmds": '["npm test"]'}, "test_cmds is 'npm test'"),
        (
            {"install_config": {**V2, "test_cmd": ["make", "pytest"]}, "image_name": "x"},
            "install_config.test_cmd is 'make'",
        ),
        ({"install_config": {"python": "2.7"}}, "install_config: python: '2.7' does not match"),
        ({"docker_image": "x\nRUN y"}, "is not the name of an image"),
        ({"install_config": {"env_vars": {"A=B": "x"}}}, "'A=B' is not a name of an environment"),
    ],
)
def test_a_set_up_that_cannot_be_used_is_refused(changes, what):
    with pytest.raises(UnknownEnvironmentError) as result:
        environment(**changes)
    assert what in str(result.value)
