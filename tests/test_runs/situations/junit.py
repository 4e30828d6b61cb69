"""Commands that write JUnit's XML files: scripts, whose content is what many tools write."""

from agentbench.scoring.evidence import PytestOutcome
from tests.test_runs.situations import Situation

PASSED, FAILED, UNVERIFIED = PytestOutcome.PASSED, PytestOutcome.FAILED, PytestOutcome.UNVERIFIED
COMMAND, REPORT = "sh run.sh", "out/*.xml"
CASE = '<testcase name="a" classname="org.x.FooTest" time="0.5"/>'
FOO = {"src/test/java/org/x/FooTest.java": "class FooTest {}\n"}
FILE = "src/test/java/org/x/FooTest.java"


def suite(cases, attributes='name="s"'):
    return f"<testsuite {attributes}>{cases}</testsuite>"


def case(name, child="", attributes='classname="org.x.FooTest"'):
    return f'<testcase name="{name}" {attributes}>{child}</testcase>'


def project(*documents, code=0, script="", **files):
    """A project whose command writes some files."""
    written = {f"reports/r{n}.xml": text for n, text in enumerate(documents)}
    copy = "mkdir -p out && cp reports/*.xml out/\n" if documents else ""
    return {"run.sh": f"{copy}{script}\nexit {code}\n", **written, **FOO, **files}


def situation(name, files, outcome, tests=(), **more):
    given = {"command": COMMAND, "report": REPORT, **more}
    return Situation(name=name, files=files, outcome=outcome, tests=dict(tests), **given)


FAILURE = '<failure message="1 is not 2" type="X">trace</failure>'

