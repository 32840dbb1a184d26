"""What tables of the dashboard show."""

from __future__ import annotations

from typing import Final

ROWS: Final = """const [caption, known] = arguments;
const table = [...document.querySelectorAll("table")].find(
  (one) => one.caption.textContent === caption);
const rows = [...(table?.tBodies[0].rows ?? [])].map((row) =>
  [...row.cells].map((cell) => cell.textContent.trim()));
return rows.length && JSON.stringify(rows) !== JSON.stringify(known) ? rows : null"""
"""The rows of the table with a caption, other than those known; to wait for."""
SAVED: Final = """const heading = arguments[0];
return new Promise((resolve) => {
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    blob.text().then(resolve);
    return make(blob);
  };
  [...document.querySelectorAll("h3")].find(
    (one) => one.textContent.startsWith(heading)).querySelector("button").click();
});"""
"""What its button saves of the table with a heading; to await."""
