"""What holds for the package as a whole: who imports whom, how fast it loads, what is public."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import firstlight

SOURCE = Path(firstlight.__file__).parent
FRONT_DOORS = {"one_step", "early_alignment", "phase_transition", "unseen_classes"}
# package -> parts of firstlight that it must never import; the definitions of a front door are open to all
FORBIDDEN = {
    "theory": {"network", "measure", "study", "show", "cli", *FRONT_DOORS},
    "measure": {"theory", "network", "study", "show", "cli", *FRONT_DOORS},
    "network": {"theory", "study", "show", "cli", *FRONT_DOORS},
    "data": {"theory", "network", "measure", "study", "show", "cli", *FRONT_DOORS},
    "study": {"theory", "network", "measure", "cli"},
    "gaussian": {"theory", "network", "measure", "study", "show", "cli", *FRONT_DOORS},
    "maths": {"theory", "network", "measure", "study", "show", "cli", "data", *FRONT_DOORS},
    "activations": {"theory", "network", "measure", "study", "show", "cli", *FRONT_DOORS},
}


def imported_parts(text: str) -> set[str]:
    """First-level parts of firstlight that a module's source imports, anywhere in it, definitions aside."""
    parts = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this rule can be read"
            names = [node.module or ""]
            if node.module == "firstlight":
                names = [f"firstlight.{alias.name}" for alias in node.names]
        else:
            continue
        ours = [name.split(".")[1:] for name in names if name.startswith("firstlight.")]
        parts |= {name[0] for name in ours if name[1:2] != ["definitions"]}
    return parts


@pytest.mark.parametrize("package", FORBIDDEN)
def test_the_import_rule(package):
    for path in (SOURCE / package).rglob("*.py"):
        wrong = imported_parts(path.read_text()) & FORBIDDEN[package]
        assert not wrong, f"{path.relative_to(SOURCE)} imports {wrong}"


@pytest.mark.parametrize("theory", sorted(FRONT_DOORS))
def test_definitions_import_no_side(theory):
    package, module = SOURCE / theory / "definitions", SOURCE / theory / "definitions.py"
    files = [module] if module.exists() else list(package.rglob("*.py"))
    assert files
    for path in files:
        wrong = imported_parts(path.read_text()) & {"theory", "network", "measure", "study", *FRONT_DOORS}
        assert not wrong, f"{path.relative_to(SOURCE)} imports {wrong}"


def test_the_import_rule_can_fail():
    assert imported_parts("def f():\n    from firstlight.network import flow") == {"network"}
    assert imported_parts("from firstlight import theory\nimport firstlight.data.files") == {"theory", "data"}
    assert imported_parts("from firstlight.one_step.definitions import Setting") == set()
    assert imported_parts("from firstlight.one_step import definitions, problem") == {"one_step"}


def fresh(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout


def test_importing_loads_nothing_heavy():
    loaded = fresh("import sys, firstlight; print(*sys.modules)").split()
    heavy = {"numpy", "scipy", "matplotlib", "numba", "torch", "pandas", "xarray", "sklearn", "dask"}
    assert not heavy & set(loaded)


def test_the_command_line_loads_nothing_heavy():
    loaded = fresh("import sys, firstlight.cli; print(*sys.modules)").split()
    heavy = {"scipy", "matplotlib", "numba", "torch", "pandas", "xarray", "sklearn", "dask"}
    assert not heavy & set(loaded)


def test_public_names_resolve_and_unknown_ones_do_not():
    for name in firstlight.__all__:
        assert getattr(firstlight, name) is not None
    assert set(firstlight.__all__) <= set(dir(firstlight))
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = firstlight.nothing_of_that_name


@pytest.mark.parametrize("name", ["compare", "run", "scaling", "catalogue"])
def test_a_function_is_not_shadowed_by_the_module_of_its_name(name):
    code = f"import firstlight.study.{name}; from firstlight.study import {name}; assert callable({name})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
