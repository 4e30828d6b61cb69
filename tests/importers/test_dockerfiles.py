from pathlib import PurePosixPath

import pytest

from agentbench.importers.dockerfiles import parse_dockerfile
from agentbench.sandbox.interface import ImageSettings


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


@pytest.mark.parametrize(
    ("text", "user", "image"),
    [
        ("FROM a\n", None, "a"),
        ("FROM a:1 AS one\nUSER me:us\nFROM one\n", "me:us", "a:1"),
        ("FROM a AS one\nUSER me\nFROM b\n", None, "b"),
        ("FROM a\nUSER me\nUSER 0\n", "0", "a"),
    ],
)
def test_the_last_stage_has_a_user_and_an_image(text, user, image):
    end = parse_dockerfile(text)
    assert (end.user, end.image) == (user, image)


def test_an_image_decides_what_a_dockerfile_leaves_open():
    known = ImageSettings(workdir=PurePosixPath("/srv"), user="app")
    end = parse_dockerfile("FROM a\nUSER me\n").in_image({"a": known}.get)
    assert (end.workdir, end.user) == (PurePosixPath("/srv"), "me")
    assert parse_dockerfile("FROM b\n").in_image({"a": known}.get).workdir is None
