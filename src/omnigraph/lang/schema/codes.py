"""Every code a schema's text can be refused with or warned of, and what it means in one sentence.

A code never changes its meaning and is never used again for another: people search for it. The
page docs/user/schema-language.md shows the same table.
"""

from typing import Final

__all__ = [
    "MAX_FINDINGS",
    "SCHEMA_CODES",
    "SCHEMA_WARNINGS",
    "SYNTAX",
    "TYPE_WORDS",
]

# Beyond this many, a reader wants the first ones fixed, not the rest listed.
MAX_FINDINGS = 100

TYPE_WORDS = (
    "String, Bool, I32, I64, U32, U64, F32, F64, Date, DateTime, Blob, Vector(n), enum(…) and [ … ]"
)

SYNTAX: Final = "S000"

SCHEMA_CODES: Final[dict[str, str]] = {
    SYNTAX: "The text can't be read as a schema.",
    # Names
    "S001": "Two declarations have the same name.",
    "S002": "The names of two edge types differ only in case.",
    "S003": "The name of a type doesn't start with an upper-case letter.",
    "S004": "The name of a property doesn't start with a lower-case letter or `_`.",
    "S005": "A type declares a property twice.",
    "S006": "The name of a property is reserved.",
    "S007": "A type has the name of a built-in type.",
    "S008": "A name is too long.",
    # Types of properties
    "S010": "The type of a property is not known.",
    "S011": "The size of a type is missing, out of range, or given where there is none.",
    "S012": "A list holds something other than scalars.",
    "S013": "A word of an enum starts with `-`.",
    # Interfaces and edges
    "S020": "A node implements something that is not an interface.",
    "S021": "A node implements an interface twice.",
    "S022": "A property comes from two places that don't agree.",
    "S023": "An end of an edge is not a node type.",
    # Annotations
    "S030": "An annotation in a body is not a constraint on named properties.",
    "S031": "An annotation can't stand where it stands.",
    "S032": "An annotation is given twice.",
    "S033": "The arguments of an annotation are not the ones it takes.",
    # Constraints
    "S040": "A constraint names a property that the type doesn't have.",
    "S041": "A constraint names a property twice.",
    "S042": "A constraint can't be put on a property of this type.",
    "S043": "A type has two keys.",
    "S044": "A property of a key is nullable.",
    "S045": "The key of an edge leaves out `src` or `dst`.",
    "S046": "An index names `src` or `dst`, which are always indexed.",
    "S047": "The bounds of a range are in the wrong order or don't fit the property.",
    "S048": "The pattern of a check is not in RE2 syntax.",
    "S049": "The bounds of a cardinality are not whole numbers in order.",
    "S050": "`@index(ngram)` could mean the n-gram index or the property `ngram`.",
    # Values
    "S060": "A default is not a value of the property's type.",
    "S061": "A default is outside the property's range.",
    "S070": "`@embed` is on a property that is not a Vector.",
    "S071": "`@embed` reads a property that is not a String of the same type.",
    # Renames
    "S100": "A rename is from its own name.",
    "S101": "Two declarations are renamed from the same name.",
    "S102": "A rename is from a name that is still declared.",
    "S103": "A rename is from a name that the accepted schema doesn't have.",
}

SCHEMA_WARNINGS: Final[dict[str, str]] = {
    "L101": "An annotation that means nothing is spelt almost like one that does.",
}
