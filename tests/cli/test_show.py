import json


def show(cli, runs_dir, *arguments):
    return cli("show", *arguments, "--runs-dir", runs_dir)


def test_an_attempt_is_shown_with_why_it_ended_so(cli, runs_dir):
    said = show(cli, runs_dir, "last", "one", "2")
    assert (said.code, said.stderr) == (0, "")
    assert said.stdout.startswith("one, attempt 2 of oracle\nfailed: TESTS_FAILED")
    assert said.stdout.endswith(f"files: {next(runs_dir.iterdir())}/attempts/one/2\n")


def test_the_first_attempt_is_the_default(cli, runs_dir):
    assert show(cli, runs_dir, "last", "one").stdout.startswith(
        "one, attempt 1 of oracle\nresolved"
    )


def test_json_is_the_record(cli, runs_dir):
    assert json.loads(show(cli, runs_dir, "last", "one", "--json").stdout)["attempt"] == 1


def test_an_attempt_that_is_not_there_says_which_are(cli, runs_dir):
    for arguments in (("last", "two"), ("last", "one", "3")):
        said = show(cli, runs_dir, *arguments)
        assert (said.code, said.stdout) == (65, "")
        assert "there are: one 1, one 2" in said.stderr
