"""``gantt allocation``: what consumers use on which providers."""

from __future__ import annotations

from uuid import uuid4

import click
from msgspec import UNSET, UnsetType

from gantt.cli.amount_text import placed_amounts
from gantt.cli.command_session import CommandSession, books_command
from gantt.errors import Invalid, NotFound
from gantt.model.answers import ConsumerView
from gantt.model.commands import ConsumerAllocations
from gantt.model.names import UNKNOWN_CONSUMER_TYPE, canonical_uuid

NEW = "new"
COLUMNS = (
    *tuple("consumer provider resources project user type generation".split()),
    "provider_name",
)


@click.group("allocation")
def allocation() -> None:
    """Resources that consumers use on providers."""


def _consumer_uuid(text: str) -> str:
    uuid = canonical_uuid(text)
    if uuid is None:
        raise Invalid(
            f"{text!r} is not a uuid: give the uuid of a consumer, or '{NEW}'."
        )
    return uuid


def _print(session: CommandSession, uuid: str, found: ConsumerView) -> None:
    session.print_rows(
        COLUMNS,
        (
            (
                uuid,
                provider,
                share.resources,
                found.project_id,
                found.user_id,
                found.consumer_type or UNKNOWN_CONSUMER_TYPE,
                found.generation,
                _name_of(session, provider),
            )
            for provider, share in found.allocations.items()
        ),
    )


def _name_of(session: CommandSession, provider: str) -> str | None:
    """None: it has been deleted since."""
    try:
        return session.books.get_provider(provider).name
    except NotFound:
        return None


def _known(session: CommandSession, uuid: str) -> ConsumerView:
    found = session.books.get_allocations(uuid)
    if found is None:
        raise NotFound(f"The consumer {uuid} has no allocations.")
    return found


@allocation.command("show")
@click.argument("consumer")
@books_command
def show_allocation(session: CommandSession, *, consumer: str) -> None:
    """Show the allocations of a consumer.

    \b
    Example:
      gantt allocation show 8b04f231-0817-4c78-8caa-8ce3ad8eaea1
    """
    uuid = _consumer_uuid(consumer)
    _print(session, uuid, _known(session, uuid))


@allocation.command("list")
@click.argument("provider")
@books_command
def list_allocations(session: CommandSession, *, provider: str) -> None:
    """List the allocations on a provider.

    \b
    Example:
      gantt allocation list gen-01
    """
    found = session.books.get_provider_allocations(session.uuid_of(provider))
    session.print_rows(
        ("consumer", "resources", "generation"),
        (
            (uuid, share.resources, share.generation)
            for uuid, share in found.allocations.items()
        ),
    )


@allocation.command("set")
@click.argument("consumer")
@click.argument("words", nargs=-1, required=True, metavar="[PROVIDER:]RC=N...")
@click.option("--provider", help="Provider for amounts that name none.")
@click.option("--project", help="Default: the current project, else 'default'.")
@click.option("--user", help="Default: the current user, else 'default'.")
@click.option("--type", "kind", help="Consumer type, such as INSTANCE.")
@click.option(
    "--generation", type=int, help="Fail unless the consumer has this generation."
)
@books_command
def set_allocation(
    session: CommandSession,
    *,
    consumer: str,
    words: tuple[str, ...],
    provider: str | None,
    project: str | None,
    user: str | None,
    kind: str | None,
    generation: int | None,
) -> None:
    """Set the allocations of a consumer, replacing all others.

    Give 'new' as CONSUMER to create one with a random uuid.

    gantt allocation set new --provider host1 VCPU=2 MEMORY_MB=512

    \b
    Example:
      gantt allocation set new --provider gen-02 VCPU=2 MEMORY_MB=4096
    """
    session.expect(*COLUMNS)
    uuid = str(uuid4()) if consumer == NEW else _consumer_uuid(consumer)
    known = session.books.get_allocations(uuid)
    # No generation means any generation; a new consumer must not exist yet.
    checked: int | UnsetType | None = UNSET if generation is None else generation
    wanted = ConsumerAllocations(
        consumer_uuid=uuid,
        allocations={
            session.uuid_of(name): resources
            for name, resources in placed_amounts(words, provider).items()
        },
        project_id=project or (known.project_id if known else "default"),
        user_id=user or (known.user_id if known else "default"),
        generation=None if consumer == NEW else checked,
        consumer_type=UNSET if kind is None else kind,
    )
    session.books.set_allocations([wanted])
    _print(session, uuid, _known(session, uuid))


@allocation.command("delete")
@click.argument("consumers", nargs=-1, required=True, metavar="CONSUMER...")
@books_command
def delete_allocations(session: CommandSession, *, consumers: tuple[str, ...]) -> None:
    """Delete all allocations of consumers.

    \b
    Example:
      gantt allocation delete 8b04f231-0817-4c78-8caa-8ce3ad8eaea1
    """
    for each in consumers:
        session.books.delete_allocations(_consumer_uuid(each))
