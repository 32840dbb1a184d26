"""What ``scripts/lines`` counts, and what it takes for moved."""

from __future__ import annotations

from pathlib import Path

from scripts.count_lines import Lines, code_lines, count, table
from tests.programs import printed

STATEMENTS = "".join(f"NAME_{number} = {number}\n" for number in range(10))


class Repository:
    """A folder under git; each call of ``commit`` writes all of its files anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._git("init", "-q")

    def commit(self, files: dict[str, str]) -> str:
        self._git("rm", "-rqf", "--ignore-unmatch", ".")
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._git("add", ".")
        self._git("commit", "-qm", "next")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        known = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return printed(["git", *known, *words], cwd=self.folder)


def test_blanks_comments_and_docstrings_are_no_code() -> None:
    text = '''"""A module.

Of several lines.
"""

# A comment.
WORDS = """
one
two"""  # and another


def ask(
    name: str,
) -> str:
    """Say what."""
    return name
'''
    assert code_lines(text) == 7


def test_a_file_that_moves_is_neither_written_nor_deleted(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    before = repository.commit(
        {
            "gantt/old/moves.py": STATEMENTS,
            "gantt/old/goes.py": "LOST = 'for ever'\nGONE = 'as well'\n",
            "gantt/stays.py": "A = 1\n",
            "tests/notes.txt": STATEMENTS,
        }
    )
    after = repository.commit(
        {
            "gantt/new/moved.py": STATEMENTS + "MORE = 11\n",
            "gantt/stays.py": "A = 1\nB = 2\n",
            "tests/notes.txt": STATEMENTS,
        }
    )
    rooms = count(before, after, str(tmp_path))
    assert rooms == {
        "gantt/*.py": Lines(before=1, after=2, moved_out=0, moved_in=0),
        "gantt/new": Lines(before=0, after=11, moved_out=0, moved_in=10),
        "gantt/old": Lines(before=12, after=0, moved_out=10, moved_in=0),
    }
    assert {room: lines.net for room, lines in rooms.items()} == {
        "gantt/*.py": 1,
        "gantt/new": 1,
        "gantt/old": -2,
    }
    assert list(table(rooms))[-2:] == [
        "| gantt in all | 13 | 13 | 10 | 10 | +0 |",
        "| all | 13 | 13 | 10 | 10 | +0 |",
    ]
