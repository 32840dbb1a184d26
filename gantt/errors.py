"""Every error that Gantt raises on purpose.

They stand apart from the rules that raise them because each door translates the same
tree into its own words (HTTP status, exit status, RPC fault).

    GanttError
    ├── Invalid                     can never succeed as it was asked
    │   ├── BadInventory            numbers that no inventory may have
    │   ├── NeverFits               settings of flavor or image contradict each other
    │   ├── BadReport               a report of an agent that cannot be true
    │   ├── ReportTime              one that is too old, or of the future
    │   ├── UnknownName             a resource class or trait that does not exist
    │   │   └── UnknownResourceClass
    │   ├── UnknownProvider         a body names a provider that does not exist
    │   │   └── UnknownReshaped     among the inventories of a reshape
    │   └── Unstorable              this database cannot hold the value
    ├── NotFound                    the object that the request is about does not exist
    │   └── NoInventory             the provider has no inventory of the class
    ├── Conflict                    clashes with what is in the books now
    │   ├── ConcurrentUpdate        a generation has moved on
    │   │   └── ConsumerMoved       that of a consumer, not of a provider
    │   ├── DuplicateName           a name or uuid is taken
    │   ├── InventoryInUse          the inventory still has allocations
    │   ├── ProviderInUse           the provider still has allocations
    │   ├── ProviderHasChildren     the provider still has children
    │   ├── DoesNotFit              units or capacity refuse the amount
    │   ├── NotFree                 a CPU or device that is to be taken is not free
    │   ├── FullReportWanted        what came before this report of an agent is missing
    │   │   ├── ReportGap           a report between the last one and this one
    │   │   ├── UnknownIncarnation  the full report of an agent that has started
    │   │   └── NeedsChanged        one that was made for what is needed now
    │   ├── ClaimLost               none of the choices of an instance holds any more
    │   ├── AlreadyClaimed          an instance has a claim of another request
    │   ├── Queued                  others that ask for the same wait, and come first
    │   └── ClaimExpired            the lease ended before it was confirmed
    ├── Gone                        the log does not continue from where a watcher was
    ├── NoValidHost                 no host can take the request
    ├── Forbidden                   the caller may not do this
    │   └── SignInRefused           another service does not let this one in
    ├── LaunchFailed                an instance could not be started
    ├── PluginFailed                a part of another package failed, by its name
    ├── BudgetSpent                 a search met its limit before it found anything
    ├── Unavailable                 not now; the same request may succeed later
    │   ├── Busy                    a queue is full or the committer is contended
    │   ├── AnswerTooLarge          another service's answer exceeds a limit
    │   └── StoreFailed             the database is gone, full or read-only
    │       └── OutcomeUnknown      whether a write was carried out
    └── Refused                     this process must not go on (start-up, migrations)
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 4_000


def shortened(text: str, longest: int = LONGEST) -> str:
    """``text``, its middle left out where it is longer than ``longest``."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} … ({len(text) - 2 * half} more) … {text[-half:]}"


class GanttError(Exception):
    """Base of all errors that Gantt raises on purpose; ``str()`` is for people."""

    code: ClassVar[str] = "error"
    # What callers of a service hear in place of the message; "": the message.
    told: ClassVar[str] = ""
    # Providers that another service says it is about, as far as that is known.
    named: frozenset[str] = frozenset()

    @property
    def message(self) -> str:
        """What was asked, what is, and what to do about it. What was asked may be long,
        the message is not: its middle is left out then."""
        return shortened(str(self.args[0]) if self.args else type(self).__name__)

    @property
    def public(self) -> str:
        """What a service tells its callers: the message, unless it is about what only
        its operators may know (hosts, users, paths, what a driver said)."""
        return self.told or self.message


class Invalid(GanttError):
    """The request can never succeed as it was asked."""

    code = "invalid"


class BadInventory(Invalid):
    """Numbers that no inventory may have."""

    code = "bad_inventory"


class NeverFits(Invalid):
    """Settings of flavor, image, topology or devices that are wrong or contradict each
    other. Tenants read the message, as that of Nova's API: it quotes what they asked
    for, and nothing of the cloud."""

    code = "never_fits"


class BadReport(Invalid):
    """The report of an agent says what cannot be true."""

    code = "bad_report"


class TooManyNames(Invalid):
    """The report of an agent brings more new names than one host may."""

    code = "too_many_names"


class ReportTime(Invalid):
    """The report of an agent is too old, or of the future."""

    code = "report_time"


class UnknownName(Invalid):
    """A resource class or trait that does not exist."""

    code = "unknown_name"


class UnknownResourceClass(UnknownName):
    """A resource class that does not exist."""

    code = "unknown_resource_class"


class UnknownProvider(Invalid):
    """A body names a resource provider that does not exist."""

    code = "unknown_provider"


class UnknownReshaped(UnknownProvider):
    """A reshape gives inventories to a resource provider that does not exist."""

    code = "unknown_reshaped"


class Unstorable(Invalid):
    """The database cannot hold a value of this request."""

    code = "unstorable"
    told = (
        "The database cannot hold a value of the request: it is too "
        "long, out of range, or has characters that the database "
        "does not support."
    )


class NotFound(GanttError):
    """The object that the request is about does not exist."""

    code = "not_found"


class NoInventory(NotFound):
    """The resource provider has no inventory of the resource class."""

    code = "no_inventory"


class Conflict(GanttError):
    """The request clashes with what is in the books now."""

    code = "conflict"


class ConcurrentUpdate(Conflict):
    """A generation has moved on since the caller read it."""

    code = "concurrent_update"


class ConsumerMoved(ConcurrentUpdate):
    """A consumer has another generation than was said: it is written by others too, or
    an earlier write was carried out although its answer was lost."""

    code = "consumer_moved"


