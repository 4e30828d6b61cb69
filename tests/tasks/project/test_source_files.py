from agentbench.tasks.project_declaration import ini_lines, strings_in, table_in, text_in


def test_a_table_that_is_not_there_or_is_none_is_empty():
    assert table_in({"a": {"b": 1}}, "a", "b") == {}
    assert table_in({}, "a") == {}


def test_what_is_no_string_is_nothing_said():
    assert text_in({"a": 3}, "a") == ""
    assert strings_in(["x", 3, None, "y"]) == ("x", "y")
    assert strings_in({"x": 1}) == ()


def test_a_single_string_is_a_list_of_one():
    assert strings_in("x") == ("x",)


def test_comments_and_empty_lines_are_no_lines_of_a_value():
    assert ini_lines("\n# all\npytest  # runs it\n\nfoo#egg=bar\n") == ("pytest", "foo#egg=bar")
