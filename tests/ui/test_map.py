"""The work that the map does, counted: one drawing per frame, of what changed."""

from __future__ import annotations

import pytest

from tests.ui.browser import Window

pytestmark = pytest.mark.server("chromium")

# A map of 400 hosts in two groups, on a canvas of its own.
MAKE = """
const { HostMap } = await import("./ui/map.js");
const canvas = document.createElement("canvas");
canvas.style.cssText = "position:fixed;left:0;top:0;width:600px;height:400px";
document.body.append(canvas);
const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
const frames = async (count) => {
  for (let at = 0; at < count; at += 1) await frame();
};
const quiet = async (map) => {
  for (let at = 0; at < 600 && map._pending; at += 1) await frame();
};
const counts = { frames: 0, whole: 0, cells: 0 };
class Counted extends HostMap {
  _frame(now) { counts.frames += 1; super._frame(now); }
  _all(now) { counts.whole += 1; super._all(now); }
  _body(...drawn) { counts.cells += 1; super._body(...drawn); }
}
const map = new Counted(canvas, {
  name: (index) => `host${index}`, pick() {}, open() {}, hover() {} });
const all = [...Array(400).keys()];
map.steps = new Uint8Array(400).fill(3);
map.sizes = new Float32Array(400).fill(1);
map.states = new Array(400).fill(0);
map.setGroups([
  { name: "a", members: all.slice(0, 250) }, { name: "b", members: all.slice(250) },
], 400);
await frames(5);
await quiet(map);
const before = { ...counts };
const since = () => ({
  frames: counts.frames - before.frames,
  whole: counts.whole - before.whole,
  cells: counts.cells - before.cells,
});
"""


@pytest.fixture
def page(window: Window) -> Window:
    window.open(token=None)
    window.wait("return document.querySelector('form')")
    return window


def test_nothing_is_drawn_while_nothing_changes(page: Window) -> None:
    found = page.await_(MAKE + "await frames(20); return since();")
    assert found == {"frames": 0, "whole": 0, "cells": 0}


def test_however_many_changes_there_is_one_drawing_per_frame(page: Window) -> None:
    script = """
    for (let at = 0; at < 500; at += 1) map.changed([at % 400]);
    await frame(); await frame();
    return since();"""
    found = page.await_(MAKE + script)
    assert 1 <= found["frames"] <= 2
    assert found["whole"] == 0
    assert found["cells"] <= 400 * found["frames"]


def test_only_cells_that_changed_are_drawn(page: Window) -> None:
    script = """
    map.changed([7, 8, 300]);
    await quiet(map);
    return { ...since(), glowing: map._glow.size };"""
    found = page.await_(MAKE + script)
    assert found["whole"] == 0
    assert found["glowing"] == 0
    assert 3 <= found["cells"] <= 3 * found["frames"]
    assert found["frames"] >= 2


def test_a_cell_has_no_glow_in_the_end(page: Window) -> None:
    """Its pixels are those of before."""
    script = """
    const pixels = () => canvas.toDataURL();
    const first = pixels();
    map.changed([7]);
    await frames(2);
    const glowing = pixels() !== first;
    await quiet(map);
    return { glowing, isSame: pixels() === first };"""
    assert page.await_(MAKE + script) == {"glowing": True, "isSame": True}


def test_cells_out_of_sight_cost_nothing(page: Window) -> None:
    script = """
    map.zoomTo(0);
    await quiet(map);
    const seen = counts.cells - before.cells;
    const start = counts.cells;
    map.changed([399]);
    await quiet(map);
    return { seen, hidden: counts.cells - start };"""
    found = page.await_(MAKE + script)
    assert 0 < found["seen"] < 200
    assert found["hidden"] == 0


def test_every_host_has_a_place_of_its_own(page: Window) -> None:
    script = """
    const { arrange, hostAt, neighbour } = await import("./ui/layout.js");
    const told = [];
    for (const [width, height, sizes] of [
      [1200, 700, [2500, 2500, 2500, 2500]], [320, 500, [10000]], [900, 600, [1]],
      [1400, 800, Array(250).fill(40)], [300, 100, [7, 0, 3]], [1000, 500, []],
    ]) {
      let next = 0;
      const groups = sizes.map((size, at) => ({
        name: String(at), members: Array.from({ length: size }, () => next++) }));
      const found = arrange(groups, width, height, next);
      const wrong = [];
      const half = found.pitch / 2;
      for (let index = 0; index < next; index += 1) {
        if (hostAt(found, found.x[index] + half, found.y[index] + half) !== index)
          wrong.push(index);
        if (found.x[index] + found.pitch > width + 1) wrong.push(-index);
      }
      for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
        const seen = neighbour(found, 0, key);
        if (next && !(seen >= 0 && seen < next)) wrong.push(key);
      }
      told.push({ wrong: wrong.slice(0, 3), fits: found.height <= height });
    }
    return told;"""
    found = page.await_(script)
    assert [one["wrong"] for one in found] == [[]] * len(found)
    assert [one["fits"] for one in found] == [True] * 3 + [True, True, True]


