"""Compares the columns of the process that answers with the tables, over HTTP.

Only a serving process can: another would load its columns from the tables first.
"""

from __future__ import annotations

import msgspec

from gantt.api.call import Call


def verify(call: Call) -> None:
    """GET /gantt/verify"""
    call.reply(msgspec.to_builtins(call.gantt.verify()))
