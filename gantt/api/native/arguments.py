"""What a body or a query says, as the arguments of the library's method.

Requests, aggregates and instances come in a form of Gantt's or in one of Nova's; which
callers may ask what with a request, ``permitted`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from gantt.api.call import Call
from gantt.api.native.claims import bound_to
from gantt.api.native.permissions import permitted
from gantt.model.forms.fleet import read_aggregates, read_instances
from gantt.model.forms.spec import read_spec

_FORMS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "aggregates": read_aggregates,
    "instances": read_instances,
}


def arguments(call: Call, sent: Struct) -> dict[str, Any]:
    """By name, with what is a form read. Raises Invalid, and Forbidden for a request
    that the caller may not make, also without a project where it names none."""
    found = asdict(sent)
    for name in _FORMS.keys() & found.keys():
        found[name] = _FORMS[name](found[name])
    if "request_spec" in found:
        spec = read_spec(found.pop("request_spec"), found.pop("filter_properties"))
        found["spec"] = permitted(call, spec, sent)
    elif "request_specs" in found:
        bound_to(call)
        specs = map(read_spec, found.pop("request_specs"))
        found["specs"] = [permitted(call, spec, sent) for spec in specs]
    return found
