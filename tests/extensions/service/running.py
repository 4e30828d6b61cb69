"""`agentbench serve` as a user starts it: a process of its own, with a queue that outlives it."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2

from tests.fakes.staging import local_provider
from tests.patience import HANG_SECONDS, wait_until

JSON = {"Content-Type": "application/json"}


class ServiceProcess:
    """A service with its files in a folder; it can be started again."""

    def __init__(
        self,
        tasks: Path,
        folder: Path,
        *options: object,
        token: str | None = None,
        caches: bool = False,
    ) -> None:
        self.folder = folder
        self.token = token
        self._caches = caches
        self._tasks = tasks
        self._options = options
        self._port = 0
        self._log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def runs_dir(self) -> Path:
        return self.folder / "runs"

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, on the port that it had before; returns once it answers."""
        options = self._options
        if "--sandbox" not in options:
            options = ("--sandbox", local_provider().name, "--allow-unsandboxed", *options)
        if "--drain" not in options:
            options = ("--drain", 0, *options)
        if not self._caches:  # a stored verdict of another test would end a job at once
            options = ("--no-verdict-cache", *options)
        command = [
            *(sys.executable, "-m", "agentbench", "serve", self._tasks, "--port", self._port),
            *("--runs-dir", self.runs_dir, "--jobs", 2, *options),
        ]
        env = {
            name: value for name, value in os.environ.items() if name != "AGENTBENCH_SERVE_TOKEN"
        }
        if self.token is not None:
            env["AGENTBENCH_SERVE_TOKEN"] = self.token
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(list(map(str, command)), stderr=log, env=env)
        wait_until(lambda: "serving" in self.log or self.process.poll() is not None)
        found = re.search(r"serving \d+ tasks on http://\S+:(\d+) ", self.log)
        assert found is not None, self.log
        self._port = int(found[1])

    def kill(self) -> None:
        """End it without a chance to do anything."""
        self.process.kill()
        self.process.wait(HANG_SECONDS)

    def stop(self) -> int:
        """Tell it to stop, and wait for its end; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(HANG_SECONDS)

    def request(self, method: str, path: str, **more: object) -> httpx2.Response:
        """One request, with the token."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= more.pop("headers", {})
        return httpx2.request(
            method, f"{self.url}{path}", headers=headers, timeout=HANG_SECONDS, **more
        )

    def submit(self, patch: str, *, task: str = "small", **fields: object) -> dict:
        """Submit a patch; returns the job."""
        body = {"task": task, "patch": patch, **fields}
        answer = self.request("POST", "/v1/jobs", content=json.dumps(body), headers=JSON)
        assert answer.is_success, answer.text
        return answer.json()

    def ended(self, job_id: str) -> dict:
        """The job once it has ended."""
        while True:
            job = self.request("GET", f"/v1/jobs/{job_id}?wait=60").json()
            if job["state"] not in {"queued", "running"}:
                return job

    def job(self, job_id: str) -> dict:
        """The job as it is."""
        return self.request("GET", f"/v1/jobs/{job_id}").json()

    def records(self) -> list[dict]:
        """The records of all its runs, in no order."""
        paths = self.runs_dir.glob("*/attempts/*/*/record.json")
        return [json.loads(path.read_text()) for path in paths]


@contextmanager
def serving(
    tasks: Path, folder: Path, *options: object, **more: object
) -> Iterator[ServiceProcess]:
    """A service until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    service = ServiceProcess(tasks, folder, *options, **more)
    service.start()
    try:
        yield service
    finally:
        with suppress(ProcessLookupError):
            for _ in range(2):  # the second signal ends what still runs
                service.process.send_signal(signal.SIGTERM)
        service.process.wait(HANG_SECONDS)
