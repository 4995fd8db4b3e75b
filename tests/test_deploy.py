"""The files of examples/deploy: read by their own programs where these are here, else checked."""

import gzip
import http.client
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from accord.cli.main import parser_of
from accord.telemetry import OUTCOMES
from commands import ACCORD, ENVIRONMENT
from doc_pages import ROOT, blocks
from http1.raw_server import Authority
from http_peer import HttpPeer, HttpServer
from nginx import check, configure, needs_nginx

DEPLOY = ROOT / "examples/deploy"
DOCS = (ROOT / "docs/deploy.md").read_text()
UNIT = (DEPLOY / "accord@.service").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
KUBERNETES = {
    each["kind"]: each for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
}
DASHBOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
MARGIN = 3  # seconds that a process may need beyond its grace period


def unit_value(name: str) -> str:
    """The value of a setting of the unit; continued lines are one."""
    found = re.search(rf"(?m)^{name}=(.*)$", UNIT.replace("\\\n", " "))
    assert found is not None
    return found[1]


def pod() -> Any:
    return KUBERNETES["Deployment"]["spec"]["template"]["spec"]


def commands() -> dict[str, list[str]]:
    """The arguments of `accord serve` in each file."""
    docker = (DEPLOY / "Dockerfile").read_text()
    entry, command = (
        json.loads(re.search(rf"(?m)^{name} (.*)$", docker)[1])  # type: ignore[index]
        for name in ("ENTRYPOINT", "CMD")
    )
    shown = re.search(r"    (accord serve.*\\\n.*)", DOCS)
    assert shown is not None
    return {
        "systemd": shlex.split(unit_value("ExecStart").replace("%i", "8001"))[1:],
        "compose": [*entry[1:], *shlex.split(COMPOSE["x-replica"]["command"])],
        "Dockerfile": [*entry[1:], *command],
        "Kubernetes": [*entry[1:], *pod()["containers"][0]["args"]],
        "docs": shlex.split(shown[1].replace("\\\n", " "))[1:],
    }


@pytest.mark.parametrize("name", ["systemd", "compose", "Dockerfile", "Kubernetes", "docs"])
def test_commands_have_options_that_exist(name: str) -> None:
    verb, *words = commands()[name]
    assert verb == "serve"
    options = parser_of("serve").parse_args(words)
    assert options.targets == ["shop:server"]
    if name != "Dockerfile":
        assert (options.store or "").startswith("redis://")
        assert options.key_file
        assert options.telemetry
        assert options.no_page
        assert options.public_url or options.allow_host


def grace(name: str) -> float:
    return float(parser_of("serve").parse_args(commands()[name][1:]).grace)


