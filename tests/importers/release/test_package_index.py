import pytest

from agentbench.importers.release.package_index import (
    PipSettings,
    parse_pip_settings,
    read_pip_settings,
)


def test_a_variable_outranks_a_files_section_for_downloads_and_that_the_common_one():
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


def test_pip_itself_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://asked.example/simple")
    assert read_pip_settings().index == "https://asked.example/simple"
