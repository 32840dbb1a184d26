"""What tests with code of Nova have in common."""

from __future__ import annotations

import pytest

WARNED_BY_NOVA = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore:.*is an invalid UUID:FutureWarning"
)
ON_RABBITMQ = [pytest.mark.server("rabbitmq"), WARNED_BY_NOVA]
