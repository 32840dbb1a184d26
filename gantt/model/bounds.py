"""Limits of single values from outside, as numbers and as types.

Separate from the values that have such fields and from the readers that check them
field by field: both must agree. The types do nothing by themselves: ``forms.values``
has them checked, and the OpenAPI document describes them.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

MAX_WHOLE: Final = 2**31 - 1
"""What the integer columns of Nova and Placement hold."""
MAX_TEXT: Final = 65_535
MAX_NAME: Final = 255
MAX_REAL: Final = 3.5e38
MAX_EXTRA_SPECS: Final = 256
"""Each may be checked on all hosts while no other decision runs."""
MAX_LEASE_S: Final = 86_400.0
MAX_CELLS: Final = 64
"""NUMA cells of a host."""
MAX_CPUS: Final = 8_192
"""CPUs of a host, numbered from 0: as many as Linux supports."""
MAX_PAGE_SIZES: Final = 16
"""Sizes of memory pages in a cell."""
MAX_PAGES: Final = 2**40
"""Memory pages of one size in a cell."""
MAX_POOLS: Final = 4_096
"""Pools of devices of a host."""
MAX_TAGS: Final = 64
"""Fields of a pool of devices."""
MAX_DEVICES: Final = 65_536
"""Devices that a host lists by address."""

MAX_SIZE: Final = 2**53 - 1

Whole = Annotated[int, Meta(ge=-MAX_WHOLE - 1, le=MAX_WHOLE)]
Amount = Annotated[int, Meta(ge=0, le=MAX_WHOLE)]
Count = Annotated[int, Meta(ge=1, le=MAX_WHOLE)]
Ratio = Annotated[float, Meta(ge=0, le=MAX_REAL)]
Text = Annotated[str, Meta(max_length=MAX_TEXT)]
Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
Size = Annotated[int, Meta(ge=0, le=MAX_SIZE, description="Bytes.")]
Holds = dict[Name, Size]
RequestId = Annotated[str, Meta(max_length=MAX_NAME)]
"""Kept with each record, so that it is bounded as names are. Empty: none."""
AnyOf = Annotated[frozenset[Name], Meta(min_length=1)]
"""Alternative names, one of which must match."""
ExtraSpecs = Annotated[dict[Text, Text], Meta(max_length=MAX_EXTRA_SPECS)]
Lease = Annotated[
    float, Meta(gt=0, le=MAX_LEASE_S, description="Seconds until the claim ends.")
]
