"""Variables of this machine for tasks: only those that are allowed by name."""

import pytest

from agentbench.errors import UsageError
from agentbench.tasks.host_variables import with_host_variables
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

TABLES = """
[environment]
env = { GREETING = "hello", PLAIN = "1" }
env_from_host = { GREETING = "MY_GREETING" }
[verifier]
env_from_host = { TOKEN = "MY_TOKEN" }
[solution]
env_from_host = { MARK = "MY_MARK" }
env = { MARK = "!" }
"""
STEPS = """
[verifier]
env_from_host = { TOKEN = "MY_TOKEN" }
[[steps]]
name = "one"
[steps.verifier]
env_from_host = { OTHER = "MY_OTHER" }
"""


def task(folder, tables: str) -> Task:
    """A task whose script judges."""
    steps = "[[steps]]" in tables
    top = 'schema_version = 1\nid = "x"\ntitle = "x"\n[repo]\nworkdir = "/app"\n'
    files = {"task.toml": top + tables, "tests/test.sh": "true\n"}
    files["steps/one/instruction.md" if steps else "instruction.md"] = "Do it.\n"
    if "[solution]" in tables:
        files["solution/solve.sh"] = "true\n"
    for name, text in files.items():
        path = folder / "x" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load_task(folder / "x", mirrors=Mirrors(folder / "mirrors"))


def test_an_allowed_variable_replaces_the_default(tmp_path):
    environ = {"MY_GREETING": "", "MY_TOKEN": "t", "MY_MARK": "?", "PLAIN": "2"}
    (created,) = with_host_variables(
        [task(tmp_path, TABLES)], ("MY_GREETING", "MY_TOKEN", "UNSET"), environ
    )
    assert created.environment.env == {"GREETING": "", "PLAIN": "1"}
    assert created.answer_key.verifier is not None
    assert created.answer_key.verifier.env == {"TOKEN": "t"}
    assert created.answer_key.solution is not None
    assert created.answer_key.solution.env == {"MARK": "!"}


@pytest.mark.parametrize("allowed", [(), ("MY_TOKEN",)])
def test_missing_variable_is_reported(tmp_path, allowed):
    environ = {"MY_GREETING": "hi"} if allowed else {"MY_TOKEN": "t"}
    with pytest.raises(UsageError, match="MY_TOKEN; set each one, and allow it with --allow-env"):
        with_host_variables([task(tmp_path, TABLES)], allowed, environ)


def test_each_step_has_the_variables_of_all_steps_and_its_own(tmp_path):
    environ = {"MY_TOKEN": "t", "MY_OTHER": "o"}
    whole = task(tmp_path, STEPS)
    (created,) = with_host_variables([whole], tuple(environ), environ)
    assert created.steps[0].verifier.env == {"TOKEN": "t", "OTHER": "o"}
    with pytest.raises(UsageError, match=r"x: \[steps.one.verifier\] env_from_host.OTHER needs"):
        with_host_variables([whole], ("MY_TOKEN",), environ)


def test_task_without_host_variables_is_unchanged(tmp_path):
    plain = task(tmp_path, "[verifier]\n")
    assert with_host_variables([plain], ("HOME",), {"HOME": "/root"}) == (plain,)
