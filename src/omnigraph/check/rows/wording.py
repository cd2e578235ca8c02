"""Values that turned out wrong, in a form that a message or a line of JSON can hold.

Arrow holds what Python has no value for: the year 30000, a zone that nobody knows, text that is not
UTF-8. Such values are exactly those that are complained about, so wording one must never fail.
"""

import numpy as np
import pyarrow as pa

__all__ = ["worded"]


def worded(scalar: pa.Scalar) -> object:
    """The value as Python has it, or as text that comes near it."""
    try:
        value: object = scalar.as_py()
    # A zone that is not known is a KeyError, whichever library looks it up.
    except (OverflowError, ValueError, KeyError):
        return _as_text(scalar)
    return value


def _as_text(scalar: pa.Scalar) -> object:
    types, type_ = pa.types, scalar.type
    if types.is_timestamp(type_):
        return f"{np.datetime64(scalar.value, type_.unit)}{'' if type_.tz is None else 'Z'}"
    if types.is_date(type_):
        return str(np.datetime64(scalar.value, "D" if types.is_date32(type_) else "ms"))
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return scalar.as_buffer().to_pybytes().decode(errors="backslashreplace")
    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return worded(scalar.value)
    return [worded(item) for item in scalar.values]
