"""What the worker serves: a definition, and a body for its task."""

DEFINITIONS = [{
    "id": "count-words", "version": 1,
    "steps": [{"id": "count", "kind": "task", "input": {"pages": "${input.pages}", "pause": "${input.pause?}"}}],
}]


class StepFailed(Exception):
    """`retryable` is tried again within the budget of the step; a class of your own is there for `on_error`."""
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def count(step, work):
    """Counts words page by page, and leaves a mark at each: the next attempt goes on where this one was."""
    done = step.lease.get("last_details") or {"page": 0, "words": 0}
    first = done["page"]
    for page in work["pages"][first:]:
        if step.stop.wait(work.get("pause") or 0):
            raise StepFailed("retryable", "interrupted")
        if not isinstance(page, str):
            raise StepFailed("not_a_page", f"page {done['page'] + 1} is no text")
        done = step.details = {"page": done["page"] + 1, "words": done["words"] + len(page.split())}
    return {"words": done["words"], "from_page": first}


BODIES = {("count-words", 1, "count"): count}
