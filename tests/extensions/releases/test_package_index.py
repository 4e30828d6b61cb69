from datetime import date

import pytest
from packaging.version import Version

from agentbench.errors import InputError, UnavailableError
from agentbench.extensions.releases import package_index as index_module
from agentbench.extensions.releases.package_index import (
    PackageIndex,
    PipSettings,
    RequestedReleases,
    parse_pip_settings,
    parse_requested_releases,
    read_pip_settings,
    read_requested_releases,
)
from tests.extensions.releases.local_index import NEW, LocalIndex


def test_priority_of_pip_settings():
    lines = [
        "global.index-url='https://one.example/simple'",
        "download.index-url='https://two.example/simple'",
        "install.index-url='https://three.example/simple'",
    ]
    assert parse_pip_settings(lines).index == "https://two.example/simple"
    lines.append(":env:.index-url='https://four.example/simple'")
    assert parse_pip_settings(lines).index == "https://four.example/simple"


def test_further_indexes_certificates_and_proxy_are_read():
    found = parse_pip_settings(
        [
            "global.extra-index-url='https://a.example/s file:///x\\nhttps://b.example/s'",
            "global.cert='/etc/ca.pem'",
            "global.proxy='http://proxy.example:3128'",
            "nothing to see",
        ]
    )
    assert found == PipSettings(
        more=("https://a.example/s", "https://b.example/s"),
        certificates="/etc/ca.pem",
        proxy="http://proxy.example:3128",
    )


def test_without_settings_it_is_the_public_index():
    assert parse_pip_settings([]) == PipSettings()


def test_settings_are_read_from_pip(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://asked.example/simple")
    assert read_pip_settings().index == "https://asked.example/simple"


def pair(index: LocalIndex, *words: str):
    return index.client.pair(parse_requested_releases(words))


def test_the_newest_release_and_the_one_before_it_are_the_default(index):
    index.add("demo", "1.2rc1", NEW)
    found = pair(index, "demo")
    assert (str(found.old.version), str(found.new.version)) == ("1.0", "1.1")


def test_the_release_before_a_named_one_is_taken(index):
    index.add("demo", "0.9", NEW)
    assert str(pair(index, "demo", "1.0").old.version) == "0.9"


def test_the_day_of_the_upload_is_known_where_the_index_says_it(index):
    index.add("demo", "1.2", NEW, **{"upload-time": "2024-05-06T07:08:09.000000Z"})
    assert pair(index, "demo", "1.2").new.uploaded == date(2024, 5, 6)
    assert pair(index, "demo", "1.2").old.uploaded is None


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["absent"], "package: the index has none of this name"),
        (["demo", "7.0"], "version: the index has no 7.0"),
        (["demo", "0.1", "1.1"], "version: the index has no 0.1"),
        (["demo", "1.0"], "expected a release before 1.0"),
    ],
)
def test_missing_release_is_reported(index, words, result):
    with pytest.raises(InputError, match=result):
        pair(index, *words)


def test_a_release_that_was_withdrawn_is_no_default(index):
    index.add("demo", "1.2", NEW, yanked="broken")
    assert str(pair(index, "demo").new.version) == "1.1"


def test_package_of_prereleases_has_no_release(index):
    index.add("early", "1.0a1", NEW)
    with pytest.raises(InputError, match="no release of it that is final"):
        pair(index, "early")


def test_a_release_of_wheels_alone_has_no_source(index):
    index.publish("demo", "demo-1.2-py3-none-any.whl", b"")
    with pytest.raises(InputError, match=r"sdist: 1\.2 has none, only demo-1\.2-py3-none-any\.whl"):
        pair(index, "demo", "1.2")


def test_a_release_that_was_withdrawn_is_refused_with_its_reason(index):
    index.add("demo", "1.2", NEW, yanked="broken")
    with pytest.raises(InputError, match=r"1\.2 was withdrawn from the index \(broken\)"):
        pair(index, "demo", "1.2")


def test_archive_is_downloaded_under_own_name(index, tmp_path):
    release = pair(index, "demo").new
    target = index.client.download(release, tmp_path)
    assert target == tmp_path / "demo-1.1.tar.gz"
    assert target.read_bytes() == (index.folder / "demo-1.1.tar.gz").read_bytes()


def test_archive_with_wrong_digest_is_refused(index, tmp_path):
    index.add("demo", "1.2", NEW, hashes={"sha256": "0" * 64})
    with pytest.raises(InputError, match=r"demo-1\.2\.tar\.gz: sha256 digest"):
        index.client.download(pair(index, "demo", "1.2").new, tmp_path)


def test_an_archive_without_a_digest_is_refused(index, tmp_path):
    index.add("demo", "1.2", NEW, hashes={})
    with pytest.raises(InputError, match=r"demo-1\.2\.tar\.gz: "):
        index.client.download(pair(index, "demo", "1.2").new, tmp_path)


def test_an_archive_that_is_too_large_is_not_downloaded(index, tmp_path, monkeypatch):
    monkeypatch.setattr(index_module, "_MAX_DOWNLOAD", 10)
    with pytest.raises(InputError, match="is larger than"):
        index.client.download(pair(index, "demo").new, tmp_path)


def test_an_index_that_does_not_answer_is_unavailable():
    with (
        PackageIndex(PipSettings(index="http://127.0.0.1:9/simple")) as client,
        pytest.raises(UnavailableError, match="the package index does not answer"),
    ):
        client.pair(parse_requested_releases(["demo"]))


def test_an_index_that_answers_nonsense_is_unavailable(index):
    (index.folder / "simple" / "demo" / "index.html").write_text("<html>sign in</html>")
    with pytest.raises(UnavailableError, match="does not answer"):
        pair(index, "demo")


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
def test_invalid_package_name_is_refused(name):
    with pytest.raises(InputError, match="package: expected a name on the index"):
        parse_requested_releases([name])


@pytest.mark.parametrize("version", ["latest", "../1", "-r", "1.0;x", "*"])
def test_invalid_version_is_refused(version):
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


def test_file_gives_valid_lines_and_rejections(tmp_path):
    path = tmp_path / "list"
    path.write_bytes(b"\xef\xbb\xbf# tried\r\nx 1 2\r\n\r\ny  # newest\r\n-r z\r\nx 1 2\r\n")
    requested, refused = read_requested_releases(path)
    assert [str(pair) for pair in requested] == ["x 1 2", "y"]
    assert [str(one).partition(": ")[0] for one in refused] == [f"{path}:5", f"{path}:6"]
    assert "requested twice" in refused[1].what


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\xff\xfe", b"x" * ((1 << 20) + 1)])
def test_a_file_of_no_packages_is_refused(tmp_path, content):
    (tmp_path / "list").write_bytes(content)
    with pytest.raises(InputError, match="list: "):
        read_requested_releases(tmp_path / "list")


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_requested_releases(tmp_path / "absent")
