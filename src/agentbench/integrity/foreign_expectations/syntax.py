"""The syntax tree of a file of tests, and edits of its text.

Trees come from tree-sitter. It recovers from what it cannot read, so a tree may have errors in it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Language, Node, Parser


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSource:
    """A parsed file of tests; positions of nodes are bytes."""

    path: str
    content: bytes
    root: Node


def parse(text: str, path: str, *grammars: Language) -> ForeignSource:
    """Parse a file with the first of some grammars that can read all of it."""
    content = text.encode("utf-8", "surrogateescape")
    roots = []
    for grammar in grammars:
        root = Parser(grammar).parse(content).root_node
        if not root.has_error:
            return ForeignSource(path=path, content=content, root=root)
        roots.append(root)
    return ForeignSource(path=path, content=content, root=roots[0])


def text_of(node: Node | None) -> str:
    """The source text of a node; empty if there is none."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def field(node: Node | None, name: str) -> Node | None:
    """A part of a node by the name that the grammar gives it."""
    return node.child_by_field_name(name) if node is not None else None


def field_text(node: Node | None, name: str) -> str:
    """The source text of a field; empty if there is none."""
    return text_of(field(node, name))


def line_of(node: Node) -> int:
    """The line in which a node begins, counted from 1."""
    return node.start_point[0] + 1


def walk(root: Node, *, into: Iterable[str] = ()) -> Iterator[Node]:
    """A node and all nodes below it, in the order of the text.

    Args:
        root: The node.
        into: Types of nodes whose parts are left out, unless they are the root.
    """
    skipped = frozenset(into)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if node is root or node.type not in skipped:
            waiting.extend(reversed(node.children))


def parts(node: Node | None) -> list[Node]:
    """The named parts of a node, without comments."""
    return [one for one in node.named_children if one.type != "comment"] if node else []


def field_parts(node: Node | None, name: str) -> list[Node]:
    """The named parts of a field, without comments."""
    return parts(field(node, name))


def preceding(part: Node, around: Node) -> list[Node]:
    """The named parts of a node before one of them, without comments."""
    return [one for one in parts(around) if one.end_byte <= part.start_byte]


def ancestors(node: Node, end: Node | None = None) -> Iterator[tuple[Node, Node]]:
    """The nodes around a node, the nearest one first, each with its part that holds the node.

    Args:
        node: The node.
        end: The last of them; None: the root.
    """
    below, above = node, node.parent
    while above is not None and below != end:
        yield above, below
        below, above = above, above.parent


def is_within(node: Node, around: Node) -> bool:
    """Whether a node is a part of another one, or that one itself."""
    return around.start_byte <= node.start_byte and node.end_byte <= around.end_byte


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteEdit:
    """New text for a range of bytes; an empty range is an insertion."""

    start: int
    end: int
    text: str


def emptied(comment: Node) -> ByteEdit:
    """An edit that leaves a comment without text, on as many lines."""
    text = text_of(comment)
    empty = "//" if text.startswith("//") else f"/*{chr(10) * text.count(chr(10))}*/"
    return ByteEdit(start=comment.start_byte, end=comment.end_byte, text=empty)


def apply_edits(content: bytes, edits: Iterable[ByteEdit]) -> str:
    """The text with all edits; of two that overlap, the first one is applied."""
    done, pieces = 0, list[bytes]()
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        if edit.start < done:
            continue
        pieces += content[done : edit.start], edit.text.encode("utf-8", "surrogateescape")
        done = edit.end
    return b"".join([*pieces, content[done:]]).decode("utf-8", "surrogateescape")
