from agentbench.audit.rule import RuleHit, apply_rules
from agentbench.scoring.evidence import Severity


def test_findings_name_their_rule_most_severe_first():
    worse = (RuleHit(Severity.CRITICAL, "here", "y"), RuleHit(Severity.WARNING, "here", "z"))
    rules = {"one": lambda facts: [RuleHit(Severity.INFO, facts, "x")], "two": lambda _: worse}
    found = apply_rules(rules, "here")
    assert [(f.rule, f.severity.value, f.where, f.what) for f in found] == [
        ("two", "critical", "here", "y"),
        ("two", "warning", "here", "z"),
        ("one", "info", "here", "x"),
    ]


def test_findings_of_one_rule_are_limited():
    def rule(facts):
        yield from (RuleHit(Severity.INFO, f"{n}", "x") for n in range(facts))
        yield RuleHit(Severity.CRITICAL, "last", "x")

    found = apply_rules({"many": rule}, 1000)
    assert len(found) == 21
    assert found[0].where == "last"
    assert found[-1].what == "981 more of this rule"
