import pytest

from agentbench.agents.command import missing_programs, programs_of


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("my-agent", ("my-agent",)),
        ("  ./tools/agent.sh --task {instruction}  ", ("./tools/agent.sh",)),
        ("TERM=dumb HOME=/tmp my-agent 'a; b | c && d'", ("my-agent",)),
        ("my-agent < in 2> err >> out", ("my-agent",)),
        ("2> err my-agent", ("my-agent",)),
        ("cat task.md | my-agent | tee log", ("cat", "my-agent", "tee")),
        ("'my agent' x", ("my agent",)),
        # The shell has more to decide:
        ("cd tools && ./agent", ()),
        ("my-agent || true", ()),
        ("set -e; my-agent", ()),
        ("my-agent &", ()),
        ("(my-agent)", ()),
        ("{ my-agent; }", ()),
        ("export PATH=/opt:$PATH\nmy-agent", ()),
        ("PATH=/opt my-agent", ()),
        ("$AGENT --fix", ()),
        ("`which my-agent`", ()),
        ("~/bin/my-agent", ()),
        ("my-*", ()),
        ("cat <<'END'\nx\nEND", ()),
        ("my-agent 'open", ()),
        ("X=1", ()),
        ("", ()),
        ("| my-agent", ()),
    ],
)
def test_programs_are_known_where_the_words_alone_tell(line, programs):
    assert programs_of(line) == programs


def test_a_shell_in_the_sandbox_says_which_are_missing(sandbox, workspace):
    own = workspace / "own-agent"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    programs = ("sh", "cd", "./own-agent", "./gone", "no-such-agent", "two words")
    missing = ("./gone", "no-such-agent", "two words")
    assert missing_programs(sandbox, programs, {}) == missing
