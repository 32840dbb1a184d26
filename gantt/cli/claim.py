"""``gantt claim``: keep what was claimed with a lease, or give a claim back."""

from __future__ import annotations

import click

from gantt.cli.session import Session, books_command


@click.group("claim")
def claim() -> None:
    """What 'gantt select' claimed."""


@claim.command("confirm")
@click.argument("claim")
@books_command
def confirm(session: Session, *, claim: str) -> None:
    """End the lease of a claim: it stays."""
    session.books.confirm_claim(claim)


@claim.command("release")
@click.argument("claim")
@books_command
def release(session: Session, *, claim: str) -> None:
    """Give back what was claimed."""
    session.books.release_claim(claim)
