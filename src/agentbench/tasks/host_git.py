"""git on the host, through GitPython, with everything off that a repository could make it run.

Only ever pointed at repositories that the harness made itself (mirrors), never at a tree that
an agent could write to.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import cast

from git import Git

_TRUSTED_OLD_FAULTS = (
    # Real histories bear these; git itself wrote them long ago.
    "badTimezone",
    "zeroPaddedFilemode",
    "missingSpaceBeforeDate",
    "zeroPaddedDate",
    "missingEmail",
    "missingNameBeforeEmail",
    "badFilemode",
)

_SAFETY = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=true",
    "core.autocrlf=false",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "transfer.fsckObjects=true",
    *(f"fetch.fsck.{fault}=warn" for fault in _TRUSTED_OLD_FAULTS),
    *(f"receive.fsck.{fault}=warn" for fault in _TRUSTED_OLD_FAULTS),
)

_SEALED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "agentbench",
    "GIT_AUTHOR_EMAIL": "agentbench@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00+00:00",
    "GIT_COMMITTER_NAME": "agentbench",
    "GIT_COMMITTER_EMAIL": "agentbench@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00+00:00",
}

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitAnswer:
    """What one git command said."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether it exited 0."""
        return self.status == 0

    @property
    def complaint(self) -> str:
        """The last line of what it complained about, without credentials."""
        lines = [line for line in self.stderr.splitlines() if line.strip()]
        return without_credentials(lines[-1]) if lines else f"git exited {self.status}"


def git(
    *arguments: str,
    cwd: Path,
    sealed: bool = True,
    env: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    timeout: timedelta | None = None,
) -> GitAnswer:
    """Run git to its end.

    `sealed` leaves the user's configuration out (a commit's hash must not depend on it); a fetch
    needs it, for that is where credentials are.
    """
    options = [part for setting in _SAFETY for part in ("-c", setting)]
    settings = {**(_SEALED if sealed else {}), "GIT_TERMINAL_PROMPT": "0", **(env or {})}
    with (stdin or Path(os.devnull)).open("rb") as source:
        status, stdout, stderr = Git(str(cwd)).execute(
            ["git", *options, *arguments],
            istream=source,
            env=settings,
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
            kill_after_timeout=timeout.total_seconds() if timeout else None,
        )
    # GitPython types it as bytes, and gives text when the deadline killed git.
    complaint = cast("bytes | str", stderr)
    text = complaint if isinstance(complaint, str) else complaint.decode("utf-8", "replace")
    return GitAnswer(status=status, stdout=stdout, stderr=text)


def without_credentials(text: str) -> str:
    """A text with user names and passwords taken out of the URLs in it."""
    return _CREDENTIALS.sub("", text)
