"""``gantt claim``: confirm a claim that has a lease, or release one."""

from __future__ import annotations

import click

from gantt.cli.session import Session, books_command


@click.group("claim")
def claim() -> None:
    """Claims made by 'gantt select'."""


@claim.command("confirm")
@click.argument("claim")
@books_command
def confirm(session: Session, *, claim: str) -> None:
    """Make a claim permanent: its lease no longer expires."""
    session.books.confirm_claim(claim)


@claim.command("release")
@click.argument("claim")
@books_command
def release(session: Session, *, claim: str) -> None:
    """Release a claim and its resources."""
    session.books.release_claim(claim)
