import pytest

from agentbench.importers.swebench.instance import (
    NameKind,
    are_node_ids,
    matching_node_ids,
    name_kind,
)

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
def test_a_name_shows_what_became_of_an_id(name, kind):
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
def test_a_name_means_every_test_that_a_log_s_parser_would_have_called_so(name, meant):
    assert matching_node_ids(name, IDS) == tuple(IDS[number] for number in meant)
