from agentbench.audit.rule import RuleHit, apply_rules, weight
from agentbench.scoring.evidence import Severity


def test_findings_bear_the_name_of_their_rule_and_the_worst_come_first():
    worse = (RuleHit(Severity.CRITICAL, "here", "y"), RuleHit(Severity.WARNING, "here", "z"))
    rules = {"one": lambda facts: [RuleHit(Severity.INFO, facts, "x")], "two": lambda _: worse}
    found = apply_rules(rules, "here")
    assert [(f.rule, f.severity.value, f.where, f.what) for f in found] == [
        ("two", "critical", "here", "y"),
        ("two", "warning", "here", "z"),
        ("one", "info", "here", "x"),
    ]


def test_a_rule_that_sees_thousands_is_cut_short_and_says_so():
    def rule(facts):
        yield from (RuleHit(Severity.INFO, f"{n}", "x") for n in range(facts))
        yield RuleHit(Severity.CRITICAL, "last", "x")

    found = apply_rules({"many": rule}, 1000)
    assert len(found) == 21
    assert found[0].where == "last"
    assert found[-1].what == "981 more of this rule"


def test_severities_are_weighed():
    assert [weight(s) for s in (Severity.INFO, Severity.WARNING, Severity.CRITICAL)] == [0, 1, 2]
