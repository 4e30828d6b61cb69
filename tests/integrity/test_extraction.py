import hashlib
import tarfile
from collections.abc import Iterator
from pathlib import PurePosixPath as P

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.core.files import FileContent
from agentbench.errors import SandboxError
from agentbench.integrity.extraction import ExtractionLimits, WorkspaceChange, read_change
from agentbench.scoring.evidence import Severity
from tests.integrity.tars import base_of, member, tar_of, tree_tar

BASE = {"pkg/a.py": b"a = 1\n", "pkg/b.py": b"b = 1\n", "run.sh": b"echo\n"}


def change_of(tar: bytes, base: bytes | None = None, limits: ExtractionLimits | None = None):
    return read_change([tar], *base_of(tree_tar(BASE) if base is None else base), limits)


def plain(content: bytes) -> FileContent:
    return FileContent(content=content, executable=False)


def rules(change: WorkspaceChange) -> list[tuple[str, str]]:
    return [(finding.rule, finding.where) for finding in change.findings]


def test_unchanged_tree_is_no_change():
    assert change_of(tree_tar(BASE)) == WorkspaceChange()


def test_edits_additions_and_removals_are_found():
    left = {"pkg/a.py": b"a = 2\n", "pkg/new/c.py": b"", "run.sh": b"echo\n"}
    change = change_of(tree_tar(left))
    assert change.files == {
        P("pkg/a.py"): plain(b"a = 2\n"),
        P("pkg/new/c.py"): plain(b""),
        P("pkg/b.py"): None,
    }
    assert change.findings == ()
    assert change.emptied == ()


def test_mode_change_is_a_change():
    change = change_of(tree_tar(BASE, executable=frozenset({"run.sh"})))
    assert change.files == {P("run.sh"): FileContent(content=b"echo\n", executable=True)}


def test_removed_folder_removes_its_files():
    change = change_of(tree_tar({"run.sh": b"echo\n"}))
    assert change.files == {P("pkg/a.py"): None, P("pkg/b.py"): None}
    assert change.emptied == (P("pkg"),)


def test_file_that_became_a_folder_is_removed_first():
    change = change_of(tree_tar({**BASE, "run.sh": None, "run.sh/x": b"x"}))
    assert change.files == {P("run.sh"): None, P("run.sh/x"): plain(b"x")}


def test_folder_that_became_a_file_is_removed_first():
    change = change_of(tree_tar({"pkg": b"flat", "run.sh": b"echo\n"}))
    assert change.files[P("pkg")] == plain(b"flat")
    assert change.emptied == (P("pkg"),)


def test_git_folder_is_no_change():
    assert (
        change_of(tree_tar({**BASE, ".git/HEAD": b"x", ".git/hooks/post": b"evil"}))
        == WorkspaceChange()
    )


@pytest.mark.parametrize(
    ("odd", "what"),
    [
        (member("link", tarfile.SYMTYPE, linkname="/etc/passwd"), "a symlink"),
        (member("pkg/a.py", tarfile.SYMTYPE, linkname="b.py"), "a symlink"),
        (member("pipe", tarfile.FIFOTYPE), "neither a regular file nor a folder"),
        (member("null", tarfile.CHRTYPE, devmajor=1, devminor=3), "neither a regular"),
        (member("disk", tarfile.BLKTYPE), "neither a regular file nor a folder"),
        (member("hard", tarfile.LNKTYPE, linkname="/etc/shadow"), "a hard link to nowhere"),
        (member("hard", tarfile.LNKTYPE, linkname="../outside"), "a hard link to nowhere"),
        (member("hard", tarfile.LNKTYPE, linkname=".git/config"), "a hard link to nowhere"),
        (member("../x", tarfile.DIRTYPE), "leaves the workspace"),
        (member("../x"), "leaves the workspace"),
        (member("a/../../x"), "leaves the workspace"),
        (member("/etc/cron.d/x"), "leaves the workspace"),
        (member("new\nline"), "control characters"),
        (member("bell\x07"), "control characters"),
        (member("esc\x1b[31m"), "control characters"),
        (member("c1\x9b"), "control characters"),
        (member("rtl\u202etxt.py"), "control characters"),
        (member("mark\u200ftxt.py"), "control characters"),
        (member("isolate\u2066.py"), "control characters"),
        (member("line\u2028.py"), "control characters"),
        (member("latin\udce9"), "control characters"),
        (member("x" * 1025), "too long"),
    ],
)  # fmt: skip
def test_special_file_is_refused_by_its_header(odd, what):
    tar = tar_of(
        (member("pkg/a.py"), BASE["pkg/a.py"])
        if odd.name != "pkg/a.py"
        else member("pkg", tarfile.DIRTYPE),
        odd,
    )
    change = change_of(tar, tree_tar({"pkg/a.py": BASE["pkg/a.py"]}))
    assert change.files == {}
    (finding,) = change.findings
    assert (finding.rule, finding.severity) == ("file-refused", Severity.WARNING)
    assert what in finding.what
    assert finding.where.isprintable()
    assert finding.where.isascii()


