import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from subprocess import CalledProcessError
from threading import Event

import pytest

from agentbench.core.file_locks import FileLock
from agentbench.errors import GitCloneError, GitCloneTimeoutError, RunCancelled
from agentbench.tasks.git_history import apply_patch_to_commit
from agentbench.tasks.mirror import Mirrors, tree_digest
from agentbench.tasks.task import RepoSource
from tests.patience import with_growing_limit
from tests.tasks.conditions import (
    closed_port,
    commands_with,
    odd_user,
    silent_server,
    telltale,
    telltale_hooks,
)
from tests.tasks.origins import listing, run_git

NOWHERE = "0" * 40


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    for name, content in {
        "code.py": b"x = 1\n",
        "crlf.txt": b"a\r\nb\r\n",
        "binary": b"\0\1\r\n",
        "build.log": b"kept though ignored\n",
        ".gitignore": b"*.log\n",
        "pkg/ident.txt": b"$Id$\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "run.sh").write_bytes(b"#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("pkg/ident.txt")
    return folder


# Of the files above, made by any git on any machine.
COMMIT = "d6c4546088599899cd89974aac7dc1c7b6ea0f62"


def of_url(origin, commit):
    return RepoSource(url=origin.url, commit=commit)


def content(mirror, name):
    return run_git("cat-file", "blob", f"{mirror.commit}:{name}", cwd=mirror.path)


class TestFiles:
    def test_the_hash_is_the_same_on_every_machine(self, mirrors, files):
        mirror = mirrors.of(RepoSource(files=files))
        assert (mirror.commit, mirror.has_commit) == (COMMIT, True)

    def test_every_file_is_in_it_with_its_mode(self, mirrors, files):
        mirror = mirrors.of(RepoSource(files=files))
        assert listing(mirror.path, mirror.commit) == [
            "100644 blob .gitignore",
            "100644 blob binary",
            "100644 blob build.log",
            "100644 blob code.py",
            "100644 blob crlf.txt",
            "120000 blob link",
            "100644 blob pkg/ident.txt",
            "100755 blob run.sh",
        ]

    def test_git_settings_of_user_are_ignored(self, mirrors, files, tmp_path, monkeypatch):
        marker = tmp_path / "marker"
        monkeypatch.setenv("HOME", str(odd_user(tmp_path / "home", marker)))
        monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
        monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody Else")
        monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
        monkeypatch.setenv("TZ", "Asia/Kathmandu")
        assert mirrors.of(RepoSource(files=files)).commit == COMMIT
        assert not marker.exists()

    @pytest.mark.parametrize("umask", [0o000, 0o027, 0o077])
    def test_a_umask_changes_neither_the_hash_nor_who_may_read(self, mirrors, files, umask):
        before = os.umask(umask)
        try:
            mirror = mirrors.of(RepoSource(files=files))
        finally:
            os.umask(before)
        assert mirror.commit == COMMIT
        needed = [
            mirror.path,
            *(path for path in mirror.path.rglob("*") if "objects" in path.parts),
        ]
        assert all(path.stat().st_mode & 0o004 for path in needed)
        assert all(path.stat().st_mode & 0o001 for path in needed if path.is_dir())

    def test_debris_and_repositories_below_are_left_out(self, mirrors, files, origin):
        shutil.copytree(origin.path / ".git", files / ".git")
        shutil.copytree(origin.path / ".git", files / "pkg" / ".git")
        for name in ("__pycache__", "pkg/__pycache__", ".pytest_cache", "pkg/.hypothesis"):
            (files / name).mkdir()
            (files / name / "x").write_text("debris")
        assert mirrors.of(RepoSource(files=files)).commit == COMMIT

    def test_a_link_file_of_a_submodule_is_left_out(self, mirrors, files):
        (files / "pkg" / ".git").write_text("gitdir: ../../elsewhere\n")
        assert mirrors.of(RepoSource(files=files)).commit == COMMIT

    def test_attributes_of_the_files_run_no_filter(self, mirrors, files):
        (files / ".gitattributes").write_text("*.txt filter=lfs diff=lfs ident\n")
        mirror = mirrors.of(RepoSource(files=files))
        assert content(mirror, "code.py") == "x = 1"
        assert content(mirror, "pkg/ident.txt") == "$Id$"

    def test_another_file_makes_another_mirror(self, mirrors, files):
        first = mirrors.of(RepoSource(files=files))
        (files / "code.py").write_text("x = 2\n")
        second = mirrors.of(RepoSource(files=files))
        assert first.path != second.path
        assert first.commit != second.commit

    def test_the_files_are_left_as_they_were(self, mirrors, files):
        before = tree_digest(files)
        mirrors.of(RepoSource(files=files))
        assert tree_digest(files) == before
        assert not (files / ".git").exists()

    def test_a_damaged_mirror_is_named_and_to_be_removed(self, mirrors, files):
        mirrors.of(RepoSource(files=files))
        mirror = mirrors.of(RepoSource(files=files))  # this process has found it whole by now
        shutil.rmtree(mirror.path / "objects")
        with pytest.raises(GitCloneError, match=r"the mirror is damaged: .*; remove it") as caught:
            mirrors.of(RepoSource(files=files))
        assert str(mirror.path) in str(caught.value)

    def test_threads_and_instances_share_one_mirror(self, files, tmp_path):
        folder = tmp_path / "mirrors"
        with ThreadPoolExecutor(8) as pool:
            created = list(
                pool.map(lambda _: Mirrors(folder).of(RepoSource(files=files)), range(8))
            )
        assert len(set(created)) == 1
        assert [path.suffix for path in folder.iterdir() if path.is_dir()] == [".git"]


class TestUrl:
    def test_the_commit_is_there_with_its_history_and_its_name(self, mirrors, origin):
        origin.write("a", "1")
        first = origin.commit()
        origin.git("tag", "v1.0")
        second = origin.commit()
        mirror = mirrors.of(of_url(origin, second))
        assert (mirror.commit, mirror.has_commit) == (second, True)
        described = run_git("describe", "--tags", "--abbrev=12", second, cwd=mirror.path)
        assert described == f"v1.0-1-g{second[:12]}"
        assert run_git("rev-list", second, cwd=mirror.path).split() == [second, first]

    def test_a_commit_that_is_there_needs_no_origin_any_more(self, mirrors, origin):
        commit = origin.commit()
        before = mirrors.of(of_url(origin, commit))
        shutil.rmtree(origin.path)
        assert mirrors.of(of_url(origin, commit)) == before

    def test_it_is_present_once_it_was_made_and_nothing_is_fetched_for_that(self, mirrors, origin):
        created = of_url(origin, origin.commit())
        assert mirrors.find_complete(created) is None
        mirror = mirrors.of(created)
        assert mirrors.find_complete(created) == mirror
        assert mirrors.find_complete(of_url(origin, origin.commit())) is None
        with FileLock(mirror.path.with_name(f"{mirror.path.name}.lock")):
            assert mirrors.find_complete(created) is None

    def test_a_commit_that_came_later_is_fetched(self, mirrors, origin):
        first = mirrors.of(of_url(origin, origin.commit()))
        later = mirrors.of(of_url(origin, origin.commit()))
        assert (later.path, later.has_commit) == (first.path, True)
        assert later.commit != first.commit

    def test_a_commit_that_no_branch_bears_is_had_by_its_hash(self, mirrors, origin):
        origin.commit()
        dropped = origin.commit("dropped")
        origin.git("reset", "--quiet", "--hard", "HEAD~")
        assert mirrors.of(of_url(origin, dropped)).has_commit

    def test_a_commit_that_is_nowhere_is_a_fact_and_no_error(self, mirrors, origin):
        origin.commit()
        mirror = mirrors.of(of_url(origin, NOWHERE))
        assert mirror.has_commit is False

    def test_a_hash_of_a_file_is_no_commit(self, mirrors, origin):
        origin.write("a", "1")
        origin.commit()
        blob = origin.git("rev-parse", "HEAD:a")
        assert not mirrors.of(of_url(origin, blob)).has_commit

    def test_a_replaced_commit_keeps_its_own_content(self, mirrors, origin):
        origin.write("a", "honest")
        commit = origin.commit()
        origin.write("a", "swapped")
        origin.git("replace", commit, origin.commit())
        assert run_git("cat-file", "blob", f"{commit}:a", cwd=origin.path) == "swapped"
        mirror = mirrors.of(of_url(origin, commit))
        patch = b"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-honest\n\\ No newline at end of file\n+fixed\n"
        assert len(apply_patch_to_commit(patch, mirror)) == 1

    def test_a_user_with_odd_settings_gets_the_same_mirror(
        self, mirrors, origin, tmp_path, monkeypatch
    ):
        marker = tmp_path / "marker"
        monkeypatch.setenv("HOME", str(odd_user(tmp_path / "home", marker)))
        monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path / "home" / "template"))
        assert mirrors.of(of_url(origin, origin.commit())).has_commit
        mirror = mirrors.of(of_url(origin, origin.commit()))
        assert mirror.has_commit
        assert not marker.exists()
        assert not (mirror.path / "hooks").exists()

    def test_a_users_own_way_to_an_origin_is_taken(self, mirrors, origin, tmp_path, monkeypatch):
        commit = origin.commit()
        (tmp_path / ".gitconfig").write_text(
            f'[url "{tmp_path.as_uri()}/"]\n    insteadOf = https://host.invalid/\n'
        )
        monkeypatch.setenv("HOME", str(tmp_path))
        assert mirrors.of(RepoSource(url="https://host.invalid/origin", commit=commit)).has_commit

    def test_only_a_first_clone_from_a_host_is_announced(self, origin, tmp_path, monkeypatch):
        commit, said = origin.commit(), []
        (tmp_path / ".gitconfig").write_text(
            f'[url "{tmp_path.as_uri()}/"]\n    insteadOf = https://me:secret@host.invalid/\n'
        )
        monkeypatch.setenv("HOME", str(tmp_path))
        mirrors = Mirrors(tmp_path / "mirrors", say=said.append)
        for url in (origin.url, *2 * ["https://me:secret@host.invalid/origin"]):
            mirrors.of(RepoSource(url=url, commit=commit))
        assert said == ["cloning https://host.invalid/origin"]

    def test_a_bundle_is_an_origin_too(self, mirrors, origin, tmp_path):
        commit = origin.commit()
        bundle = tmp_path / "o.bundle"
        origin.git("bundle", "create", "--quiet", str(bundle), "main")
        source = RepoSource(url=str(bundle), commit=commit)
        assert mirrors.of(source).has_commit
        later = origin.commit()
        origin.git("bundle", "create", "--quiet", str(bundle), "main")
        assert mirrors.of(RepoSource(url=str(bundle), commit=later)).has_commit

    def test_an_old_history_with_a_fault_that_git_once_wrote_is_taken(self, mirrors, origin):
        tree = origin.git("write-tree")
        text = f"tree {tree}\nauthor a <a@b> 1 +051800\ncommitter a <a@b> 1 +051800\n\nold\n"
        written = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
        commit = origin.git(*written, stdin=text.encode())
        origin.git("update-ref", "refs/heads/main", commit)
        with pytest.raises(CalledProcessError):
            origin.git("fsck")
        assert mirrors.of(of_url(origin, commit)).has_commit

    def test_a_submodule_that_would_run_a_command_is_refused(self, mirrors, origin):
        origin.write(".gitmodules", '[submodule "x"]\npath = x\nurl = --upload-pack=touch\n')
        with pytest.raises(GitCloneError, match="gitmodulesUrl"):
            mirrors.of(of_url(origin, origin.commit()))

    def test_nothing_of_a_hostile_origin_is_run(self, mirrors, origin, tmp_path):
        marker = tmp_path / "marker"
        tool = str(telltale(tmp_path / "tool", marker))
        origin.write(".gitmodules", f'[submodule "x"]\npath = x\nurl = ext::{tool}\n')
        origin.write(".gitattributes", "* filter=evil\n")
        origin.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},x")
        commit = origin.commit()
        telltale_hooks(origin.path / ".git" / "hooks", marker)
        for key in (
            "core.fsmonitor",
            "core.sshCommand",
            "core.pager",
            "core.alternateRefsCommand",
            "uploadpack.packObjectsHook",
            "filter.evil.smudge",
            "filter.evil.clean",
        ):
            origin.git("config", key, tool)
        assert mirrors.of(of_url(origin, commit)).has_commit
        mirrors.of(of_url(origin, NOWHERE))
        assert not marker.exists()

    @pytest.mark.parametrize("umask", [0o022, 0o077])
    def test_a_sandboxs_user_may_read_it(self, mirrors, origin, umask):
        origin.write("a", "1")
        commit = origin.commit()
        before = os.umask(umask)
        try:
            mirror = mirrors.of(of_url(origin, commit))
        finally:
            os.umask(before)
        assert all(path.stat().st_mode & 0o004 for path in mirror.path.rglob("*"))

    def test_threads_and_instances_share_one_mirror(self, origin, tmp_path):
        commits = [origin.commit() for _ in range(4)]
        folder = tmp_path / "mirrors"
        with ThreadPoolExecutor(8) as pool:
            created = list(pool.map(lambda c: Mirrors(folder).of(of_url(origin, c)), commits * 2))
        assert [mirror.commit for mirror in created] == commits * 2
        assert all(mirror.has_commit for mirror in created)
        assert [path.suffix for path in folder.iterdir() if path.is_dir()] == [".git"]


