import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from jinja2 import DictLoader
from markupsafe import Markup
from starlette.requests import Request

from agentbench.extensions.view import rendering
from agentbench.extensions.view.rendering import (
    PageContext,
    attempt_address,
    counted,
    html_response,
    moment,
    money,
    run_address,
    seconds,
    since,
    size,
)
from agentbench.extensions.view.run_cache import RunCache
from agentbench.extensions.view.runs_folder import PageNotFoundError, RunsFolder

TEMPLATES = sorted(Path(rendering.__file__).with_name("templates").glob("*.html"))
HOSTILE = "<script>x</script>\x1b[31m\u202e\x00\"' \ud800"


@pytest.mark.parametrize(
    "source",
    [
        "{{ it }}",
        '<a title="{{ it }}">',
        "{{ it|truncate(500) }}",
        '{{ it ~ "" }}',
        '{{ [it, it]|join(", ") }}',
        '{{ "%s"|format(it) }}',
        '{{ it|replace("z", "y") }}',
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(it) }}",
        "{% set other = it %}{{ other }}",
        "{% for char in [it] %}{{ char }}{% endfor %}",
    ],
)
def test_whatever_is_put_into_a_template_is_text_that_steers_nothing(source):
    environment = rendering._environment().overlay(loader=DictLoader({"it.html": source}))
    told = environment.get_template("it.html").render(it=HOSTILE)
    assert "<script>" not in told
    assert "&lt;script&gt;" in told
    assert not set(told) & {"\x1b", "\u202e", "\x00", "\ud800"}
    assert "\\u202e" in told


def test_what_this_package_made_as_markup_stays_so():
    environment = rendering._environment().overlay(loader=DictLoader({"it.html": "{{ it }}"}))
    assert environment.get_template("it.html").render(it=Markup("<b>x</b>")) == "<b>x</b>"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_is_exempt_from_escaping_or_bears_a_script_or_style(template):
    text = template.read_text()
    assert not re.search(r"\|\s*(safe|e|escape|xmlattr|tojson)\b|autoescape|Markup", text)
    if template.name == "saved.html":  # its policy allows this one, by its digest
        text = text.replace("<style>{{ style }}</style>", "")
    assert not re.search(r"<style|style=|<script(?! src=\"/static/)|javascript:|\son\w+=", text)
    assert not re.search(r"(src|href|action)=\"(https?:)?//", text)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0.123, "0.12 s"), (5, "5.0 s"), (65, "1 min 05 s"), (3_599.4, "59 min 59 s"),
        (3_660, "1 h 01 min"),
    ],
)  # fmt: skip
def test_spans_of_time_are_told_as_people_say_them(number, told):
    assert seconds(number) == told


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (3 * 1024**2, "3.0 MiB"),
     (5 * 1024**3, "5.0 GiB")],
)  # fmt: skip
def test_amounts_of_bytes_are_told_as_people_say_them(number, told):
    assert size(number) == told


def test_times_are_in_utc():
    assert moment(datetime.fromisoformat("2026-01-02T01:00:00+02:00")) == "2026-01-01 23:00:00 UTC"


def test_a_clock_that_runs_ahead_gives_no_negative_time():
    assert since(datetime.now(UTC) + timedelta(hours=1)) == "0.00 s"


def test_money_that_nobody_knows_is_not_nothing():
    assert (money(None), money(0.0), money(1.234)) == ("unknown", "$0.00", "$1.23")


def test_addresses_hold_any_name():
    assert run_address("a b/../ü?#") == "/runs/a%20b%2F..%2F%C3%BC%3F%23"
    assert attempt_address("r", "t/1.retry-2") == "/runs/r/attempts/t/1.retry-2"


@pytest.mark.parametrize(("number", "told"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks")])
def test_an_amount_of_things_is_one_or_many(number, told):
    assert counted(number, "task") == told


def asked(**names):
    return Request({"type": "http", "path_params": names})


def test_what_an_address_names_is_found_or_told_to_be_missing(shown):
    context = PageContext(folder=RunsFolder(shown.folder), cache=RunCache())
    run = context.run(asked(run=shown.first))
    assert run.name == shown.first
    task, name = shown.place(lambda _told: True).split("/")
    folder = context.attempt_folder(asked(run=shown.first, task=task, name=name))
    assert folder.is_dir()
    with pytest.raises(PageNotFoundError):
        context.run(asked(run="nothing"))
    with pytest.raises(PageNotFoundError):
        context.attempt_folder(asked(run=shown.first, task=task, name="99"))


def test_a_page_is_html_with_its_status():
    answer = html_response("message.html", {"title": "T", "message": "<b>"}, 404)
    assert (answer.status_code, answer.media_type) == (404, "text/html")
    assert b"&lt;b&gt;" in answer.body
