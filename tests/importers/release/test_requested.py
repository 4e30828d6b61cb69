import pytest
from packaging.version import Version

from agentbench.errors import InputError
from agentbench.importers.release.package_index import (
    RequestedReleases,
    parse_requested_releases,
    read_requested_releases,
)


def test_a_package_one_release_or_two_may_be_asked_for():
    assert parse_requested_releases(["Foo_Bar"]) == RequestedReleases(package="foo-bar")
    assert parse_requested_releases(["x", "1.2"]) == RequestedReleases(
        package="x", new=Version("1.2")
    )
    both = parse_requested_releases(["x", "1.1", "1.2"])
    assert (both.old, both.new) == (Version("1.1"), Version("1.2"))
    assert str(both) == "x 1.1 1.2"


@pytest.mark.parametrize(
    "name",
    ["-r", "--index-url=http://x", "https://example.org/x.tar.gz", "../x", "x/y", "x[y]", "x==1",
     ".", "x y", "x;reboot", ""],
)  # fmt: skip
def test_what_is_no_name_of_a_package_is_refused(name):
    with pytest.raises(InputError, match="package: expected a name on the index"):
        parse_requested_releases([name])


@pytest.mark.parametrize("version", ["latest", "../1", "-r", "1.0;x", "*"])
def test_what_is_no_version_is_refused(version):
    with pytest.raises(InputError, match="version: expected one as in"):
        parse_requested_releases(["x", version])


@pytest.mark.parametrize("words", [["x", "2", "1"], ["x", "1.0", "1"]])
def test_the_older_release_comes_first(words):
    with pytest.raises(InputError, match="expected the older one first"):
        parse_requested_releases(words)


@pytest.mark.parametrize("words", [[], ["x", "1", "2", "3"]])
def test_one_to_three_words_are_expected(words):
    with pytest.raises(InputError, match=r"found [04] words"):
        parse_requested_releases(words)


def test_a_file_gives_its_right_lines_and_names_the_wrong_ones(tmp_path):
    path = tmp_path / "list"
    path.write_bytes(b"\xef\xbb\xbf# tried\r\nx 1 2\r\n\r\ny  # newest\r\n-r z\r\nx 1 2\r\n")
    wanted, refused = read_requested_releases(path)
    assert [str(pair) for pair in wanted] == ["x 1 2", "y"]
    assert [str(one).partition(": ")[0] for one in refused] == [f"{path}:5", f"{path}:6"]
    assert "requested twice" in refused[1].what


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\xff\xfe", b"x" * ((1 << 20) + 1)])
def test_a_file_of_no_packages_is_refused(tmp_path, content):
    (tmp_path / "list").write_bytes(content)
    with pytest.raises(InputError, match="list: "):
        read_requested_releases(tmp_path / "list")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_requested_releases(tmp_path / "absent")
