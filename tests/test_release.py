"""What a release publishes: one version, the same dependencies everywhere, files that parse."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import astralearn

ROOT = Path(__file__).parent.parent


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def split(requirement):
    return tuple(re.match(r"([\w.-]+) ?(.*)", requirement).groups())


def test_the_version_is_the_installed_one():
    assert astralearn.__version__ == version("astralearn")


def test_the_recipe_has_the_dependencies_of_the_wheel():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    run = {split(each) for each in recipe["requirements"]["run"] if "python_min" not in each}
    assert run == {split(each) for each in project()["project"]["dependencies"]}
    host = {split(each) for each in recipe["requirements"]["host"] if "python_min" not in each}
    assert host - {("pip", "")} == {split(each) for each in project()["build-system"]["requires"]}


def test_every_workflow_and_template_parses():
    files = [*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")]
    assert len(files) >= 6
    for path in files:
        content = yaml.safe_load(path.read_text())
        assert {"jobs", "body", "contact_links"} & set(content), path.name


def test_the_citation_names_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    archive = json.loads((ROOT / ".zenodo.json").read_text())
    assert citation["license"] == archive["license"] == project()["project"]["license"]
    identifier = citation["preferred-citation"]["identifiers"][0]["value"]
    assert archive["related_identifiers"][0]["identifier"] == identifier
    assert identifier.split(":")[1] in (ROOT / "docs" / "citation.bib").read_text()


def test_there_is_one_address():
    """The repository's is pyproject's Source, and the site's its Documentation, everywhere."""
    urls = project()["project"]["urls"]
    owner, name = urls["Source"].removeprefix("https://github.com/").split("/")
    assert urls["Documentation"] == f"https://{owner}.github.io/{name}"
    files = ["pyproject.toml", "conda/recipe.yaml", "CITATION.cff", "docs/conf.py", "SECURITY.md"]
    for path in [*map(ROOT.joinpath, files), *ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")]:
        text = path.read_text()
        found = re.findall(r"github\.com/([\w.-]+/astralearn)", text)
        assert set(found) <= {f"{owner}/{name}"}, path.name
        assert set(re.findall(r"https://[\w.-]+\.github\.io/[\w-]+", text)) <= {
            urls["Documentation"]
        }, path.name


@pytest.mark.long
def test_the_wheel_works_in_an_empty_environment(tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", clone], check=True)
    done = subprocess.run(
        [clone / ".ci" / "package", sys.executable], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "works in an environment of" in done.stdout
