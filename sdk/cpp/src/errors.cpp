#include "svc/errors.hpp"

#include "svc/wire.hpp"

namespace svc::inline v0 {

namespace {

std::string why_failed(const wire::RunDetail& run) {
  std::string text = "run " + run.run_id + (run.status == wire::RunStatus::cancelled ? " was cancelled" : " failed");
  if (run.error.has_value()) {
    text += ": " + run.error->class_;
    if (run.error->code.has_value()) text += "/" + *run.error->code;
    text += ": " + run.error->message;
  }
  return text;
}

const char* words_of(InterruptReason reason) noexcept {
  switch (reason) {
    case InterruptReason::fenced:
      return "the step is no longer held by this worker";
    case InterruptReason::run_terminal:
      return "the run has ended";
    case InterruptReason::stopping:
      break;
  }
  return "the worker is stopping";
}

}  // namespace

bool ServiceError::retryable() const noexcept {
  if (details_.code == wire::ErrorCode::runs_disabled) return false;
  const int status = details_.status;
  return status == 429 || status == 502 || status == 503 || status == 504;
}

IncompatibleServer::IncompatibleServer(std::string served, std::string understood)
    : Error("the service implements spec_version " + served + ", this library understands " + understood +
            ": use a release of the library for that major version"),
      served_(std::move(served)),
      understood_(std::move(understood)) {}

RunFailed::RunFailed(wire::RunDetail run)
    : Error(why_failed(run)), run_(std::make_shared<const wire::RunDetail>(std::move(run))) {}

std::string_view to_string(InterruptReason reason) noexcept {
  switch (reason) {
    case InterruptReason::fenced:
      return "fenced";
    case InterruptReason::run_terminal:
      return "run_terminal";
    case InterruptReason::stopping:
      break;
  }
  return "stopping";
}

StepInterrupted::StepInterrupted(InterruptReason reason) : Error(words_of(reason)), reason_(reason) {}

}  // namespace svc::inline v0
