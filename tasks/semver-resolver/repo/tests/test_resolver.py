import json

import pytest

from depsolve import Conflict, Index, resolve
from depsolve.cli import main
from depsolve.index import UnknownPackage


def chosen(listing, requirements):
    found = resolve(Index.from_mapping(listing), requirements)
    return {name: str(version) for name, version in found.items()}


def test_the_newest_version_that_fits_is_chosen():
    listing = {"web": {"1.0.0": {}, "1.10.0": {}, "1.9.0": {}, "2.0.0": {}}}
    assert chosen(listing, {"web": "^1.0"}) == {"web": "1.10.0"}


def test_requirements_of_requirements_are_followed():
    listing = {"web": {"2.0.0": {"auth": "^1.0"}}, "auth": {"1.4.0": {"log": "*"}}, "log": {"0.1.0": {}}}
    assert chosen(listing, {"web": "*"}) == {"auth": "1.4.0", "log": "0.1.0", "web": "2.0.0"}


def test_an_older_version_is_tried_after_a_conflict():
    listing = {
        "a": {"2.0.0": {"c": "^2.0"}, "1.0.0": {"c": "^1.0"}},
        "b": {"1.0.0": {"c": "^1.0"}},
        "c": {"1.5.0": {}, "2.0.0": {}},
    }
    assert chosen(listing, {"a": "*", "b": "*"}) == {"a": "1.0.0", "b": "1.0.0", "c": "1.5.0"}


def test_a_conflict_names_who_wants_what():
    listing = {"a": {"1.0.0": {"c": "^3.0"}}, "c": {"2.0.0": {}}}
    with pytest.raises(Conflict, match=r"no version of c fits: a 1\.0\.0 wants \^3\.0"):
        chosen(listing, {"a": "*"})


def test_an_unknown_package_is_named():
    with pytest.raises(UnknownPackage, match="no package 'nix' in the index"):
        chosen({}, {"nix": "*"})


def test_prereleases_are_chosen_when_asked_for():
    listing = {"web": {"2.0.0-rc.10": {}, "2.0.0-rc.9": {}, "1.0.0": {}}}
    assert chosen(listing, {"web": ">=2.0.0-rc.1"}) == {"web": "2.0.0-rc.10"}
    assert chosen(listing, {"web": "*"}) == {"web": "1.0.0"}


def test_the_command_prints_choices(tmp_path, capsys):
    path = tmp_path / "index.json"
    path.write_text(json.dumps({"web": {"1.2.0": {}}}), encoding="utf-8")
    assert main([str(path), "web ^1.0"]) == 0
    assert capsys.readouterr().out == "web 1.2.0\n"


def test_the_command_reports_a_conflict(tmp_path, capsys):
    path = tmp_path / "index.json"
    path.write_text(json.dumps({"web": {"1.2.0": {}}}), encoding="utf-8")
    assert main([str(path), "web ^2.0"]) == 1
    assert "no version of web fits" in capsys.readouterr().err
