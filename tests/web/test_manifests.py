"""The compose file and the manifests of Kubernetes: valid, complete and without privileges."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.urls import resolve

pytestmark = pytest.mark.one_database

ROOT = Path(__file__).parents[2]


def manifests() -> Iterator[dict[str, Any]]:
    """Yield every manifest in deploy/kubernetes."""
    for path in sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


MANIFESTS = list(manifests())


def pods(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pod descriptions in a manifest."""
    spec = manifest.get("spec", {})
    if manifest["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    if "template" in spec:
        yield spec["template"]["spec"]


CONTAINERS = {
    each["name"]: each for made in MANIFESTS for pod in pods(made) for each in pod["containers"]
}


def test_pods_run_without_privileges() -> None:
    assert len(CONTAINERS) == 7
    for manifest in MANIFESTS:
        for pod in pods(manifest):
            assert pod["securityContext"]["runAsNonRoot"]
            assert not pod["automountServiceAccountToken"]
            mounted = {each["name"] for each in pod["volumes"]}
            for container in pod["containers"]:
                own = container["securityContext"]
                assert own["readOnlyRootFilesystem"]
                assert own["capabilities"] == {"drop": ["ALL"]}
                assert own["allowPrivilegeEscalation"] is False
                assert "memory" in container["resources"]["limits"]
                assert {each["name"] for each in container["volumeMounts"]} <= mounted


def test_a_pod_stays_in_rotation_without_its_database() -> None:
    web = CONTAINERS["web"]
    for probe in (web["readinessProbe"], web["livenessProbe"]):
        assert resolve(probe["httpGet"]["path"]).url_name == "healthz"
        assert probe["httpGet"]["port"] in {each["containerPort"] for each in web["ports"]}
    assert "startupProbe" not in web


POLICIES = [each["spec"] for each in MANIFESTS if each["kind"] == "NetworkPolicy"]


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Return whether a selector of pods selects those with some labels."""
    same = all(labels.get(name) == text for name, text in selector.get("matchLabels", {}).items())
    rules = selector.get("matchExpressions", [])
    assert {each["operator"] for each in rules} <= {"In"}
    return same and all(labels.get(each["key"]) in each["values"] for each in rules)


def may_reach(part: str, address: str, port: int, protocol: str = "TCP") -> bool:
    """Return whether the policies let pods of a part connect to an address."""
    labels = {"app": "dpgeo", "part": part}
    target = ip_address(address)
    for policy in POLICIES:
        if "Egress" not in policy["policyTypes"] or not selects(policy["podSelector"], labels):
            continue
        for rule in policy.get("egress", []):
            assert rule["to"]  # a rule without peers would allow all of them
            open_ports = {(each["port"], each.get("protocol", "TCP")) for each in rule["ports"]}
            blocks = [each["ipBlock"] for each in rule["to"] if "ipBlock" in each]
            if (port, protocol) in open_ports and any(
                target in ip_network(each["cidr"])
                and not any(target in ip_network(one) for one in each.get("except", []))
                for each in blocks
            ):
                return True
    return False


STORES = [("192.0.2.10", 5432), ("192.0.2.20", 6379), ("192.0.2.30", 443)]
"""The addresses that the manifests give to the database, the broker and the object store."""

SERVER, SERVER6 = "93.184.216.34", "2606:2800:220:1::1"
"""Addresses that are reached through the internet."""

INSIDE = ("10.1.2.3", "172.20.0.1", "192.168.1.1", "169.254.169.254", "127.0.0.1", "fd00::1")
"""Addresses of private networks, and the one at which clouds hand out credentials."""

PARTS = {
    pod["metadata"]["labels"]["part"]
    for made in MANIFESTS
    for pod in [made.get("spec", {}).get("jobTemplate", made).get("spec", {}).get("template")]
    if pod
}


@pytest.mark.parametrize("part", sorted(PARTS))
def test_pods_reach_their_stores_and_no_private_network(part: str) -> None:
    assert all(may_reach(part, *store) for store in STORES)
    for address in INSIDE:
        for port in (22, 80, 443, 587, 5432, 6379, 10250):
            assert not may_reach(part, address, port), (address, port)
    outside = part in {"site", "files", "reaper"}  # mail, single sign-on, webhooks and alerts
    for address in (SERVER, SERVER6):
        assert may_reach(part, address, 443) == outside
        assert may_reach(part, address, 587) == outside
        assert not may_reach(part, address, 443, "UDP")
        assert not any(may_reach(part, address, port) for port in (22, 25, 53, 80, 5432))


def test_pods_that_no_other_policy_names_reach_nothing_and_are_reached_by_nobody() -> None:
    [closed] = [each for each in POLICIES if each["podSelector"] == {}]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert not may_reach("other", SERVER, 443)


def test_names_are_asked_of_the_cluster_alone() -> None:
    [rule] = [
        rule
        for policy in POLICIES
        for rule in policy.get("egress", [])
        if any(each["port"] == 53 for each in rule["ports"])
    ]
    assert {each["protocol"] for each in rule["ports"]} == {"UDP", "TCP"}
    assert all(each.keys() == {"namespaceSelector", "podSelector"} for each in rule["to"])
