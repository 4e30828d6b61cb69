import pytest

from agentbench.tasks.importers.swebench.names import Kind, are_whole, kind_of, meant_by

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
        ("t/test_a.py::test_x", Kind.NODE_ID),
        ("t/test_a.py::test_x[a-b]", Kind.NODE_ID),
        ("t/test_a.py::test_x[a[0]]", Kind.NODE_ID),
        ("t/test_a.py::test_x[two words]", Kind.NODE_ID),
        ("t/test_a.py::test_x[two", Kind.CUT),
        ("t/test_b.py::test_z[/x.py]", Kind.CUT),
        ("-p::x", Kind.CUT),
        ("/abs.py::x", Kind.CUT),
        ("test_y", Kind.FUNCTION),
        ("test_a (app.tests.Case)", Kind.UNITTEST),
        ("[100%]", Kind.OTHER),
        ("--version is equivalent to version", Kind.OTHER),
    ],
)
def test_a_name_shows_what_became_of_an_id(name, kind):
    assert kind_of(name) is kind
    assert are_whole([name]) is (kind is Kind.NODE_ID)


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
    assert meant_by(name, IDS) == tuple(IDS[number] for number in meant)
