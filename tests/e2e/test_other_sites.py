"""Pages of other sites that are let near `berth serve`: trusted_origins and frame_ancestors of serve.toml."""

import http.server
import json
import os
import signal
import subprocess
import threading

import pytest
from browser import CHROMIUM
from conftest import ROOT, wait_until
from serving import serve_on  # noqa: F401  pylint: disable=unused-import
from test_page import check_page, reason_to_skip
from test_serve import token_of

PORTAL, OTHER = "https://portal.lab", "https://evil.example"
BY_A_PAGE = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,x-berth"}


def allowed(answer):
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control")}


def framed_by(answer):
    return answer.headers["content-security-policy"].partition("frame-ancestors ")[2]


def test_a_trusted_origin_may_ask_and_another_gains_nothing(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    config = machine.directory / "serve.toml"
    config.write_text(f'trusted_origins = ["{PORTAL}"]\nframe_ancestors = ["https://grafana.lab"]\n', encoding="utf-8")
    server = serve_on(machine, "--config", config)
    told = server.get("/api/v1/overview", {"Origin": PORTAL})
    assert told.status == 200 and allowed(told) == {"access-control-allow-origin": PORTAL}
    assert framed_by(told) == "https://grafana.lab"
    asked = server.ask("OPTIONS", "/api/v1/compose", headers={"Origin": PORTAL, **BY_A_PAGE})
    assert asked.status == 204 and asked.body == b"" and allowed(asked) == {
        "access-control-allow-origin": PORTAL,
        "access-control-allow-methods": "GET, HEAD, POST",
        "access-control-allow-headers": "authorization, content-type, last-event-id, x-berth",
        "access-control-max-age": "600",
    }
    for origin in (OTHER, "https://grafana.lab", f"{PORTAL}.evil.example", PORTAL.replace("https", "http"), "null"):
        for method in ("GET", "OPTIONS"):
            refused = server.ask(method, "/api/v1/overview", headers={"Origin": origin, **BY_A_PAGE})
            assert (refused.status, allowed(refused)) == (403, {}), (origin, method)
    # A trusted page is nobody in particular until it shows a token.
    own = {"Origin": PORTAL, "Content-Type": "application/json", "X-Berth": "1"}
    assert server.ask("POST", "/api/v1/leases/x/release", "{}", own).status == 401

    config.write_text("", encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.get("/healthz", {"Origin": PORTAL}).status == 403, "it is trusted no more")
    assert framed_by(server.get("/")) == "'none'"


def test_cards_alone_may_stand_in_a_frame_where_they_may_be_embedded(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    config = machine.directory / "serve.toml"
    config.write_text("embed = true\n", encoding="utf-8")
    server = serve_on(machine, "--config", config)
    for path in ("/embed/server", "/embed/gpu/0"):
        answer = server.get(path)
        assert answer.status == 200 and framed_by(answer) == "*", path
    for path in ("/", "/assets/page.js", "/api/v1/overview", "/api/v1/runs", "/gpu-status", "/healthz", "/metrics", "/nowhere",
                 "/embed/gpu/nosuch", "/embed/gpu/0/more"):  # fmt: skip
        assert framed_by(server.get(path)) == "'none'", path


@pytest.mark.parametrize("line", ['trusted_origins = ["*"]', 'frame_ancestors = "*"', 'trusted_origins = "https://*.lab"'])
def test_no_site_is_named_by_a_star(machine_of, line):
    machine = machine_of("lab-4")
    config = machine.directory / "serve.toml"
    config.write_text(line, encoding="utf-8")
    done = machine.run("serve", "--config", config, "--listen", "127.0.0.1:0")
    assert done.returncode != 0 and "is no origin" in done.stderr and "without a path or *" in done.stderr


class Site(http.server.BaseHTTPRequestHandler):
    """A page that has berth's in a frame."""

    shown = ""

    def log_message(self, *_):
        pass

    def do_GET(self):
        text = f'<!doctype html><iframe src="{self.shown}"></iframe>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def test_what_a_browser_makes_of_it(machine_of, serve_on):  # noqa: F811
    if reason := reason_to_skip():
        pytest.skip(reason)
    sites = {name: http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) for name in ("portal", "grafana", "other")}
    address = {name: f"http://127.0.0.1:{site.server_address[1]}" for name, site in sites.items()}
    for site in sites.values():
        threading.Thread(target=site.serve_forever, args=(0.02,), daemon=True).start()
    machine = machine_of("server-8xh100")
    config = machine.directory / "serve.toml"
    config.write_text(
        f'trusted_origins = ["{address["portal"]}"]\nframe_ancestors = ["{address["grafana"]}"]\n', encoding="utf-8"
    )
    server = serve_on(machine, "--config", config)
    Site.shown = f"http://127.0.0.1:{server.port}/"
    token = token_of(server, "them", "--user", "nobody")["Authorization"].removeprefix("Bearer ")
    words = {"sites": address, "berth": Site.shown, "token": token}
    script = ROOT / "web/tests/browser/other_sites.mjs"
    try:
        done = subprocess.run(
            ["node", str(script), str(check_page.modules(ROOT)), json.dumps(words)],
            env=os.environ | {"BERTH_CHROMIUM": CHROMIUM}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
    finally:
        for site in sites.values():
            site.shutdown()
            site.server_close()
    assert done.returncode == 0, done.stderr
    nothing = dict.fromkeys(("asks", "shows_a_token", "posts", "uses_the_login"), "refused")
    asks = {"asks": 200, "shows_a_token": "nobody", "posts": 200}
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "portal": nothing | asks | {"frames": False},
        "grafana": nothing | {"frames": True},
        "other": nothing | {"frames": False},
    }
