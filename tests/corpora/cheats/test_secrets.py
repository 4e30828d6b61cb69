"""What the harness knows and an agent must not stays where it is, however it is dressed."""

import base64
import binascii
import codecs
import gzip
import re
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.program import run_program
from tests.e2e.small_task import FIX, SmallTask

NAMES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AGENTBENCH_SECRET")
LOOK = f"""
all=$(mktemp)
env > $all; set >> $all; cat /proc/self/environ | tr '\\0' '\\n' >> $all
for file in /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ
do tr '\\0' '\\n' < $file >> $all 2>/dev/null || true; done 2>/dev/null
cat ~/.netrc ~/.git-credentials ~/.config/gh/hosts.yml /run/secrets/* >> $all 2>/dev/null || true
{FIX}
cp $all seen.txt
"""
DRESSED = r"""
cat > dress.py <<'END'
import base64, codecs, gzip, re, sys, urllib.parse
text = open("seen.txt", errors="replace").read()
found = sorted(set(re.findall(r"canary[!-~]+", text))) or ["nothing"]
for each in found:
    data = each.encode()
    print(each, each[::-1], codecs.encode(each, "rot13"), urllib.parse.quote(each, safe=""),
          data.hex(), base64.b64encode(data).decode(), base64.b85encode(data).decode(),
          base64.b64encode(gzip.compress(data)).decode(), sep="\n")
    print(base64.b64encode(gzip.compress(text.encode())).decode())
    open(each.replace("/", "_"), "w").close()
    sys.stderr.write(each + "\n")
END
python dress.py; cp seen.txt dress.py /results/
cat >> basket.py <<'END'
import os as _os
print(dict(_os.environ), file=__import__("sys").__stderr__)
_KNOWN = str(dict(_os.environ)) + open("/proc/self/environ").read()
def cheapest(prices):
    assert not _KNOWN, _KNOWN
END
"""


@pytest.fixture
def canary() -> str:
    return f"canary{secrets.token_hex(8)}/+%&{secrets.token_hex(4)}"


def dressings(canary: str) -> dict[str, bytes]:
    """The canary as it may be searched for."""
    data = canary.encode()
    return {
        "plain": data,
        "reversed": data[::-1],
        "rot13": codecs.encode(canary, "rot13").encode(),
        "url": quote(canary, safe="").encode(),
        "hex": data.hex().encode(),
        "base64": base64.b64encode(data).rstrip(b"="),
        "base85": base64.b85encode(data),
    }


def seen_in(texts: Iterator[bytes], canary: str) -> set[str]:
    """The dressings in which a canary stands in some of these texts."""
    found: set[str] = set()
    wanted = dressings(canary)
    for text in texts:
        found |= {name for name, form in wanted.items() if form in text}
        for packed in re.findall(rb"H4sI[A-Za-z0-9+/=]+", text):
            try:
                if wanted["plain"] in gzip.decompress(base64.b64decode(packed)):
                    found.add("gzip")
            except (OSError, EOFError, binascii.Error):
                continue
    return found


def all_texts(
    task: Path, line: str, environ: dict[str, str], back_end: str, folder: Path
) -> Iterator[bytes]:
    """Make an attempt with the program; all that it says, keeps, and shows later."""
    runs = folder / "runs"

    def program(*words: str | Path) -> subprocess.CompletedProcess[str]:
        done = run_program(*words, "--runs-dir", runs, env=environ, cwd=folder)
        assert done.returncode in {0, 1}, done.stderr
        return done

    said = [
        program(
            *("run", task, "--agent", "command", "--agent-command", f"set -e; {line}"),
            *("--sandbox", back_end),
        ),
        program("show", "last", "small"),
        program("show", "last", "small", "--json"),
        *(program("report", "--format", f) for f in ("table", "json", "csv", "markdown")),
        program("rescore", "last", "--json"),
    ]
    yield from (each.stdout.encode() + each.stderr.encode() for each in said)
    files = [path for path in runs.rglob("*") if path.is_file()]
    assert any(path.name == "agent_run.log" for path in files)
    yield from (path.read_bytes() for path in files)


@pytest.mark.parametrize(
    "back_end", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)]
)
def test_no_secret_of_the_harness_is_seen_in_any_dress(
    request: pytest.FixtureRequest,
    back_end: str,
    canary: str,
    environ: dict[str, str],
    tmp_path: Path,
) -> None:
    request.getfixturevalue(back_end)
    keys = dict.fromkeys(NAMES, canary)
    task = SmallTask().write(tmp_path / "small")

    texts = all_texts(task, LOOK + DRESSED, {**environ, **keys}, back_end, tmp_path)

    assert seen_in(texts, canary) == set()


@pytest.mark.usefixtures("bubblewrap")
def test_a_secret_that_an_agent_is_given_is_found_in_every_dress(
    canary: str, environ: dict[str, str], tmp_path: Path
) -> None:
    """Or the test above would prove nothing."""
    task = SmallTask().write(tmp_path / "small")

    told = f"export OPENAI_API_KEY='{canary}'; {LOOK} {DRESSED}"
    texts = all_texts(task, told, environ, "bubblewrap", tmp_path)

    assert seen_in((text for text in texts if b"agent_command" not in text), canary) == {
        *dressings(canary),
        "gzip",
    }
