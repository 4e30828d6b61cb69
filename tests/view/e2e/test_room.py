import pytest
from starlette.requests import Request

from agentbench.view.rendering import PageContext, html_response
from agentbench.view.run_cache import RunCache
from agentbench.view.runs_folder import PageNotFoundError, RunsFolder


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
