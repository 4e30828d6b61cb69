from agentbench.extensions.symbolic.analysis import SymbolicErrorType
from agentbench.extensions.symbolic.symbolic_tools import SymbolicTool
from tests.extensions.symbolic.symbolic_transcripts import BEGIN, END, shown_rows
from tests.mcp.e2e.test_docs import PAGE, calls_in


def test_documented_calls_match_the_tested_calls():
    shown = calls_in(PAGE.partition(BEGIN)[2].partition(END)[0])
    made = [{"name": row.tool, "arguments": row.call} for row in shown_rows()]
    assert sorted(map(str, shown)) == sorted(map(str, made))


def test_docs_show_all_fields_and_arguments_of_each_tool():
    section = PAGE.partition("## Tools for functions")[2].partition("## Conformance")[0]
    for tool in SymbolicTool:
        assert f"#### {tool}: " in section
        for name in tool.answer.model_fields:
            assert f'"{name}": ' in section
        for name in tool.arguments.model_fields:
            assert f"`{name}`" in section
    for kind in SymbolicErrorType:
        assert f"`{kind}`" in section
