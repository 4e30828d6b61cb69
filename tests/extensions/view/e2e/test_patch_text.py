import re

from agentbench.extensions.view.attempt_files import highlight_patch, read_patch
from agentbench.extensions.view.runs_folder import RunsFolder

PATCH = """\
diff --git a/x.py b/x.py
--- a/x.py
+++ b/x.py
@@ -1,2 +1,2 @@
 same
-old
+new
"""


def left(folder, content):
    (folder / "patch.diff").write_bytes(content)
    return read_patch(RunsFolder(folder), folder.resolve() / "patch.diff")


def test_lines_bear_classes_and_no_styles(tmp_path):
    told = left(tmp_path, PATCH.encode()).markup
    assert '<span class="hl-gi">+new' in told
    assert '<span class="hl-gd">-old' in told
    assert '<span class="hl-gu">@@' in told
    assert "style" not in told
    assert re.sub("<[^>]*>", "", told) == PATCH


def test_no_line_of_a_patch_becomes_markup_or_steers(tmp_path):
    hostile = (
        "+<script>x</script>\x1b[31m\u202e\n+</pre><img src=x onerror=y>\n".encode()
        + b"+\xff\xfe\n"
    )
    told = left(tmp_path, hostile).markup
    assert set(re.findall("<[^>]*>", told)) == {'<span class="hl-gi">', "</span>"}
    assert "\\u202e" in told
    assert "\x1b" not in told


def test_a_huge_patch_is_shown_as_far_as_a_page_goes(tmp_path):
    content = b"+x\n" * 1_000_000
    told = left(tmp_path, content)
    assert told.left_out > 2_500_000
    assert len(told.markup) < 4_000_000


def test_a_huge_line_is_cut(tmp_path):
    assert len(left(tmp_path, b"+" + b"x" * 200_000).markup) < 3_000


def test_no_patch_is_none(tmp_path):
    assert read_patch(RunsFolder(tmp_path), tmp_path.resolve() / "patch.diff") is None


def test_nothing_is_nothing():
    assert highlight_patch("").strip() == ""
