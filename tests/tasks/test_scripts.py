from agentbench.core.files import FileContent
from agentbench.tasks.scripts import script_files


def test_scripts_are_executable_and_links_are_followed(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "solve.sh").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "data").write_bytes(b"1")
    (tmp_path / "same").symlink_to("data")
    found = {str(name): file for name, file in script_files(tmp_path).items()}
    assert found == {
        "data": FileContent(content=b"1", executable=False),
        "deep/solve.sh": FileContent(content=b"#!/bin/sh\n", executable=True),
        "same": FileContent(content=b"1", executable=False),
    }


def test_dangling_link_is_ignored(tmp_path):
    (tmp_path / "gone").symlink_to("nothing")
    assert script_files(tmp_path) == {}
