"""Write what is in the wheel as a bill of materials, CycloneDX 1.6: scripts/sbom.py > tilewright.cdx.json.

The wheel has tilewright's own files, in its compiled module the headers of pybind11 and DLPack, and in the interactive
page's core.wasm what Emscripten links. What is installed beside it is a requirement of its metadata.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).parents[1]
EMSCRIPTEN = "3.1.6"  # as scripts/build_page.py demands
DLPACK = ROOT / "cpp/third_party/dlpack/dlpack.h"


def materials(pybind11: str | None = None) -> dict[str, Any]:
    """The bill: the same for the same sources and the same version of pybind11."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    version, name = project["project"]["version"], project["project"]["name"]
    build = next(x for x in project["build-system"]["requires"] if x.startswith("pybind11"))
    dlpack = ".".join(re.findall(r"DLPACK_M(?:AJOR|IN)\w*_VERSION (\d+)", DLPACK.read_text("utf-8")))
    headers = [
        _library("pybind11", pybind11 or _installed("pybind11", build), "BSD-3-Clause", "headers of the bindings"),
        _library("emscripten", EMSCRIPTEN, "MIT", "its C and C++ libraries, in core.wasm", of="github/emscripten-core"),
        _library("dlpack", dlpack, "Apache-2.0", "the header of the protocol", of="github/dmlc"),
    ]
    required = [
        {"type": "library", "bom-ref": f"pkg:pypi/{x}", "name": x, "purl": f"pkg:pypi/{x}", "scope": "required"}
        for x in (re.split("[<>=!~]", needed)[0] for needed in project["project"]["dependencies"])
    ]
    own = f"pkg:pypi/{name}@{version}"
    components = sorted([*headers, *required], key=lambda x: str(x["bom-ref"]))
    references = [str(x["bom-ref"]) for x in components]
    serial = uuid.uuid5(uuid.NAMESPACE_URL, own + json.dumps(components, sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": name,
                "version": version,
                "purl": own,
                "licenses": [{"license": {"id": project["project"]["license"]}}],
            }
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": references}, *({"ref": x} for x in references)],
    }


def _library(name: str, version: str, license_id: str, description: str, of: str = "pypi") -> dict[str, Any]:
    reference = f"pkg:{of}/{name}@{version}"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": version,
        "description": description,
        "licenses": [{"license": {"id": license_id}}],
        "purl": reference,
    }


def _installed(name: str, needed: str) -> str:
    """The version that is compiled in: the installed one, else the oldest that the build takes."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return needed.partition("~=")[2]


if __name__ == "__main__":
    json.dump(materials(), sys.stdout, indent=2)
    print()
