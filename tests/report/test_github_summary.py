import pytest

from agentbench.errors import UsageError
from agentbench.report.github_summary import LIMIT, VARIABLE, append_summary


@pytest.fixture
def job(tmp_path):
    return {VARIABLE: str(tmp_path / "summary.md")}, tmp_path / "summary.md"


def test_it_is_appended_to_what_other_commands_wrote(job):
    environ, path = job
    path.write_text("# before")
    assert append_summary(["| a |\n", "| b |\n"], environ)
    assert path.read_text() == "# before\n| a |\n| b |\n"


def test_outside_of_a_job_it_is_refused_with_what_to_do_instead():
    for environ in ({}, {VARIABLE: ""}):
        with pytest.raises(UsageError, match=r"GITHUB_STEP_SUMMARY is not set.*--format markdown"):
            append_summary(["x"], environ)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        append_summary(["x"], {VARIABLE: str(tmp_path / "no" / "summary.md")})


@pytest.mark.parametrize("before", [0, 5, LIMIT - 1000, LIMIT - 70, LIMIT - 1, LIMIT])
@pytest.mark.parametrize("piece", ["x\n", "\u20ac" * 33 + "\n"])
def test_it_never_grows_over_the_limit_and_says_where_it_is_cut(job, before, piece):
    environ, path = job
    path.write_bytes(b"b" * before)
    assert not append_summary([piece] * LIMIT, environ)
    content = path.read_bytes()
    assert len(content) <= LIMIT
    assert len(content) >= before
    if before < LIMIT - 100:
        assert content.decode().endswith(
            "Cut here: GitHub shows 1 MiB of a step's summary and no more.\n"
        )
        assert content.decode()[before:].count(piece) > 5


def test_what_just_fits_is_not_cut(job):
    environ, path = job
    assert append_summary(["x" * (LIMIT - 200)], environ)
    assert path.stat().st_size == LIMIT - 199


def test_a_lone_surrogate_is_no_reason_to_fail(job):
    environ, path = job
    assert append_summary(["\ud800\n"], environ)
    assert path.read_text() == "\n?\n"
