"""The host runs nothing that an agent made, whatever it planted, and whoever looks at it later."""

from pathlib import Path

import pytest

from agentbench.runs.store.store import RunStore
from tests.corpora.cheats.cheat import writes
from tests.e2e.bench import Bench
from tests.e2e.program import run_program
from tests.e2e.small_task import FIX, SmallTask

HOOKS = (
    "applypatch-msg commit-msg fsmonitor-watchman p4-changelist post-applypatch post-checkout "
    "post-commit post-index-change post-merge post-receive post-rewrite post-update "
    "pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive "
    "prepare-commit-msg proc-receive push-to-checkout reference-transaction "
    "sendemail-validate update"
)
PROGRAMS = (
    "core.fsmonitor core.sshCommand core.pager core.editor core.askPass core.alternateRefsCommand "
    "core.gitProxy credential.helper gpg.program gpg.ssh.program sequence.editor "
    "interactive.diffFilter uploadpack.packObjectsHook diff.external filter.evil.smudge "
    "filter.other.process diff.evil.textconv diff.evil.command merge.evil.driver "
    "difftool.evil.cmd mergetool.evil.cmd browser.evil.cmd man.evil.cmd"
)
PLANT = f"""
mkdir -p $(dirname MARKER) .git/hooks
{
    writes(
        ".git/evil.sh",
        '''
#!/bin/sh
echo "$1" >> MARKER
case $1 in
*.clean | *.smudge) cat ;;
*.textconv) cat "$2" ;;
*) true ;;
esac
''',
    )
}
chmod +x .git/evil.sh; evil=$PWD/.git/evil.sh
git config user.name me; git config user.email me@here
for hook in {HOOKS}; do printf "#!/bin/sh\\nexec $evil hook.$hook\\n" > .git/hooks/$hook
chmod +x .git/hooks/$hook; done
for name in {PROGRAMS}; do git config $name "$evil $name"; done
git config --unset diff.external
git config filter.evil.clean "$evil filter.clean"
git config alias.st "!$evil alias"
git config remote.origin.url "ext::$evil remote"
git config protocol.ext.allow always
git config submodule.sub.update "!$evil submodule"
git config include.path ../included.cfg
printf "[core]\\n\\thooksPath = .git/hooks\\n" > included.cfg
printf '[submodule "sub"]\\n\\tpath = sub\\n\\turl = ext::sh -c touch%% MARKER\\n' > .gitmodules
printf '*.py filter=evil diff=evil merge=evil\\nodd filter=other\\n' > .gitattributes
mkdir -p nested; echo "gitdir: $PWD/.git" > nested/.git
touching='import os; os.system("echo python >> MARKER")'
for file in conftest.py setup.py sitecustomize.py usercustomize.py noxfile.py tasks.py
do echo "$touching" > $file; done
echo "import os; os.system('echo python >> MARKER')" > evil.pth
printf 'all:\\n\\techo make >> MARKER\\n$(shell echo make >> MARKER)\\n' > Makefile
printf '[build-system]\\nrequires = []\\nbuild-backend = "setup"\\n' > pyproject.toml
echo 'echo shell >> MARKER' | tee .envrc .bashrc .profile > .env
{FIX}
"""
"""Plants in a workspace whatever a program might run there; each leaves a mark in a file."""

FIRE = """
rm -f MARKER
git status > /dev/null || true; git diff HEAD > /dev/null || true
git add -A || true; git commit -qm Mended || true; git checkout -q -B other || true
echo > odd; git add odd || true; git st || true; make -s || true; python conftest.py
echo these fired: $(sort -u MARKER)
"""
FIRED = (
    "core.fsmonitor",
    "filter.clean",
    "hook.pre-commit",
    "diff.evil",
    "alias",
    "python",
)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """A file of the host that does not exist; inside, it is another one of that name."""
    folder = tmp_path / "marks"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    return folder / "executed"


def test_nothing_that_an_agent_planted_runs_on_the_host(
    bench: Bench, marker: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    line = (PLANT + FIRE).replace("MARKER", str(marker))

    record = bench.command(SmallTask().write(tmp_path / "small"), f"set -e; {line}")

    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted", record.agent_run.detail
    folder = RunStore.open(bench.options.runs_dir / record.run_id).folder_of(record)
    said = (folder / "stages" / "agent_run.log").read_text()
    told = said.partition("these fired:")[2]
    assert [name for name in FIRED if name not in told] == [], said  # the plants are live
    assert not marker.exists()

    run = bench.options.runs_dir / record.run_id
    for words in (
        ("show", run, "small"),
        ("show", run, "small", "--json"),
        ("report", run, "--format", "json"),
        ("rescore", run, "--write"),
    ):
        done = run_program(*words, env=environ, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert not marker.exists()
