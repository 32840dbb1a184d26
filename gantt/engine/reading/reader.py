"""Questions to the columns of this process: how fresh they are, and what an answer
waits for before anybody hears it.

Apart from the engine, which only brings together what is asked here and what is changed
at the committer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Concatenate, Final, ParamSpec, TypeVar

from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.replica import Replica
from gantt.engine.reading.rest import Rest
from gantt.errors import GanttError
from gantt.scheduler.pauses import Moved
from gantt.state.state import State

T = TypeVar("T")
P = ParamSpec("P")
_MAX: Final = 2**63
_AT_ONCE: Final = nullcontext()


def _on_all(_: object) -> int:
    """Whatever was applied."""
    return _MAX


def _on_nothing(_: object) -> int:
    """An answer that goes through the committer before anybody hears of it."""
    return 0


class Asking:
    """Pure queries, for whoever has these."""

    _log_tailer: LogTailer
    _replica: Replica
    _rest: Rest

    def read(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The answer of a pure ``query`` to the newest State.

        Returns only what is durable; raises what ``query`` raises, and StoreFailed.
        """
        return self._ask(lambda state: query(state, *args, **kwargs), _on_all)

    def read_long(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As ``read``, for what goes through as much as there is."""
        return self._ask(
            lambda state: query(state, *args, **kwargs), _on_all, self._replica.search
        )

    def read_touched(
        self,
        query: Callable[Concatenate[State, P], tuple[T, int]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        answer, _ = self._ask(
            lambda state: query(state, *args, **kwargs), lambda found: found[1]
        )
        return answer

    def glance(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        return self._ask(lambda state: query(state, *args, **kwargs), _on_nothing)

    def glance_long(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As ``glance``, for what goes through as much as there is."""
        return self._ask(
            lambda state: query(state, *args, **kwargs),
            _on_nothing,
            self._replica.search,
        )

    def rest(self) -> None:
        """Within a long query: when it has had the columns for a while, let others at
        them. Raises Moved when the query must be asked anew."""
        self._rest()

    def recall(
        self,
        query: Callable[Concatenate[State, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        with self._replica.lock:
            return query(self._replica.state, *args, **kwargs)

    def _ask(
        self,
        query: Callable[[State], T],
        hangs_on: Callable[[T], int],
        turn: AbstractContextManager[object] = _AT_ONCE,
    ) -> T:
        """``hangs_on``: the last change (``State.applied``) that an answer must wait
        for until it is durable. A refusal waits for all. ``turn``: what comes before
        the lock."""
        times_anew = 0
        while True:
            self._log_tailer.freshen()
            refusal: GanttError | None = None
            with turn, self._replica.lock:
                if turn is self._replica.search:
                    self._rest.begin(times_anew)
                try:
                    answer = query(self._replica.state)
                except Moved:
                    times_anew += 1
                    continue
                except GanttError as error:
                    refusal = error
                else:
                    if hangs_on(answer) <= self._replica.settled:
                        return answer
                # Afterwards: others may have written while a long query rested.
                mark = self._replica.mark
            if not self._replica.wait(mark, self._log_tailer.admission):
                continue
            if refusal is not None:
                raise refusal
            return answer
