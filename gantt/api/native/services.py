"""Services on hosts over HTTP: up, down, disabled."""

from __future__ import annotations

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.bodies import DOCUMENT, query
from gantt.model.fleet_lists import ServiceQuery
from gantt.model.forms.fleet import read_service
from gantt.model.hosts import Service


class Services(Struct, frozen=True):
    """A page of services, by host, then binary.

    ``next``: continue after it; "": it is the last."""

    services: tuple[Service, ...]
    next: str = ""


def list_(call: Call) -> Services:
    """GET /gantt/services"""
    return Services(*call.gantt.service_page(query(call, ServiceQuery)))


def update(call: Call) -> None:
    """PUT /gantt/services: omitted fields keep their values."""
    call.gantt.update_service(read_service(DOCUMENT.read(call)))


def delete(call: Call, host: str, binary: str) -> None:
    """DELETE /gantt/services/{host}/{binary}"""
    call.gantt.delete_service(host, binary)
