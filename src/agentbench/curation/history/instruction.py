"""What an agent is told of a fix, made of the commit's message."""

import re

from agentbench.tasks.history.fix import Fix

_TRAILER = re.compile(r"^[A-Z][A-Za-z-]+(-by|-to|-on)?: .*[@<].*$|^(Change-Id|PiperOrigin-RevId): ")
_NUMBER = re.compile(r"\s*\(#\d+\)\s*$")
_LONGEST_TITLE = 200
_TELLING = 12  # characters; shorter lines of a patch (`else:`, `return x`) stand in many a message


def title_of(fix: Fix) -> str:
    """The subject of the commit, without the number of its pull request."""
    title = (
        _NUMBER.sub("", fix.commit.subject).strip() or f"The bug fixed by {fix.commit.hash[:12]}"
    )
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def instruction_of(fix: Fix) -> str:
    """The message without trailers and without lines of the patch, and where it comes from.

    A commit's message is written by who knows the fix, so it may say more than a user's report
    would: whoever wants a hard task writes a better one.
    """
    told = _told(fix)
    text = f"\n{told}\n" if told else ""
    return (
        f"# {title_of(fix)}\n{text}\n"
        "This is the message of the commit that made the change, as far as it does not give the\n"
        "change itself away. Change the project so that what it describes holds; tests that are\n"
        "not in the repository will be run on it.\n"
    )


def _told(fix: Fix) -> str:
    body = fix.commit.message.strip().partition("\n")[2].replace("\0", "")
    written = {
        line[1:].strip().decode("utf-8", "replace")
        for line in fix.solution_patch.splitlines()
        if line.startswith(b"+") and len(line[1:].strip()) >= _TELLING
    }
    kept = [
        line.rstrip()
        for line in body.splitlines()
        if not _TRAILER.match(line) and line.strip() not in written
    ]
    return "\n".join(kept).strip()
