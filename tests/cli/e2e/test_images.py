import json

import pytest


@pytest.mark.docker
def test_the_images_of_an_engine_are_listed(cli):
    result = cli("images", "list")
    assert result.code == 0, result.stderr
    rows = json.loads(cli("images", "list", "--json").stdout)
    assert all(set(row) == {"name", "python", "id", "size"} for row in rows)
    assert all(row["name"] in result.stdout for row in rows)
