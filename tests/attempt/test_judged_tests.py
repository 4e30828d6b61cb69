from datetime import timedelta
from pathlib import PurePosixPath
from pathlib import PurePosixPath as P

import pytest

from agentbench.attempt.expected_tests import judged_targets, listed_only, with_located_tests
from agentbench.attempt.judged_tests import (
    judged_evidence,
    judged_request,
    judged_timeout,
    write_files,
)
from agentbench.core.files import FileContent
from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Limits
from agentbench.scoring.evidence import PytestOutcome, ReportSource, ReportTrust
from agentbench.tasks.task import AnswerKey
from agentbench.tasks.test_command import parse_test_command
from agentbench.test_runs.model import PytestResult, PytestSummary
from agentbench.test_runs.runner import TestRun
from agentbench.test_runs.runners import runner_of
from tests.fakes.staging import small_task, staged
from tests.sandbox.conformance_base import sh
from tests.scoring.strategies import case, command, report

NEW = FileContent(content=b"new\n", executable=False)


@pytest.fixture
def box(provider):
    limits = Limits(memory_mib=256, disk_mib=256)
    with provider.open(provider.resolve_image(None), limits=limits, network=False) as opened:
        sh(opened, "mkdir -p pkg/deep && echo old | tee a pkg/b pkg/deep/c && ln -s pkg link")
        yield opened


def listing(box) -> list[str]:
    return sh(box, "find . -mindepth 1 | sort").stdout.split()


def test_files_are_written_and_removed(box):
    script = FileContent(content=b"#!/bin/sh\necho ran\n", executable=True)
    write_files(box, {P("a"): NEW, P("pkg/b"): None, P("new/run.sh"): script})
    assert sh(box, "cat a; ./new/run.sh").stdout == "new\nran\n"
    assert "./pkg/b" not in listing(box)
    assert "./pkg/deep/c" in listing(box)


def test_emptied_folders_are_removed(box):
    write_files(box, {}, emptied=[P("pkg/deep"), P("pkg")])
    assert listing(box) == ["./a", "./link"]


def test_emptied_folder_with_a_written_file_stays(box):
    write_files(box, {P("pkg/deep/new"): NEW}, emptied=[P("pkg/deep"), P("pkg")])
    assert "./pkg/deep/new" in listing(box)


def test_file_and_folder_replace_each_other(box):
    write_files(
        box, {P("pkg/b"): None, P("pkg"): NEW, P("a"): None, P("a/x"): NEW}, emptied=[P("pkg")]
    )
    assert listing(box) == ["./a", "./a/x", "./link", "./pkg"]


def test_removed_link_keeps_its_target(box):
    write_files(box, {P("link"): None})
    assert listing(box) == ["./a", "./pkg", "./pkg/b", "./pkg/deep", "./pkg/deep/c"]


def test_file_name_like_an_option_is_written(box):
    write_files(box, {P("-rf"): NEW, P("with space"): NEW})
    write_files(box, {P("-rf"): None, P("with space"): None})
    assert listing(box) == ["./a", "./link", "./pkg", "./pkg/b", "./pkg/deep", "./pkg/deep/c"]


def test_killed_sandbox_raises(box):
    box.kill()
    with pytest.raises(SandboxError):
        write_files(box, {P("a"): None})


@pytest.fixture
def task(tmp_path):
    return small_task(tmp_path / "small")


def request_listing(task, paths=("tests",), **key):
    problem = task.problem.replace(test_paths=tuple(paths))
    return task.replace(problem=problem, answer_key=AnswerKey(**key))


