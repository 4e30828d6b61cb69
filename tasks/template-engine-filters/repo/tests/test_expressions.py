import pytest

from inkwell import Engine, TemplateError


def show(expression, **variables):
    return Engine().render("{{ " + expression + " }}", **variables)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("12 / 4 / 3", "1.0"),
        ("7 % 4 * 2", "6"),
        ("-2 * 3 + 10", "4"),
        ("2 - -2", "4"),
        ("'a' ~ 1 + 2", "a3"),
        ("1 + 1 == 2", "true"),
        ("not 1 == 2", "true"),
        ("true or false and false", "true"),
        ("not true or true", "true"),
        ("2 in [1, 2]", "true"),
    ],
)
def test_operators(expression, shown):
    assert show(expression) == shown


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("'ada'|title", "Ada"),
        ("' ada '|trim|upper|reverse", "ADA"),
        ("'a-b-c'|replace('-', '+')", "a+b+c"),
        ("nothing|default('x')", "x"),
        ("[3, 1, 2]|sort|join(', ')", "1, 2, 3"),
        ("[]|first|default('none')", "none"),
        ("(1 - 4)|abs", "3"),
        ("2.5|round", "3"),
        ("2.675|round(2)", "2.68"),
    ],
)
def test_filters(expression, shown):
    assert show(expression) == shown


def test_filters_in_longer_expressions():
    assert show("'Dr. ' ~ name|title", name="ada") == "Dr. Ada"
    assert show("1 + items|length", items="abc") == "4"
    assert show("items|length > 2 and items|first == 'a'", items="abc") == "true"


def test_filters_apply_to_attributes():
    assert show("user.name|upper", user={"name": "ada"}) == "ADA"
    assert show("users[0].tags|last|upper", users=[{"tags": ["x", "y"]}]) == "Y"


def test_lookups():
    class Point:
        x = 3
        _secret = 4

    assert show("p.x ~ p._secret ~ p.z", p=Point()) == "3"
    assert show("rows[1]['k']", rows=[{}, {"k": "v"}]) == "v"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 +", "line 1: expected a value, found }}"),
        ("a b", "line 1: expected }}, found b"),
        ("a|nope", "line 1: there is no filter nope"),
        ("1 + 'a'", "line 1: cannot apply [+] to 1 and 'a'"),
        ("1 / 0", "line 1: cannot apply / to 1 and 0"),
        ("5|length", "line 1: filter length: .*int"),
        ("a ? b", "line 1: unexpected character '[?]'"),
    ],
)
def test_mistakes(expression, message):
    with pytest.raises(TemplateError, match=message):
        show(expression)
