"""What holds for the package as a whole: who imports whom, how fast it loads, what is public."""

import ast
import dataclasses
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

import firstlight
from firstlight.study.registry import GROUP, theories

SOURCE = Path(firstlight.__file__).parent
THEORIES = {"one_step", "early_alignment", "phase_transition", "unseen_classes"}
# part -> the other parts of firstlight that it may import; no shared part imports a theory
ALLOWED: dict[str, set[str]] = {
    "maths": set(),
    "data": {"maths"},
    "measure": {"maths", "data"},
    "network": {"maths", "data", "measure"},
    "study": {"maths", "data"},
    "design": {"maths", "data", "study"},
    "show": {"maths", "data", "study", "design"},
    "diagnosis": {"maths", "data", "study", "show"},
    "explore": {"maths", "data", "study", "design", "show", "diagnosis"},
    "cli": {"maths", "data", "study", "design", "show", "diagnosis", "explore"},
}
SHARED = set(ALLOWED)
_ABOVE = {"study", "design", "show", "diagnosis", "explore", "cli"}
# place -> parts that it must never import; "*" stands for a theory's folder
FORBIDDEN = {place: SHARED - {place} - allowed | THEORIES for place, allowed in ALLOWED.items()} | {
    "*/definitions": {"*/theory", "*/experiment", "*/problem", "network", "measure", *_ABOVE},
    "*/theory": {"*/experiment", "network", "measure", *_ABOVE},
    "*/experiment": {"*/theory", *_ABOVE},
}


def imported(text: str) -> set[str]:
    """Modules and names of firstlight that a module's source imports, anywhere in it, by their path."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this rule can be read"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("firstlight.") for name in names if name.startswith("firstlight.")}


def wrong_imports(place: str, text: str, theory: str = "") -> set[str]:
    """Return what a file at a place imports against the rule; a theory never imports another."""
    banned = {part.replace("*", theory).replace("/", ".") for part in FORBIDDEN[place]}
    if theory:
        banned |= THEORIES - {theory}
    wrong = {name for name in imported(text) if _in(name, banned)}
    if theory:  # of its own folder it may know its place and the definitions
        own = {f"{theory}.{part}" for part in ("definitions", place.removeprefix("*/"))}
        wrong |= {name for name in imported(text) if _in(name, {theory}) and not _in(name, own)}
    return wrong


def _in(name: str, parts: set[str]) -> bool:
    return any(name == part or name.startswith(f"{part}.") for part in parts)


def places(place: str) -> list[tuple[Path, str]]:
    """Return the files of a place, each with the theory that it belongs to."""
    homes = sorted(THEORIES) if "*" in place else [""]
    folders = {home: SOURCE / place.replace("*", home) for home in homes}
    return [
        (path, home)
        for home, folder in folders.items()
        for path in ([folder.with_suffix(".py")] if not folder.exists() else sorted(folder.rglob("*.py")))
    ]


@pytest.mark.parametrize("place", FORBIDDEN)
def test_the_import_rule(place):
    assert places(place)
    for path, theory in places(place):
        wrong = wrong_imports(place, path.read_text(), theory)
        assert not wrong, f"{path.relative_to(SOURCE)} imports {wrong}"


def test_the_import_rule_can_fail():
    assert wrong_imports("maths", "def f():\n    from firstlight.network import flow") == {"network.flow"}
    assert wrong_imports("data", "from firstlight import show\nimport firstlight.data.files") == {"show"}
    across = "from firstlight.one_step.experiment.trial import simulate"
    assert wrong_imports("*/theory", across, "one_step") == {"one_step.experiment.trial.simulate"}
    assert wrong_imports("*/theory", across, "early_alignment") == {"one_step.experiment.trial.simulate"}
    assert wrong_imports("*/experiment", "from firstlight.one_step.results import a", "one_step")
    assert not wrong_imports("*/experiment", "from firstlight.one_step.definitions import a", "one_step")


def named(text: str) -> set[str]:
    """Return the theories that a module's code names: imports, attributes and texts, but not docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)]
        elif isinstance(node, ast.Expr) and _is_text(node):
            node.value = ast.Constant(None)  # the docstring of a constant
    code = ast.unparse(tree)
    return {theory for theory in THEORIES if re.search(rf"\b{theory}\b|{theory.replace('_', '-')}/", code)}


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def test_shared_parts_name_no_theory():
    assert set(theories()) >= THEORIES == {point.name for point in entry_points(group=GROUP) if ours(point)}
    shared = [path for part in SHARED for path in (SOURCE / part).rglob("*") if path.is_file()]
    shared += [path for path in SOURCE.glob("*.py") if path.name != "__init__.py"]  # the package's contents
    for path in shared:
        if path.suffix == ".py":
            assert not named(path.read_text("utf-8")), path
        elif path.suffix != ".pyc":
            assert not [
                theory for theory in THEORIES if theory.replace("_", "-").encode() in path.read_bytes()
            ], path


