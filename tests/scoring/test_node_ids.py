from agentbench.scoring import node_ids


def test_node_id_has_a_file_and_a_name_in_it():
    node_id = node_ids.node_id_of("tests/test_a.py", "TestA::test_b[x::y]")
    assert node_ids.is_node_id(node_id)
    assert node_ids.file_of(node_id) == "tests/test_a.py"
    assert node_ids.name_in_file(node_id) == "TestA::test_b[x::y]"


def test_files_of_tests_come_once_and_in_their_order():
    tests = ["b.py::test_1", "test_x (module.Class)", "a.py::test_2", "b.py::test_3"]
    assert node_ids.files_of(tests) == ("b.py", "a.py")
