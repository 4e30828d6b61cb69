import json

import pytest

from tests.extensions.swebench.instances import ID, RECIPES, Project, write_lines

pytestmark = [pytest.mark.full, pytest.mark.first]

FILE = "tests/test_counting.py"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "repos")


@pytest.fixture
def take(cli, tmp_path, sandbox):
    """Call the command for some entries."""

    def take(*entries, options=()):
        (tmp_path / "recipes.toml").write_text(RECIPES)
        return cli(
            *("tasks", "import", "swebench", write_lines(tmp_path / "in.jsonl", *entries)),
            *("--out", tmp_path / "tasks", "--repos", tmp_path / "repos"),
            *("--recipes", tmp_path / "recipes.toml", "--sandbox", sandbox, "--repeat", "1"),
            *("--runs-dir", tmp_path / "runs", "--quiet", *options),
        )

    return take


def test_the_good_rest_is_written_and_the_program_says_65(take, project, tmp_path):
    wrong = project.instance(instance_id="a__b-1", base_commit="main")
    result = take(wrong, project.instance(), options=("--no-prove", "--json"))
    assert result.code == 65
    document = json.loads(result.stdout)
    assert document["written"] == [f"{tmp_path}/tasks/acme__counting-7"]
    assert document["refused"] == [
        {
            "where": f"{tmp_path}/in.jsonl:1",
            "instance": "a__b-1",
            "field": "base_commit",
            "what": "'main' is not a full hash of 40 hex digits",
        }
    ]


@pytest.mark.docker
def test_instances_whose_image_cannot_be_had_are_refused_and_the_rest_goes_on(cli, tmp_path):
    mirrors = tmp_path / "repos"
    good, foreign, old = (Project(mirrors, f"acme/{name}") for name in ("good", "foreign", "old"))
    (tmp_path / "recipes.toml").write_text(
        '[[recipe]]\nrepo = "acme/good"\ninstall = ""\n'
        '[[recipe]]\nrepo = "acme/old"\npython = "3.5"\ninstall = ""\n'
    )
    entries = [
        project.instance(instance_id=f"acme__{name}-1")
        for name, project in (("foreign", foreign), ("old", old), ("good", good))
    ]
    result = cli(
        *("tasks", "import", "swebench", write_lines(tmp_path / "in.jsonl", *entries)),
        *("--out", tmp_path / "tasks", "--repos", mirrors, "--recipes", tmp_path / "recipes.toml"),
        *("--image-template", "localhost:1/none/{instance_id}", "--sandbox", "docker"),
        *("--repeat", "1", "--runs-dir", tmp_path / "runs", "--quiet"),
    )
    assert result.code == 65, result.stderr
    assert result.stdout.splitlines()[0] == f"{tmp_path}/tasks/acme__good-1  valid"
    assert result.stderr.endswith("1 task written, 1 of 1 valid, 2 refused\n")
    refused = [line for line in result.stderr.splitlines() if line.startswith("refused: ")]
    assert [line.split(": ")[2:4] for line in refused] == [
        ["acme__foreign-1", "image"],
        ["acme__old-1", "image"],
    ]
    assert "localhost:1/none/acme__foreign-1" in refused[0]
    assert "base images exist for Python 3.6, " in refused[1]
    assert all("--image-template" in line for line in refused)
    assert [folder.name for folder in (tmp_path / "tasks").glob("[!.]*")] == ["acme__good-1"]


def test_names_that_are_cut_are_found_out_by_running(take, project, tmp_path):
    result = take(project.instance(FAIL_TO_PASS=[f"{FILE}::test_last[two"]))
    assert result.code == 0, result.stderr
    assert result.stdout.splitlines()[0] == f"{tmp_path}/tasks/acme__counting-7  valid"
    assert result.stderr.endswith("1 task written, 1 of 1 valid\n")
    kept = json.loads((tmp_path / "tasks" / "acme__counting-7" / "swebench.json").read_text())
    assert kept["node_ids"] == {f"{FILE}::test_last[two": [f"{FILE}::test_last[two items]"]}


