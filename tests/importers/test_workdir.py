from pathlib import PurePosixPath

import pytest

from agentbench.importers.dockerfiles import parse_dockerfile


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("FROM a\nWORKDIR /app\n", "/app"),
        ("FROM a\r\nworkdir /app\r\n", "/app"),
        ("FROM a\nWORKDIR /app\nWORKDIR sub\n", "/app/sub"),
        ('FROM a\nWORKDIR "/a b"\n', "/a b"),
        ("FROM a\nWORKDIR \\\n  /app\n", "/app"),
        ("FROM a\n# WORKDIR /not\nWORKDIR /app", "/app"),
        ("FROM a AS one\nWORKDIR /one\nFROM b\nWORKDIR /two\n", "/two"),
        ("FROM --platform=linux/amd64 a AS one\nWORKDIR /one\nFROM one\n", "/one"),
        ("FROM a\nWORKDIR /one\nFROM b\n", None),
        ("FROM a\nRUN echo WORKDIR /x\n", None),
        ("", None),
    ],
)
def test_the_last_stage_decides(text, found):
    assert parse_dockerfile(text).workdir == (None if found is None else PurePosixPath(found))


def test_a_variable_is_refused_with_its_line():
    with pytest.raises(ValueError, match=r"'WORKDIR \$HOME/app' depends on a variable"):
        parse_dockerfile("FROM a\nWORKDIR $HOME/app\n")
