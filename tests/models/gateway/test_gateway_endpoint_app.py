import pytest

from agentbench.models.gateway.endpoint_app import models_page


@pytest.mark.parametrize("path", ["/v1/models", "/models", "/v1/models/", "/v1/v1/models"])
def test_there_is_one_model(path: str) -> None:
    assert [each["id"] for each in models_page(path, "m")["data"]] == ["m"]


def test_it_may_be_asked_for_by_name() -> None:
    assert models_page("/v1/models/org/m", "org/m")["id"] == "org/m"
    assert models_page("/v1beta/models/m", "m")["name"] == "models/m"
    assert models_page("/v1beta/models", "m")["models"][0]["displayName"] == "m"


@pytest.mark.parametrize("path", ["/", "/v1/models/other", "/v1/model", "/v1/files", "/v1beta"])
def test_anything_else_is_no_list_of_models(path: str) -> None:
    assert models_page(path, "m") is None
