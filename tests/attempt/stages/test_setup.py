from datetime import timedelta

import pytest

from agentbench.scoring.classification import classify
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import RepoSource
from agentbench.tasks.version_settings import version_settings
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests.fakes.staging import go, prepare, small_task, staged
from tests.patience import with_growing_limit
from tests.tasks.origins import Origin


def commands(*lines: str, timeout_s: float = 60) -> str:
    return f"commands = {list(lines)}\ntimeout_s = {timeout_s}"


def after_setup(provider, desk, task, **more):
    with staged(task, provider, desk, **more) as context:
        return prepare(context), context.prepared is not None


def test_no_commands_keep_the_state(provider, desk, tmp_path):
    evidence, kept = after_setup(provider, desk, small_task(tmp_path / "small"))
    assert evidence.command is None
    assert classify(StageName.SETUP, evidence) is None
    assert kept


def test_commands_run_in_order(provider, desk, tmp_path):
    setup = commands("echo one > made", "cat made; echo $TZ", "test -f basket.py")
    task = small_task(tmp_path / "small", setup=setup, environment='env = { TZ = "Asia/Tokyo" }')
    evidence, kept = after_setup(provider, desk, task)
    assert kept
    assert evidence.command is not None
    assert evidence.command.argv[-1] == "test -f basket.py"
    assert b"one" in desk.printed
    assert b"Asia/Tokyo" in desk.printed
    assert evidence.own_seconds > 0


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("exit 3", Fault.TASK),
        ("echo 'Could not resolve host: pypi.invalid' >&2; exit 1", Fault.INFRASTRUCTURE),
        ("no-such-program-at-all", Fault.TASK),
    ],
)
def test_first_failure_ends_setup(provider, desk, tmp_path, line, fault):
    task = small_task(tmp_path / "small", setup=commands(line, "touch later"))
    evidence, kept = after_setup(provider, desk, task)
    assert not kept
    assert evidence.command is not None
    assert evidence.command.argv[-1] == line
    failure = classify(StageName.SETUP, evidence)
    assert failure is not None
    assert (failure.reason, failure.fault) == (FailureReason.SETUP_FAILED, fault)


def test_all_commands_share_one_time_limit(provider, desk, tmp_path):
    def run(seconds: float):
        setup = commands("echo first", "sleep 1000", timeout_s=seconds)
        task = small_task(tmp_path / f"small-{seconds}", setup=setup)
        return *after_setup(provider, desk, task, timeout_scale=0.5), timedelta(seconds=seconds / 2)

    evidence, kept, limit = with_growing_limit(
        run, lambda made: made[0].command.argv[-1] == "sleep 1000", limits=(1.0, 10.0, 120.0)
    )
    assert not kept
    failure = classify(StageName.SETUP, evidence)
    assert failure is not None
    assert failure.reason is FailureReason.SETUP_TIMEOUT
    assert evidence.command.timeout < limit  # what the first has left


def test_version_is_in_the_environment(provider, desk, tmp_path):
    origin = Origin(tmp_path / "origin")
    origin.write("basket.py", "")
    origin.commit()
    origin.git("tag", "8.0.0.dev0")
    commit = origin.commit()
    command = 'echo "=$SETUPTOOLS_SCM_PRETEND_VERSION=$PBR_VERSION="'
    repo = f'url = "{origin.url}"\ncommit = "{commit}"'
    task = small_task(tmp_path / "small", setup=commands(command, "false"), repo=repo, files={})
    with staged(task, provider, desk) as context:
        go(context, "git_clone", "git_checkout", "setup")
    assert desk.printed.decode().splitlines() == [f"=8.0.0.dev1+g{commit[:9]}=8.0.0.dev1="]


@pytest.mark.parametrize(
    ("tag", "settings"),
    [
        ("1.2", {"SETUPTOOLS_SCM_PRETEND_VERSION": "1.2", "PBR_VERSION": "1.2"}),
        ("1.2+deb1", {"SETUPTOOLS_SCM_PRETEND_VERSION": "1.2+deb1", "PBR_VERSION": "1.2"}),
        ("1!2.0", {"SETUPTOOLS_SCM_PRETEND_VERSION": "1!2.0"}),
        ("nightly", {}),
    ],
)
def test_pbr_gets_a_version_that_it_reads(tmp_path, tag, settings):
    origin = Origin(tmp_path / "origin")
    source = RepoSource(url=origin.url, commit=origin.commit())
    origin.git("tag", tag)
    assert version_settings(Mirrors(tmp_path / "mirrors").of(source)) == settings


def test_files_without_history_have_no_version(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.py").write_text("")
    source = RepoSource(files=tmp_path / "files")
    assert version_settings(Mirrors(tmp_path / "mirrors").of(source)) == {}
    assert version_settings(None) == {}