SITUATIONS = (
    situation(
        "all pass",
        project(suite(CASE)),
        PASSED,
        {f"{FILE}::a": "passed"},
        exit_zero=True,
        complete=True,
    ),
    situation(
        "a failure, an error and a skipped test",
        project(
            suite(
                case("f", FAILURE)
                + case("e", '<error type="E">boom</error>')
                + case("s", '<skipped message="later"/>')
                + CASE
            ),
            code=1,
        ),
        FAILED,
        {
            f"{FILE}::f": "failed",
            f"{FILE}::e": "error",
            f"{FILE}::s": "skipped",
            f"{FILE}::a": "passed",
        },
        messages={f"{FILE}::f": "1 is not 2", f"{FILE}::e": "boom", f"{FILE}::s": "later"},
    ),
    situation(
        "nested suites without classes",
        project(
            "<testsuites>"
            + suite(suite('<testcase name="deep"/>', 'name="inner"') + '<testcase name="flat"/>')
            + "</testsuites>"
        ),
        PASSED,
        {"out/r0.xml::s > inner.deep": "passed", "out/r0.xml::s.flat": "passed"},
    ),
    situation(
        "several files",
        project(suite(CASE), suite(case("b", "", 'classname="org.x.BarTest$Inner"')))
        | {"src/test/java/org/x/BarTest.java": ""},
        PASSED,
        {f"{FILE}::a": "passed", "src/test/java/org/x/BarTest.java::Inner.b": "passed"},
    ),
    situation(
        "a class whose file is not known",
        project(suite(case("a", "", 'classname="org.y.Absent"'))),
        PASSED,
        {"org/y/Absent::a": "passed"},
    ),
    situation(
        "files that the report names",
        project(
            suite(
                case("a", "", 'classname="suite a" file="./spec/a.spec.js"')
                + case("b", "", 'classname="x" file="/elsewhere/b.js"')
            )
        ),
        PASSED,
        {"spec/a.spec.js::a": "passed", "x::b": "passed"},
    ),
    situation(
        "a Python class",
        project(
            suite(case("test_a", "", 'classname="tests.test_m.TestX"')),
            **{"tests/test_m.py": "", "other/test_m.py": ""},
        ),
        PASSED,
        {"tests/test_m.py::TestX.test_a": "passed"},
    ),
    situation(
        "a test that Surefire repeated until it passed",
        project(suite(case("a", '<flakyFailure message="once" type="X">t</flakyFailure>'))),
        PASSED,
        {f"{FILE}::a": "passed"},
        messages={f"{FILE}::a": "it failed before it passed"},
    ),
    situation(
        "a test that Surefire repeated in vain",
        project(
            suite(case("a", FAILURE + '<rerunFailure message="again" type="X">t</rerunFailure>')),
            code=1,
        ),
        FAILED,
        {f"{FILE}::a": "failed"},
    ),
    situation(
        "a test that is reported twice",
        project(suite(CASE), suite(CASE)),
        PASSED,
        {f"{FILE}::a": "passed, passed"},
    ),
    situation(
        "a report of an earlier run",
        project(**{"out/old.xml": suite(CASE)}),
        PytestOutcome.UNVERIFIED,
        messages={"": "wrote no file out/*.xml"},
        exit_zero=True,
    ),
    situation(
        "a compiler that fails",
        project(code=1, script="echo 'Foo.java:3: error' >&2"),
        PytestOutcome.USAGE,
    ),
    situation(
        "a report that passes, and a command that fails",
        project(suite(CASE), code=1),
        UNVERIFIED,
        {f"{FILE}::a": "passed"},
    ),
    situation(
        "a report that fails, and a command that does not",
        project(suite(case("f", FAILURE))),
        UNVERIFIED,
        {f"{FILE}::f": "failed"},
    ),
    situation(
        "a damaged file beside a good one",
        project(suite(CASE), suite(CASE)[:-5]),
        UNVERIFIED,
        {f"{FILE}::a": "passed"},
        complete=False,
        messages={"": "out/r1.xml"},
    ),
    situation(
        "an empty file",
        project("", code=0),
        UNVERIFIED,
        complete=False,
    ),
    situation(
        "a file with a document type",
        project('<!DOCTYPE t [<!ENTITY a "b">]>' + suite(CASE)),
        UNVERIFIED,
        complete=False,
    ),
    situation(
        "a document type behind a comment",
        project('<!-- <testsuite --><!DOCTYPE t [<!ENTITY a "b">]>' + suite(CASE)),
        UNVERIFIED,
        complete=False,
    ),
    situation(
        "a declaration, comments, and a namespace",
        project(
            '<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by x -->\n'
            + suite(
                case("größe &lt;1&gt;"),
                'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
                'xsi:noNamespaceSchemaLocation="x.xsd" name="s"',
            )
        ),
        PASSED,
        {f"{FILE}::größe <1>": "passed"},
    ),
    situation(
        "no tests in the report",
        project(suite("")),
        PytestOutcome.NO_TESTS,
        exit_zero=True,
    ),
    situation(
        "another format",
        project("<html><body/></html>"),
        UNVERIFIED,
        complete=False,
    ),
    situation(
        "a report behind a link",
        project(
            script="mkdir /tmp/x && cp reports-x.xml /tmp/x/a.xml && ln -s /tmp/x out",
            **{"reports-x.xml": suite(CASE)},
        ),
        UNVERIFIED,
    ),
    situation(
        "files with blanks and quotes in their names",
        project(
            script="mkdir -p \"my 'out'\" && cp x.xml \"my 'out'/a b.xml\"",
            **{"x.xml": suite(CASE)},
        ),
        PASSED,
        {f"{FILE}::a": "passed"},
        report="my 'out'/*.xml",
    ),
    situation(
        "folders at any depth",
        project(
            script="mkdir -p m/target/surefire && cp x.xml m/target/surefire/a.xml",
            **{"x.xml": suite(CASE)},
        ),
        PASSED,
        {f"{FILE}::a": "passed"},
        report="**/target/surefire/*.xml",
    ),
    situation(
        "a deep tree",
        project("<testsuites>" + "<testsuite>" * 5000 + "</testsuite>" * 5000 + "</testsuites>"),
        PytestOutcome.NO_TESTS,
    ),
    situation(
        "the time limit",
        project(suite(CASE), script="sleep 6000"),
        PytestOutcome.TIMEOUT,
        limits=(3.0, 20.0),
    ),
    situation(
        "a program that does not exist",
        project(),
        PytestOutcome.SPAWN,
        command="absent-program --x",
        exit_zero=False,
    ),
    situation(
        "unittest with its XML",
        {
            "tests/test_a.py": "import unittest\n\n\nclass A(unittest.TestCase):\n"
            "    def test_p(self): pass\n    def test_f(self): self.fail('no')\n",
            "tests/__init__.py": "",
            "run.py": "import sys, unittest\nfrom xml.sax.saxutils import quoteattr as q\n"
            "class R(unittest.TextTestResult):\n"
            "    rows = []\n"
            "    def addSuccess(self, t): self.rows.append((t, ''))\n"
            "    def addFailure(self, t, e): self.rows.append((t, str(e[1])))\n"
            "suite = unittest.defaultTestLoader.discover('.')\n"
            "unittest.TextTestRunner(resultclass=R).run(suite)\n"
            "with open('r.xml', 'w') as f:\n"
            "    print('<testsuite name=\"u\">', file=f)\n"
            "    for t, e in R.rows:\n"
            "        print(f'<testcase classname={q(type(t).__module__ + \".A\")}', file=f)\n"
            "        print(f'name={q(t._testMethodName)}>', file=f)\n"
            "        print(f'<failure message={q(e)}/>' if e else '', '</testcase>', file=f)\n"
            "    print('</testsuite>', file=f)\n"
            "sys.exit(any(e for _, e in R.rows))\n",
        },
        FAILED,
        {"tests/test_a.py::A.test_f": "failed", "tests/test_a.py::A.test_p": "passed"},
        command="python run.py",
        report="r.xml",
        messages={"tests/test_a.py::A.test_f": "no"},
    ),
)
