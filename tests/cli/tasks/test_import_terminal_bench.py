import pytest

from tests.importers.terminal_bench.terminal_folders import terminal_folder


def test_without_a_proof_the_task_is_written(cli, tmp_path):
    terminal_folder(tmp_path / "hello")
    where = ("--out", tmp_path / "ours", "--no-prove")
    said = cli("tasks", "import", "terminal-bench", tmp_path / "hello", *where)
    assert (said.code, said.stdout) == (0, f"{tmp_path}/ours/hello\n")


def test_several_containers_are_65(cli, tmp_path):
    compose = "services: {a: {build: .}, b: {image: postgres}}\n"
    terminal_folder(tmp_path / "hello", {"docker-compose.yaml": compose})
    where = ("--out", tmp_path / "ours", "--no-prove")
    said = cli("tasks", "import", "terminal-bench", tmp_path / "hello", *where)
    assert said.code == 65
    assert "docker-compose.yaml: services: starts 2 (a, b); a sandbox is one" in said.stderr


@pytest.mark.docker
def test_its_own_tests_prove_it(cli, tmp_path):
    terminal_folder(tmp_path / "hello")
    where = ("--out", tmp_path / "ours", "--runs-dir", tmp_path / "runs", "--sandbox", "docker")
    said = cli("tasks", "import", "terminal-bench", tmp_path / "hello", *where, "--repeat", 1, "-q")
    assert said.code == 0, said.stdout + said.stderr
    assert said.stdout == f"{tmp_path}/ours/hello  valid\n"
