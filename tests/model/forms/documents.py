"""JSON of any kind, and good documents with a fault in one place."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["\ud800", "", "1.2", 2**31, -1, 10**40, 1e300])
)


def anything() -> st.SearchStrategy[Any]:
    """Any JSON, and a little of what JSON cannot be."""
    return st.recursive(
        SCALARS,
        lambda each: (
            st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3)
        ),
        max_leaves=8,
    )


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """``document`` with up to three places replaced by something else or removed."""
    found = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(found))
        if not places:
            break
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        if draw(st.booleans()) and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = draw(anything())
    return found


def _places(document: Any) -> Any:
    """Every (holder, key) within."""
    if isinstance(document, dict | list):
        keys = document if isinstance(document, dict) else range(len(document))
        for key in list(keys):
            yield document, key
            yield from _places(document[key])
