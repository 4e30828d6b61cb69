import io
import tarfile
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.test_runs.report_files import STREAM_FILE, read_files, read_report_files
from tests.fakes.local_sandbox import LocalSandbox

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
def test_a_torn_stream_keeps_what_came_before(tmp_path, kept):
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


def test_a_folder_that_is_missing_is_told_from_a_sandbox_that_is_lost(tmp_path):
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
