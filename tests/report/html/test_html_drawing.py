from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from agentbench.report.html.drawing import (
    COLOUR_BY_CODE,
    Colour,
    Margins,
    label_width,
    new_drawing,
    svg,
)
from tests.hostile_texts import HOSTILE


def a_picture(texts=(), **named):
    with new_drawing(120, Margins()) as (figure, axes):
        axes.barh([0], [1], color=Colour.TASK.code, hatch="///")
        axes.plot([0, 1], [0, 0], marker="o", color=Colour.AGENT.code)
        axes.set_yticks(range(len(texts)), [f"label:{number}" for number in range(len(texts))])
        return svg(figure, **{"name": "one", "says": "a bar", "texts": texts, **named})


def elements(text):
    return list(ElementTree.fromstring(text).iter())


def test_a_picture_has_neither_styles_nor_colours_of_its_own():
    shown = elements(a_picture())
    assert not [each for each in shown if each.tag in {"style", "metadata"}]
    assert not [each for each in shown if "style" in each.attrib]
    painted = {each.attrib.get(part) for each in shown for part in ("fill", "stroke")}
    assert all(value in {None, "none"} or value.startswith("url(#one-") for value in painted)
    classes = {name for each in shown for name in each.attrib.get("class", "").split()}
    assert {"fill-task", "stroke-agent", "fill-ink"} <= classes
    assert not [code for code in COLOUR_BY_CODE if code in a_picture()]


def test_references_stay_within_the_picture_and_its_name():
    shown = elements(a_picture(name="other"))
    ids = [each.attrib["id"] for each in shown if "id" in each.attrib]
    links = [each.attrib["href"] for each in shown if "href" in each.attrib]
    assert ids
    assert all(each.startswith("other-") for each in ids)
    assert links
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_a_picture_is_an_image_with_a_description():
    root = elements(a_picture(says='says "<this>" & that'))[0]
    assert (root.tag, root.attrib["role"]) == ("svg", "img")
    assert root.attrib["aria-label"] == 'says "<this>" & that'
    assert "width" not in root.attrib


@pytest.mark.parametrize("text", HOSTILE[:34], ids=range(34))
def test_a_label_is_text_and_nothing_else(text):
    plain = [(each.tag, sorted(each.attrib)) for each in elements(a_picture(["plain"]))]
    shown = elements(a_picture([text]))
    assert [(each.tag, sorted(each.attrib)) for each in shown] == plain
    assert text in [each.text for each in shown]


def test_the_users_own_settings_change_nothing_and_are_left_alone():
    usual = a_picture()
    with mpl.rc_context({"lines.linewidth": 40, "font.size": 30, "text.usetex": True}):
        assert a_picture() == usual
        assert mpl.rcParams["lines.linewidth"] == 40


def test_labels_take_the_room_of_the_longest():
    assert label_width(["a", "abc"]) == label_width(["abc"]) > label_width(["a"]) > label_width([])
