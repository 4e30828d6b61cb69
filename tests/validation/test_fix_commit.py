from pathlib import Path, PurePosixPath

import pytest

from agentbench.tasks.git_history import find_commit, mirror_of_head
from agentbench.validation.fix_commit import FileKind, FixCommit, file_kind, split_fix
from agentbench.validation.languages import has_tests
from tests.fakes.staging import mirrors
from tests.tasks.origins import Origin
from tests.tasks.pocket import Pocket


@pytest.fixture(scope="module")
def pocket(tmp_path_factory):
    return Pocket(tmp_path_factory.mktemp("history") / "pocket")


@pytest.fixture(scope="module")
def head(pocket):
    return mirror_of_head(pocket.url, mirrors())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("test_a.py", FileKind.TEST),
        ("pkg/test_a.py", FileKind.TEST),
        ("pkg/a_test.py", FileKind.TEST),
        ("conftest.py", FileKind.TEST),
        ("tests/data/input.txt", FileKind.TEST),
        ("pkg/tests/helper.py", FileKind.TEST),
        ("testing/code/test_source.py", FileKind.TEST),
        ("numpy/testing/decorators.py", FileKind.SOURCE),
        ("src/pkg/contest.py", FileKind.SOURCE),
        ("src/pkg/latest.py", FileKind.SOURCE),
        ("pkg/a.pyi", FileKind.SOURCE),
        ("docs/conf.py", FileKind.PROSE),
        ("README.rst", FileKind.PROSE),
        ("changelog.d/12.bugfix", FileKind.PROSE),
        ("setup.cfg", FileKind.OTHER),
        ("src/speed.c", FileKind.OTHER),
        ("src/cart.ts", FileKind.SOURCE),
        ("src/cart.test.ts", FileKind.TEST),
        ("src/__snapshots__/cart.test.ts.snap", FileKind.TEST),
        ("calc/sum.go", FileKind.SOURCE),
        ("calc/sum_test.go", FileKind.TEST),
        ("calc/testdata/one.golden", FileKind.TEST),
        ("src/lib.rs", FileKind.SOURCE),
        ("tests/all.rs", FileKind.TEST),
        ("src/main/java/org/x/Sum.java", FileKind.SOURCE),
        ("src/test/java/org/x/SumTest.java", FileKind.TEST),
        ("src/test/resources/one.xml", FileKind.TEST),
        ("go.mod", FileKind.OTHER),
    ],
)
def test_file_kind_follows_from_path(path, kind):
    assert file_kind(PurePosixPath(path)) is kind


def test_globs_replace_usual_test_names():
    globs = ("checks/*",)
    assert file_kind(PurePosixPath("checks/a.py"), globs) is FileKind.TEST
    assert file_kind(PurePosixPath("checks/deep/b.py"), globs) is FileKind.TEST
    assert file_kind(PurePosixPath("tests/test_a.py"), globs) is FileKind.SOURCE


@pytest.mark.parametrize(
    ("content", "bears"),
    [
        (b"def test_a():\n    pass\n", True),
        (b"import x\n\nasync def test_a():\n    pass\n", True),
        (b"class TestA:\n    pass\n", True),
        (b"class ParserTests(TestCase):\n    def test_x(self): ...\n", True),
        (b"def make_test():\n    pass\n", False),
        (b"# def test_a\n", False),
        (b"", False),
    ],
)
def test_tests_are_found_by_content(content, bears):
    assert has_tests(PurePosixPath("tests/test_a.py"), content) is bears


@pytest.mark.parametrize(
    ("path", "tests", "none"),
    [
        ("a.test.js", b"it('adds', () => {})", b"export const it = 1"),
        ("a.test.ts", b"test.each([1, 2])('adds', () => {})", b"await submit(page)"),
        ("a_test.go", b"func TestAdd(t *testing.T) {", b"func helper(t *testing.T) {"),
        ("tests/a.rs", b"#[tokio::test]\nasync fn adds() {}", b"pub fn helper() {}"),
        ("ATest.java", b"  @ParameterizedTest\n  void adds() {}", b"class ATest { void a() {} }"),
        ("conftest.py", b"", b"def test_it():\n    pass\n"),
        ("a.txt", b"", b"def test_it():\n    pass\n"),
    ],
)
def test_each_language_has_its_tests(path, tests, none):
    assert has_tests(PurePosixPath(path), tests) is bool(tests)
    assert not has_tests(PurePosixPath(path), none)