def test_refused_name_is_shortened():
    (finding,) = change_of(tar_of(member("\x07" * 5000)), tree_tar({})).findings
    assert len(finding.where) <= 200


def test_unchanged_symlink_is_no_finding():
    link = member("link", tarfile.SYMTYPE, linkname="pkg")
    assert change_of(tar_of(link), tar_of(link)) == WorkspaceChange()


def test_changed_symlink_is_refused():
    turned = member("link", tarfile.SYMTYPE, linkname="/")
    change = change_of(tar_of(turned), tar_of(member("link", tarfile.SYMTYPE, linkname="pkg")))
    assert change.files == {}
    assert rules(change) == [("file-refused", "link")]


def test_symlink_can_be_removed_or_replaced():
    base = tar_of(member("link", tarfile.SYMTYPE, linkname="pkg"))
    assert change_of(tar_of(member(".", tarfile.DIRTYPE)), base).files == {P("link"): None}
    assert change_of(tree_tar({"link": b"x"}), base).files == {P("link"): plain(b"x")}
    below = change_of(tree_tar({"link/x": b"x"}), base)
    assert below.files == {P("link"): None, P("link/x"): plain(b"x")}


def test_hard_link_is_read_as_its_file():
    tar = tar_of(
        (member("run.sh"), b"new"),
        member("a", tarfile.LNKTYPE, linkname="run.sh"),
        member("b", tarfile.LNKTYPE, linkname="./run.sh"),
    )
    change = change_of(tar, tree_tar({"run.sh": b"old"}))
    assert change.files == {P(name): plain(b"new") for name in ("run.sh", "a", "b")}


def test_hard_link_to_an_unchanged_file_has_its_content():
    tar = tar_of((member("run.sh"), b"old"), member("a", tarfile.LNKTYPE, linkname="run.sh"))
    assert change_of(tar, tree_tar({"run.sh": b"old"})).files == {P("a"): plain(b"old")}


def test_hard_link_to_an_omitted_file_is_omitted():
    limits = ExtractionLimits(total_bytes=10)
    tar = tar_of((member("run.sh"), b"x" * 11), member("a", tarfile.LNKTYPE, linkname="run.sh"))
    change = change_of(tar, tree_tar({"run.sh": b"old"}), limits)
    assert change.files == {}
    assert rules(change) == [("extraction-limit", "run.sh"), ("extraction-limit", "a")]


def test_last_file_of_a_repeated_path_counts():
    twice = tar_of((member("run.sh"), b"first"), (member("run.sh"), b"second"))
    assert change_of(twice, tree_tar({"run.sh": b"old"})).files == {P("run.sh"): plain(b"second")}
    back = tar_of((member("run.sh"), b"first"), (member("run.sh"), b"old"))
    assert change_of(back, tree_tar({"run.sh": b"old"})) == WorkspaceChange()


def test_repeated_path_as_symlink_is_refused():
    tar = tar_of((member("x"), b"plain"), member("x", tarfile.SYMTYPE, linkname="/etc/passwd"))
    change = change_of(tar, tree_tar({}))
    assert change.files == {P("x"): plain(b"plain")}
    assert rules(change) == [("file-refused", "x")]


