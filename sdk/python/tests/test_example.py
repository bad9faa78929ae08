"""The refund agent of `examples`, run as its README says, beside the worker in TypeScript."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

import svc
from daemon import PROGRAM, ROOT, Daemon, node
from scripted import until

EXAMPLE = Path(__file__).parents[1] / "examples" / "refund_agent"
SOURCE = Path(__file__).parents[1] / "src"


@unittest.skipUnless(PROGRAM.exists(), "the service is in the repository, not in the package")
class RefundAgent(unittest.TestCase):
    def setUp(self) -> None:
        self.daemon = Daemon()
        self.addCleanup(self.daemon.stop)
        self.env = {**os.environ, "PYTHONPATH": str(SOURCE), "SVC_ENDPOINT": self.daemon.url}

    def worker(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        def end() -> None:
            process.terminate()
            process.communicate(timeout=60)

        self.addCleanup(end)
        assert process.stdout is not None
        self.assertIn("is registered at", process.stdout.readline())
        return process

    def run_example(self, name: str, *arguments: str) -> str:
        return subprocess.run(
            [sys.executable, str(EXAMPLE / name), *arguments],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout

    def test_a_clear_case_is_paid_and_another_waits_for_a_person(self) -> None:
        self.worker(sys.executable, str(EXAMPLE / "worker.py"))
        self.assertIn(
            "paid: {'payment': 'payment-1', 'amount': 40}", self.run_example("start.py", "40", "It arrived broken.")
        )
        following = subprocess.Popen(
            [sys.executable, str(EXAMPLE / "start.py"), "250"], env=self.env, stdout=subprocess.PIPE, text=True
        )
        assert following.stdout is not None
        ticket = following.stdout.readline().split()[-1]
        self.assertRegex(self.run_example("approve.py", ticket, "no"), "the run goes on|kept until a run asks")
        self.assertEqual(self.run_example("approve.py", ticket, "no"), "answered before\n")
        text, _ = following.communicate(timeout=120)
        self.assertIn("failed: fatal/refused: refused:", text)

    def test_workers_of_two_languages_serve_one_run(self) -> None:
        python = self.worker(sys.executable, str(EXAMPLE / "worker.py"))
        other = ROOT / "examples" / "refund-agent" / "worker.ts"
        with svc.Client(endpoint=self.daemon.url) as client:
            ticket = {"id": "t-1", "text": "I do not like the colour any more.", "amount": 250}
            run = client.start("refund", {"ticket": ticket})
            until(lambda: run.get().status == "waiting")
            # The first half was served in Python; the worker in TypeScript serves the rest.
            python.terminate()
            python.wait(60)
            self.worker(node(), str(other))
            client.publish("approval", "ticket/t-1", {"approved": True})
            self.assertEqual(run.wait(timeout=60)["amount"], 250)
            workers = {attempt.step_id: attempt.worker_id for attempt in run.get().attempts}
        self.assertEqual(set(workers), {"triage", "pay"})
        self.assertNotEqual(workers["triage"], workers["pay"])


if __name__ == "__main__":
    unittest.main()
