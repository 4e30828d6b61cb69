def test_a_new_task_s_folder_is_written_and_explained(cli, tmp_path):
    folder = tmp_path / "tasks" / "my-bug"
    result = cli("tasks", "init", folder)
    assert result.code == 0, result.stderr
    names = ("task.toml", "instruction.md", "tests.patch", "solution.patch", "repo/")
    assert result.stdout.splitlines() == [f"{folder}/{name}" for name in names]
    assert result.stderr == f"fill them in, then run: agentbench validate {folder} --write-ids\n"
    for command in (("tasks", "list"), ("validate",)):
        result = cli(*command, tmp_path / "tasks")
        assert result.code == 65
        assert f"{folder}/task.toml: title: '' is empty" in result.stderr
        assert f"{folder}/instruction.md: has only a comment" in result.stderr
