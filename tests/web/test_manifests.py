"""The compose file and the manifests of Kubernetes: valid, complete and without privileges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.urls import resolve
from jsonschema import Draft7Validator

from tests.web.kubernetes_fields import schema_of

pytestmark = pytest.mark.one_database

ROOT = Path(__file__).parents[2]

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]

PROFILES = {"one", "site", "work", "tls", "backup", "ground"}


def manifests() -> Iterator[dict[str, Any]]:
    """Yield every manifest in deploy/kubernetes."""
    for path in sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


MANIFESTS = list(manifests())


def faults(manifest: dict[str, Any]) -> list[str]:
    """Return the errors of a manifest, by the schema of its kind in `kubernetes_fields`."""
    validator = Draft7Validator(schema_of(manifest["kind"]))
    return [each.message for each in validator.iter_errors(manifest)]


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


@pytest.mark.parametrize(
    "manifest", MANIFESTS, ids=lambda each: f"{each['kind']} {each['metadata']['name']}"
)
def test_every_manifest_obeys_the_schema_of_kubernetes(manifest: dict[str, Any]) -> None:
    assert faults(manifest) == []
    assert manifest["kind"] == "Namespace" or manifest["metadata"]["namespace"] == "dpgeo"


def test_the_schema_refuses_fields_and_types_that_kubernetes_refuses() -> None:
    [job] = [each for each in MANIFESTS if each["kind"] == "Job"]
    typo = json.loads(json.dumps(job).replace("restartPolicy", "restartpolicy"))
    assert any("restartpolicy" in each for each in faults(typo))
    assert faults({**job, "spec": {**job["spec"], "backoffLimit": "two"}})


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


def test_alerts_watch_what_no_probe_asks_for() -> None:
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus-alerts.yml").read_text())
    watched = " ".join(each["expr"] for each in rules["groups"][0]["rules"])
    assert "dpgeo_ready == 0" in watched
    assert "dpgeo_files_missing > 0" in watched


def test_pods_run_the_commands_that_the_compose_file_runs() -> None:
    for name, container in CONTAINERS.items():
        if name == "backup":  # the backup ends after one run, since the cluster repeats it
            continue
        assert container.get("command") == SERVICES[name].get("command"), name
    words = " ".join(SERVICES["backup"]["command"]).replace("--every 24 ", "")
    assert " ".join(CONTAINERS["backup"]["command"]) == words


def test_services_lead_to_pods() -> None:
    labels = [
        made["spec"]["template"]["metadata"]["labels"]
        for made in MANIFESTS
        if made["kind"] == "Deployment"
    ]
    for made in MANIFESTS:
        if made["kind"] == "Service":
            assert made["spec"]["selector"] in labels
        if made["kind"] == "Deployment":
            assert made["spec"]["selector"]["matchLabels"] in labels


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


def test_every_part_is_known_to_the_tests_of_the_network() -> None:
    assert {"site", "worker", "files", "reaper", "migrate", "backup"} == PARTS


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


def in_profile(*profiles: str) -> set[str]:
    """Return the names of the compose services that run if these profiles are chosen."""
    return {name for name, each in SERVICES.items() if set(each["profiles"]) & {*profiles}}


def test_one_machine_runs_everything_and_many_share_it() -> None:
    everything = {"database", "broker", "migrate", "web", "proxy", "worker", "files", "reaper"}
    assert in_profile("one") == everything
    assert in_profile("site") == {"migrate", "web", "proxy"}
    assert in_profile("work") == {"worker", "files", "reaper"}
    assert {profile for each in SERVICES.values() for profile in each["profiles"]} == PROFILES
    comment = (ROOT / "docker-compose.yml").read_text().split("\n\n")[0]
    assert set(re.findall(r"^#   (\w+) ", comment, re.MULTILINE)) >= PROFILES - {"work"}


@pytest.mark.parametrize("profiles", [("one",), ("site",), ("work",), ("site", "backup")])
def test_nothing_waits_for_a_service_that_its_machine_does_not_run(
    profiles: tuple[str, ...],
) -> None:
    running = in_profile(*profiles)
    for name in running:
        for other, condition in SERVICES[name].get("depends_on", {}).items():
            assert other in running or condition.get("required") is False, (name, other)


def test_every_setting_in_the_env_file_reaches_the_containers_of_dpgeo() -> None:
    ours = [each for each in SERVICES.values() if each.get("build")]
    assert len(ours) == 7
    for each in ours:
        assert each["env_file"] == [{"path": ".env", "required": False}]
