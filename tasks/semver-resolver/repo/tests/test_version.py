import pytest

from depsolve import InvalidVersion, Version


def v(text):
    return Version.parse(text)


def test_parts_are_read():
    version = v("1.20.3-rc.1+sha.5114f85")
    assert version.release == (1, 20, 3)
    assert version.pre == ("rc", "1")
    assert version.build == "sha.5114f85"


def test_text_survives_a_round_trip():
    for text in ["0.0.0", "1.2.3-alpha", "1.2.3-a.b.0+x-y", "10.0.0+20240101"]:
        assert str(v(text)) == text


@pytest.mark.parametrize("text", ["1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "v1.2.3"])
def test_what_is_no_version_is_refused(text):
    with pytest.raises(InvalidVersion, match="not a semantic version"):
        v(text)


def test_numbers_compare_as_numbers():
    assert v("1.9.0") < v("1.10.0") < v("2.0.0")


def test_a_prerelease_precedes_its_release():
    assert v("1.0.0-rc.9") < v("1.0.0")


def test_numeric_identifiers_compare_as_numbers():
    assert v("1.0.0-rc.2") < v("1.0.0-rc.10")


def test_a_longer_list_of_identifiers_follows():
    assert v("1.0.0-alpha") < v("1.0.0-alpha.1")


def test_the_example_of_the_specification():
    written = "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0"
    versions = [v(text) for text in written.split()]
    assert sorted(reversed(versions)) == versions


def test_build_metadata_is_not_compared():
    assert v("1.0.0+a") == v("1.0.0+b")
    assert hash(v("1.0.0+a")) == hash(v("1.0.0+b"))
