"""Numbers and words that several models share."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

__all__ = [
    "BlobEntityKind",
    "ChangeOpOutput",
    "Count",
    "Count32",
    "Count64",
    "EntityKindOutput",
    "LoadMode",
    "Micros",
]

Count = Annotated[int, Meta(ge=0)]
Count32 = Annotated[int, Meta(ge=0, extra_json_schema={"format": "int32"})]
Count64 = Annotated[int, Meta(ge=0, extra_json_schema={"format": "int64"})]
Micros = Annotated[int, Meta(extra_json_schema={"format": "int64"})]
"""A time: microseconds since 1970 in UTC."""


class EntityKindOutput(StrEnum):
    NODE = "node"
    EDGE = "edge"


class BlobEntityKind(StrEnum):
    NODE = "node"
    EDGE = "edge"


class ChangeOpOutput(StrEnum):
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


class LoadMode(StrEnum):
    OVERWRITE = "overwrite"
    APPEND = "append"
    MERGE = "merge"
