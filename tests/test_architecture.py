"""The house's import rules: one direction, Dagster only in its own modules, heavy libraries only where used."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("environments", "training", "resources", "assets", "dagster_project")
DAGSTER_MODULES = {
    "assets.py", "checks.py", "keys.py", "partitions.py", "automation.py", "config.py", "metadata.py", "versions.py",
}  # fmt: skip
HEAVY = {"torch", "trl", "transformers", "vllm", "deepspeed", "faiss", "docker", "accelerate", "peft", "datasets"}
SLOW_TO_LOAD = {"numba", "scipy"}
"""Of every process that loads the definitions, these alone would be a tenth of its start."""


def modules(package: str) -> list[Path]:
    return sorted(ROOT.joinpath(package).rglob("*.py"))


def imported_roots(nodes: list[ast.stmt]) -> set[str]:
    names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    names += [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module and not n.level]
    return {name.split(".")[0] for name in names}


def anywhere(module: Path) -> set[str]:
    return imported_roots([n for n in ast.walk(ast.parse(module.read_text())) if isinstance(n, ast.stmt)])


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_downwards(package: str) -> None:
    above = set(PACKAGES[PACKAGES.index(package) + 1 :])
    for module in modules(package):
        upward = anywhere(module) & above
        assert not upward, f"{module.relative_to(ROOT)} imports {sorted(upward)}"


@pytest.mark.parametrize("package", ["assets", "training", "environments"])
def test_algorithms_do_not_know_dagster(package: str) -> None:
    for module in modules(package):
        if package == "assets" and module.name in DAGSTER_MODULES:
            continue
        assert "dagster" not in anywhere(module), f"{module.relative_to(ROOT)} imports dagster"


@pytest.mark.parametrize("package", [p for p in PACKAGES if p != "training"])
def test_heavy_libraries_are_imported_only_inside_the_function_that_uses_them(package: str) -> None:
    for module in modules(package):
        heavy = imported_roots(ast.parse(module.read_text()).body) & HEAVY
        assert not heavy, f"{module.relative_to(ROOT)} imports {sorted(heavy)} at its top"


def test_stages_do_not_import_each_others_assets() -> None:
    for module in modules("assets"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(".assets"):
                owner = (node.module or "").split(".")[1]
                assert owner == module.parent.name, f"{module.relative_to(ROOT)} imports {node.module}"


def test_loading_the_definitions_loads_no_heavy_library() -> None:
    script = "import json, sys, dagster_project.definitions; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    loaded = {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    heavy = loaded & (HEAVY | SLOW_TO_LOAD)
    assert not heavy, f"importing dagster_project.definitions imported {sorted(heavy)}"
