"""The golden cases of the query language: plain files, each with what comes out of it.

`query` is compiled against `schema`, or against schema.pg beside the cases where a case has none of
its own. What is expected is the plan, or the errors. A section `parameters` (JSON) asks for the
bound values; a section `ask` for something else: `lint` (with `rows`: lines of a type and how many
rows it has) or `format`. `name` names one of several queries.
"""

import json
from pathlib import Path

from omnigraph.base.errors import Diagnostic, LanguageError, OmnigraphError, ParameterInvalid
from omnigraph.base.span import SourceText
from omnigraph.lang.plan.compile import compile_query
from omnigraph.lang.plan.explain import explain
from omnigraph.lang.plan.ir import CompiledQuery, ReadQuery
from omnigraph.lang.plan.parameters import bind_parameters
from omnigraph.lang.query.lint.lint import lint_source
from omnigraph.lang.query.text.format import format_source
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.check.check import compile_schema
from tests.lang.schema.cases import Case

FOLDER = Path(__file__).parent.parent / "cases" / "query"


def outcome(case: Case) -> str:
    """What the compiler says about a case, as its section `expect` is."""
    try:
        return _outcome(case, case_catalog(case), SourceText(case.sections["query"], "query.gq"))
    except LanguageError as error:
        return _findings(error.diagnostics)
    except ParameterInvalid as error:
        return f"{error}\n" + (f"    {error.hint}\n" if error.hint else "")
    except OmnigraphError as error:
        return f"{error.code} {error.message}\n" + (f"    {error.hint}\n" if error.hint else "")


def case_catalog(case: Case) -> Catalog:
    text = case.sections.get("schema") or (FOLDER / "schema.pg").read_text("utf-8")
    return compile_schema(SourceText(text, "schema.pg"))


def _outcome(case: Case, catalog: Catalog, source: SourceText) -> str:
    match case.sections.get("ask", "").strip():
        case "format":
            return format_source(source)
        case "lint":
            counts = dict(line.split() for line in case.sections.get("rows", "").splitlines())
            report = lint_source(source, catalog, {name: int(n) for name, n in counts.items()})
            return _findings(report.all_findings)
        case other:
            assert not other
    query = compile_query(source, catalog, case.sections.get("name", "").strip() or None)
    if "parameters" in case.sections:
        values = bind_parameters(query, json.loads(case.sections["parameters"]))
        return "".join(f"${name} = {value!r}\n" for name, value in values.items())
    return f"{explain(query)}\n{_about(query)}"


def _about(query: CompiledQuery) -> str:
    """The answer's columns with their types: what callers see of a plan."""
    if not isinstance(query, ReadQuery):
        return ""
    fields = []
    for field in query.result:
        kind = field.kind
        if field.item_kind:
            kind = f"[{field.item_kind}]"
        if field.vector_dim:
            kind = f"vector({field.vector_dim})"
        fields.append(f"{field.name}: {kind}{'?' * field.is_nullable}")
    return f"=> {', '.join(fields)}\n"


def _findings(diagnostics: tuple[Diagnostic, ...]) -> str:
    lines = []
    for d in diagnostics:
        lines.append(f"{d.code} {d.span.line}:{d.span.column}+{d.span.length} {d.message}")
        if d.hint:
            lines.append(f"    {d.hint}")
    return "".join(f"{line}\n" for line in lines)
