"""It says when it is registered, where, and what it serves; Ctrl-C stops it."""

import logging

from refund import refund

import svc

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")

if __name__ == "__main__":
    svc.Worker(refund, name="refund-agent", service_name="refund-agent").run()
