"""MCP servers and skills of Harbor's tasks become those of ours."""

import pytest

from tests.importers.harbor.harbor_folders import harbor_folder
from tests.importers.harbor.test_importing import refused, task

SERVERS = """
[environment]
skills_dir = "/opt/skills"
[[environment.mcp_servers]]
name = "notes"
transport = "http"
url = "http://notes:8000/mcp"
headers = { X-Reader = "${READER:-anyone}", Authorization = "${TOKEN}", X-Plain = "1" }
[[environment.mcp_servers]]
name = "clock"
transport = "stdio"
command = "python3"
args = ["/opt/clock.py"]
"""


def test_servers_and_skills_are_taken_with_their_headers(tmp_path):
    environment = task(harbor_folder(tmp_path, {"task.toml": SERVERS})).new.table.environment
    notes, clock = environment.mcp_servers
    assert environment.skills == "/opt/skills"
    assert (notes.transport, notes.url) == ("streamable-http", "http://notes:8000/mcp")
    assert notes.headers == {"X-Reader": "anyone", "X-Plain": "1"}
    assert notes.headers_from_host == {"X-Reader": "READER", "Authorization": "TOKEN"}
    assert (clock.transport, clock.command, clock.args) == ("stdio", "python3", ("/opt/clock.py",))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('name = "a"\n', 'needs `url` with `transport = "sse"`'),
        ('name = "a"\ntransport = "stdio"\n', 'needs `command` with `transport = "stdio"`'),
        ('name = "a b"\nurl = "http://a"\n', "'a b'"),
        ('name = "a"\nurl = "ftp://a"\n', "'ftp://a'"),
        ('name = "a"\nurl = "http://a"\ntransport = "smoke"\n', "'smoke'"),
    ],
)
def test_a_server_that_no_client_reaches_is_refused_by_its_field(tmp_path, table, said):
    text = f"[[environment.mcp_servers]]\n{table}"
    (one,) = refused(harbor_folder(tmp_path, {"task.toml": text}))
    assert one.startswith("task.toml: environment.mcp_servers.0")
    assert said in one
