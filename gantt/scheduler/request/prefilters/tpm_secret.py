"""Where the secret of a virtual TPM is kept."""

from __future__ import annotations

from typing import Final

from gantt.errors import Invalid
from gantt.model.spec import RequestSpec
from gantt.scheduler.request.features import asks_tpm
from gantt.scheduler.request.prefilters.additions import require
from gantt.scheduler.request.prefilters.context import Context

_KEY: Final = "hw:tpm_secret_security"
_TRAITS: Final = {
    "user": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER",
    "host": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST",
    "deployment": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_DEPLOYMENT",
}


def tpm_secret(spec: RequestSpec, context: Context) -> RequestSpec:  # noqa: ARG001
    """The policy of a request with a virtual TPM, "user" when it says none. Raises
    Invalid when there is no such policy."""
    if not asks_tpm(spec):
        return spec
    policy = spec.flavor.extra_specs.get(_KEY, "user")
    if policy not in _TRAITS:
        raise Invalid(
            f"extra spec {_KEY}={policy!r} is unknown: give {' or '.join(_TRAITS)}"
        )
    return require(spec, _TRAITS[policy])
