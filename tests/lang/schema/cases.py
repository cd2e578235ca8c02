"""The golden cases of the schema language: plain files, each with what comes out of it.

A line `--- name` starts a section; what stands before the first one says what the case is about.
`schema` is compiled; with `accepted`, its migration from that schema is planned, with what `facts`
says of the data: `empty Type`, `nulls Type.property`, `allow data loss`. `format` is
formatted, `lint` is looked at for mistakes.
"""

from dataclasses import dataclass
from pathlib import Path

from omnigraph.base.errors import Diagnostic, LanguageError
from omnigraph.base.span import SourceText
from omnigraph.lang.schema.catalog import Catalog, EdgeType, EntityType, NodeType, Property
from omnigraph.lang.schema.check.check import compile_schema
from omnigraph.lang.schema.check.lint import lint_schema
from omnigraph.lang.schema.migrate.plan import plan_migration
from omnigraph.lang.schema.migrate.steps import Facts, MigrationPlan
from omnigraph.lang.schema.text.format import format_schema

FOLDER = Path(__file__).parent.parent / "cases" / "schema"


@dataclass(frozen=True)
class Case:
    about: str
    sections: dict[str, str]

    @property
    def text(self) -> str:
        parts = (f"--- {name}\n{text}" for name, text in self.sections.items())
        return self.about + "".join(parts)


def read_case(path: Path) -> Case:
    about, *parts = path.read_text("utf-8").split("\n--- ")
    sections = dict(part.split("\n", 1) for part in parts)
    return Case(f"{about}\n", {name: _ending(text) for name, text in sections.items()})


def outcome(case: Case) -> str:
    """What the compiler says about a case, as its last section is expected to."""
    if "format" in case.sections:
        return format_schema(SourceText(case.sections["format"]))
    if "lint" in case.sections:
        return _findings(lint_schema(SourceText(case.sections["lint"])))
    accepted = None
    if "accepted" in case.sections:
        accepted = compile_schema(SourceText(case.sections["accepted"], "accepted.pg"))
    try:
        catalog = compile_schema(SourceText(case.sections["schema"], "schema.pg"), accepted)
    except LanguageError as error:
        return _findings(error.diagnostics)
    if accepted is None:
        return _catalog(catalog)
    lines = case.sections.get("facts", "").splitlines()
    plan = plan_migration(
        accepted, catalog, _facts(lines, accepted), allow_data_loss="allow data loss" in lines
    )
    return _plan(plan) + _catalog(catalog)


def _ending(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _findings(diagnostics: tuple[Diagnostic, ...]) -> str:
    lines = []
    for d in diagnostics:
        lines.append(f"{d.code} {d.span.line}:{d.span.column}+{d.span.length} {d.message}")
        if d.hint:
            lines.append(f"    {d.hint}")
    return "".join(f"{line}\n" for line in lines)


def _facts(lines: list[str], accepted: Catalog) -> Facts:
    by_name: dict[str, EntityType] = {entity.name: entity for entity in accepted.entities}
    empty = {line.removeprefix("empty ") for line in lines if line.startswith("empty ")}
    nulls = [line.removeprefix("nulls ").split(".") for line in lines if line.startswith("nulls ")]
    return Facts(
        populated=frozenset(e.id for e in accepted.entities if e.name not in empty),
        with_nulls={by_name[name].by_name[prop].id: () for name, prop in nulls},
    )


def _plan(plan: MigrationPlan) -> str:
    lines = []
    for step in plan.steps:
        marks = " ".join(mark for mark in (step.tier, step.mode, step.code) if mark)
        lines.append(f"{step.kind} {step.name} [{marks}] {step.message}")
    for refusal in plan.refusals:
        lines += [
            f"refused {refusal.name} [{refusal.code}] {refusal.message}",
            f"    {refusal.hint}",
        ]
    return "".join(f"{line}\n" for line in [*lines, "=>" if lines else "nothing to do =>"])


def _catalog(catalog: Catalog) -> str:
    lines = [line for entity in catalog.entities for line in _entity(entity)]
    for interface in catalog.interfaces:
        lines.append(f"interface {interface.name}{_metadata(interface.annotations)}")
        lines += [f"    {p.name}: {_type(p)}" for p in interface.properties]
    return "".join(f"{line}\n" for line in [*lines, f"next id {catalog.next_id}"])


def _entity(entity: EntityType) -> list[str]:
    match entity:
        case NodeType(interfaces=interfaces):
            kind = "node"
            more = f" implements {', '.join(interfaces)}" if interfaces else ""
        case EdgeType(source=source, target=target, cardinality=card):
            kind = "edge"
            more = f": {source} -> {target} {card.least}..{'*' if card.most is None else card.most}"
    key = f" key({', '.join(entity.key)})" if entity.key else ""
    retired = f" retired({', '.join(entity.retired)})" if entity.retired else ""
    head = f"{kind} #{entity.id} {entity.name}{more}{key}{retired}{_metadata(entity.annotations)}"
    properties = [_property(p) for p in entity.properties]
    return [head, *properties, *(f"    {constraint}" for constraint in entity.constraints)]


def _property(prop: Property) -> str:
    column = f" in column {prop.column}" if prop.column != prop.name else ""
    default = f" default {prop.default!r}" if prop.default is not None else ""
    embed = f" from {prop.embed.source} by {prop.embed.model}" if prop.embed else ""
    return (
        f"    #{prop.id} {prop.name}: {_type(prop)}{column}{default}{embed}"
        f"{_metadata(prop.annotations)}"
    )


def _type(prop: Property) -> str:
    return f"{prop.type}{'?' * prop.is_nullable}"


def _metadata(annotations: object) -> str:
    return f" {annotations}" if annotations else ""
