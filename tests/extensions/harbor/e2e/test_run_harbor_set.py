"""`agentbench run -d NAME@VERSION` with a registry and a repository of this machine."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agentbench.extensions.harbor.task_sets import REGISTRY_VARIABLE
from tests.extensions.harbor.harbor_folders import ALL_AGES, harbor_folder
from tests.tasks.origins import Origin

pytestmark = pytest.mark.full


@pytest.fixture
def commit(tmp_path):
    origin = Origin(tmp_path / "repos" / "acme" / "tasks")
    for name in ("hello", "several-rewards", "unsolved"):
        harbor_folder(origin.path / "sets" / name, ALL_AGES[name])
    return origin.commit()


@pytest.fixture(autouse=True)
def registry(commit, tmp_path, monkeypatch):
    """A registry that an HTTP server sends, with the repository under its published URL."""
    names = ("hello", "several-rewards", "unsolved", "gone")
    tasks = [
        {
            "name": name,
            "git_url": "https://github.com/acme/tasks.git",
            "git_commit_id": commit,
            "path": f"sets/{name}",
        }
        for name in names
    ]
    datasets = [
        {"name": "acme-set", "version": version, "description": "", "tasks": tasks, "metrics": []}
        for version in ("1.0", "1.1")
    ]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(datasets).encode())

        def log_message(self, *_said):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv(REGISTRY_VARIABLE, f"http://127.0.0.1:{server.server_port}/registry.json")
    monkeypatch.setenv("AGENTBENCH_CACHE", str(tmp_path / "cache"))
    yield datasets
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def run(cli, tmp_path):
    def run(name, *arguments):
        where = ("--repos", tmp_path / "repos", "--runs-dir", tmp_path / "runs", "--json")
        return cli("run", "-d", name, *where, "--sandbox", "docker", *arguments)

    return run


@pytest.mark.docker
def test_selected_tasks_are_imported_once_and_run(run):
    first = run("acme-set@1.0", "--agent", "oracle", "--filter", "hello", "--run-id", "first")
    assert first.code == 0, first.stderr
    assert "acme-set@1.0: 1 of 4 tasks selected, 0 imported before, 1 to import" in first.stderr
    (record,) = json.loads(first.stdout)["attempts"]
    assert (record["task_id"], record["resolved"]) == ("hello", True)
    second = run("acme-set@1.0", "--agent", "noop", "--run-id", "second", "-j", 2)
    assert second.code == 0, second.stderr
    assert "4 of 4 tasks selected, 1 imported before, 3 to import" in second.stderr
    assert "refused: acme-set@1.0: gone: " in second.stderr
    assert "left out: unsolved is not valid here: " in second.stderr
    outcomes = {r["task_id"]: r["resolved"] for r in json.loads(second.stdout)["attempts"]}
    assert outcomes == {"hello": False, "several-rewards": False}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("acme-set@2", "acme-set@2: Harbor's registry has no such version; its versions: 1.0, 1.1"),
        (
            "acmeset@1.0",
            "acmeset@1.0: Harbor's registry has no data set 'acmeset'; did you mean acme-set?",
        ),
    ],
)
def test_wrong_name_or_version_is_one_line(run, name, message):
    result = run(name, "--agent", "noop")
    assert (result.code, result.stderr) == (65, f"agentbench: {message}\n")


@pytest.mark.parametrize("text", ["{}", "no json", '[{"name": "a"}]'])
def test_file_of_another_format_is_65(run, tmp_path, monkeypatch, text):
    (tmp_path / "registry.json").write_text(text)
    monkeypatch.setenv(REGISTRY_VARIABLE, str(tmp_path / "registry.json"))
    result = run("acme-set@1.0", "--agent", "noop")
    assert result.code == 65
    assert "expected Harbor's registry, a JSON list of data sets" in result.stderr


def test_registry_that_cannot_be_read_is_69(run, tmp_path, monkeypatch):
    for where in ("http://127.0.0.1:9/registry.json", str(tmp_path / "nowhere.json")):
        monkeypatch.setenv(REGISTRY_VARIABLE, where)
        result = run("acme-set@1.0", "--agent", "noop")
        assert result.code == 69
        assert f"Harbor's registry cannot be read from {where}" in result.stderr
