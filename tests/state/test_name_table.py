"""Names with ids and dense indexes, against plain dicts; and the forest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantt.model.rows import NameRow
from gantt.state.name_table import NameTable
from gantt.state.provider_columns import Forest

ids = st.integers(1, 8)


@given(st.lists(st.tuples(ids, st.sampled_from("abcdefgh") | st.none())))
def test_names_are_a_table_with_two_keys(steps: list[tuple[int, str | None]]) -> None:
    """None removes the id; a name that another has is not put."""
    names, model = NameTable(), dict[int, str]()
    for key, name in steps:
        if name is None:
            if key in model:
                del model[key]
                names.remove(key)
        elif name not in model.values():
            kept = names.index_by_id[key] if key in model else None
            model[key] = name
            names.put(NameRow(key, name, None, None))
            # A rename keeps the column in every matrix.
            assert kept in (None, names.index_by_id[key])
        assert len(names) == len(model)
        assert [row.id for row in names.rows()] == sorted(model)
        indexes = {names.index_by_id[key] for key in model}
        assert len(indexes) == len(model)
        assert indexes <= set(range(8))
        for one in range(1, 9):
            row = names.get(one)
            assert (row.name if row else None) == model.get(one)
        for one, text in model.items():
            found = names.find(text)
            assert found is not None
            assert found.id == one
            assert names.name_of_id(one) == text
            index = names.index_of(text)
            assert index == names.index_by_id[one]
            assert names.at(index).id == one
        assert names.find("nobody") is None
        assert names.index_of("nobody") is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
def test_a_forest_maps_children_to_parents(steps: list[tuple[int, int]]) -> None:
    """(child, parent): the child moves there; to itself: becomes a root."""
    forest, parents = Forest(), dict[int, int]()

    def ancestors(row: int) -> list[int]:
        return [row, *ancestors(parents[row])] if row in parents else [row]

    for child, parent in steps:
        if child != parent and child in ancestors(parent):
            continue
        if child in parents:
            forest.detach(child, parents.pop(child))
        if child != parent:
            parents[child] = parent
            forest.attach(child, parent)
        assert forest.is_flat == (not parents)
        for row in range(10):
            children = forest.children(row)
            assert sorted(children) == sorted(c for c, p in parents.items() if p == row)
            subtree = list(forest.subtree(row))
            assert subtree[0] == row
            assert sorted(subtree) == [r for r in range(10) if row in ancestors(r)]
            for member in subtree[1:]:
                assert subtree.index(parents[member]) < subtree.index(member)
