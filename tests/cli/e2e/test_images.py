import json

import pytest


@pytest.mark.parametrize("arguments", [("list",), ("build",)])
def test_without_an_engine_it_is_69_and_says_what_to_start(cli, tmp_path, monkeypatch, arguments):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    result = cli("images", *arguments)
    assert (result.code, result.stdout) == (69, "")
    assert result.stderr.startswith("agentbench: ")


@pytest.mark.parametrize("python", ["2.7", "3.5", "3.15", "3.12.1"])
def test_a_python_that_is_not_supported_is_refused_in_one_line(cli, python):
    result = cli("images", "build", "--python", python)
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr == (
        f"agentbench: no base image has Python {python!r}: "
        "use one of 3.6, 3.7, 3.8, 3.9, 3.10, 3.11, 3.12, 3.13, 3.14\n"
    )


@pytest.mark.docker
def test_the_images_of_an_engine_are_listed(cli):
    result = cli("images", "list")
    assert result.code == 0, result.stderr
    rows = json.loads(cli("images", "list", "--json").stdout)
    assert all(set(row) == {"name", "python", "id", "size"} for row in rows)
    assert all(row["name"] in result.stdout for row in rows)
