import pytest

from agentbench.errors import InputError
from agentbench.tasks.loading import read_suite


@pytest.fixture
def suite(tmp_path):
    for name in ("tasks/a-1", "tasks/a-2", "tasks/b", "other/c"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "tasks/a-readme.md").write_text("not a task")
    (tmp_path / "suites").mkdir()
    return tmp_path / "suites" / "suite.toml"


def members(suite, text):
    suite.write_text(text)
    root = suite.parent.parent.resolve()
    return [str(path.resolve().relative_to(root)) for path in read_suite(suite)]


def test_entries_are_relative_to_the_file_and_keep_its_order(suite):
    named = members(suite, 'tasks = ["../tasks/b", "../tasks/a-*", "../other/c"]')
    assert named == ["tasks/b", "tasks/a-1", "tasks/a-2", "other/c"]


def test_an_absolute_folder_and_the_suites_own_are_taken(suite):
    folder = suite.parent.parent / "tasks" / "b"
    assert members(suite, f'tasks = ["{folder}", "."]') == ["tasks/b", "suites"]


def test_every_entry_that_matches_no_folder_is_named(suite):
    suite.write_text(
        'tasks = ["../tasks/z*", 3, "", "../tasks/a-readme.md", "x**y", "/a*", "\\u0000", "b"]'
    )
    with pytest.raises(InputError) as caught:
        read_suite(suite)
    assert [fault.split("tasks: ")[1] for fault in caught.value.faults] == [
        f"{entry!r} matches no folder"
        for entry in ("../tasks/z*", 3, "", "../tasks/a-readme.md", "x**y", "/a*", "\0", "b")
    ]


def test_a_suite_that_names_itself_is_refused_and_not_read_for_ever(suite):
    suite.write_text('tasks = ["suite.toml"]')
    with pytest.raises(InputError, match=r"'suite\.toml' matches no folder"):
        read_suite(suite)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks = [", "not a suite file"),
        (f"tasks = {'9' * 5000}", "not a suite file"),
        (f"tasks = {'[' * 5000}", "not a suite file"),
        ("", r"expected one key, tasks = \[paths\], found \[\]"),
        ("tasks = []\nname = 1", r"found \['name', 'tasks'\]"),
        ("tasks = 'a'", r"expected one key, tasks = \[paths\]"),
        ("tasks = []", "names no folder"),
    ],
)
def test_what_is_no_suite_is_refused_by_name(suite, text, said):
    suite.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        read_suite(suite)
    assert str(caught.value).startswith(f"{suite}: ")


def test_a_file_that_is_no_text_is_refused(suite):
    suite.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not a suite file"):
        read_suite(suite)
