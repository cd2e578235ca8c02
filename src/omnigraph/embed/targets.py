"""What `@embed` asks for: the vectors of a table, and the texts that they are made of."""

from collections.abc import Collection, Iterable

from omnigraph.base.errors import ArgumentInvalid, NameMissing
from omnigraph.base.frozen import frozen
from omnigraph.base.types import VectorOf
from omnigraph.embed.provider import Provider
from omnigraph.embed.providers import require_model
from omnigraph.lang.schema.catalog import Catalog, EntityType

__all__ = ["TableTarget", "VectorTarget", "require_models", "targets_of", "vectors_of"]


@frozen
class VectorTarget:
    """A column of vectors, and the column of their texts."""

    name: str
    column: str
    source: str
    source_name: str
    """The property of the texts."""
    width: int
    is_nullable: bool
    model: str | None
    """What the schema asks for; None: any."""


@frozen
class TableTarget:
    entity: EntityType
    vectors: tuple[VectorTarget, ...]


def targets_of(catalog: Catalog, types: Collection[str] | None = None) -> tuple[TableTarget, ...]:
    """The tables with vectors to make, of these types or all."""
    found = {str(entity.name): vectors_of(entity) for entity in catalog.entities}
    for name in types or ():
        if name not in found:
            raise NameMissing(what="type", name=name, known=tuple(sorted(found)))
        if not found[name]:
            raise ArgumentInvalid(
                argument="types",
                value=name,
                rule="it has no property with @embed",
                advice=f'write it in the schema: embedding: Vector(384)? @embed("text of {name}")',
            )
    return tuple(
        TableTarget(entity, found[entity.name])
        for entity in catalog.entities
        if found[entity.name] and (types is None or entity.name in types)
    )


def require_models(provider: Provider, tables: Iterable[TableTarget]) -> None:
    """Refuse a provider with another model than one of the vectors asks for."""
    for table in tables:
        for vector in table.vectors:
            require_model(provider, vector.model)


def vectors_of(entity: EntityType) -> tuple[VectorTarget, ...]:
    """The vectors of one type."""
    targets = []
    for property_ in entity.properties:
        if property_.embed is not None:
            assert isinstance(property_.type, VectorOf), "the schema was checked"
            targets.append(
                VectorTarget(
                    name=property_.name,
                    column=property_.column,
                    source=entity.by_name[property_.embed.source].column,
                    source_name=property_.embed.source,
                    width=property_.type.width,
                    is_nullable=property_.is_nullable,
                    model=property_.embed.model,
                )
            )
    return tuple(targets)