def flip(path, at=0.5):
    path.chmod(0o644)  # git writes its objects read-only
    content = bytearray(path.read_bytes())
    content[min(int(at * len(content)), len(content) - 1)] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "settings": lambda path: flip(path / "config"),
    "HEAD": lambda path: flip(path / "HEAD"),
    "refs": lambda path: flip(path / "packed-refs"),
    "an object": lambda path: flip(next((path / "objects").rglob("*.pack"))),
    "an index": lambda path: flip(next((path / "objects").rglob("*.idx"))),
    "another store": lambda path: (path / "objects/info/alternates").write_text("/tmp\n"),
    "a hook": lambda path: ((path / "hooks").mkdir(), (path / "hooks/update").touch()),
    "its seal": lambda path: flip(path / "agentbench.json"),
    "no seal": lambda path: (path / "agentbench.json").unlink(),
}


class TestDamage:
    @pytest.mark.parametrize("damage", DAMAGE)
    def test_a_damaged_mirror_is_made_again(self, origin, tmp_path, caplog, damage):
        origin.write("a", "1")
        commit = origin.commit()
        origin.git("gc", "--quiet")
        folder = tmp_path / "mirrors"
        whole = Mirrors(folder).of(of_url(origin, commit))
        listed = listing(whole.path, commit)
        moved = folder.rename(tmp_path / "of-another-process")
        DAMAGE[damage](moved / whole.path.name)
        again = Mirrors(moved).of(of_url(origin, commit))
        assert listing(again.path, commit) == listed
        assert "it is recreated" in caplog.text
        assert not (again.path / "hooks").exists()
        assert not (again.path / "objects/info/alternates").exists()

    def test_a_damaged_mirror_of_files_is_made_again(self, files, tmp_path, caplog):
        whole = Mirrors(tmp_path / "mirrors").of(RepoSource(files=files))
        moved = (tmp_path / "mirrors").rename(tmp_path / "of-another-process")
        for path in (moved / whole.path.name / "objects").rglob("*"):
            if path.is_file():
                flip(path)
        again = Mirrors(moved).of(RepoSource(files=files))
        assert again.commit == COMMIT
        assert content(again, "code.py") == "x = 1"
        assert "it is recreated" in caplog.text

    def test_a_damaged_mirror_whose_origin_is_away_is_a_clear_refusal(self, origin, tmp_path):
        commit = origin.commit()
        whole = Mirrors(tmp_path / "mirrors").of(of_url(origin, commit))
        moved = (tmp_path / "mirrors").rename(tmp_path / "of-another-process")
        flip(moved / whole.path.name / "config")
        shutil.rmtree(origin.path)
        with pytest.raises(GitCloneError, match="fatal: "):
            Mirrors(moved).of(of_url(origin, commit))

    def test_what_a_fetch_adds_is_sealed_too(self, origin, tmp_path, caplog):
        mirrors = Mirrors(tmp_path / "mirrors")
        mirrors.of(of_url(origin, origin.commit()))
        later = origin.commit()
        mirrors.of(of_url(origin, later))
        mirrors.of(of_url(origin, NOWHERE))
        (tmp_path / "mirrors").rename(tmp_path / "of-another-process")
        shutil.rmtree(origin.path)
        assert Mirrors(tmp_path / "of-another-process").of(of_url(origin, later)).has_commit
        assert caplog.text == ""