def test_few_hosts_are_large_enough_for_their_names(page: Window) -> None:
    """Names, which stand at the top of their cells, are not crossed out by rings."""
    script = """
    const { HostMap } = await import("./ui/map.js");
    const written = [], rings = [];
    const { fillText, arc } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      written.push([text, y]);
      fillText.call(this, text, x, y);
    };
    CanvasRenderingContext2D.prototype.arc = function (x, y, radius, ...angles) {
      rings.push(y - radius);
      arc.call(this, x, y, radius, ...angles);
    };
    const canvas = document.createElement("canvas");
    canvas.style.cssText = "position: fixed; inset: 0; width: 1376px; height: 700px";
    document.body.append(canvas);
    const map = new HostMap(canvas, { name: (index) => `gen-${index}`,
      pick: () => {}, open: () => {}, hover: () => {} });
    const members = [...Array(50).keys()];
    map.setGroups([{ name: "all", members }], 50);
    map.steps = new Uint8Array(50);
    map.sizes = new Float32Array(50).fill(1);
    map.states = Array(50).fill(0);
    map.chosen = [0];
    map.restyle();
    while (!written.length) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    const names = written.filter(([text]) => text.startsWith("gen-"));
    map.close();
    canvas.remove();
    Object.assign(CanvasRenderingContext2D.prototype, { fillText, arc });
    return [new Set(names.map(([text]) => text)).size, rings.at(-1) - names[0][1]];"""
    names, room = page.await_(script)
    assert names == 50
    assert room > 10, "pixels from the top of a name to that of the ring"


def test_changes_are_merged_into_the_columns(page: Window) -> None:
    script = """
    const { Columns } = await import("./ui/columns.js");
    const answer = (rows, used, more = {}) => ({
      place: "e.0-1-1", revision: 1, at: 1, is_whole: false, gone: [], rows,
      hosts: rows.map((row) => `h${row}`), nodes: rows.map(() => null),
      states: rows.map(() => 0), zones: ["z"], zone: rows.map(() => 0),
      aggregates: { names: ["u"], sets: [[], [0]], of: rows.map((row) => row % 2) },
      aggregate_names: ["rack"],
      traits: { names: [], sets: [[]], of: rows.map(() => 0) },
      updated_at: rows.map(() => 5), instances: rows.map(() => 0), metrics: {},
      classes: { VCPU: { capacity: rows.map(() => 8), used } }, ...more });
    const columns = new Columns();
    const told = [];
    told.push(columns.take(answer([0, 1, 2], [0, 1, 2], { is_whole: true })));
    told.push(columns.take(answer([1], [7])));
    told.push([...columns.classes.get("VCPU").used]);
    told.push(columns.take(answer([], [], { gone: [0] })));
    told.push([columns.count, columns.find("h2", "h2"), columns.find("h0", "h0")]);
    told.push(columns.take(answer([0], [3], { hosts: ["new"] })));
    told.push([columns.count, columns.use(columns.find("new", "new"), "VCPU")]);
    told.push(columns.totals().get("VCPU"));
    told.push(columns.aggregates[columns.find("h1", "h1")]);
    return told;"""
    assert page.await_(script) == [
        None,
        [1],
        [0, 7, 2],
        None,
        [2, 0, None],
        None,
        [3, 0.375],
        {"hosts": 3, "capacity": 24, "used": 12},
        ["u"],
    ]


def test_spreadsheets_find_no_formula(page: Window) -> None:
    script = """
    const { csv } = await import("./ui/table.js");
    const value = (at) => (row) => row[at];
    const columns = ["a", "b,c"].map((label, at) => ({ label, value: value(at) }));
    const rows = [["=1+1", 1.5], ["-x", null], ['say "hi"', -3], ["a\\nb", 0]];
    return csv(columns, rows);"""
    assert page.await_(script) == (
        'a,"b,c"\r\n\'=1+1,1.5\r\n\'-x,\r\n"say ""hi""",-3\r\n"a\nb",0\r\n'
    )