class DuplicateName(Conflict):
    """A name or a uuid is taken."""

    code = "duplicate_name"


class InventoryInUse(Conflict):
    """The inventory still has allocations."""

    code = "inventory_in_use"


class ProviderInUse(Conflict):
    """The provider still has allocations."""

    code = "provider_in_use"


class ProviderHasChildren(Conflict):
    """The provider still has child providers."""

    code = "provider_has_children"


class DoesNotFit(Conflict):
    """Units or capacity of an inventory refuse the amount."""

    code = "does_not_fit"


class NotFree(Conflict):
    """A CPU or device of a host that is to be taken, or given back, is not there."""

    code = "not_free"


class FullReportWanted(Conflict):
    """What came before this report of an agent is missing: a full one is needed."""

    code = "full_report_wanted"


class ReportGap(FullReportWanted):
    """A report between the last one that was applied and this one is missing."""

    code = "report_gap"


class UnknownIncarnation(FullReportWanted):
    """An agent that has started anew has not sent its full report."""

    code = "unknown_incarnation"


class NeedsChanged(FullReportWanted):
    """The report was made for other needs than those of now."""

    code = "needs_changed"


class ClaimLost(Conflict):
    """None of the choices of an instance holds any more."""

    code = "claim_lost"


class AlreadyClaimed(Conflict):
    """An instance has a claim of another request."""

    code = "already_claimed"


class ClaimExpired(Conflict):
    """The lease of a claim ended before it was confirmed."""

    code = "claim_expired"


class Gone(GanttError):
    """The log does not continue from where a watcher was: it must load anew."""

    code = "gone"


class Queued(Conflict):
    """Demands that ask for the same wait for room, and come first."""

    code = "queued"


class NoValidHost(GanttError):
    """No host can take the request. ``why``: a ``model.selection.Why`` or None. As
    text, the message and the reasons in a few lines."""

    code = "no_valid_host"

    def __init__(self, message: str, why: object = None) -> None:
        super().__init__(message)
        self.why = why

    def __str__(self) -> str:
        return "\n".join((self.message, *getattr(self.why, "lines", ())))


class Forbidden(GanttError):
    """The caller may not do this."""

    code = "forbidden"


class SignInRefused(Forbidden):
    """Another service, or the one that signs in there, does not let this one in."""

    code = "sign_in_refused"
    told = "A service that is needed for this refused authentication."


class LaunchFailed(GanttError):
    """A launcher could not start an instance; of a whole launch, every attempt."""

    code = "launch_failed"


class PluginFailed(GanttError):
    """A filter, weigher or driver of another package failed, or answered what it must
    not: nothing was decided. ``plugin``: its kind and name, which is all that callers
    of a service hear: what it raised may name paths, hosts or other requests."""

    code = "plugin_failed"
    told = (
        "A plug-in failed, so nothing was decided. The log of the service has the "
        "reason under the request id."
    )

    def __init__(self, message: str, plugin: str = "") -> None:
        super().__init__(message)
        self.plugin = plugin

    @property
    def public(self) -> str:
        if not self.plugin:
            return self.told
        return self.told.replace("A plug-in", f"The {self.plugin}", 1)


class BudgetSpent(GanttError):
    """A search met its work limit before it found anything."""

    code = "budget_spent"


class Unavailable(GanttError):
    """Not now: the same request may succeed later."""

    code = "unavailable"
    told = "The service cannot do this now; try again later."


class Busy(Unavailable):
    """A queue is full, or the committer could not be had in time."""

    code = "busy"
    told = ""


class AnswerTooLarge(Unavailable):
    """The answer of another service has more bytes than are read."""

    code = "answer_too_large"


class StoreFailed(Unavailable):
    """The database is gone, full, read-only or gave an error of its own."""

    code = "store_failed"
    told = "The database cannot be reached or used now; try again later."


class OutcomeUnknown(StoreFailed):
    """Whether a write was carried out is not known."""

    code = "outcome_unknown"
    told = (
        "It is unknown whether this was applied; it was applied "
        "completely, or not at all. Check before you retry."
    )


class Refused(GanttError):
    """This process must not go on: the database or the options do not allow it."""

    code = "refused"
    told = "The service cannot do this; its log says why."


def how_to_install(extra: str) -> str:
    """What a person types who lacks the packages of ``extra``; no index has Gantt."""
    if find_spec("gantt.engine") is None:
        wheel, folder = "gantt_agent", "packaging/agent"
    else:
        wheel, folder = "gantt_scheduler", "."
    return (
        f'pip install "$(ls dist/{wheel}-*.whl)[{extra}]" where its wheel was built, '
        f"or pip install -e '{folder}[{extra}]' in its working copy"
    )


@contextmanager
def needed_wheel(name: str, *, by: str) -> Iterator[None]:
    """Raises Refused where the part of Gantt that is imported within is in a wheel that
    is not installed; ``by``: what needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("gantt."):
            raise
        raise Refused(
            f"{by} needs {name}, which is not installed: "
            f"pip install dist/{name.replace('-', '_')}-*.whl where the wheels were "
            "built."
        ) from None


@contextmanager
def needed_extra(extra: str, *, by: str) -> Iterator[None]:
    """Raises Refused where what is imported within is not installed: ``extra`` has it,
    and the setting ``by`` asks for it."""
    try:
        yield
    except ImportError as error:
        raise Refused(
            f"{by} is set, but {error.name} is not installed: {how_to_install(extra)}; "
            "or leave it unset."
        ) from None


def every_kind() -> list[type[GanttError]]:
    """Every class of the tree."""
    found = [GanttError]
    for kind in found:
        found += kind.__subclasses__()
    return [kind for kind in found if kind.__module__ == __name__]