class TestUnreachable:
    def refused(self, mirrors, url):
        with pytest.raises(GitCloneError) as caught:
            mirrors.of(RepoSource(url=url, commit=NOWHERE))
        message = str(caught.value)
        assert "\n" not in message
        assert "s3cr3t" not in message
        return message

    def test_a_folder_that_is_no_repository(self, mirrors, tmp_path):
        message = self.refused(mirrors, tmp_path.as_uri())
        assert message.startswith(f"{tmp_path.as_uri()}: fatal: ")
        assert "does not appear to be a git repository" in message

    def test_a_bundle_that_is_none(self, mirrors, tmp_path):
        (tmp_path / "x.bundle").write_bytes(b"nonsense")
        assert "x.bundle" in self.refused(mirrors, str(tmp_path / "x.bundle"))

    def test_a_web_server_that_does_not_answer(self, mirrors):
        url = f"https://me:s3cr3t@127.0.0.1:{closed_port()}/x.git"
        message = self.refused(mirrors, url)
        assert message.startswith("https://127.0.0.1:")
        assert "onnection refused" in message or "connect to server" in message

    def test_an_ssh_server_that_does_not_answer(self, mirrors):
        message = self.refused(mirrors, f"ssh://me:s3cr3t@127.0.0.1:{closed_port()}/x.git")
        assert message.startswith("ssh://127.0.0.1:")

    def test_an_ssh_server_in_the_short_spelling(self, mirrors, monkeypatch):
        monkeypatch.setenv("GIT_SSH_COMMAND", f"ssh -p {closed_port()}")
        message = self.refused(mirrors, "git@127.0.0.1:x.git")
        assert "Connection refused" in message

    @pytest.mark.parametrize("url", ["ext::sh -c 'touch pwned'", "http://127.0.0.1:1/x.git"])
    def test_a_transport_that_is_off_even_if_a_task_file_let_it_by(self, mirrors, url):
        assert "not allowed" in self.refused(mirrors, url)

    def test_an_origin_that_hangs_ends_at_the_timeout_with_its_helpers(self, tmp_path):
        called = Event()
        with silent_server(called=called) as port:
            source = RepoSource(url=f"https://me:s3cr3t@127.0.0.1:{port}/x.git", commit=NOWHERE)

            def run(seconds: float):
                mirrors = Mirrors(tmp_path / "mirrors", timeout=timedelta(seconds=seconds))
                with pytest.raises(GitCloneTimeoutError) as caught:
                    mirrors.of(source)
                return str(caught.value), seconds

            message, limit = with_growing_limit(
                run, lambda _made: called.is_set(), (0.5, 10.0, 60.0)
            )
            assert message == f"https://127.0.0.1:{port}/x.git: still running after {limit:g} s"
            assert commands_with(f"127.0.0.1:{port}") == []
        assert [path for path in (tmp_path / "mirrors").iterdir() if path.is_dir()] == []

    def test_a_cancelled_clone_ends_at_once_and_leaves_nothing(self, tmp_path):
        cancel = Event()
        mirrors = Mirrors(tmp_path / "mirrors", cancel=cancel)
        with silent_server(called=cancel) as port:
            with pytest.raises(RunCancelled):
                mirrors.of(RepoSource(url=f"https://127.0.0.1:{port}/x.git", commit=NOWHERE))
            assert commands_with(f"127.0.0.1:{port}") == []
        assert [path for path in (tmp_path / "mirrors").iterdir() if path.is_dir()] == []

    def test_an_origin_that_is_gone_when_a_new_commit_is_wanted(self, mirrors, origin):
        mirrors.of(of_url(origin, origin.commit()))
        shutil.rmtree(origin.path)
        assert self.refused(mirrors, origin.url).startswith(f"{origin.url}: fatal: ")


class TestTreeDigest:
    def test_it_tells_names_contents_modes_and_links_apart(self, files):
        digests = [tree_digest(files)]
        (files / "code.py").rename(files / "edoc.py")
        digests.append(tree_digest(files))
        (files / "edoc.py").chmod(0o755)
        digests.append(tree_digest(files))
        (files / "link").unlink()
        (files / "link").write_text("pkg/ident.txt")
        digests.append(tree_digest(files))
        assert len(set(digests)) == 4

    def test_it_forgets_debris_times_and_all_modes_but_executable(self, files):
        before = tree_digest(files)
        (files / "__pycache__").mkdir()
        (files / "__pycache__" / "x.pyc").write_text("x")
        os.utime(files / "code.py", (1, 1))
        (files / "code.py").chmod(0o600)
        assert tree_digest(files) == before

    def test_it_takes_names_that_are_no_text(self, tmp_path):
        (tmp_path / os.fsdecode(b"\xff")).write_text("x")
        (tmp_path / "link").symlink_to(os.fsdecode(b"\xfe"))
        assert len(tree_digest(tmp_path)) == 64
