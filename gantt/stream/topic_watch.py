"""Whether a topic is still the one that it was.

Kafka's clients go on at the same offset where a topic was deleted and made again under
its name, and would skip what the new one has before that.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from gantt.stream.broker_connection import LIBRARY_LOG, properties, reason
from gantt.stream.options import StreamOptions

LOG = logging.getLogger(__name__)

LOOK_S: Final = 10.0
AGAIN_S: Final = 1.0
"""After a look that missed a topic: brokers hear of new ones one after the other."""
_ANSWER_S: Final = 2.0


class TopicWatch:
    """Compares the id of the topic of reports, seldom; the topic of dead letters must
    only be there. Used by one thread."""

    def __init__(
        self, options: StreamOptions, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self._reports = options.reports_topic
        self._names = [options.reports_topic, options.dead_letters_topic]
        self._admin = AdminClient(
            properties(options, "gantt-topics"), logger=LIBRARY_LOG
        )
        self._known = ""
        self._due_at = 0.0
        self._is_missing = False

    def is_another(self) -> bool:
        """Whether the topic of reports has been made again since the last look. Raises
        KafkaException where a topic is gone, once a second look has said so: a broker
        may not have heard of a new one yet."""
        if self._now() < self._due_at:
            return False
        try:
            found = self._id()
        except KafkaException:
            is_told_again, self._is_missing = self._is_missing, True
            if is_told_again:
                raise
            self._due_at = self._now() + AGAIN_S
            return False
        self._is_missing = False
        self._due_at = self._now() + LOOK_S
        before, self._known = self._known, found or self._known
        return bool(before and found and before != found)

    def _id(self) -> str:
        """The id of the topic of reports; "": not known now."""
        asked = self._admin.describe_topics(
            TopicCollection(self._names), request_timeout=_ANSWER_S
        )
        found = ""
        for name, told in asked.items():
            try:
                described = told.result()
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
                LOG.debug("The topic %s is not described: %s", name, reason(error))
                continue
            if name == self._reports and described.topic_id is not None:
                found = str(described.topic_id)
        return found
