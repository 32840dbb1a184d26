"""Every error that Gantt raises on purpose.

They stand apart from the rules that raise them because each door translates the same
tree into its own words (HTTP status, exit status, RPC fault).

    GanttError
    ├── Invalid                     can never succeed as it was asked
    │   ├── UnknownName             a resource class or trait that does not exist
    │   ├── UnknownProvider         a body names a provider that does not exist
    │   └── Unstorable              this database cannot hold the value
    ├── NotFound                    the object that the request is about does not exist
    ├── Conflict                    clashes with what is in the books now
    │   ├── ConcurrentUpdate        a generation has moved on
    │   ├── DuplicateName           a name or uuid is taken
    │   ├── InventoryInUse          the inventory still has allocations
    │   ├── ProviderInUse           the provider still has allocations
    │   ├── ProviderHasChildren     the provider still has children
    │   ├── DoesNotFit              units or capacity refuse the amount
    │   ├── ClaimLost               none of the choices of an instance holds any more
    │   └── ClaimExpired            the lease ended before it was confirmed
    ├── Gone                        the log does not continue from where a watcher was
    ├── NoValidHost                 no host can take the request
    ├── Forbidden                   the caller may not do this
    ├── BudgetSpent                 a search met its limit before it found anything
    ├── Unavailable                 not now; the same request may succeed later
    │   ├── Busy                    a queue is full or the gate is contended
    │   └── StoreFailed             the database is gone, full or read-only
    └── Refused                     this process must not go on (start-up, migrations)
"""

from __future__ import annotations

LONGEST = 4_000


class GanttError(Exception):
    """Base of all errors that Gantt raises on purpose; ``str()`` is for people."""

    @property
    def message(self) -> str:
        """What was asked, what is, and what to do about it. What was asked may be long,
        the message is not: its middle is left out then."""
        text = str(self.args[0]) if self.args else type(self).__name__
        if len(text) <= LONGEST:
            return text
        half = LONGEST // 2
        return f"{text[:half]} … ({len(text) - LONGEST} more) … {text[-half:]}"


class Invalid(GanttError):
    """The request can never succeed as it was asked."""


class UnknownName(Invalid):
    """A resource class or trait that does not exist."""


class UnknownProvider(Invalid):
    """A body names a resource provider that does not exist."""


class Unstorable(Invalid):
    """The database cannot hold a value of this request."""


class NotFound(GanttError):
    """The object that the request is about does not exist."""


class Conflict(GanttError):
    """The request clashes with what is in the books now."""


class ConcurrentUpdate(Conflict):
    """A generation has moved on since the caller read it."""


class DuplicateName(Conflict):
    """A name or a uuid is taken."""


class InventoryInUse(Conflict):
    """The inventory still has allocations."""


class ProviderInUse(Conflict):
    """The provider still has allocations."""


class ProviderHasChildren(Conflict):
    """The provider still has child providers."""


class DoesNotFit(Conflict):
    """Units or capacity of an inventory refuse the amount."""


class ClaimLost(Conflict):
    """None of the choices of an instance holds any more."""


class ClaimExpired(Conflict):
    """The lease of a claim ended before it was confirmed."""


class Gone(GanttError):
    """The log does not continue from where a watcher was: it must load anew."""


class NoValidHost(GanttError):
    """No host can take the request. ``why``: a ``model.selection.Why`` or None."""

    def __init__(self, message: str, why: object = None) -> None:
        super().__init__(message)
        self.why = why


class Forbidden(GanttError):
    """The caller may not do this."""


class BudgetSpent(GanttError):
    """A search met its work limit before it found anything."""


class Unavailable(GanttError):
    """Not now: the same request may succeed later."""


class Busy(Unavailable):
    """A queue is full, or the gate could not be had in time."""


class StoreFailed(Unavailable):
    """The database is gone, full, read-only or gave an error of its own."""


class Refused(GanttError):
    """This process must not go on: the database or the options do not allow it."""
