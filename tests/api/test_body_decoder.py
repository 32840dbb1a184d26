"""Typed decoders and schemas agree, and bodies cause no other error than 400."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import ValidationError
from msgspec import UNSET

from gantt.api.wire import bodies, schema_errors
from gantt.api.wire.bodies import BodyForm
from gantt.api.wire.problem import Problem
from gantt.errors import UnknownName
from gantt.model.names import MAX_INT, MAX_RATIO
from tests.api.samples import (
    CONSUMER,
    INVENTORIES,
    OTHER,
    PROVIDER,
    RECORD,
    all_forms,
    consumer,
    spoilt,
)
from tests.examples import examples

FORMS = all_forms()
NAMES = [name for name, _, _ in FORMS]
EVERY_FORM = pytest.mark.parametrize(
    ("form", "sample"), [case[1:] for case in FORMS], ids=NAMES
)


def encode(body: object) -> bytes:
    return json.dumps(body).encode()


def refused(form: BodyForm[Any], raw: bytes) -> str:
    with pytest.raises(Problem) as refusal:
        form.read(raw)
    assert refusal.value.status == 400
    assert refusal.value.code == "placement.undefined_code"
    return refusal.value.detail


@EVERY_FORM
def test_valid_bodies_need_no_schema_and_decode_equally(
    form: BodyForm[Any], sample: Any
) -> None:
    raw = encode(sample)
    assert form.decode(raw) is not None
    assert form.decode(raw) == form.judge(raw)


@EVERY_FORM
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_schema_allows_whatever_the_type_decodes(
    form: BodyForm[Any], sample: Any, data: st.DataObject
) -> None:
    raw = encode(data.draw(spoilt(sample)))
    value = form.decode(raw)
    if value is not None:
        assert form.judge(raw) == value
        return
    try:
        form.judge(raw)
    except Problem as refusal:
        assert refusal.status == 400
        assert refusal.detail.startswith("JSON does not validate: ")
    except UnknownName:
        pass


@EVERY_FORM
@settings(max_examples=examples(10), deadline=None)
@given(data=st.data())
def test_any_bytes_are_decoded_or_refused(
    form: BodyForm[Any], sample: Any, data: st.DataObject
) -> None:
    raw = bytearray(encode(sample))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + 1] = data.draw(st.binary(max_size=3))
    try:
        form.read(bytes(raw))
    except Problem as refusal:
        assert refusal.status == 400
    except UnknownName:
        pass


MALFORMED = (
    (b"", "Malformed JSON: Expecting value: line 1 column 1 (char 0)"),
    (b"{", "Malformed JSON: Expecting property name enclosed in double quotes"),
    (b"{} x", "Malformed JSON: Extra data: line 1 column 4 (char 3)"),
    (b"\xff", "Malformed JSON: 'utf-8' codec can't decode byte 0xff"),
    (b"\xef\xbb\xbf{}", "Malformed JSON: Unexpected UTF-8 BOM"),
    (b'{"name": "a\x01"}', "Malformed JSON: Invalid control character"),
    (b'{"name": "\\ud800"}', "Malformed JSON: 'utf-8' codec can't encode"),
    (b'{"\\udfff": 1}', "Malformed JSON: 'utf-8' codec can't encode"),
    (b'{"name": NaN}', "Malformed JSON: NaN is not a number"),
    (b'{"name": -Infinity}', "Malformed JSON: -Infinity is not a number"),
    (b'{"name": 1e999}', "Malformed JSON: 1e999 is out of range"),
    (b'{"name": ' + b"9" * 5000 + b"}", "Malformed JSON: Exceeds the limit"),
    (b"[" * 100_000, "Malformed JSON: nested too deeply"),
    (b'{"a":' * 100_000, "Malformed JSON: nested too deeply"),
)


@pytest.mark.parametrize(("raw", "detail"), MALFORMED, ids=range(len(MALFORMED)))
@pytest.mark.parametrize("form", [FORMS[0][1], FORMS[3][1], FORMS[-1][1]])
def test_malformed_json_is_refused(
    form: BodyForm[Any], raw: bytes, detail: str
) -> None:
    assert refused(form, raw).startswith(detail)


def test_deeply_nested_json_is_refused() -> None:
    raw = b'{"name": ' + b"[" * 600 + b"]" * 600 + b"}"
    assert refused(bodies.NAME_CLASS, raw)


@pytest.mark.parametrize(
    ("form", "body", "detail"),
    [
        (bodies.CREATE_PROVIDER[0], {}, "'name' is a required property"),
        (bodies.CREATE_PROVIDER[0], {"name": "n" * 201}, "is too long"),
        (
            bodies.CREATE_PROVIDER[13],
            {"name": "n", "parent_provider_uuid": None},
            "Additional properties are not allowed "
            "('parent_provider_uuid' was unexpected)",
        ),
        (
            bodies.CREATE_PROVIDER[14],
            {"name": "n", "parent_provider_uuid": "x"},
            "'x' is not a 'uuid'",
        ),
        (bodies.UPDATE_PROVIDER[39], {"name": "n", "uuid": PROVIDER}, "unexpected"),
        (bodies.SET_INVENTORY, {"total": 1}, "is a required property"),
        (
            bodies.SET_INVENTORY,
            {"total": 0, "resource_provider_generation": 0},
            "0 is less than the minimum of 1",
        ),
        (
            bodies.ADD_INVENTORY,
            {"total": MAX_INT + 1, "resource_class": "VCPU"},
            "is greater than the maximum of 2147483647",
        ),
        (
            bodies.ADD_INVENTORY,
            {"total": True, "resource_class": "VCPU"},
            "True is not of type 'integer'",
        ),
        (bodies.LIST_AGGREGATES, [PROVIDER, PROVIDER], "has non-unique elements"),
        (bodies.SET_ALLOCATIONS[0], {"allocations": []}, "should be non-empty"),
        (
            bodies.SET_ALLOCATIONS[27],
            {"allocations": {}, "project_id": "p", "user_id": "u"},
            "should be non-empty",
        ),
        (bodies.SET_ALLOCATIONS[28], consumer(27), "'consumer_generation' is a"),
        (bodies.SET_ALLOCATIONS[33], consumer(34), "'mappings' was unexpected"),
        (bodies.SET_ALLOCATIONS[37], consumer(38), "'consumer_type' was unexpected"),
        (bodies.SET_ALLOCATIONS[38], consumer(37), "'consumer_type' is a required"),
        (bodies.SET_MANY_ALLOCATIONS[13], {}, "should be non-empty"),
        (bodies.RESHAPE[30], {"inventories": {}, "allocations": {}}, "non-empty"),
    ],
)
def test_refusals_have_the_words_of_the_schema(
    form: BodyForm[Any], body: Any, detail: str
) -> None:
    text = refused(form, encode(body))
    assert text.startswith("JSON does not validate: ")
    assert detail in text
    assert "Failed validating" in text


def test_whole_float_is_an_integer_and_echoed_as_sent() -> None:
    body = {**RECORD, "total": 4.0, "resource_provider_generation": 2.0}
    record = bodies.SET_INVENTORY.read(encode({**body, "allocation_ratio": 2}))
    assert repr(record.resource_provider_generation) == "2"
    assert repr(record.echo()["total"]) == "4.0"
    assert repr(record.echo()["allocation_ratio"]) == "2"
    assert repr(record.inventory().total) == "4"
    assert repr(record.inventory().allocation_ratio) == "2.0"


def test_huge_negative_ratio_stays_finite() -> None:
    raw = b'{"resource_class": "VCPU", "total": 1, "allocation_ratio": -1%s}'
    record = bodies.ADD_INVENTORY.read(raw % (b"0" * 400))
    assert record.inventory().allocation_ratio == -MAX_RATIO


def test_malformed_class_name_is_an_unknown_class() -> None:
    body = {**INVENTORIES, "inventories": {"vcpu": {"what": "ever"}}}
    with pytest.raises(UnknownName, match=r"No such resource class vcpu\."):
        bodies.SET_INVENTORIES.read(encode(body))


def test_huge_amount_is_capped_to_64_bits() -> None:
    body = consumer(12)
    body["allocations"] = {PROVIDER: {"resources": {"VCPU": 10**30}}}
    command = bodies.set_allocations(
        encode(body), 12, CONSUMER, project_id="", user_id=""
    )
    assert command.consumers[0].allocations == {PROVIDER: {"VCPU": MAX_INT + 1}}


def test_project_and_user_have_defaults_before_1_8() -> None:
    share = {"resource_provider": {"uuid": PROVIDER}, "resources": {"VCPU": 1}}
    again = {"resource_provider": {"uuid": PROVIDER}, "resources": {"VCPU": 2}}
    raw = encode({"allocations": [share, again]})
    command = bodies.set_allocations(raw, 7, CONSUMER, project_id="p0", user_id="u0")
    (wish,) = command.consumers
    assert (wish.project_id, wish.user_id) == ("p0", "u0")
    assert wish.allocations == {PROVIDER: {"VCPU": 2}}, "the last of a provider counts"
    assert wish.generation is UNSET
    assert wish.consumer_type is UNSET


@pytest.mark.parametrize(
    ("version", "generation", "kind"),
    [(27, UNSET, UNSET), (28, None, UNSET), (37, None, UNSET), (38, None, "INSTANCE")],
)
def test_generation_and_type_depend_on_the_microversion(
    version: int, generation: object, kind: object
) -> None:
    raw = encode({CONSUMER: consumer(version)})
    (wish,) = bodies.set_many_allocations(raw, version).consumers
    assert wish.generation is generation
    assert wish.consumer_type == kind


def test_provider_gets_a_canonical_uuid() -> None:
    shouted = encode({"name": "n", "uuid": PROVIDER.upper().replace("-", "")})
    assert bodies.create_provider(shouted, 0).uuid == PROVIDER
    made = bodies.create_provider(b'{"name": "n"}', 0).uuid
    assert made != bodies.create_provider(b'{"name": "n"}', 0).uuid
    assert len(made) == 36


def test_omitted_parent_is_kept() -> None:
    assert bodies.update_provider(b'{"name": "n"}', 39, OTHER).parent_uuid is UNSET
    raw = b'{"name": "n", "parent_provider_uuid": null}'
    assert bodies.update_provider(raw, 39, OTHER).parent_uuid is None
    assert bodies.update_provider(raw, 37, OTHER).may_move
    assert not bodies.update_provider(raw, 36, OTHER).may_move


def test_aggregates_before_1_19_do_not_bump_the_generation() -> None:
    command = bodies.set_aggregates(encode([PROVIDER]), 18, OTHER)
    assert (command.generation, command.bump) == (None, False)
    raw = encode({"aggregates": [PROVIDER], "resource_provider_generation": 4})
    command = bodies.set_aggregates(raw, 19, OTHER)
    assert (command.generation, command.bump) == (4, True)


def test_reshape_is_one_command() -> None:
    body = {
        "inventories": {PROVIDER: INVENTORIES},
        "allocations": {CONSUMER: consumer(38)},
    }
    command = bodies.reshape(encode(body), 38)
    assert command.providers[0].generation == 1
    assert command.providers[0].inventories["CUSTOM_GOLD"].total == 2
    assert command.consumers[0].consumer_type == "INSTANCE"


def test_only_the_first_thousand_faults_are_weighed() -> None:
    asked = 0

    class Validator:
        def iter_errors(self, _data: object) -> Iterator[ValidationError]:
            nonlocal asked
            while True:
                asked += 1
                yield ValidationError(f"fault {asked}")

    assert schema_errors._fault(cast(Any, Validator()), {}) is not None
    assert asked == schema_errors._MAX_FAULTS
