def test_a_new_task_s_folder_is_written_and_explained(cli, tmp_path):
    folder = tmp_path / "tasks" / "my-bug"
    said = cli("tasks", "init", folder)
    assert said.code == 0, said.stderr
    names = ("task.toml", "instruction.md", "tests.patch", "solution.patch", "repo/")
    assert said.stdout.splitlines() == [f"{folder}/{name}" for name in names]
    assert said.stderr == f"fill them in, then run: agentbench validate {folder} --write-ids\n"
    for command in (("tasks", "list"), ("validate",)):
        said = cli(*command, tmp_path / "tasks")
        assert said.code == 65
        assert f"{folder}/task.toml: title: '' is empty" in said.stderr
        assert f"{folder}/instruction.md: has only a comment" in said.stderr


def test_a_folder_that_exists_is_wrong_usage(cli, tmp_path):
    said = cli("tasks", "init", tmp_path)
    assert said.code == 2
    assert "already exists; name a new folder" in said.stderr
