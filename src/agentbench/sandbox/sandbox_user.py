"""The unprivileged user of this machine that sandboxes run as when the harness is root."""

import os
import pwd
from pathlib import Path

from agentbench.sandbox.trees import Owner

# Assigned to nobody by Debian's policy and by systemd, and mapped in rootless containers too.
_UNASSIGNED = range(60706, 61184)


def sandbox_user() -> Owner | None:
    """A user without a name, or None where the harness itself has no privileges to drop."""
    if os.geteuid() != 0:
        return None
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    uid = next(number for number in _UNASSIGNED if number not in taken)
    return Owner(uid=uid, gid=uid)


def can_reach(user: Owner | None, path: Path) -> bool:
    """Whether a user gets to a path by its name: every folder above it lets others through."""
    if user is None:
        return os.access(path, os.R_OK | os.X_OK)
    real = path.resolve()
    return real.exists() and all(folder.stat().st_mode & 0o001 for folder in (real, *real.parents))
