"""Traits and resource classes over HTTP."""

from __future__ import annotations

from gantt import errors
from gantt.client import decode, encode
from gantt.client.exchange import Exchange
from gantt.model.answers import Created, Name
from gantt.model.names import is_custom_name
from gantt.model.requests import TraitQuery

EVERY = TraitQuery()


class RemoteNames:
    """The part of GanttProtocol that is about names."""

    _wire: Exchange

    def list_traits(self, query: TraitQuery = EVERY) -> tuple[Name, ...]:
        """See GanttProtocol."""
        if query.names is not None and not query.names:
            return ()
        route = encode.query("/traits", encode.trait_pairs(query))
        found = decode.traits(self._wire.ask("GET", route))
        # Names and a prefix cannot travel together, and services may read "_" and "%"
        # in a prefix as wildcards: the prefix is judged here once more.
        prefix = (query.prefix or "").upper()
        return tuple(Name(name) for name in found if name.upper().startswith(prefix))

    def create_trait(self, name: str) -> Created:
        """See GanttProtocol."""
        return self._create("traits", name)

    def delete_trait(self, name: str) -> None:
        """See GanttProtocol."""
        self._wire.ask("DELETE", encode.path("traits", name))

    def list_resource_classes(self) -> tuple[Name, ...]:
        """See GanttProtocol."""
        return decode.resource_classes(self._wire.ask("GET", "/resource_classes"))

    def create_resource_class(self, name: str) -> Created:
        """See GanttProtocol."""
        return self._create("resource_classes", name)

    def delete_resource_class(self, name: str) -> None:
        """See GanttProtocol."""
        self._wire.ask("DELETE", encode.path("resource_classes", name))

    def _create(self, noun: str, name: str) -> Created:
        route = encode.path(noun, name)
        try:
            reply = self._wire.ask("PUT", route)
        except errors.NotFound:
            # A name with a slash, or none at all, is a route that nobody serves.
            if is_custom_name(name):
                raise
            raise errors.Invalid(
                f"{name!r} is no custom name: it must start with CUSTOM_ and have "
                "nothing but A-Z, 0-9 and _."
            ) from None
        return Created(
            name=name, is_new=reply.status == 201, created_at=decode.modified_at(reply)
        )
