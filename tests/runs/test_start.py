"""A command whose program is missing is found before the first attempt, and no other one."""

import pytest

from agentbench.agents.command import CommandAgent
from agentbench.agents.reference import NoopAgent
from agentbench.errors import UsageError
from agentbench.runs.start import check_agent_programs
from tests.e2e.small_task import BUGGY, SERIAL
from tests.fakes.staging import small_task

INSTALLS = (
    "commands = [\"printf '#!/bin/sh\\\\n' > $(dirname $(command -v python))/set-up-agent\", "
)
INSTALLS += '"chmod +x $(dirname $(command -v python))/set-up-agent"]'
FILES = {"basket.py": BUGGY, "tests/test_basket.py": "", "serial.txt": SERIAL}


@pytest.fixture
def check(workshop):
    def check_(line, *tasks, **more):
        said = []
        check_agent_programs(CommandAgent(line), tasks, workshop(**more), say=said.append)
        return said

    return check_


@pytest.mark.parametrize(
    "line", ["my-agent", "cat {instruction} | my-agent --fix", "/opt/my-agent"]
)
def test_a_program_that_no_image_has_is_missing(check, tmp_path, line):
    task = small_task(tmp_path / "small", files=FILES)
    with pytest.raises(UsageError, match=r"^Agent command not found: .*my-agent; .* in small"):
        check(line, task)


def test_a_shell_decides_about_lines_that_are_more_than_a_pipeline(check, tmp_path):
    task = small_task(tmp_path / "small", files=FILES)
    assert check("my-agent || python -c pass", task) == []
    assert check("python -c pass", task) == []
    check_agent_programs(NoopAgent(), [task], None, say=print)  # has no programs


def test_what_set_up_installs_and_the_repository_holds_is_found(check, tmp_path):
    task = small_task(tmp_path / "small", setup=INSTALLS, files=FILES)
    assert check("set-up-agent", task) == ["preparing small, to look for set-up-agent in it"]
    assert len(check("sh ./own-agent", task)) == 0
    with pytest.raises(UsageError, match=r"not found: \./own-agent; "):
        check("./own-agent", task)
    with pytest.raises(UsageError, match="not found: my-agent; "):
        check("my-agent", task)
    other = small_task(tmp_path / "other", files=FILES)
    assert check("set-up-agent", other, task)  # one task with the program is enough


@pytest.mark.parametrize(
    ("setup", "more"),
    [('commands = ["false"]', {}), ('commands = ["true"]', {"use_cache": False})],
    ids=["set-up fails", "no cache"],
)
def test_where_a_task_cannot_be_prepared_before_its_attempt_that_tells(
    check, tmp_path, setup, more
):
    check("my-agent", small_task(tmp_path / "small", setup=setup, files=FILES), **more)
