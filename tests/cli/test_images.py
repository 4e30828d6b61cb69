import json

import pytest


@pytest.mark.parametrize("arguments", [("list",), ("build",)])
def test_without_an_engine_it_is_69_and_says_what_to_start(cli, tmp_path, monkeypatch, arguments):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    said = cli("images", *arguments)
    assert (said.code, said.stdout) == (69, "")
    assert said.stderr.startswith("agentbench: ")


@pytest.mark.parametrize("python", ["2.7", "3.5", "3.15", "3.12.1"])
def test_a_python_that_is_not_supported_is_refused_in_one_line(cli, python):
    said = cli("images", "build", "--python", python)
    assert (said.code, said.stdout) == (2, "")
    assert said.stderr == (
        f"agentbench: no base image has Python {python!r}: "
        "use one of 3.6, 3.7, 3.8, 3.9, 3.10, 3.11, 3.12, 3.13, 3.14\n"
    )


@pytest.mark.docker
def test_the_images_of_an_engine_are_listed(cli):
    said = cli("images", "list")
    assert said.code == 0, said.stderr
    rows = json.loads(cli("images", "list", "--json").stdout)
    assert all(set(row) == {"name", "python", "id", "size"} for row in rows)
    assert all(row["name"] in said.stdout for row in rows)
