"""What each name under ``fixtures:`` in OpenStack Placement's suite stands for here.

Data and configuration meet only in this table; see ``worlds`` and ``profiles``.
"""

from __future__ import annotations

from uuid import uuid4

from msgspec import Struct

from tests.conformance import networks, worlds
from tests.conformance.profiles import Profile
from tests.conformance.world import World


class Fixture(Struct, frozen=True):
    world: World = worlds.EMPTY
    profile: Profile = Profile.OLD_DEFAULTS


FIXTURES = {
    "APIFixture": Fixture(),
    "LegacyRBACPolicyFixture": Fixture(),
    "SecureRBACPolicyFixture": Fixture(profile=Profile.NEW_DEFAULTS),
    "OpenPolicyFixture": Fixture(profile=Profile.OPEN_POLICY),
    "CORSFixture": Fixture(profile=Profile.CORS),
    "AllocationFixture": Fixture(worlds.ALLOCATIONS),
    "NonSharedStorageFixture": Fixture(worlds.LOCAL_DISKS),
    "SharedStorageFixture": Fixture(worlds.SHARED_DISKS),
    "NUMAAggregateFixture": Fixture(worlds.NUMA_AGGREGATES),
    "GranularFixture": Fixture(worlds.GRANULAR),
    "NUMANetworkFixture": Fixture(networks.NUMA_NETWORKS),
    "DeepNUMANetworkFixture": Fixture(networks.DEEP_NUMA_NETWORKS),
    "NeutronQoSMultiSegmentFixture": Fixture(networks.SEGMENTS),
}

CLASSES = {
    "CUSTOM_RES_CLASS": "CUSTOM_IRON_NFV",
    "CUSTOM_RES_CLASS1": "CUSTOM_IRON_NFV1",
    "CUSTOM_RES_CLASS2": "CUSTOM_IRON_NFV2",
}

ANY_UUIDS = tuple(
    (
        "RP_UUID RP_NAME RP_UUID1 RP_NAME1 RP_UUID2 RP_NAME2 "
        "PARENT_PROVIDER_UUID ALT_PARENT_PROVIDER_UUID PROJECT_ID "
        "PROJECT_ID_ALT ADMIN_PROJECT_ID SERVICE_PROJECT_ID USER_ID USER_ID_ALT "
        "INSTANCE_UUID MIGRATION_UUID CONSUMER_UUID"
    ).split()
)


def everywhere() -> dict[str, str]:
    """The variables that every suite may use, whatever its fixture."""
    return {**{name: str(uuid4()) for name in ANY_UUIDS}, **CLASSES}
