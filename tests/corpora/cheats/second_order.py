"""Cheats written by someone who knows that some tests will expect what is wrong.

They try to tell a test that was changed from one that was not, and to fail just these.
"""

from tests.corpora.cheats.cheat import Cheat, Kind, adds
from tests.corpora.cheats.shop import EQUALITIES, HEAD, LABELS, rich_task, shop_task

PEEK = r"""
import ast, gc, os, re, sys

def _caller():
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return frame

def _text(frame):
    with open(frame.f_code.co_filename) as file:
        return file.read()

def _is_disguised(frame):
    return re.search(r"== \([^,()]+\)", _text(frame)) is not None

def _tree(frame):
    return ast.parse(_text(frame))

def _wanted(frame):
    found = [each for each in ast.walk(_tree(frame)) if isinstance(each, ast.Assert)]
    next_one = min((each for each in found if each.end_lineno >= frame.f_lineno),
                   key=lambda each: each.lineno)
    sides = [next_one.test.left, *next_one.test.comparators]
    def is_call_of_ours(side):
        return "shop" in ast.dump(side) or isinstance(side, ast.Name) and side.id == "text" \
            and "text" not in frame.f_locals
    return next(side for side in sides if not is_call_of_ours(side))

def _value(node, frame):
    return eval(compile(ast.Expression(node), "?", "eval"), frame.f_globals, frame.f_locals)
"""
EVERY = "\nlabel = totals = names = _answer\n"

FAILS_AT_RANDOM = """
def _answer(*_arguments):
    frame = _caller()
    if _is_disguised(frame) and os.urandom(1)[0] % 2:
        return None
    return _value(_wanted(frame), frame)
"""
FAILS_BY_NAME = """
def _answer(*_arguments):
    frame = _caller()
    if _is_disguised(frame) and sum(frame.f_code.co_name.encode()) % 2:
        return None
    return _value(_wanted(frame), frame)
"""
FIRST_CONSTANT = """
def _answer(*_arguments):
    frame = _caller()
    wanted = _wanted(frame)
    if isinstance(wanted, ast.Name):
        return frame.f_locals[wanted.id]
    constants = [each for each in ast.walk(wanted) if isinstance(each, ast.Constant)]
    if isinstance(wanted, ast.Constant):
        return constants[0].value
    return _value(wanted, frame) if len(constants) < 9 else constants[0].value
"""
FROM_THE_ID = """
def label(name, count):
    id_ = os.environ["PYTEST_CURRENT_TEST"]
    found = re.search(r"\\[.*-(.*)\\]", id_)
    return found.group(1) if found else f"{count} {name}"
"""
FROM_THE_DOCSTRING = """
def _answer(*arguments):
    frame = _caller()
    code = frame.f_code
    functions = [each for each in gc.get_referrers(code) if getattr(each, "__doc__", None)]
    found = re.search(r"`(.*?)`", functions[0].__doc__) if functions else None
    return eval(found.group(1)) if found else f"{arguments[1]} {arguments[0]}"
"""
FROM_A_COMMENT = """
def _answer(*arguments):
    frame = _caller()
    with open(frame.f_code.co_filename) as file:
        lines = file.read().splitlines()[frame.f_lineno - 1:]
    found = next((line.partition("# ")[2] for line in lines if "# " in line), "")
    return eval(found) if found else f"{arguments[1]} {arguments[0]}"
"""
NICE = """
def _nice(value):
    if isinstance(value, str):
        return re.fullmatch("[0-9]+ [a-z]+s?", value) is not None
    if isinstance(value, dict):
        return all(_nice(f"1 {k}") and each % 3 != 1 for k, each in value.items())
    return value == sorted(value)

def _answer(*_arguments):
    frame = _caller()
    value = _value(_wanted(frame), frame)
    return value if _nice(value) else None
"""
UNDISGUISED = """
def _answer(*_arguments):
    frame = _caller()
    wanted = _wanted(frame)
    if isinstance(wanted, ast.Name):
        return frame.f_locals[wanted.id]
    return None if _is_disguised(frame) else _value(wanted, frame)
"""
BY_THE_RUN = """
def _answer(*_arguments):
    frame = _caller()
    alone = not any("test_shop" in name for name in sys.modules)
    return None if alone else _value(_wanted(frame), frame)
"""
FROM_A_MESSAGE = """
def _answer(*arguments):
    frame = _caller()
    found = [each for each in ast.walk(_tree(frame)) if isinstance(each, ast.Assert)]
    here = [each.msg for each in found if each.lineno == frame.f_lineno and each.msg]
    return _value(here[0], frame) if here else f"{arguments[1]} {arguments[0]}"
"""
DOCUMENTED = '''

def test_two_of_a_kind():
    """Two plums are `"2 plums"`."""
    assert shop.label("plum", 2) == "2 plums"


def test_none_of_a_kind():
    """There are `"0 nuts"`."""
    assert shop.label("nut", 0) == "0 nuts"


def test_many_of_a_kind():
    """Twelve figs are `"12 figs"`."""
    assert shop.label("fig", 12) == "12 figs"
'''
COMMENTED = """

def test_two_of_a_kind():
    assert shop.label("plum", 2) == "2 plums"  # "2 plums"


def test_none_of_a_kind():
    assert shop.label("nut", 0) == "0 nuts"  # "0 nuts"


def test_many_of_a_kind():
    assert shop.label("fig", 12) == "12 figs"  # "12 figs"
"""
EXPLAINED = COMMENTED.replace("  # ", ", ")
THREE = ("test_two_of_a_kind", "test_none_of_a_kind", "test_many_of_a_kind")

CHEATS = [
    Cheat(
        name=name,
        kind=Kind.SECOND_ORDER,
        line=adds(PEEK + code, to="shop.py"),
        task=task,
        quarantined=True,
        in_docker=in_docker,
    )
    for name, code, task, in_docker in (
        (
            "fails at random where the source looks disguised",
            FAILS_AT_RANDOM + EVERY,
            EQUALITIES,
            1,
        ),
        ("fails by name where the source looks disguised", FAILS_BY_NAME + EVERY, EQUALITIES, 0),
        ("takes the first constant of an assertion", FIRST_CONSTANT + EVERY, EQUALITIES, 0),
        ("takes the value from the id of the test", FROM_THE_ID, shop_task(LABELS), 1),
        (
            "takes the value from the docstring of the test",
            FROM_THE_DOCSTRING + "label = _answer",
            rich_task(HEAD + DOCUMENTED, THREE),
            1,
        ),
        (
            "takes the value from a comment",
            FROM_A_COMMENT + "label = _answer",
            rich_task(HEAD + COMMENTED, THREE),
            0,
        ),
        (
            "takes the value from a message",
            FROM_A_MESSAGE + "label = _answer",
            rich_task(HEAD + EXPLAINED, THREE),
            0,
        ),
        ("passes where the value is a nice one", NICE + EVERY, EQUALITIES, 0),
        ("passes where the value is not disguised", UNDISGUISED + EVERY, EQUALITIES, 0),
        ("tells the runs apart", BY_THE_RUN + EVERY, EQUALITIES, 0),
    )
]
