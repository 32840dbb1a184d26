"""The operations on labels of hosts, on how instances are spread over domains, and on
artifacts: rows of the table in ``operations``."""

from __future__ import annotations

from typing import Final

from gantt.model import operation_bodies as b
from gantt.model.operation import Operation
from gantt.model.relations import HostLabels

DOMAIN_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "labels_update",
        "PUT /gantt/labels/{host}",
        "Give a host labels, such as its rack, beside those that it has, or take some "
        "away; answers with all.",
        rule="gantt:hosts:label",
        body=b.LabelsBody,
        answer=HostLabels,
        errors=(404,),
        name="label_host",
        is_preview=True,
    ),
    Operation(
        "domains_list",
        "GET /gantt/domains",
        "Topology keys, such as rack, with how many hosts are in each domain.",
        rule="gantt:hosts:list",
        query=b.DomainsQuery,
        answer=b.TopologyKeys,
        work="list",
        name="list_domains",
        is_preview=True,
    ),
    Operation(
        "relations_update",
        "PUT /gantt/relations/{uuid}",
        "Say how the members of a server group are spread over domains, whether the "
        "group is known yet or not.",
        rule="gantt:server_groups:update",
        body=b.RelationsBody,
        name="relate_group",
        is_preview=True,
    ),
    Operation(
        "artifacts_list",
        "GET /gantt/artifacts",
        "The artifacts (images, model weights) that are registered or that hosts "
        "report, the first 1,000 by name, with how many hosts hold each.",
        rule="gantt:artifacts:list",
        query=b.ArtifactsQuery,
        answer=b.Artifacts,
        work="list",
        name="list_artifacts",
        is_preview=True,
    ),
    Operation(
        "artifacts_update",
        "PUT /gantt/artifacts/{name}",
        "Register an artifact with its size: from now on it may be required.",
        rule="gantt:artifacts:update",
        body=b.ArtifactBody,
        name="register_artifact",
        is_preview=True,
    ),
    Operation(
        "artifacts_delete",
        "DELETE /gantt/artifacts/{name}",
        "It may be required no more; what hosts say that they hold stays known.",
        rule="gantt:artifacts:delete",
        errors=(404,),
        name="remove_artifact",
        is_preview=True,
    ),
)
