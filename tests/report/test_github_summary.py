import pytest

from agentbench.errors import UsageError
from agentbench.report.text_reports import (
    GITHUB_SUMMARY_BYTES,
    GITHUB_SUMMARY_VARIABLE,
    append_summary,
)


@pytest.fixture
def job(tmp_path):
    return {GITHUB_SUMMARY_VARIABLE: str(tmp_path / "summary.md")}, tmp_path / "summary.md"


def test_it_is_appended_to_what_other_commands_wrote(job):
    environ, path = job
    path.write_text("# before")
    assert append_summary(["| a |\n", "| b |\n"], environ)
    assert path.read_text() == "# before\n| a |\n| b |\n"


def test_outside_of_a_job_it_is_refused_with_what_to_do_instead():
    for environ in ({}, {GITHUB_SUMMARY_VARIABLE: ""}):
        with pytest.raises(UsageError, match=r"GITHUB_STEP_SUMMARY is not set.*--format markdown"):
            append_summary(["x"], environ)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        append_summary(["x"], {GITHUB_SUMMARY_VARIABLE: str(tmp_path / "no" / "summary.md")})


@pytest.mark.parametrize(
    "before",
    [
        0,
        5,
        GITHUB_SUMMARY_BYTES - 1000,
        GITHUB_SUMMARY_BYTES - 70,
        GITHUB_SUMMARY_BYTES - 1,
        GITHUB_SUMMARY_BYTES,
    ],
)
@pytest.mark.parametrize("piece", ["x\n", "\u20ac" * 33 + "\n"])
def test_it_never_grows_over_the_limit_and_says_where_it_is_cut(job, before, piece):
    environ, path = job
    path.write_bytes(b"b" * before)
    assert not append_summary([piece] * GITHUB_SUMMARY_BYTES, environ)
    content = path.read_bytes()
    assert len(content) <= GITHUB_SUMMARY_BYTES
    assert len(content) >= before
    if before < GITHUB_SUMMARY_BYTES - 100:
        assert content.decode().endswith(
            "Cut here: GitHub shows at most 1 MiB of a step's summary.\n"
        )
        assert content.decode()[before:].count(piece) > 5


def test_what_just_fits_is_not_cut(job):
    environ, path = job
    assert append_summary(["x" * (GITHUB_SUMMARY_BYTES - 200)], environ)
    assert path.stat().st_size == GITHUB_SUMMARY_BYTES - 199


def test_a_lone_surrogate_is_no_reason_to_fail(job):
    environ, path = job
    assert append_summary(["\ud800\n"], environ)
    assert path.read_text() == "\n?\n"
