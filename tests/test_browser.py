import pytest

from tests import browser as fixtures


def test_a_page_runs_its_script(page):
    page.set_content("<p id=told></p><script>told.textContent = 6 * 7</script>")
    assert page.inner_text("#told") == "42"


@pytest.mark.parametrize("number", [1, 2])
def test_a_page_knows_nothing_of_the_one_before(page, number):
    page.route("**/*", lambda route: route.fulfill(body="<p>here</p>", content_type="text/html"))
    page.goto("http://page.test/")
    assert page.evaluate("localStorage.length") == 0
    page.evaluate(f"localStorage.setItem('seen', {number})")


@pytest.mark.parametrize(
    ("required", "ending"), [("0", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_a_machine_without_a_browser_skips_unless_one_is_required(monkeypatch, required, ending):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("AGENTBENCH_REQUIRE_BROWSER", required)
    with pytest.raises(ending, match="apt install chromium"):
        fixtures.chromium_program()