def test_what_is_done_is_reported_again_and_not_run_again(take, project, tmp_path):
    first = take(project.instance())
    proof = (tmp_path / "tasks" / "acme__counting-7" / "proof.json").read_bytes()
    runs = set((tmp_path / "runs" / "validation").iterdir())
    again = take(project.instance(), options=("--report", tmp_path / "report.md"))
    assert (again.code, again.stdout) == (first.code, first.stdout)
    assert again.stderr.endswith("1 task written, 1 of 1 valid\n")
    assert (tmp_path / "tasks" / "acme__counting-7" / "proof.json").read_bytes() == proof
    assert set((tmp_path / "runs" / "validation").iterdir()) == runs
    assert "1 instance: 1 valid." in (tmp_path / "report.md").read_text()


def test_without_a_run_names_that_are_cut_are_refused(take, project, tmp_path):
    result = take(project.instance(FAIL_TO_PASS=["test_last"]), options=("--no-prove",))
    assert result.code == 65
    assert f"refused: {tmp_path}/tasks/acme__counting-7: {ID}: FAIL_TO_PASS: " in result.stderr
    assert list((tmp_path / "tasks").glob("[!.]*")) == []


def test_an_instance_whose_solution_solves_nothing_is_not_good(take, project):
    useless = project.patch.replace("+    return items[-1]", "+    return items[-3]")
    result = take(project.instance(patch=useless))
    assert result.code == 1, result.stderr
    assert "INVALID" in result.stdout


def test_a_bug_of_swe_smith_is_imported_and_proven(take, project):
    result = take(project.smith())
    assert result.code == 0, result.stderr
    assert "1 of 1 valid" in result.stderr


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--image-template", "x/{id}"), "unknown placeholder {id}"),
        (("--repos", "nowhere"), "nowhere is not a folder"),
        (("--report", "nowhere/report.md"), "nowhere is not a folder"),
        (("--environment", "recipes", "--image-template", "x"), "leave one of them out"),
        (("--environment", "conda"), "'conda' is not one of 'auto', 'images', 'recipes'"),
    ],
)
def test_an_option_that_is_wrong_is_2_before_anything_is_written(
    take, project, tmp_path, options, what
):
    result = take(project.instance(), options=options)
    assert result.code == 2
    assert what in result.stderr
    assert not (tmp_path / "tasks").exists()


def predictions(path, patch):
    write_lines(path, {"instance_id": ID, "model_name_or_path": "m", "model_patch": patch})
    return f"predictions:{path}"


def test_predictions_for_it_are_judged_and_reported(cli, take, project, tmp_path, sandbox):
    assert take(project.instance(), options=("--no-prove",)).code == 0
    answers = {
        "gold": (project.patch, "resolved"),
        "empty": ("", "empty_patch"),
        "wrong": (project.patch.replace("items[-1]", "None"), "unresolved"),
        "unfit": (project.patch.replace("return items[-2]", "return 7"), "error"),
    }
    for name, (patch, outcome) in answers.items():
        agent = predictions(tmp_path / f"{name}.jsonl", patch)
        result = cli(
            *("run", tmp_path / "tasks", "--agent", agent, "--sandbox", sandbox, "--quiet"),
            *("--runs-dir", tmp_path / "runs", "--run-id", name, "--allow-unsandboxed"),
            *("--integrity-controls", "off"),
        )
        assert result.code == 0, result.stderr
        result = cli("report", name, "--runs-dir", tmp_path / "runs", "--format", "swebench")
        assert json.loads(result.stdout)[f"{outcome}_ids"] == [ID], (name, result.stdout)


def test_what_nobody_has_described_is_tried_out_where_that_is_asked_for(take, project, tmp_path):
    (tmp_path / "repos" / "Other").mkdir()
    project.origin.path.rename(tmp_path / "repos" / "Other" / "project")
    unknown = project.instance(repo="Other/project")
    refused = take(unknown, options=("--no-prove",))
    assert refused.code == 65
    assert "or find the set-up by trying with --detect" in refused.stderr
    result = take(unknown, options=("--detect",))
    assert result.code == 0, result.stderr
    assert result.stderr.endswith("1 task written, 1 of 1 valid\n")
