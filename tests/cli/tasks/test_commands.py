import json


def test_tasks_are_listed_a_line_each(cli, tasks):
    result = cli("tasks", "list", tasks)
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout == (
        "first   The first price is left out             2 target tests\n"
        "second  The first price is left out  [unfixed]  2 target tests\n"
    )


def test_json_says_more_of_each(cli, tasks):
    rows = json.loads(cli("tasks", "list", tasks, "--json", "--tag", "unfixed").stdout)
    assert [(row["id"], row["tags"], row["fail_to_pass"]) for row in rows] == [
        ("second", ["unfixed"], 2)
    ]
    assert rows[0]["folder"] == str(tasks / "second")


def test_the_default_is_a_folder_of_that_name(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "tasks: no such folder" in cli("tasks", "list").stderr
