import re
import subprocess

import httpx2

from tests.mcp.connection import ENVIRON, client_of, command_for, listening, over_stdio
from tests.patience import HANG_SECONDS


def test_a_token_that_was_not_given_is_made_up_and_shown_once(tmp_path):
    environ = {name: value for name, value in ENVIRON.items() if name != "AGENTBENCH_MCP_TOKEN"}
    command = command_for(tmp_path, "--transport", "http", "--port", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ) as process:
        token = re.fullmatch(r"token: (\S{32,})\n", process.stderr.readline())[1]
        url = re.fullmatch(r"serving on (\S+)\n", process.stderr.readline())[1]
        with client_of(url, token=token) as session:
            assert not session.call("explain_failure", {"exit_code": 1}).is_error
        assert httpx2.post(url, json={}, timeout=HANG_SECONDS).status_code == 401
        process.terminate()
        assert process.wait(HANG_SECONDS) == 130


def test_a_token_that_was_given_is_not_shown(tmp_path):
    with listening(command_for(tmp_path, "--transport", "http", "--port", "0")) as url:
        assert url.endswith("/mcp")  # the first line that says where; no token stood before it


def test_errors_can_go_out_as_the_protocols_own(tmp_path):
    with over_stdio(command_for(tmp_path, "--error-mode", "jsonrpc")) as session:
        assert session.call("execute_tests", {"timeout_s": 0}).code == -32602
