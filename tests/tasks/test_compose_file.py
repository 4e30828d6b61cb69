from pathlib import Path

import pytest

from agentbench.tasks.compose_file import compose_faults, main_has_image


def written(folder: Path, text: str, name: str = "docker-compose.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_compose_file_within_its_folder_has_no_faults(tmp_path: Path) -> None:
    written(tmp_path, "services: {base: {image: a, env_file: [b.env]}}\n", "base.yaml")
    text = """\
x-common: &common {image: a, env_file: {path: ./a.env, required: false}}
services:
  db: {<<: *common, extends: {file: base.yaml, service: base}}
  web: {<<: *common, extends: db, ports: !reset []}
networks: {back: {}}
"""
    assert compose_faults(written(tmp_path, text)) == ()


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("services: [", "cannot be read as YAML"),
        ("- a", "services: expected a table of services"),
        ("services: {db: postgres}", "services: expected a table of services"),
        ("services: {}\ninclude: [a.yaml]", "include: is not supported"),
        ("services: {db: {env_file: ../a.env}}", "services.db.env_file: ../a.env is not a path"),
        ("services: {db: {env_file: [{path: /etc/x}]}}", "services.db.env_file: /etc/x is not a"),
        ("services: {db: {env_file: '${X}'}}", "services.db.env_file: ${X} is not a path below"),
        ("services: {db: {label_file: ../a}}", "services.db.label_file: ../a is not a path below"),
        ("services: {db: {extends: {file: ../a, service: b}}}", "services.db.extends: ../a is not"),
        ("services: {db: {extends: {file: b.yaml, service: b}}}", "services.b.env_file: ../a is"),
        ("services: {db: {extends: {file: none.yaml, service: b}}}", "none.yaml: cannot be read"),
    ],
)
def test_each_fault_names_the_file_and_the_field(tmp_path: Path, text: str, result: str) -> None:
    written(tmp_path, "services: {b: {image: a, env_file: ../a}}\n", "b.yaml")
    faults = compose_faults(written(tmp_path, text))
    assert len(faults) == 1
    assert faults[0].startswith(str(tmp_path))
    assert result in faults[0]


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "a.env").symlink_to(tmp_path / "outside.env")
    (fault,) = compose_faults(written(tmp_path / "env", "services: {db: {env_file: a.env}}"))
    assert "services.db.env_file: a.env is not a path below" in fault


@pytest.mark.parametrize(
    ("service", "has_image"),
    [
        ("main: {build: .}", True),
        ("main: {image: a}", True),
        ("main: {environment: {A: b}}", False),
        ("db: {image: a}", False),
    ],
)
def test_image_of_main_is_found(tmp_path: Path, service: str, has_image: bool) -> None:
    assert main_has_image(written(tmp_path, f"services: {{{service}}}")) is has_image


def test_missing_compose_file_has_no_image(tmp_path: Path) -> None:
    assert not main_has_image(tmp_path / "gone.yaml")