def test_a_fix_is_divided_into_hidden_tests_and_the_rest(pocket, head):
    fix = split_fix(head, find_commit(head, pocket.commits["fix"]))
    assert isinstance(fix, FixCommit)
    assert fix.base == pocket.commits["prose"]
    assert fix.tests == (PurePosixPath("tests/test_hidden.py"),)
    assert b"test_hidden.py" in fix.tests_patch
    assert b"basket.py" not in fix.tests_patch
    assert b"basket.py" in fix.solution_patch
    assert b"CHANGES.md" in fix.solution_patch
    assert b"test_hidden.py" not in fix.solution_patch


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("begin", "first commit"),
        ("prose", "no source except tests"),
        ("layout", "only in comments, docstrings and layout"),
        ("tests_only", "no source except tests"),
        ("source_only", "adds or changes no file of tests"),
    ],
)
def test_rejected_commit_gives_a_reason(pocket, head, name, why):
    message = split_fix(head, find_commit(head, pocket.commits[name]))
    assert isinstance(message, str)
    assert why in message


def test_globs_select_hidden_tests(pocket, head):
    commit = find_commit(head, pocket.commits["fix"])
    assert "no file of tests" in str(split_fix(head, commit, tests=("checks/*",)))


def test_deleted_test_is_not_runnable(changed):
    test = "def test_a():\n    pass\n"
    found = changed({"a.py": "A = 1\n", "test_a.py": test}, {"a.py": "A = 2\n", "test_a.py": None})
    assert found == "it adds or changes no file of tests"


def test_helper_file_is_no_test(changed):
    found = changed(
        {"a.py": "A = 1\n", "tests/fakes.py": "def make():\n    pass\n"},
        {
            "a.py": "A = 2\n",
            "tests/fakes.py": "def make():\n    return 1\n",
            "tests/conftest.py": "def test_it():\n    return 1\n",
        },
    )
    assert found == "it adds or changes no file of tests"


def test_the_language_is_that_of_most_tests(changed):
    fix = changed(
        {"calc/sum.go": "package calc\n"},
        {
            "calc/sum.go": "package calc\n\nfunc Sum() int { return 1 }\n",
            "calc/sum_test.go": "package calc\nfunc TestSum(t *testing.T) {}\n",
            "calc/more_test.go": "package calc\nfunc TestMore(t *testing.T) {}\n",
            "tools/test_tool.py": "def test_tool():\n    pass\n",
        },
    )
    assert isinstance(fix, FixCommit)
    assert {path.name for path in fix.tests} == {"sum_test.go", "more_test.go"}
    assert b"test_tool.py" in fix.tests_patch
    assert b"test" not in fix.solution_patch


def test_tests_between_rusts_source_are_explained(changed):
    test = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn it() {}\n}\n"
    found = changed(
        {"src/lib.rs": "pub fn one() -> u32 { 2 }\n"},
        {"src/lib.rs": f"pub fn one() -> u32 {{ 1 }}\n{test}"},
    )
    assert "`#[cfg(test)]`" in found


def test_links_are_refused(changed):
    after = {"a.py": "A = 2\n", "test_a.py": "def test_a():\n    pass\n", "b.py": Path("a.py")}
    found = changed({"a.py": "A = 1\n"}, after)
    assert found == "it changes an entry that is not a plain file: b.py"


def test_unparsable_source_may_be_a_fix(changed):
    after = {"a.py": "print 'b'\n", "test_a.py": "def test_a():\n    pass\n"}
    assert isinstance(changed({"a.py": "print 'a'\n"}, after), FixCommit)


@pytest.fixture
def changed(tmp_path):
    """Divides a commit that changes some files into others; None removes one, a path links."""

    def changed(before, after):
        origin = Origin(tmp_path / "origin")
        for files in (before, after):
            for name, content in files.items():
                if content is None:
                    (origin.path / name).unlink()
                elif isinstance(content, Path):
                    (origin.path / name).symlink_to(content)
                else:
                    origin.write(name, content)
            commit = origin.commit()
        mirror = mirror_of_head(origin.url, mirrors())
        return split_fix(mirror, find_commit(mirror, commit))

    return changed
