"""Accepted schemas, each under the hash of what it means.

A schema is written before the commit that names it. One that no commit names does no harm.
"""

import json
from typing import Any

from omnigraph.base.errors import StorageFailed
from omnigraph.lang.schema.catalog import Catalog
from omnigraph.lang.schema.persist import catalog_from_json, catalog_to_json, schema_hash
from omnigraph.store.layout import SCHEMAS
from omnigraph.store.objects import Objects

__all__ = ["Schemas"]


class Schemas:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._catalogs: dict[str, Catalog] = {}

    def put(self, catalog: Catalog, source: str) -> str:
        """Keep a schema and give its hash."""
        name: str = schema_hash(catalog)
        value = {"source": source, "catalog": catalog_to_json(catalog)}
        self._objects.put_if_absent(_object_of(name), json.dumps(value, indent=1).encode())
        return name

    def catalog(self, name: str) -> Catalog:
        if name not in self._catalogs:
            catalog = catalog_from_json(self._read(name)["catalog"])
            if schema_hash(catalog) != name:
                raise _unreadable(name, "its contents do not match the hash in its name")
            self._catalogs[name] = catalog
        return self._catalogs[name]

    def source(self, name: str) -> str:
        """The text that the author wrote."""
        return str(self._read(name)["source"])

    def _read(self, name: str) -> dict[str, Any]:
        if (data := self._objects.get(_object_of(name))) is None:
            raise _unreadable(name, "the file is missing")
        try:
            value: dict[str, Any] = json.loads(data)
        except ValueError as error:
            raise _unreadable(name, str(error)) from error
        return value


def _object_of(name: str) -> str:
    return f"{SCHEMAS}/{name}.json"


def _unreadable(name: str, reason: str) -> StorageFailed:
    return StorageFailed(doing="read schema", path=_object_of(name), reason=reason)
