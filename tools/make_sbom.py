"""What is linked into the program, as SPDX 2.3: Debian's packages as dpkg knows them, and the page's parts from npm."""

import hashlib
import json
import subprocess
import time
from pathlib import Path

import repository

# The package whose files are linked in or compiled in, what it is called upstream, its licence.
PARTS = [
    ("libsqlite3-dev", "sqlite3", "blessing"),
    ("zlib1g-dev", "zlib", "Zlib"),
    ("libssl-dev", "openssl", "Apache-2.0"),
    ("libyaml-dev", "libyaml", "MIT"),
    ("libfmt-dev", "fmt", "MIT"),
    ("libcli11-dev", "CLI11", "BSD-3-Clause"),
    ("nlohmann-json3-dev", "nlohmann-json", "MIT"),
    ("libtomlplusplus-dev", "tomlplusplus", "MIT"),
    ("libboost1.81-dev", "boost", "BSL-1.0"),
    ("libstdc++-12-dev", "libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1"),
]
ELSEWHERE = {"libboost1.81-dev": "libboost1.83-dev", "libstdc++-12-dev": "libstdc++-13-dev"}  # Ubuntu 24.04
PAGE_PARTS = {"uplot": "MIT"}


def installed_version(package: str) -> str | None:
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}\n", package], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[0] or None


def versions(architecture: str) -> dict[str, str]:
    """Package → version, of the libraries of that architecture where ./dev package unpacked them."""
    unpacked = repository.ROOT / "build" / "peers" / architecture / "versions"
    found = dict(line.split() for line in unpacked.read_text().splitlines()) if unpacked.is_file() else {}
    for package, _, _ in PARTS:
        version = found.get(package) or installed_version(package) or installed_version(ELSEWHERE.get(package, ""))
        if not version:
            raise SystemExit(f"dpkg knows no version of {package}: what is linked in cannot be told")
        found[package] = version
    return found


def part(name: str, version: str, licence: str, locator: str) -> dict:
    return {
        "SPDXID": f"SPDXRef-{name.replace('+', 'x')}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
        ],
    }


def text(version: str, architecture: str, when: int, program: bytes) -> bytes:
    """Of the program whose bytes are given; `when`: in seconds since 1970, the day of the release."""
    known = versions(architecture)
    digest = hashlib.sha256(program).hexdigest()
    berth = part("berth", version, "Apache-2.0", f"pkg:generic/berth@{version}?arch={architecture}")
    berth["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    berth["packageFileName"] = "bin/berth"
    parts = [
        part(name, known[package], licence, f"pkg:deb/debian/{package}@{known[package].replace('+', '%2B')}?arch={architecture}")
        for package, name, licence in PARTS
    ]
    lock = json.loads((repository.ROOT / "web" / "package-lock.json").read_bytes())
    for name, licence in PAGE_PARTS.items():
        of_page = lock["packages"][f"node_modules/{name}"]["version"]
        parts.append(part(name, of_page, licence, f"pkg:npm/{name}@{of_page}"))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", berth["SPDXID"])]
    relations += [(berth["SPDXID"], "STATIC_LINK", one["SPDXID"]) for one in parts]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"berth-{version}-{architecture}",
        "documentNamespace": f"https://spdx.org/spdxdocs/berth-{version}-{architecture}-{digest}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)),
            "creators": [f"Tool: {Path(__file__).name}"],
        },
        "packages": [berth, *parts],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }
    return json.dumps(document, indent=1).encode() + b"\n"