@pytest.mark.parametrize(
    ("paths", "fixed", "kept", "targets"),
    [
        (["tests"], ["tests/a.py::x", "tests/a.py::y"], [], ("tests/a.py",)),
        (["tests"], ["tests/a.py::x"], ["b.py::C::y"], ("tests/a.py", "b.py")),
        (["tests"], ["tests/a.py::x"], "baseline", ("tests",)),
        (["tests/"], ["tests/a.py::x", "other/b.py::y"], "baseline", ("tests/", "other/b.py")),
        (["tests"], ["tests2/a.py::x"], "baseline", ("tests", "tests2/a.py")),
        ([], ["tests/a.py::x"], "baseline", ()),
        (["tests"], [], [], ("tests",)),
        ([], [], [], ()),
        (["a.py"], ["a.py::x"], "baseline", ("a.py",)),
    ],
)
def test_targets_are_files(task, paths, fixed, kept, targets):
    chosen = request_listing(task, paths, fail_to_pass=fixed, pass_to_pass=kept)
    assert judged_targets(chosen) == targets


def test_request_has_the_task_command_and_limits(task, provider, desk):
    task = task.replace(environment=task.environment.replace(env={"TZ": "UTC"}))
    with staged(task, provider, desk, timeout_scale=2.0) as context:
        request = judged_request(context.inputs)
        assert judged_timeout(context.inputs) == timedelta(seconds=120) == request.timeout
    assert request.targets == ("tests",)
    assert request.env == {"TZ": "UTC"}
    assert request.judged


def test_report_keeps_only_listed_tests(task):
    facts = report(case("tests/a.py::x"), case("tests/a.py::y"))
    fixed = request_listing(task, fail_to_pass=["tests/a.py::x"])
    assert [each.node_id for each in listed_only(facts, fixed).cases] == ["tests/a.py::x"]
    assert listed_only(facts, request_listing(task)) == facts
    everything = request_listing(task, fail_to_pass=["tests/a.py::x"], pass_to_pass="baseline")
    assert listed_only(facts, everything) == facts


def test_evidence_has_the_time_of_the_tests(task, provider, desk):
    result = PytestResult(
        exit_code=0,
        summary=PytestSummary(),
        outcome=PytestOutcome.PASSED,
        source=ReportSource.STREAM,
    )
    run = TestRun(command=command(0), result=result, trust=ReportTrust.IN_PROCESS_STREAM)
    with staged(task, provider, desk) as context:
        assert judged_evidence(context.inputs, run).own_seconds == 5
        assert judged_evidence(context.inputs, run).memory_limit_mib == 2048


CORE = "packages/core/tests"
FILES = {
    "tests/test_a.py": b"def test_root(): pass",
    "packages/core/tests/test_a.py": b"def test_core(): pass\ndef test_both(): pass",
    "packages/other/tests/test_a.py": b"def test_other(): pass\ndef test_both(): pass",
    "packages/core/tests/test_c.py": b"class TestC:\n    def test_c(self): pass",
}


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ("packages/core/tests/test_c.py::test_c", "packages/core/tests/test_c.py::test_c"),
        ("tests/test_c.py::TestC::test_c[a::b]", f"{CORE}/test_c.py::TestC::test_c[a::b]"),
        ("test_c.py::TestC::test_c", "packages/core/tests/test_c.py::TestC::test_c"),
        ("tests/test_a.py::test_root", "tests/test_a.py::test_root"),
        ("tests/test_a.py::test_core[x]", "packages/core/tests/test_a.py::test_core[x]"),
        ("tests/test_a.py::test_both", "packages/core/tests/test_a.py::test_both"),
        ("tests/test_a.py::test_inherited", "tests/test_a.py::test_inherited"),
        ("tests/test_gone.py::test_c", "tests/test_gone.py::test_c"),
        ("ests/test_c.py::test_c", "ests/test_c.py::test_c"),
        ("test_c (tests.TestC)", "test_c (tests.TestC)"),
    ],
)
def test_id_of_pytests_rootdir_is_located_in_the_repository(task, listed, found):
    chosen = request_listing(task, ["packages/core"], fail_to_pass=[listed], pass_to_pass=[listed])
    paths = map(PurePosixPath, FILES)
    runner = runner_of(parse_test_command("pytest"))
    located = with_located_tests(chosen, paths, lambda path: FILES[path.as_posix()], runner)
    key = located.answer_key
    assert (key.fail_to_pass, key.pass_to_pass) == ((found,), (found,))
