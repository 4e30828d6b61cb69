import pytest

from agentbench.extensions.swebench.instance import (
    NameKind,
    SwebenchInstance,
    are_node_ids,
    instance_name,
    matching_node_ids,
    name_kind,
    parse_instance,
)
from agentbench.tasks.dataset_rows import DatasetRow

IDS = (
    "t/test_a.py::test_x[one]",
    "t/test_a.py::test_x[two words]",
    "t/test_a.py::test_x[two others]",
    "t/test_a.py::TestB::test_y",
    "t/test_b.py::test_y",
    "t/test_b.py::test_z[/usr/lib/x.py]",
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("t/test_a.py::test_x", NameKind.NODE_ID),
        ("t/test_a.py::test_x[a-b]", NameKind.NODE_ID),
        ("t/test_a.py::test_x[a[0]]", NameKind.NODE_ID),
        ("t/test_a.py::test_x[two words]", NameKind.NODE_ID),
        ("t/test_a.py::test_x[two", NameKind.CUT),
        ("t/test_b.py::test_z[/x.py]", NameKind.CUT),
        ("-p::x", NameKind.CUT),
        ("/abs.py::x", NameKind.CUT),
        ("test_y", NameKind.FUNCTION),
        ("test_a (app.tests.Case)", NameKind.UNITTEST),
        ("[100%]", NameKind.OTHER),
        ("--version is equivalent to version", NameKind.OTHER),
    ],
)
def test_name_kind_is_recognised(name, kind):
    assert name_kind(name) is kind
    assert are_node_ids([name]) is (kind is NameKind.NODE_ID)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("t/test_a.py::test_x[one]", [0]),
        ("t/test_a.py::test_x[two", [1, 2]),
        ("t/test_a.py::test_x[on", []),
        ("test_y", [3, 4]),
        ("t/test_b.py::test_z[/x.py]", [5]),
        ("[100%]", []),
    ],
)
def test_name_means_all_tests_of_the_log_parser(name, meant):
    assert matching_node_ids(name, IDS) == tuple(IDS[number] for number in meant)


WHOLE = {
    "instance_id": "a__b-1",
    "repo": "a/b",
    "base_commit": "0" * 40,
    "patch": "x",
    "test_patch": "y",
    "problem_statement": "z",
    "FAIL_TO_PASS": ["t.py::a"],
    "PASS_TO_PASS": [],
}


def parse(**changes):
    value = {k: v for k, v in {**WHOLE, **changes}.items() if v is not ...}
    return parse_instance(DatasetRow(where="in.jsonl:3", value=value))


@pytest.mark.parametrize("names", [["t.py::a", "t.py::b"], '["t.py::a", "t.py::b"]'])
def test_names_are_a_list_or_the_json_text_of_one(names):
    parsed = parse(FAIL_TO_PASS=names, PASS_TO_PASS=names)
    assert parsed.fail_to_pass == parsed.pass_to_pass == ("t.py::a", "t.py::b")


def test_lower_case_fields_are_read():
    parsed = parse(FAIL_TO_PASS=..., PASS_TO_PASS=..., fail_to_pass='["t.py::a"]', pass_to_pass=[])
    assert parsed.fail_to_pass == ("t.py::a",)


def test_fields_that_data_sets_leave_empty_may_be_null():
    nothing = dict.fromkeys(
        ["version", "image", "image_name", "docker_image", "install_config", "log_parser"]
    )
    parsed = parse(**nothing)
    assert isinstance(parsed, SwebenchInstance)
    assert (parsed.version, parsed.own_image, parsed.install_config) == ("", "", None)


@pytest.mark.parametrize("result", [{"python": "3.9"}, '{"python": "3.9", "log_parser": "x"}'])
def test_swe_rebench_s_set_up_is_a_table_or_its_json_text(result):
    assert parse(install_config=result).install_config.python == "3.9"


def test_a_project_of_swe_smith_s_makes_the_bug():
    smith = parse(
        repo="swesmith/a__b.0a1b2c3d", test_patch=..., base_commit=..., problem_statement=...
    )
    assert smith.makes_the_bug
    assert not parse().makes_the_bug


def test_missing_fields_are_named():
    refused = parse(test_patch=..., base_commit=..., problem_statement="  ")
    assert [str(each) for each in refused] == [
        "in.jsonl:3: a__b-1: base_commit: is missing",
        "in.jsonl:3: a__b-1: test_patch: is missing",
        "in.jsonl:3: a__b-1: problem_statement: is missing",
    ]


@pytest.mark.parametrize(("value", "name"), [({}, ""), ({"instance_id": 3}, "")])
def test_a_row_without_a_name_has_none(value, name):
    assert instance_name(value) == name
