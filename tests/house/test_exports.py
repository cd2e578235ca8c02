"""A module says in `__all__` which of its names others may use."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def modules() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name."""
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): (
            ast.parse(path.read_text())
        )
        for path in SOURCE.rglob("*.py")
    }


def exported(module: ast.Module) -> set[str] | None:
    """The names of a module's `__all__`; None if it has none that is written out."""
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() as names):
                return set(ast.literal_eval(names))
            case _:
                pass
    return None


def imports(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Each name that a module imports, after the module that it comes from."""
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)


def test_a_name_that_another_module_imports_is_in_all() -> None:
    known = modules()
    exports = {name: exported(module) for name, module in known.items()}
    left_out = {
        f"{origin}.{name}, imported by {importer}"
        for importer, module in known.items()
        for origin, name in imports(module)
        if (names := exports.get(origin)) is not None
        and name not in names
        and f"{origin}.{name}" not in known
    }
    assert not left_out
