"""Where a row lies in one version of a table, as Lance says it in one number.

The upper half of an address names the fragment, the lower half is the row's offset in it, deleted
rows counted. Nobody else takes an address apart.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROW_ADDRESS", "fragment_of", "fragments_of", "offsets_of"]

ROW_ADDRESS = "_rowaddr"

FRAGMENT_SHIFT = 32
OFFSET_MASK = 0xFFFFFFFF


def fragment_of(address: int) -> int:
    """The id of the fragment that the row lies in."""
    return address >> FRAGMENT_SHIFT


def fragments_of(addresses: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The id of the fragment that each row lies in."""
    return (addresses >> np.uint64(FRAGMENT_SHIFT)).astype(np.int64)


def offsets_of(addresses: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The offset of each row in its fragment."""
    return (addresses & np.uint64(OFFSET_MASK)).astype(np.int64)
