import pytest

from inkwell import Engine, Safe, TemplateError


def render(source, **variables):
    return Engine().render(source, **variables)


def test_text_is_left_alone():
    assert render("a { b } %}\n c") == "a { b } %}\n c"


def test_values_are_escaped():
    assert render("{{ x }}", x="<a & 'b'>") == "&lt;a &amp; &#39;b&#39;&gt;"
    assert render("{{ x }}{{ y|safe }}", x=Safe("<b>"), y="</b>") == "<b></b>"


def test_joining_safe_text_escapes_the_rest():
    assert render("{{ '<b>'|safe ~ x }}", x="<i>") == "<b>&lt;i&gt;"


def test_if():
    source = "{% if n > 1 %}many{% elif n == 1 %}one{% else %}none{% endif %}"
    assert [render(source, n=n) for n in (2, 1, 0)] == ["many", "one", "none"]


def test_for():
    source = "{% for x in xs %}{{ loop.index }}{{ x }}{% if not loop.last %}, {% endif %}{% else %}-{% endfor %}"
    assert render(source, xs="abc") == "1a, 2b, 3c"
    assert render(source, xs=[]) == "-"


def test_names_of_a_loop_are_gone_after_it():
    source = "{% for x in [2, 3] %}{% for y in [x] %}{{ y }}{% endfor %}{% endfor %}{{ x }}{{ y }}"
    assert render(source, x=1) == "231"


def test_comments():
    assert render("a{# gone\n {{ too }} #}b\n{# c #}") == "ab\n"


def test_own_filters():
    engine = Engine(filters={"shout": lambda text: text + "!"})
    assert engine.render("{{ 'hey'|shout|upper }}") == "HEY!"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\n{% if x %}", "line 2: expected endif"),
        ("{% endfor %}", "line 1: unexpected endfor"),
        ("{{ x", "line 1: expected }}, found the end"),
        ("{% while x %}", "line 1: there is no tag while"),
        ("{{ x %}", "line 1: expected }}, found %}"),
        ("a\n{# b", "line 2: the comment is not closed"),
        ("{% for x in 5 %}{% endfor %}", "line 1: cannot loop over it"),
    ],
)
def test_mistakes(source, message):
    with pytest.raises(TemplateError, match=message):
        render(source)
