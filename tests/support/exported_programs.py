"""C programs that are linked with exported functions, and find a driver that writes down what it is asked."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

cc = shutil.which("cc")


def make_driver(folder: Path) -> Path:
    """A folder with a driver for the loader's path."""
    fake = ROOT / "tests/runtime/fake_driver.c"
    subprocess.run([cc, "-shared", "-fPIC", "-o", folder / "libcuda.so.1", fake], check=True)
    return folder


MAIN = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
{includes}
static void log_driver(void) {{
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  const char *(*text)(void) = (const char *(*)(void))dlsym(driver, "fake_log");
  void (*clear)(void) = (void (*)(void))dlsym(driver, "fake_clear");
  printf("%s", text());
  clear();
}}
int main(int count, char **words) {{
  (void)count, (void)words, (void)log_driver;
  {body}
  return 0;
}}
"""


class Program:
    """A C program that is linked with exported objects and nothing else."""

    def __init__(self, folder, driver, names, body, compiler=cc, suffix="c"):
        self.folder, self.driver = folder, driver
        includes = "\n".join(f'#include "{name}.h"' for name in names)
        (folder / f"main.{suffix}").write_text(MAIN.format(includes=includes, body=body))
        objects = [f"{name}.o" for name in names]
        command = [compiler, "-Wall", "-Wextra", "-Werror", "-o", "main", f"main.{suffix}", *objects, "-ldl"]
        subprocess.run(command, cwd=folder, check=True)

    def run(self, *words, parameters=0, **environment):
        # No Python, and no library but the driver.
        environment = {"LD_LIBRARY_PATH": str(self.driver), "FAKE_PARAMETERS": str(parameters), **environment}
        done = subprocess.run(
            [self.folder / "main", *map(str, words)], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()
