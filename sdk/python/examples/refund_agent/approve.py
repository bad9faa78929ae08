"""The person's answer: ``approve.py <ticket> yes|no``."""

import sys

import svc

if len(sys.argv) != 3 or sys.argv[2] not in ("yes", "no"):
    sys.exit("usage: approve.py <ticket> yes|no")
ticket, answer = sys.argv[1:]

with svc.Client() as client:
    # A ticket is approved once: the id makes a second click count as the first.
    published = client.publish(
        "approval", f"ticket/{ticket}", {"approved": answer == "yes"}, event_id=f"approval-of-{ticket}"
    )
words = {"delivered": "the run goes on", "parked": "kept until a run asks", "duplicate": "answered before"}
print(words.get(published.outcome, published.outcome))
