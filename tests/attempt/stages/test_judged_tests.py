from pathlib import PurePosixPath as P

import pytest

from agentbench.attempt.judged_tests import write_files
from agentbench.core.files import FileContent
from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Limits
from tests.sandbox.conformance_base import sh

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


def test_folders_that_are_gone_go(box):
    write_files(box, {}, emptied=[P("pkg/deep"), P("pkg")])
    assert listing(box) == ["./a", "./link"]


def test_a_folder_that_holds_a_written_file_stays(box):
    write_files(box, {P("pkg/deep/new"): NEW}, emptied=[P("pkg/deep"), P("pkg")])
    assert "./pkg/deep/new" in listing(box)


def test_a_file_can_take_the_place_of_a_folder_and_the_other_way_round(box):
    write_files(
        box, {P("pkg/b"): None, P("pkg"): NEW, P("a"): None, P("a/x"): NEW}, emptied=[P("pkg")]
    )
    assert listing(box) == ["./a", "./a/x", "./link", "./pkg"]


def test_a_link_is_removed_and_not_what_it_points_to(box):
    write_files(box, {P("link"): None})
    assert listing(box) == ["./a", "./pkg", "./pkg/b", "./pkg/deep", "./pkg/deep/c"]


def test_a_name_like_an_option_is_a_name(box):
    write_files(box, {P("-rf"): NEW, P("with space"): NEW})
    write_files(box, {P("-rf"): None, P("with space"): None})
    assert listing(box) == ["./a", "./link", "./pkg", "./pkg/b", "./pkg/deep", "./pkg/deep/c"]


def test_a_sandbox_that_was_ended_is_lost(box):
    box.kill()
    with pytest.raises(SandboxError):
        write_files(box, {P("a"): None})
