"""Who may do what by default: the policy rules of OpenStack Placement as data.

The names are those that operators override in policy.yaml. One table feeds both
engines, oslo.policy's and our own, and both are tested against it.
"""

from __future__ import annotations

from msgspec import Struct

SCOPE = "project"


class Base(Struct, frozen=True):
    """A rule that others refer to.

    ``roles``: any of these will do. ``own_project``: a reader of the project that the
    request is about will do as well. ``old_role``: what did before the new defaults.
    """

    name: str
    check: str
    roles: frozenset[str]
    own_project: bool = False
    old_role: str | None = "admin"
    is_scoped: bool = True


_READER = "role:reader and project_id:%(project_id)s"

ADMIN = Base("admin_api", "role:admin", frozenset({"admin"}), old_role=None)
SERVICE = Base("service_api", "role:service", frozenset({"service"}))
ADMIN_OR_SERVICE = Base(
    "admin_or_service_api",
    "role:admin or role:service",
    frozenset({"admin", "service"}),
)
PROJECT_READER = Base(
    "project_reader_api", _READER, frozenset(), own_project=True, is_scoped=False
)
ADMIN_OR_READER_OR_SERVICE = Base(
    "admin_or_project_reader_or_service_api",
    "role:admin or rule:project_reader_api or role:service",
    frozenset({"admin", "service"}),
    own_project=True,
)

BASES = (ADMIN, SERVICE, ADMIN_OR_SERVICE, PROJECT_READER, ADMIN_OR_READER_OR_SERVICE)

_ADMIN_OR_SERVICE = (
    "resource_providers:list",
    "resource_providers:create",
    "resource_providers:show",
    "resource_providers:update",
    "resource_providers:delete",
    "resource_providers:inventories:list",
    "resource_providers:inventories:create",
    "resource_providers:inventories:show",
    "resource_providers:inventories:update",
    "resource_providers:inventories:delete",
    "resource_providers:aggregates:list",
    "resource_providers:aggregates:update",
    "resource_providers:usages",
    "resource_providers:traits:list",
    "resource_providers:traits:update",
    "resource_providers:traits:delete",
    "resource_providers:allocations:list",
    "resource_classes:list",
    "resource_classes:create",
    "resource_classes:show",
    "resource_classes:update",
    "resource_classes:delete",
    "traits:list",
    "traits:show",
    "traits:update",
    "traits:delete",
    "allocations:manage",
    "allocations:list",
    "allocations:update",
    "allocations:delete",
    "allocation_candidates:list",
)

_NATIVE = (
    "verify",
    "watch",
    "select",
    "claims:confirm",
    "claims:release",
    "claims:any",
    "decisions:whole",
    "capacity",
    "usage_history",
    "hosts:list",
    "hosts:show",
    "hosts:update",
    "hosts:delete",
    "aggregates:list",
    "aggregates:show",
    "aggregates:update",
    "aggregates:delete",
    "instances:update",
    "instances:sync",
    "instances:delete",
    "services:update",
    "server_groups:update",
    "server_groups:delete",
)

RULES: dict[str, Base] = {
    **{f"placement:{name}": ADMIN_OR_SERVICE for name in _ADMIN_OR_SERVICE},
    "placement:usages": ADMIN_OR_READER_OR_SERVICE,
    "placement:reshaper:reshape": SERVICE,
    **{f"gantt:{name}": ADMIN_OR_SERVICE for name in _NATIVE},
    # A reader of a project sees its own decisions, redacted.
    "gantt:decisions:list": ADMIN_OR_READER_OR_SERVICE,
}
