"""The programs of the README, as a stranger would copy them, against the real service."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

import svc
from daemon import PROGRAM, Daemon

PACKAGE = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.DOTALL)


class Readme(unittest.TestCase):
    def test_every_name_that_the_library_exports_exists_and_is_sorted_once(self) -> None:
        self.assertEqual(len(set(svc.__all__)), len(svc.__all__))
        for name in svc.__all__:
            self.assertTrue(hasattr(svc, name), name)

    @unittest.skipUnless(PROGRAM.exists(), "the service is in the repository, not in the package")
    def test_its_programs_run_as_they_stand(self) -> None:
        instrument, work, follow, _ = BLOCKS
        daemon = Daemon()
        self.addCleanup(daemon.stop)
        env = {**os.environ, "SVC_ENDPOINT": daemon.url}
        # Where the package is installed, that one is run.
        env["PYTHONPATH"] = os.environ.get("SVC_TEST_PYTHONPATH", str(PACKAGE / "src"))

        def run(program: str) -> str:
            ended = subprocess.run(
                [os.environ.get("SVC_TEST_PYTHON", sys.executable), "-c", program],
                env=env,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                cwd="/",
            )
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            return ended.stdout

        self.assertEqual(run(instrument), "42\n")
        with svc.Client(endpoint=daemon.url) as client:
            trace = client.list_traces(limit=1).traces[0]
            detail = client.get_trace(trace.trace_id, include="scores")
        self.assertEqual([span.kind for span in detail.spans], ["agent_run", "model_generation"])

        self.assertIn("{'paid': 40, 'key': '", run(work))
        serving = textwrap.indent(work.split("with svc.Client(")[0], "")
        following = f"import asyncio\nasync def main():\n{textwrap.indent(follow, '    ')}\nasyncio.run(main())\n"
        self.assertIn("{'paid': 40, 'key': '", run(f"{serving}\n{following}\nworker.stop()\n"))


if __name__ == "__main__":
    unittest.main()
