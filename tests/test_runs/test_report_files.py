import io
import json
import tarfile
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs import serialize_pytest_results
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.report_files import (
    REPORT_LIMIT,
    STREAM_FILE,
    ProgressCounter,
    RunProgress,
    follow_progress,
    read_files,
    read_report_files,
)
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.fakes.local_sandbox import LocalSandbox
from tests.patience import HANG_SECONDS
from tests.test_runs.interpreters import NEWEST, requirements

LIMITS = {STREAM_FILE: 1_000_000}


class TarSandbox(LocalSandbox):
    """Answers every `read_tree` with the same stream, whatever is in it."""

    def __init__(self, root, data):
        super().__init__(root, Path("python"), ())
        self.data = data

    @contextmanager
    def read_tree(self, path):  # noqa: ARG002  # the protocol's signature
        yield (self.data[start : start + 1000] for start in range(0, len(self.data), 1000))


def tar_of(*members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            else:
                info.type, info.linkname, info.size = content
                archive.addfile(info)
    return buffer.getvalue()


def retrieved(tmp_path, data):
    return read_report_files(TarSandbox(tmp_path, data), PurePosixPath("/x"))


def test_the_named_files_are_read_and_nothing_else(tmp_path):
    data = tar_of(
        ("./stream.jsonl", b"one\n"),
        ("report.json", b"\xff{}"),
        ("sub/junit.xml", b"elsewhere"),
        ("other", b"x"),
    )
    files = retrieved(tmp_path, data)
    assert (files.stream, files.json_report, files.junit) == ("one\n", "�{}", None)


class HaltingSandbox(TarSandbox):
    """Hands out an empty chunk before every real one."""

    @contextmanager
    def read_tree(self, path):
        with super().read_tree(path) as chunks:
            yield (part for chunk in chunks for part in (b"", chunk))


def test_an_empty_chunk_is_not_the_end(tmp_path):
    data = tar_of(("report.json", b"{}" * 256), ("stream.jsonl", b"one\n"))
    files = read_report_files(HaltingSandbox(tmp_path, data), PurePosixPath("/x"))
    assert (files.stream, files.json_report) == ("one\n", "{}" * 256)


@pytest.mark.parametrize(
    ("type_", "size"),
    [
        (tarfile.SYMTYPE, 0),
        (tarfile.LNKTYPE, 0),
        (tarfile.CHRTYPE, 0),
        (tarfile.FIFOTYPE, 0),
        (tarfile.DIRTYPE, 0),
        (tarfile.REGTYPE, 1 << 40),
    ],
)
def test_links_devices_and_giants_are_refused_by_their_header(tmp_path, type_, size):
    data = tar_of(("stream.jsonl", (type_, "/etc/passwd", size)), ("junit.xml", b"<a/>"))
    files = retrieved(tmp_path, data)
    assert files.stream is None
    assert files.junit == (None if size else "<a/>")  # past a giant there is no reading on


def test_of_two_files_of_one_name_the_first_counts(tmp_path):
    data = tar_of(("stream.jsonl", b"first"), ("stream.jsonl", b"second"))
    assert retrieved(tmp_path, data).stream == "first"


@pytest.mark.parametrize("kept", [0, 10, 600, 1024 + 100])
def test_truncated_tar_keeps_earlier_files(tmp_path, kept):
    data = tar_of(("stream.jsonl", b"whole"), ("report.json", b"x" * 5000))[:kept]
    files = retrieved(tmp_path, data)
    assert files.stream == ("whole" if kept > 512 else None)
    assert files.json_report is None


def test_garbage_is_no_report(tmp_path):
    assert retrieved(tmp_path, b"\x80garbage" * 500).stream is None


def test_too_many_members_end_the_reading(tmp_path):
    many = [(f"file-{number}", b"") for number in range(1000)]
    data = tar_of(*many, ("stream.jsonl", b"late"))
    assert retrieved(tmp_path, data).stream is None


def test_missing_folder_differs_from_a_lost_sandbox(tmp_path):
    sandbox = LocalSandbox(tmp_path, Path("python"), ())
    missing = sandbox.results / "missing"
    assert read_report_files(sandbox, missing).stream is None
    sandbox.lost = True
    with pytest.raises(SandboxError):
        read_report_files(sandbox, missing)


def test_endless_data_is_not_read_to_its_end(tmp_path):
    data = tar_of(*[("other", b"x" * 2000)] * 10, ("stream.jsonl", b"late"))
    sandbox = TarSandbox(tmp_path, data)
    assert read_report_files(sandbox, PurePosixPath("/x")).stream == "late"
    assert read_files(sandbox, PurePosixPath("/x"), LIMITS, total_limit=5000) == {}


def test_endless_headers_are_not_read_to_their_end(tmp_path):
    data = tar_of(*[("other", b"")] * 100, ("stream.jsonl", b"late"))
    sandbox = TarSandbox(tmp_path, data)
    assert read_files(sandbox, PurePosixPath("/x"), LIMITS, total_limit=5000) == {}


PASSED = {"outcome": "passed", "duration": 0.25}
REPORT = {
    "duration": 1.5,
    "exitcode": 1,
    "summary": {"passed": 1, "failed": 1, "total": 2, "collected": 2},
    "tests": [
        {"nodeid": "a.py::p", "outcome": "passed", **dict.fromkeys(["setup", "call"], PASSED)}
        | {"teardown": PASSED},
        {
            "nodeid": "a.py::f",
            "outcome": "failed",
            "setup": PASSED,
            "call": {
                "outcome": "failed",
                "duration": 0.5,
                "crash": {"message": "AssertionError: x"},
                "longrepr": "E  AssertionError: x",
            },
            "teardown": PASSED,
        },
    ],
}


def written(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_text(content, encoding="utf-8")
    return path


def test_the_shape_is_the_decision_records_and_more(tmp_path):
    path = written(tmp_path, json.dumps(REPORT))
    result = serialize_pytest_results(1, path, "the text")

    assert result["exit_code"] == 1
    assert result["outcome"] == "failed"
    assert result["json_report"] == REPORT
    assert result["text_output"] == "the text"
    assert result["collection_errors"] == []
    wanted = {"total": 2, "passed": 1, "failed": 1, "skipped": 0, "errors": 0, "duration": 1.5}
    assert wanted.items() <= result["summary"].items()
    assert result["tests"] == [
        {
            "node_id": "a.py::p",
            "outcome": "passed",
            "duration": 0.75,
            "message": None,
            "traceback": None,
        },
        {
            "node_id": "a.py::f",
            "outcome": "failed",
            "duration": 1.0,
            "message": "AssertionError: x",
            "traceback": "E  AssertionError: x",
        },
    ]


def test_missing_truncated_or_huge_report_is_accepted(tmp_path):
    giant = tmp_path / "giant.json"
    with giant.open("wb") as file:
        file.truncate(REPORT_LIMIT + 1)
    torn = written(tmp_path, json.dumps(REPORT)[:-10])
    for path in (None, tmp_path / "missing.json", tmp_path / ("x" * 300), tmp_path, torn, giant):
        result = serialize_pytest_results(0, path, "")
        assert result["outcome"] == "unverified"
        assert result["source"] == "exit_code"
        assert result["json_report"] == {}


def test_a_negative_exit_code_is_a_signal(tmp_path):
    path = written(tmp_path, json.dumps(REPORT))
    assert serialize_pytest_results(-11, path, "")["outcome"] == "crash"


def lines(*records):
    return "".join(f"{json.dumps(record)}\n" for record in records)


WAITING = """
import pathlib, time, pytest

@pytest.mark.parametrize("n", range(20))
def test_n(n):
    while n == 19 and not pathlib.Path("described").exists():
        time.sleep(0.02)
"""
"""Goes on to its end once progress was told."""

COLLECTED = {"kind": "collected", "ids": ["a", "b"]}


def ended(node_id):
    return {"kind": "phase", "id": node_id, "when": "teardown"}


def test_progress_counts_each_test_once():
    tally = ProgressCounter()
    stream = lines(COLLECTED, ended("a"))
    tally.read_lines(stream.splitlines(keepends=True))
    tally.read_lines(stream.splitlines(keepends=True))
    assert tally.progress == RunProgress(done=1, collected=2)
    tally.read_lines((stream + lines(ended("a"), ended("b"))).splitlines(keepends=True))
    assert tally.progress == RunProgress(done=2, collected=2)


def test_incomplete_line_is_read_later():
    tally = ProgressCounter()
    stream = lines(COLLECTED, ended("a"))
    tally.read_lines(stream[:-5].splitlines(keepends=True))
    assert tally.progress == RunProgress(done=0, collected=2)
    tally.read_lines(stream.splitlines(keepends=True))
    assert tally.progress == RunProgress(done=1, collected=2)


def test_forged_stream_does_not_exceed_its_counts():
    tally = ProgressCounter()
    stream = "[]\nnonsense\n" + lines({"kind": "collected", "ids": 7}, ended("x"))
    tally.read_lines(stream.splitlines(keepends=True))
    assert tally.progress == RunProgress(done=1, collected=1)


def test_progress_is_reported_during_a_run(open_sandbox):
    sandbox = open_sandbox({"test_m.py": WAITING}, *requirements(NEWEST))
    limit = timedelta(seconds=HANG_SECONDS)
    request = RunRequest(runner=runner_of(TestCommand(as_module=True)), timeout=limit)
    described = []

    def note(progress):
        described.append(progress)
        Path(sandbox.workspace, "described").touch()

    run = execute_tests(sandbox, request, progress=note)
    assert run.result.summary.passed == 20
    assert described
    assert all(progress.collected == 20 for progress in described)
    done = [progress.done for progress in described]
    assert done == sorted(done)


def test_lost_sandbox_ends_the_progress(open_sandbox):
    sandbox = open_sandbox({}, *requirements(NEWEST))
    sandbox.lost = True
    described = []
    with follow_progress(sandbox, sandbox.results / "x", described.append), suppress(SandboxError):
        sandbox.run(None)
    assert described == []


def test_no_sink_starts_no_thread(open_sandbox):
    sandbox = open_sandbox({}, *requirements(NEWEST))
    with follow_progress(sandbox, sandbox.results, None):
        pass
