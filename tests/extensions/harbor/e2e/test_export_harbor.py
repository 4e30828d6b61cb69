import json

from tests.extensions.harbor.harbor_folders import harbor_folder


def test_tasks_are_written_and_said(cli, tasks, tmp_path):
    result = cli("tasks", "export", "harbor", tasks, "--out", tmp_path / "out")
    assert result.code == 0, result.stderr
    assert result.stdout.splitlines() == [str(tmp_path / "out" / n) for n in ("first", "second")]
    assert result.stderr.endswith("2 tasks written\n")
    dockerfile = (tmp_path / "out" / "first" / "environment" / "Dockerfile").read_text()
    assert dockerfile.startswith("FROM python:3.12-slim\n")


def test_one_that_has_no_form_there_is_65_after_the_rest_was_written(cli, tasks, tmp_path):
    harbor_folder(tmp_path / "hello")
    ours = tmp_path / "ours"
    cli("tasks", "import", "harbor", tmp_path / "hello", "--out", ours, "--no-prove")
    (ours / "hello" / "harbor" / "task.toml").unlink()
    (ours / "hello" / "tests" / ".harborignore").write_text("*.md")
    where = ("--out", tmp_path / "out", "--json")
    result = cli("tasks", "export", "harbor", ours, tasks / "first", *where)
    assert result.code == 65
    document = json.loads(result.stdout)
    assert document["written"] == [str(tmp_path / "out" / "first")]
    assert document["refused"][0]["what"].startswith("tests/: has a .harborignore")


def test_a_folder_that_is_there_is_wrong_usage_unless_replaced(cli, tasks, tmp_path):
    where = ("tasks", "export", "harbor", tasks / "first", "--out", tmp_path / "out")
    assert [cli(*where).code, cli(*where).code, cli(*where, "--replace").code] == [0, 2, 0]
