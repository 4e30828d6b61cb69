from agentbench.tasks.project_declaration import python_files, read_project_file
from tests.validation.environment.trees import write_tree


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path):
    tree = write_tree(tmp_path, {"a.toml": b"\xef\xbb\xbfx = 1"})
    assert read_project_file(tree, "a.toml") == "x = 1"


def test_what_is_no_utf_8_is_read_all_the_same(tmp_path):
    tree = write_tree(tmp_path, {"setup.py": "author = 'Jos\u00e9'".encode("latin-1")})
    assert read_project_file(tree, "setup.py") == "author = 'Jos\u00e9'"


def test_a_link_out_of_the_tree_is_not_followed(tmp_path):
    secret = write_tree(tmp_path / "home", {"secret": "s"})
    tree = write_tree(tmp_path / "tree", {})
    (tree / "setup.cfg").symlink_to(secret / "secret")
    assert read_project_file(tree, "setup.cfg") is None


def test_what_is_absent_a_folder_too_large_or_a_loop_has_no_text(tmp_path):
    tree = write_tree(tmp_path, {"large": b"x" * ((1 << 20) + 1), "folder/x": ""})
    (tree / "loop").symlink_to("loop")
    found = [read_project_file(tree, n) for n in ("absent", "folder", "large", "loop", "a\0b")]
    assert found == [None] * 5


def test_hidden_and_built_folders_hold_no_files_of_the_project(tmp_path):
    names = ["a.py", "pkg/b.py", ".venv/c.py", "build/d.py", "node_modules/e.py", "f.txt"]
    tree = write_tree(tmp_path, dict.fromkeys(names, ""))
    (tree / "linked").symlink_to(tree / "pkg")
    assert list(python_files(tree)) == ["a.py", "pkg/b.py"]