def test_repeated_path_as_folder_is_the_folder():
    tar = tar_of((member("x"), b"f"), member("x", tarfile.DIRTYPE), (member("x/y"), b"y"))
    assert change_of(tar, tree_tar({})).files == {P("x/y"): plain(b"y")}


def test_path_below_a_file_or_link_is_refused():
    link = member("link", tarfile.SYMTYPE, linkname="tests")
    change = change_of(
        tar_of(link, (member("link/x"), b"x"), (member("file"), b"f"), (member("file/y"), b"y")),
        tar_of(link),
    )
    assert change.files == {P("file"): plain(b"f")}
    assert rules(change) == [("file-refused", "link/x"), ("file-refused", "file/y")]


def test_too_large_file_is_refused_by_its_header():
    huge = member("run.sh", size=1 << 40)
    change = change_of(tar_of(huge, end=False) + bytes(1024), tree_tar({"run.sh": b"old"}))
    assert P("run.sh") not in change.files
    assert change.findings[0].what == f"{1 << 40} bytes, more than {32 << 20}"


def test_unchanged_large_file_is_no_finding():
    limits = ExtractionLimits(file_bytes=100)
    base = tree_tar({"data.bin": b"x" * 101})
    assert change_of(base, base, limits) == WorkspaceChange()
    edited = change_of(tree_tar({"data.bin": b"y" * 101}), base, limits)
    assert rules(edited) == [("file-refused", "data.bin")]
    assert edited.files == {}


def test_too_large_change_is_cut_with_a_finding():
    limits = ExtractionLimits(total_bytes=10)
    change = change_of(tree_tar({"a": b"12345678", "b": b"123", "c": b"1"}), tree_tar({}), limits)
    assert set(change.files) == {P("a")}
    assert rules(change) == [("extraction-limit", "b"), ("extraction-limit", "c")]


@pytest.mark.parametrize("limits", [ExtractionLimits(files=2), ExtractionLimits(members=3)])
def test_too_many_files_remove_nothing(limits):
    change = change_of(tree_tar(dict.fromkeys("abcdef", b"x")), limits=limits)
    assert None not in change.files.values()
    assert change.emptied == ()
    assert rules(change) == [("extraction-limit", "the workspace")]


def test_broken_stream_removes_nothing():
    whole = tree_tar({"a": b"x" * 600, **BASE})
    for cut in (700, 1536, len(whole) - 10240):
        change = change_of(whole[:cut])
        assert None not in change.files.values()
        assert ("unreadable-archive", "the workspace") in rules(change)


def test_findings_are_limited():
    odd = [member(f"pipe{number}", tarfile.FIFOTYPE) for number in range(300)]
    change = change_of(tar_of(*odd), limits=ExtractionLimits(members=250))
    assert len(change.findings) == 201
    assert change.findings[-1].what == "too many files"


def test_sparse_file_has_its_full_size():
    sparse = member(
        "run.sh",
        pax_headers={
            "GNU.sparse.major": "0",
            "GNU.sparse.minor": "1",
            "GNU.sparse.size": str(1 << 40),
            "GNU.sparse.map": "0,0",
        },
    )
    change = change_of(tar_of(sparse), tree_tar({"run.sh": b"old"}))
    assert change.files == {}
    assert change.findings[0].what.startswith(f"{1 << 40} bytes")


@pytest.mark.parametrize("size", ["-1", "-512", "99999999999999999999", "x", "1e3"])
def test_wrong_size_in_an_extended_header_is_harmless(size):
    change = change_of(
        tar_of(member("a", pax_headers={"size": size}), (member("b"), b"b")), tree_tar({"b": b""})
    )
    assert None not in change.files.values()


names = st.sampled_from(["a", "b", "c", "pkg/a", "pkg/b", "pkg/sub/a", "pkg/sub/deep/a", "x.y"])
trees = st.dictionaries(names, st.binary(max_size=40), max_size=8)


