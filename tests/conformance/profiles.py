"""The configurations under which OpenStack Placement's suite wants to be run.

As text in configuration and policy files, so that the way of a real service from its
files to its policy is part of what is tested.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from gantt.api.access.access_policy import BASES, RULES
from gantt.conf import Settings, load

CONFIGURATION = """
[placement_database]
connection = memory://
[api]
auth_strategy = noauth2
[oslo_policy]
policy_file = {policy_file}
enforce_new_defaults = {new_defaults}
"""

CORS = """
[cors]
allowed_origin = http://valid.example.com
allow_headers = openstack-api-version
"""


class Profile(Enum):
    """What makes a configuration different from the others."""

    OLD_DEFAULTS = "admins may do everything"
    NEW_DEFAULTS = "the roles admin, service and reader"
    OPEN_POLICY = "every caller may do everything"
    CORS = "old defaults, and browsers may ask"


def settings_of(profile: Profile, folder: Path) -> Settings:
    """Write the files of ``profile`` into ``folder``, and read them as a service."""
    policy_file = folder / "policy.yaml"
    text = CONFIGURATION.format(
        policy_file=policy_file, new_defaults=profile is Profile.NEW_DEFAULTS
    )
    if profile is Profile.CORS:
        text += CORS
    if profile is Profile.OPEN_POLICY:
        names = [name for name in BASES if name != "admin_api"]
        policy_file.write_text("".join(f'"{name}": "@"\n' for name in [*names, *RULES]))
    file = folder / "gantt.conf"
    file.write_text(text)
    return load([str(file)])
