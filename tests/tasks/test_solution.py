from agentbench.tasks.patched_file import PatchedFile
from agentbench.tasks.solution import files_of


def test_scripts_are_executable_and_links_are_what_they_lead_to(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "solve.sh").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "data").write_bytes(b"1")
    (tmp_path / "same").symlink_to("data")
    found = {str(name): file for name, file in files_of(tmp_path).items()}
    assert found == {
        "data": PatchedFile(content=b"1", executable=False),
        "deep/solve.sh": PatchedFile(content=b"#!/bin/sh\n", executable=True),
        "same": PatchedFile(content=b"1", executable=False),
    }


def test_a_link_to_nowhere_is_left_out(tmp_path):
    (tmp_path / "gone").symlink_to("nothing")
    assert files_of(tmp_path) == {}
