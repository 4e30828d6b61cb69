from datetime import date

import pytest

from agentbench.errors import InputError, UnavailableError
from agentbench.importers.release import package_index as index_module
from agentbench.importers.release.package_index import (
    PackageIndex,
    PipSettings,
    parse_requested_releases,
)
from tests.importers.release.local_index import NEW, LocalIndex


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
    ("words", "said"),
    [
        (["absent"], "package: the index has none of this name"),
        (["demo", "7.0"], "version: the index has no 7.0"),
        (["demo", "0.1", "1.1"], "version: the index has no 0.1"),
        (["demo", "1.0"], "expected a release before 1.0"),
    ],
)
def test_what_the_index_does_not_have_is_said(index, words, said):
    with pytest.raises(InputError, match=said):
        pair(index, *words)


def test_a_release_that_was_withdrawn_is_no_default(index):
    index.add("demo", "1.2", NEW, yanked="broken")
    assert str(pair(index, "demo").new.version) == "1.1"


def test_a_package_of_try_outs_alone_has_no_release(index):
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


def test_an_archive_is_downloaded_under_a_name_of_ours(index, tmp_path):
    release = pair(index, "demo").new
    target = index.client.download(release, tmp_path)
    assert target == tmp_path / "demo-1.1.tar.gz"
    assert target.read_bytes() == (index.folder / "demo-1.1.tar.gz").read_bytes()


def test_an_archive_that_is_not_what_its_digest_says_is_refused(index, tmp_path):
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
