"""The fields of the Kubernetes manifests that the project ships, with their types.

From the reference of the API of Kubernetes 1.33 (<https://kubernetes.io/docs/reference/>), for the
kinds and fields that `deploy/kubernetes/` uses. A field that is not listed is refused; whoever
needs another one adds it here. Fields whose names end with `!` are required.
"""

from __future__ import annotations

from typing import Any

Field = type | list[Any] | dict[str, Any] | set[str]
"""What a field must be: a value of a type, a list of a kind of field, a mapping, or a given text.
"""

TEXTS: dict[str, Any] = {"*": str}
"""A mapping from any names to texts, such as labels."""

NAMED = {"name!": str, "value": str}

PROBE = {
    "httpGet": {"path": str, "port!": int, "httpHeaders": [NAMED]},
    "tcpSocket": {"port!": int},
    "initialDelaySeconds": int,
    "periodSeconds": int,
    "timeoutSeconds": int,
    "failureThreshold": int,
}

CONTAINER = {
    "name!": str,
    "image!": str,
    "command": [str],
    "env": [NAMED],
    "envFrom": [{"secretRef": {"name!": str}}],
    "ports": [{"containerPort!": int}],
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "resources": {"limits": TEXTS, "requests": TEXTS},
    "securityContext": {
        "allowPrivilegeEscalation": bool,
        "capabilities": {"drop": [str]},
        "readOnlyRootFilesystem": bool,
    },
    "volumeMounts": [{"name!": str, "mountPath!": str, "subPath": str}],
}

POD = {
    "automountServiceAccountToken": bool,
    "containers!": [CONTAINER],
    "hostAliases": [{"ip!": str, "hostnames": [str]}],
    "restartPolicy": {"Always", "OnFailure", "Never"},
    "securityContext": {
        "fsGroup": int,
        "runAsGroup": int,
        "runAsNonRoot": bool,
        "runAsUser": int,
        "seccompProfile": {"type!": {"RuntimeDefault", "Localhost", "Unconfined"}},
    },
    "terminationGracePeriodSeconds": int,
    "volumes": [
        {
            "name!": str,
            "configMap": {"name!": str},
            "emptyDir": {"medium": {"", "Memory"}, "sizeLimit": str},
            "persistentVolumeClaim": {"claimName!": str},
        }
    ],
}

TEMPLATE = {"metadata": {"labels": TEXTS}, "spec!": POD}

JOB = {"backoffLimit": int, "template!": TEMPLATE}

PATH = {
    "path": str,
    "pathType!": {"Exact", "Prefix", "ImplementationSpecific"},
    "backend!": {"service": {"name!": str, "port": {"number": int}}},
}

SELECTOR = {
    "matchLabels": TEXTS,
    "matchExpressions": [
        {
            "key!": str,
            "operator!": {"In", "NotIn", "Exists", "DoesNotExist"},
            "values": [str],
        }
    ],
}

PEER = {
    "namespaceSelector": SELECTOR,
    "podSelector": SELECTOR,
    "ipBlock": {"cidr!": str, "except": [str]},
}

POLICY_PORT = {"port": int, "protocol": {"TCP", "UDP", "SCTP"}}

SPECS: dict[str, tuple[str, dict[str, Any]]] = {
    "Namespace": ("v1", {}),
    "Job": ("batch/v1", JOB),
    "CronJob": (
        "batch/v1",
        {
            "schedule!": str,
            "concurrencyPolicy": {"Allow", "Forbid", "Replace"},
            "jobTemplate!": {"spec": JOB},
        },
    ),
    "Deployment": (
        "apps/v1",
        {
            "replicas": int,
            "selector!": {"matchLabels": TEXTS},
            "strategy": {"rollingUpdate": {"maxSurge": int, "maxUnavailable": int}},
            "template!": TEMPLATE,
        },
    ),
    "Service": ("v1", {"selector": TEXTS, "ports": [{"port!": int, "targetPort": int}]}),
    "Ingress": (
        "networking.k8s.io/v1",
        {
            "ingressClassName": str,
            "rules": [{"host": str, "http": {"paths!": [PATH]}}],
            "tls": [{"hosts": [str], "secretName": str}],
        },
    ),
    "NetworkPolicy": (
        "networking.k8s.io/v1",
        {
            "podSelector!": SELECTOR,
            "policyTypes": [{"Ingress", "Egress"}],
            "ingress": [{"from": [PEER], "ports": [POLICY_PORT]}],
            "egress": [{"to": [PEER], "ports": [POLICY_PORT]}],
        },
    ),
    "PersistentVolumeClaim": (
        "v1",
        {
            "accessModes": [{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}],
            "resources": {"requests": TEXTS},
        },
    ),
}
"""For each kind of manifest, its API version and the fields of its `spec`."""


def schema_of(kind: str) -> dict[str, Any]:
    """Return a JSON schema of the manifests of a kind, which refuses fields not listed here."""
    version, spec = SPECS[kind]
    metadata = {"name!": str, "namespace": str, "labels": TEXTS, "annotations": TEXTS}
    fields = {"apiVersion!": {version}, "kind!": {kind}, "metadata!": metadata}
    return _schema(fields | ({"spec!": spec} if spec else {}))


def _schema(field: Field) -> dict[str, Any]:
    if isinstance(field, type):
        return {"type": {str: "string", int: "integer", bool: "boolean"}[field]}
    if isinstance(field, set):
        return {"enum": sorted(field)}
    if isinstance(field, list):
        return {"type": "array", "items": _schema(field[0])}
    if "*" in field:
        return {"type": "object", "additionalProperties": _schema(field["*"])}
    return {
        "type": "object",
        "properties": {name.rstrip("!"): _schema(each) for name, each in field.items()},
        "required": [name.rstrip("!") for name in field if name.endswith("!")],
        "additionalProperties": False,
    }