def test_processes_have_time_to_end() -> None:
    assert int(unit_value("TimeoutStopSec")) >= grace("systemd") + MARGIN
    assert (
        int(COMPOSE["x-replica"]["stop_grace_period"].removesuffix("s"))
        >= grace("compose") + MARGIN
    )
    pause = int(pod()["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod()["terminationGracePeriodSeconds"] >= pause + grace("Kubernetes") + MARGIN


@needs_nginx
@pytest.mark.parametrize("name", ["nginx.conf", "nginx.compose.conf"])
def test_nginx_takes_its_configuration(name: str, tmp_path: Path) -> None:
    part, here = (DEPLOY / name).read_text(), {}
    if name == "nginx.conf":
        pem = str(Authority(tmp_path).issue("mcp.example.com"))
        here = {
            "/etc/ssl/mcp.example.com.pem": pem,
            "/etc/ssl/mcp.example.com.key": pem,
            "listen 443": "listen 127.0.0.1:8443",
        }
    else:
        here = {
            "replica1": "127.0.0.1",
            "replica2": "127.0.0.2",
            "listen 80": "listen 127.0.0.1:8080",
        }
    configure(tmp_path, part, here)
    assert check(tmp_path) == ""
    configure(tmp_path, part.replace("proxy_buffering", "proxy_bufering"), here)
    assert "unknown directive" in check(tmp_path)


def test_nginx_goes_to_the_next_replica_and_lets_streams_through() -> None:
    for name in ("nginx.conf", "nginx.compose.conf"):
        text = (DEPLOY / name).read_text()
        assert len(re.findall(r"(?m)^    server .* max_fails=0;", text)) == 2
        assert "proxy_next_upstream error timeout;" in text
        assert "non_idempotent" not in text
        assert "proxy_buffering off;" in text
    assert (
        next(b.text for b in blocks(DOCS) if b.language == "nginx")
        in (DEPLOY / "nginx.conf").read_text()
    )


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "accord@8001.service"

    def verify(text: str) -> str:
        unit.write_text(
            text.replace("/srv/shop/.venv/bin/accord", ACCORD).replace("/srv/shop", "/")
        )
        command = ["systemd-analyze", "verify", "--man=no", str(unit)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return "".join(line for line in done.stderr.splitlines(True) if "accord@" in line)

    assert verify(UNIT) == ""
    assert "Unknown key" in verify(UNIT.replace("Restart=", "Restrat="))
    for line in next(b.text for b in blocks(DOCS) if b.language == "ini").splitlines():
        assert line in UNIT, line


def test_compose_names_what_there_is() -> None:
    services, declared = COMPOSE["services"], {"redis"}
    assert set(COMPOSE["volumes"]) == declared
    assert set(COMPOSE["secrets"]) == {"key"}
    for service in services.values():
        assert ("image" in service) != ("build" in service)
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in declared or (DEPLOY / source).is_file(), volume
        depends = service.get("depends_on", {})
        assert set(depends) <= set(services)
        assert all("healthcheck" in services[each] for each in depends)
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "for this machine alone"
    options = parser_of("serve").parse_args(commands()["compose"][1:])
    assert str(options.key_file[0]) == "/run/secrets/key"
    prometheus = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    (job,) = prometheus["scrape_configs"]
    targets = [each.partition(":") for each in job["static_configs"][0]["targets"]]
    assert {name for name, _, _ in targets} == {"replica1", "replica2"} <= set(services)
    assert {name for name, _, _ in targets} == set(options.allow_host)
    assert {port for _, _, port in targets} == {options.http.rpartition(":")[2]}
    docker = (DEPLOY / "Dockerfile").read_text()
    for name in re.search(r"(?m)^COPY (.*) \./$", docker)[1].split():  # type: ignore[index]
        assert (DEPLOY / name).is_file()


def test_kubernetes_objects_fit_each_other() -> None:
    deployment, service = KUBERNETES["Deployment"]["spec"], KUBERNETES["Service"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    for selector in (
        deployment["selector"]["matchLabels"],
        service["selector"],
        KUBERNETES["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= labels.items()
    (container,) = pod()["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert service["ports"][0]["targetPort"] in ports
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["port"] in ports
    options = parser_of("serve").parse_args(commands()["Kubernetes"][1:])
    assert int(options.http.rpartition(":")[2]) in ports.values()
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert set(mounts) == {each["name"] for each in pod()["volumes"]}
    assert str(options.key_file[0].parent) == mounts["key"]
    assert "$(POD_IP)" in options.allow_host
    assert "POD_IP" in {each["name"] for each in container["env"]}
    (rule,) = KUBERNETES["Ingress"]["spec"]["rules"]
    assert rule["host"] in options.allow_host
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert backend["name"] == KUBERNETES["Service"]["metadata"]["name"]
    assert backend["port"]["name"] == service["ports"][0]["name"]
    annotations = deployment["template"]["metadata"]["annotations"]
    assert int(annotations["prometheus.io/port"]) in ports.values()
    assert deployment["replicas"] > KUBERNETES["PodDisruptionBudget"]["spec"]["minAvailable"]


# What is deployed does what the files expect


def serving() -> HttpServer:
    """The server of the folder."""
    command = [ACCORD, "serve", "shop:server", "--http", "127.0.0.1:0", "--no-page", "--telemetry"]
    return HttpServer(command, cwd=DEPLOY, env=ENVIRONMENT)


def test_probes_and_health_checks_succeed() -> None:
    paths = {
        pod()["containers"][0][probe]["httpGet"]["path"]
        for probe in ("readinessProbe", "livenessProbe")
    }
    with serving() as server:
        for path in paths:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            connection.request("GET", path, headers={"Host": "10.1.2.3:8000"})
            assert connection.getresponse().status == 200
            connection.close()
        kind, program, *words = COMPOSE["x-replica"]["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "python")
        words = [each.replace(":8000/", f":{server.port}/") for each in words]
        python = str(Path(ACCORD).with_name("python"))
        assert subprocess.run([python, *words], timeout=30, check=False).returncode == 0
        words = [each.replace("/health", "/nothing") for each in words]
        assert subprocess.run(
            [python, *words], timeout=30, check=False, stderr=subprocess.DEVNULL
        ).returncode


def _metrics(server: HttpServer) -> dict[str, set[str]]:
    """The names of samples at /metrics, with the names of their labels."""
    url = f"http://127.0.0.1:{server.port}/metrics"
    with urllib.request.urlopen(url, timeout=10) as response:
        lines = response.read().decode().splitlines()
    found: dict[str, set[str]] = {}
    for line in lines:
        if line and not line.startswith("#"):
            name, _, rest = line.partition("{")
            labels = re.findall(r'(\w+)="', rest.rpartition("}")[0])
            found.setdefault(name.split()[0], set()).update(labels)
    return found


def test_the_dashboard_shows_metrics_that_exist() -> None:
    pytest.importorskip("prometheus_client")
    with serving() as server, HttpPeer(server.port) as client:
        client.call("add", a=1, b=2)
        emitted = _metrics(server)
    variables = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    expressions = [t["expr"] for panel in DASHBOARD["panels"] for t in panel["targets"]]
    (alert,) = [block.text for block in blocks(DOCS) if block.language == "promql"]
    used = set()
    for expression in [*expressions, alert, variables["tool"]["query"]["query"]]:
        names = re.findall(r"\b(accord_\w+)(?:\{([^}]*)\})?", expression)
        assert names, expression
        for name, matchers in names:
            used.add(name)
            assert name in emitted, f"{name} is not emitted"
            labels = set(re.findall(r"(\w+)(?==~|=|!~|!=)", matchers))
            assert labels <= emitted[name] | {"instance", "job"}, (name, labels)
            for outcomes in re.findall(r'outcome[=!]~?"([^"]*)"', matchers):
                assert set(outcomes.split("|")) <= set(OUTCOMES), outcomes
        for labels in re.findall(r"by \(([^)]*)\)", expression):
            known = set().union(*(emitted[name] for name, _ in names)) | {"instance"}
            assert {each.strip() for each in labels.split(",")} <= known
    families = {re.sub(r"_(total|bucket|sum|count|created)$", "", name) for name in emitted}
    assert families == {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in used}


def test_the_dashboard_can_be_imported() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert {panel["datasource"]["uid"]} == {"${datasource}"}
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)
        place = panel["gridPos"]
        assert 0 <= place["x"] < place["x"] + place["w"] <= 24
        for target in panel["targets"]:
            assert target["expr"].count("(") == target["expr"].count(")")
    (provider,) = yaml.safe_load((DEPLOY / "grafana-dashboards.yml").read_text())["providers"]
    mounts = COMPOSE["services"]["grafana"]["volumes"]
    assert any(f":{provider['options']['path']}/" in each for each in mounts)
    (source,) = yaml.safe_load((DEPLOY / "grafana-datasource.yml").read_text())["datasources"]
    assert source["type"] == "prometheus"


class Receiver:
    """An OTLP receiver, which decodes what is sent to it."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, str]] = []
        """The service and the name of each span."""
        self._changed = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.take(self.path, body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, path: str, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        assert path == "/v1/traces"
        request = ExportTraceServiceRequest.FromString(body)
        with self._changed:
            for resource in request.resource_spans:
                names = {each.key: each.value.string_value for each in resource.resource.attributes}
                for scope in resource.scope_spans:
                    self.spans += [(names["service.name"], span.name) for span in scope.spans]
            self._changed.notify_all()

    def wait(self) -> list[tuple[str, str]]:
        """The spans, once there are any."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.spans, 30), "no span has arrived"
            return self.spans

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("more", [[], ["--workers", "2"]], ids=["one", "workers"])
def test_four_lines_send_spans_to_jaeger(more: list[str]) -> None:
    instrument = Path(ACCORD).with_name("opentelemetry-instrument")
    if not instrument.exists():
        pytest.skip("opentelemetry-distro is not installed")
    lines = next(b.text for b in blocks(DOCS) if "opentelemetry-instrument" in b.text).splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("pip install opentelemetry-distro opentelemetry-exporter-otlp")
    receiver = Receiver()
    try:
        assigned = [pair for line in lines[1:3] for pair in shlex.split(line)[1:]]
        env = dict(pair.split("=", 1) for pair in assigned)
        assert env["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://127.0.0.1:4318"
        env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        program, _, *words = shlex.split(lines[3])
        assert program == instrument.name
        words = [each.replace(":8000", ":0") for each in words]
        command = [str(instrument), ACCORD, *words, "--no-page", *more]
        given = {**os.environ, **env}
        with HttpServer(command, cwd=DEPLOY, env=given) as server, HttpPeer(server.port) as client:
            client.call("add", a=1, b=2)
            assert set(receiver.wait()) == {("shop", "tools/call add")}
    finally:
        receiver.close()
