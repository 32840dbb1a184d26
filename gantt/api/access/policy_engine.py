"""The engine of policy: oslo.policy where it is installed, else Gantt's defaults."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from gantt.api.access.access_policy import KNOWN, DefaultPolicy
from gantt.api.access.policy_files import PolicyFiles, misspelt
from gantt.api.call import AccessPolicy
from gantt.conf import SYSTEM_DIRECTORY, Settings
from gantt.errors import Refused, how_to_install


def build_policy(settings: Settings) -> AccessPolicy:
    """oslo.policy where it is installed, else the defaults. Raises Refused for a policy
    file that cannot be used, or would not be read."""
    if find_spec("oslo_policy") is None:
        _refuse_policy_file(settings)
        return DefaultPolicy(
            enforce_scope=settings.enforce_scope,
            enforce_new_defaults=settings.enforce_new_defaults,
        )
    from gantt.api.access.oslo import OsloPolicy

    return OsloPolicy(settings.oslo)


def _refuse_policy_file(settings: Settings) -> None:
    """An operator must not believe that unread rules are in force."""
    folders = [Path(file).parent for file in settings.files] or [SYSTEM_DIRECTORY]
    for folder in folders:
        file = folder / settings.policy_file
        if file.is_file():
            raise Refused(
                f"The policy file {file} needs the Python module oslo_policy, "
                f"which is not installed: {how_to_install('openstack')}; or remove "
                "the file."
            )


def warnings(settings: Settings) -> list[str]:
    """Rule names in the policy files that have no effect. Raises Refused."""
    if find_spec("oslo_policy") is None:
        return []
    return list(misspelt(PolicyFiles(settings.oslo).rules().rules, KNOWN))