@given(before=trees, after=trees, executable=st.frozensets(names, max_size=3))
def test_change_applied_to_its_base_gives_the_tree(before, after, executable):
    change = change_of(tree_tar(after, executable), tree_tar(before))
    assert change.findings == ()
    assert applied(before, change) == {
        name: (content, name in executable) for name, content in after.items()
    }


shapes = st.recursive(
    st.binary(max_size=5),
    lambda below: st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=8,
).filter(lambda shape: isinstance(shape, dict))


@given(before=shapes, after=shapes)
def test_files_and_folders_replace_each_other(before, after):
    change = change_of(tree_tar(flat(after)), tree_tar(flat(before)))
    assert change.findings == ()
    assert applied(files_in(before), change) == {
        name: (content, False) for name, content in files_in(after).items()
    }


def flat(shape: dict, prefix: str = "") -> dict[str, bytes | None]:
    paths: dict[str, bytes | None] = {}
    for name, below in shape.items():
        paths[f"{prefix}{name}"] = None if isinstance(below, dict) else below
        if isinstance(below, dict):
            paths |= flat(below, f"{prefix}{name}/")
    return paths


def files_in(shape: dict) -> dict[str, bytes]:
    return {name: content for name, content in flat(shape).items() if content is not None}


def applied(before: dict[str, bytes], change: WorkspaceChange) -> dict[str, tuple[bytes, bool]]:
    now = {P(name): (content, False) for name, content in before.items()}
    removed = [path for path, file in change.files.items() if file is None]
    for gone in (*removed, *change.emptied):
        now = {path: file for path, file in now.items() if gone not in (path, *path.parents)}
    for path, file in change.files.items():
        if file is not None:
            assert not set(path.parents) & set(now), "writing below a file"
            assert not any(path in other.parents for other in now), "writing over a folder"
            now[path] = (file.content, file.executable)
    return {path.as_posix(): file for path, file in now.items()}


def test_unreadable_stream_raises():
    def torn():
        yield tree_tar(BASE)[:512]
        raise SandboxError("the engine went away")

    with pytest.raises(SandboxError):
        read_change(torn(), *base_of(tree_tar(BASE)))


def test_sparse_workspace_is_not_read_to_its_end():
    def endless() -> Iterator[bytes]:
        yield tar_of((member("pkg/a.py"), b"a = 2\n"), end=False)
        yield member("z-sparse", size=1 << 40).tobuf()
        while True:
            yield b"\0" * 1024

    base, content = base_of(tree_tar(BASE))
    change = read_change(endless(), base, content, ExtractionLimits(stream_bytes=1 << 20))
    assert change.files == {P("pkg/a.py"): plain(b"a = 2\n")}
    assert ("extraction-limit", "the workspace") in rules(change)
    assert "1048576 bytes" in change.findings[-1].what


def test_hard_links_count_only_as_extracted_bytes(monkeypatch):
    hashed, sha256 = [], hashlib.sha256

    def counting(content: bytes = b""):
        hashed.append(len(content))
        return sha256(content)

    links = (member(f"l{n}", tarfile.LNKTYPE, linkname="big") for n in range(50))
    tar = tar_of((member("big"), b"x" * 100), *links)
    base, content = base_of(tree_tar(BASE))
    monkeypatch.setattr(hashlib, "sha256", counting)
    change = read_change([tar], base, content, ExtractionLimits(total_bytes=300))
    taken = {path.as_posix() for path, file in change.files.items() if file is not None}
    assert taken == {"big", "l0", "l1"}
    assert sum(hashed) <= 400


def test_tool_caches_have_their_own_limit():
    limits = ExtractionLimits(total_bytes=10, files=2)
    left = {f".pytest_cache/{number}": b"1234567" for number in range(9)}
    change = change_of(
        tree_tar({**left, "a": b"12345678", "b": b"1", "c": b""}), tree_tar({}), limits
    )
    assert {path for path in change.files if path.parts[0] != ".pytest_cache"} == {
        P("a"),
        P("b"),
        P("c"),
    }
    assert len(change.files) == 4
    assert {rule for rule, _ in rules(change)} == {"extraction-limit"}
