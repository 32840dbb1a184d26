"""An index by names as the database compares them."""

from __future__ import annotations

import copy

from gantt.state.name_table import NameTable, names_index
from gantt.state.state import State
from tests.store.books import name_row


def test_where_every_letter_counts_it_is_a_plain_dict() -> None:
    assert type(names_index(None)) is dict
    assert type(names_index(str)) is dict


def test_names_that_are_one_share_a_place() -> None:
    index = names_index(str.casefold)
    index.update(zip(("One", "Two"), (1, 2), strict=True))
    index["ONE"] = 3
    assert (index["one"], index.get("tWo"), index.get("three")) == (3, 2, None)
    assert "oNe" in index
    assert len(index) == 2
    other = copy.deepcopy(index)
    del index["one"]
    assert "One" not in index
    assert other["ONE"] == 3


def test_tables_of_names_and_uuids_find_as_the_database_would() -> None:
    names = NameTable(str.casefold)
    names.put(name_row(1, "Project"))
    found = names.find("PROJECT")
    assert found is not None
    assert (found.id, found.name) == (1, "Project")
    names.put(name_row(1, "PROJECT"))
    names.remove(1)
    assert names.find("Project") is None
    state = State(str.casefold)
    assert state.consumers.ensure("ab") == state.consumers.ensure("AB")
