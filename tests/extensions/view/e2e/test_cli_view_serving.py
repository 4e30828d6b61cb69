"""Where the page listens, who may look, and what it says when it cannot."""

import os
import re
import socket
import subprocess
from functools import partial

import httpx2
import pytest

from tests.extensions.view.server import command_for, serving
from tests.patience import HANG_SECONDS, wait_until

get = partial(httpx2.get, timeout=HANG_SECONDS)


def refused(folder, *options, **env):
    ended = subprocess.run(
        command_for(folder, *options),
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.stdout == ""
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    return line


def test_a_port_that_is_taken_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused(tmp_path, "--port", port)
    assert line == (
        f"agentbench: cannot listen on 127.0.0.1:{port}: Address already in use; "
        "choose another --port or --host"
    )


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 70 + ".example"])
def test_a_host_that_is_none_of_ours_is_said(tmp_path, host):
    assert f"cannot listen on {host}:8766: " in refused(tmp_path, "--host", host)


def test_a_token_that_no_address_holds_is_refused(tmp_path):
    line = refused(tmp_path, AGENTBENCH_VIEW_TOKEN="two words")
    assert "AGENTBENCH_VIEW_TOKEN: expected only letters" in line


def test_on_loopback_no_token_is_needed(tmp_path):
    with serving(tmp_path) as found:
        assert found.said == f"{found.address}/"
        assert found.address.startswith("http://127.0.0.1:")
        assert get(found.address).status_code == 200


def test_beyond_loopback_a_token_is_made_up_and_is_in_the_address(tmp_path):
    with serving(tmp_path, "--host", "0.0.0.0") as found:
        token = re.search(r"\?token=([\w-]{32,})$", found.said)[1]
        own = f"http://127.0.0.1:{found.address.rpartition(':')[2]}/"
        assert get(own).status_code == 401
        with httpx2.Client(follow_redirects=True, timeout=HANG_SECONDS) as client:
            assert client.get(f"{own}?token={token}").status_code == 200
            assert client.get(own).status_code == 200


def test_a_token_that_was_given_is_needed_on_loopback_too(tmp_path):
    with serving(tmp_path, AGENTBENCH_VIEW_TOKEN="given") as found:
        assert found.said == f"{found.address}/?token=given"
        assert get(found.address).status_code == 401
        bearer = {"Authorization": "Bearer given"}
        assert get(found.address, headers=bearer).status_code == 200


def test_the_folder_of_one_run_is_shown_as_that_run(runs_dir):
    (run,) = runs_dir.iterdir()
    with serving(run) as found:
        assert found.said == f"{found.address}/runs/{run.name}"
        assert get(found.said).status_code == 200


def test_a_browser_is_opened_where_it_is_asked_for(tmp_path):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part; mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    with serving(tmp_path, "--open", BROWSER=f"{browser} %s") as found:
        assert get(found.address).status_code == 200
        wait_until(opened.exists)
    assert opened.read_text() == found.said
