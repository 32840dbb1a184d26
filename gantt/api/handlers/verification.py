"""Whether the columns of the process that answers are what the tables say.

Only the serving process can tell: one that loads the tables anew has no columns to
compare them with.
"""

from __future__ import annotations

import msgspec

from gantt.api.call import Call


def verify(call: Call) -> None:
    """GET /gantt/verify"""
    call.check_accept()
    call.authorize("gantt:verify")
    call.reply(msgspec.to_builtins(call.gantt.verify()))
