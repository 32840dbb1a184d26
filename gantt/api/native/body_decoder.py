"""Reads typed bodies and queries of the native API; refusals name the wrong field."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from gantt.api.call import Call
from gantt.api.wire.problem import Problem
from gantt.api.wire.query import Params
from gantt.errors import Invalid
from gantt.model.names import canonical
from gantt.model.operation_bodies import Document

T = TypeVar("T")


class BodyDecoder(Generic[T]):
    """A type of body, with its decoder built once."""

    __slots__ = ("_decode",)

    def __init__(self, kind: type[T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    def read(self, call: Call) -> T:
        """Raises Problem 400 (which names the field), 413, 415."""
        raw = call.json_body()
        try:
            return self._decode(raw)
        except msgspec.ValidationError as error:
            raise Problem(400, f"JSON does not validate: {error}") from None
        except (msgspec.DecodeError, ValueError) as error:
            raise Problem(400, f"Malformed JSON: {error}") from None
        except RecursionError:
            raise Problem(400, "Malformed JSON: nested too deeply") from None


DOCUMENT: BodyDecoder[Document] = BodyDecoder(Document)


def query(call: Call, kind: type[T]) -> T:
    """The parameters of the query. Raises Problem 400, which names the parameter."""
    try:
        return msgspec.convert(Params(call.query_string).last, kind, strict=False)
    except msgspec.ValidationError as error:
        text = f"Invalid query string parameters: {error}"
        raise Problem(400, text) from None


def check_same(what: str, in_path: str, in_body: str) -> None:
    """Raises Invalid when the body names another object than the path."""
    if canonical(in_path) != canonical(in_body):
        raise Invalid(
            f"The path names {what} {in_path!r} and the body {in_body!r}: they must be "
            "the same."
        )