def test_naming_a_theory_is_seen():
    assert named("def f():\n    'one_step'\n    return 'firstlight.one_step:Problem'") == {"one_step"}
    assert named("names = ['phase-transition/size']\n'unseen_classes'") == {"phase_transition"}
    assert named("'one_step'\nclass A:\n    'one_step'\n    b = 1\n    'one_step'\n") == set()


def ours(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == "firstlight"


def fresh(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "firstlight", "--version"]
    assert subprocess.run(command, capture_output=True, text=True).stdout.strip() == firstlight.__version__


HEAVY = {"numpy", "scipy", "matplotlib", "numba", "torch", "pandas", "xarray", "sklearn", "dask"}


def test_importing_loads_nothing_heavy():
    loaded = fresh("import sys, firstlight; print(*sys.modules)").split()
    assert not HEAVY & set(loaded)


@pytest.mark.parametrize(
    ("arguments", "allowed"), [(["--help"], set()), (["delta-alg", "z1**2"], {"numpy", "scipy"})]
)
def test_a_command_loads_nothing_heavy_that_it_does_not_need(arguments, allowed):
    code = f"import sys, atexit; atexit.register(lambda: print(*sys.modules)); sys.argv[1:] = {arguments}"
    loaded = set(fresh(f"{code}; from firstlight.cli import main; main()").splitlines()[-1].split())
    assert not (HEAVY - allowed) & loaded
    assert not {"scipy.optimize", "scipy.stats", "scipy.integrate"} & loaded  # tenths of a second each


def _problems() -> list[type]:
    """Every problem class of the registered theories."""
    loaded = {_load(ref) for theory in theories().values() for ref in theory.problems.values()}
    return sorted((one for one in loaded if isinstance(one, type)), key=str)


def _load(ref: object) -> object:
    return EntryPoint("", ref, "").load() if isinstance(ref, str) else ref


@pytest.mark.parametrize("problem", _problems(), ids=lambda one: f"{one.theory}:{one.__name__}")
def test_only_what_the_data_are_is_given_by_place(problem):
    """Sizes and options have names, so that an order that differs between theories misleads nobody."""
    by_place = [field.name for field in dataclasses.fields(problem) if not field.kw_only]
    assert set(by_place) <= {"mixture", "labels", "data", "target"}


def test_public_names_resolve_and_unknown_ones_do_not():
    for name in firstlight.__all__:
        assert getattr(firstlight, name) is not None
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = firstlight.nothing_of_that_name


@pytest.mark.parametrize("part", ["", *sorted(THEORIES), "data", "design", "diagnosis", "maths", "study"])
def test_dir_shows_the_public_names_and_nothing_else(part):
    module = import_module(f"firstlight.{part}".rstrip("."))
    assert sorted(dir(module)) == sorted(module.__all__)


def test_a_function_is_not_shadowed_by_the_module_of_its_name():
    code = "".join(
        f"import firstlight.{part}.{name}; from firstlight.{part} import {name}; print(callable({name}))\n"
        for part, name in (("study", "compare"), ("study", "run"), ("design", "optimise"))
    )
    assert fresh(code).split() == ["True"] * 3


def test_no_docstring_prints_a_rounding():
    # its last digit, and the sign of its zero, depend on the processor: numbers hold to the digits written
    rounding = re.compile(r"^\s*(?:>>>|\.\.\.) .*(?<!\w)round\(", re.MULTILINE)
    assert not [path for path in SOURCE.rglob("*.py") if rounding.search(path.read_text())]
