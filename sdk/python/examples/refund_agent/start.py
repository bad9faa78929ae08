"""Starts a refund and follows it: ``start.py [amount] [complaint]``."""

import sys
import time

from refund import Case, Ticket, refund

import svc

amount = float(sys.argv[1]) if len(sys.argv) > 1 else 250.0
text = sys.argv[2] if len(sys.argv) > 2 else "I do not like the colour any more."
ticket = Ticket(f"t-{time.time_ns() // 1_000_000}", text, amount)

with svc.Client() as client:
    try:
        run = client.start(refund, Case(ticket), correlation={"user_id": "customer-7"})
    except svc.ServiceError as refusal:
        if refusal.code != "not_found":
            raise
        sys.exit(f"{refusal}: a worker brings it, so start worker.py first")
    print(f"run {run.run_id}, trace {run.trace_id}, ticket {ticket.id}")
    for entry in run.watch():
        print(f"{entry.seq:3} {entry.kind:15} {entry.step_id or ''}")
        if entry.kind == "run.waiting" and entry.step_id == "ask":
            print("\n    It waits for a person. In another terminal:")
            print(f"    python3 sdk/python/examples/refund_agent/approve.py {ticket.id} yes\n")
    try:
        print("paid:", run.wait())
    except svc.RunFailed as failed:
        print(failed)
