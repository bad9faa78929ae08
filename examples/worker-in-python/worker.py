"""A worker in Python, written from docs/worker-protocol.md alone. It needs nothing but the standard library."""
import http.client, json, os, random, signal, socket, sys, threading, time, urllib.parse, uuid
from concurrent.futures import ThreadPoolExecutor, wait
from count_words import BODIES, DEFINITIONS

WORKER, SLOTS, GRACE_SECONDS = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}", 4, 30
URL, KEY = urllib.parse.urlsplit(os.environ.get("SVC_ENDPOINT", "http://127.0.0.1:4317")), os.environ.get("SVC_API_KEY")
HEADERS = {"content-type": "application/json", **({"authorization": f"Bearer {KEY}"} if KEY else {})}
local, stopping, never, running = threading.local(), threading.Event(), threading.Event(), set()

def call(path, body, timeout=30.0):
    """One try: the status, 0 where nobody answered; the answer; and the seconds that the service asks to wait."""
    if not hasattr(local, "link"):  # One kept connection for each thread.
        local.link = (http.client.HTTPSConnection if URL.scheme == "https" else http.client.HTTPConnection)(URL.netloc)
    try:
        local.link.timeout = timeout
        if local.link.sock:
            local.link.sock.settimeout(timeout)
        local.link.request("POST", f"{URL.path.rstrip('/')}/v1/api{path}", json.dumps({"worker_id": WORKER, **body}), HEADERS)
        answer = local.link.getresponse()
        return answer.status, json.loads(answer.read()), float(answer.headers.get("retry-after", 0))
    except (OSError, http.client.HTTPException, ValueError):
        local.link.close()
        return 0, {}, 0.0

def insist(path, body, seconds=float("inf"), stop=never):
    """Repeats a call until it is answered, for so many seconds at most."""
    end, pause = time.monotonic() + seconds, 0.2
    while True:
        status, answer, asked = call(path, body)
        later = status in (0, 429, 502, 503, 504) and answer.get("code") != "runs_disabled"
        if not later or time.monotonic() > end or stop.wait(max(asked, random.uniform(0, pause))):
            return status, answer
        pause = min(5.0, pause * 2)

class Step:
    """What a body and its heartbeats share: it reads `lease` and `stop`, set when it must end, and writes `details`."""
    def __init__(self, lease):
        self.lease, self.path, self.details, self.sent, self.refused = lease, f"/steps/{lease['lease_id']}", None, None, None
        self.stop, self.reported = threading.Event(), threading.Event()

    def beat(self, timeout):
        mark = self.details
        status, answer, _ = call(f"{self.path}/heartbeat", {} if mark == self.sent else {"details": mark}, timeout)
        self.sent = mark if status == 200 else self.sent
        if answer.get("code") in ("fenced", "run_terminal"):
            self.refused = answer["code"]
            self.stop.set()
        return status

    def live(self, seconds):
        pause = seconds
        while not self.reported.wait(pause) and self.refused is None:
            pause = seconds if self.beat(seconds) else seconds / 4

    def outcome(self, body):
        """Runs the body. The message of an error travels, its stack does not."""
        try:
            report = {"output": body(self, self.lease.get("input"))}
            json.dumps(report, allow_nan=False)
            return "complete", report
        except Exception as error:
            if self.stop.is_set() and self.refused is None:  # We stop: no fault of the step.
                error = {"class": "rate_limited", "code": "worker_stopping", "message": "the worker stops"}
                return "fail", {"error": error, "retry_after_ms": 0}
            return "fail", {"error": {"class": getattr(error, "kind", "fatal"), "message": str(error)[:1000]}}

def serve(lease, settings):
    step, key = Step(lease), (lease["definition_id"], lease["definition_version"], lease["step_id"])
    if key not in BODIES:
        return insist(f"{step.path}/fail", {"error": {"class": "unservable", "message": f"no body for {key}"}})
    if insist(f"{step.path}/started", {}, settings["lease_ttl_ms"] / 1000)[0] != 200:
        return None  # Not ours any more, or nobody knows: the body must not run.
    running.add(step)
    threading.Thread(target=step.live, args=[settings["heartbeat_ms"] / 1000], daemon=True).start()
    verb, report = step.outcome(BODIES[key])
    if verb == "fail" and step.details != step.sent and step.refused is None:
        step.beat(30)  # A mark that waits goes first: after the report nobody takes it.
    if step.refused is None:
        status, answer = insist(f"{step.path}/{verb}", report)
        if status in (400, 413):
            insist(f"{step.path}/fail", {"error": {"class": "fatal", "message": str(answer.get("message"))[:1000]}})
        verb = verb if status == 200 else answer.get("code", status)  # `already_applied`: it landed before.
    step.reported.set()
    running.discard(step)
    print(f"{key[2]} of run {lease['run_id']}, attempt {lease['attempt']}: {step.refused or verb}", flush=True)

def register():
    body = {"name": "worker-in-python", "concurrency": SLOTS, "definitions": DEFINITIONS}
    status, answer = insist("/workers/register", body, stop=stopping)
    if status != 200 and not stopping.is_set():
        sys.exit(f"the service refuses this worker: {status} {answer.get('code')}: {answer.get('message')}")
    return answer

def on_signal(*_):
    stopping.set()
    if getattr(local, "link", None) and local.link.sock:  # Hangs up on the claim: what is on its way goes back at once.
        local.link.sock.shutdown(socket.SHUT_RDWR)

signal.signal(signal.SIGTERM, on_signal)
signal.signal(signal.SIGINT, on_signal)
pool, leases, settings = ThreadPoolExecutor(SLOTS), set(), register()
print(f"worker {WORKER} is registered at {URL.geturl()} and serves {', '.join(one['id'] for one in DEFINITIONS)}", flush=True)
while not stopping.is_set():
    leases = {lease for lease in leases if not lease.done()}
    if len(leases) == SLOTS:
        wait(leases, 1, "FIRST_COMPLETED")
        continue
    status, answer, asked = call("/steps/claim", {"max": SLOTS - len(leases), "wait_ms": 20_000}, 60)
    leases |= {pool.submit(serve, lease, settings) for lease in answer.get("leases", [])}
    if status in (400, 401, 403):
        sys.exit(f"the service refuses the claims of this worker: {status} {answer.get('code')}: {answer.get('message')}")
    if status != 200 and not stopping.wait(max(asked, random.uniform(0, 1))):
        settings = register()  # It does not know us, or was away.
wait(leases, GRACE_SECONDS)
for step in list(running):
    step.stop.set()
wait(leases, 5)
os._exit(0)  # A body that does not listen is left behind: its lease runs out.
