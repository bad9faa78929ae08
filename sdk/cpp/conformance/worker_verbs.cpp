#include <algorithm>
#include <thread>

#include "fixture.hpp"

namespace fixture {

namespace {

/// What a scripted body gives; one that JSON cannot say has an encoder that throws.
struct Output {
  json value;
  bool is_json = true;
};
[[maybe_unused]] void to_json(json& out, const Output& output) {
  if (!output.is_json) throw std::runtime_error("no JSON of this");
  out = output.value;
}

void cancelled(const svc::Step& step) {
  const auto reason = step.interruption();
  emit({{"event", "body.cancelled"},
        {"lease_id", step.lease().lease_id},
        {"reason", reason.has_value() ? json(svc::to_string(*reason)) : json(nullptr)}});
}

json context_of(const svc::Step& step) {
  json steps = json::object();
  for (const auto& [name, prior] : step.lease().steps) steps[name] = prior;
  json context{{"event", "body.context"},
               {"lease_id", step.lease().lease_id},
               {"run_id", step.run_id()},
               {"project", step.project()},
               {"definition_id", step.definition_id()},
               {"definition_version", step.definition_version()},
               {"step_id", step.step_id()},
               {"visit", step.visit()},
               {"attempt", step.attempt()},
               {"step_key", step.key()},
               {"state", step.state()},
               {"steps", steps},
               {"correlation", step.correlation()},
               {"traceparent", step.traceparent()}};
  for (const auto& [name, prior] : step.lease().steps)
    if (prior.output.has_value()) context["steps"][name]["output"] = *step.prior(name);
  if (step.last_details().has_value()) context["last_details"] = *step.last_details();
  if (step.lease().deadline_at.has_value()) context["deadline_at"] = *step.lease().deadline_at;
  return context;
}

[[noreturn]] void throw_as(const json& what) {
  const auto message = what.value("message", std::string());
  const auto as = what.at("as").get<std::string>();
  if (as == "retryable") throw svc::Retryable(message, millis(what, "retry_after_ms"));
  if (as == "failure")
    throw svc::StepFailure(message, {.error_class = what.value("class", std::string("fatal")),
                                     .code = text(what, "code"),
                                     .retry_after = millis(what, "retry_after_ms")});
  // What unwinds past a handler of std::exception.
  if (as == "panic") throw std::string(message);
  throw std::runtime_error(message);
}

void sleep_deaf(const svc::Step& step, std::chrono::milliseconds time) {
  const std::stop_callback on_cancel{step.stop_token(), [&step] { cancelled(step); }};
  std::this_thread::sleep_for(time);
}

void await_release(const svc::Step& step, const std::string& name) {
  auto& shared = world();
  std::unique_lock lock{shared.mutex};
  shared.changed.wait(lock, step.stop_token(), [&] { return shared.released.contains(name); });
  lock.unlock();
  step.throw_if_cancelled();
}

void act(svc::Step& step, const std::string& verb, const json& value) {
  if (verb == "sleep_ms") {
    step.sleep_for(std::chrono::milliseconds{value});
  } else if (verb == "deaf_ms") {
    sleep_deaf(step, std::chrono::milliseconds{value});
  } else if (verb == "block_ms") {
    std::this_thread::sleep_for(std::chrono::milliseconds{value});
  } else if (verb == "await") {
    await_release(step, value);
  } else if (verb == "emit") {
    emit({{"event", "body.emit"}, {"lease_id", step.lease().lease_id}, {"value", value}});
  } else if (verb == "emit_context") {
    emit(context_of(step));
  } else if (verb == "beat") {
    step.heartbeat(value);
  } else if (verb == "patch") {
    step.patch_state(value);
  } else if (verb == "usage") {
    if (value.is_array())
      step.set_usage(value.get<std::vector<svc::wire::ReportedUsage>>());
    else
      step.set_usage(value.get<svc::wire::ReportedUsage>());
  } else if (verb == "span") {
    auto span = step.span(value.at("name").get<std::string>(), span_options(value));
    set_span(span, value);
  } else if (verb == "log") {
    step.log(svc::Severity(value.at("severity").get<std::string>()), value.at("message").get<std::string>(),
             attributes(value, "attributes"));
  } else if (verb == "score") {
    step.score(value.at("scorer_id").get<std::string>(), value.at("value"), {value.at("min"), value.at("max")});
  } else if (verb == "feedback") {
    step.feedback(svc::FeedbackKind(value.at("kind").get<std::string>()), value.at("value"));
  } else if (verb == "throw") {
    throw_as(value);
  }
}

Output play(svc::Step& step, const json& input) {
  if (!input.is_object() || !(input.contains("script") || input.contains("attempts"))) return {input};
  const auto attempts = input.contains("attempts") ? input["attempts"] : json::array({input["script"]});
  const auto last = static_cast<std::int64_t>(attempts.size()) - 1;
  for (const auto& action : attempts.at(static_cast<std::size_t>(std::min(step.attempt() - 1, last)))) {
    const auto only = action.begin();
    const auto& verb = only.key();
    const auto& value = only.value();
    if (verb == "return") return {value};
    if (verb == "return_not_json") return {.value = nullptr, .is_json = false};
    if (verb == "return_bytes") return {std::string(value.get<std::size_t>(), 'x')};
    act(step, verb, value);
  }
  return {nullptr};
}

Output scripted_body(svc::Step& step, const json& input) {
  const auto lease_id = step.lease().lease_id;
  const auto ended = [&](void* /*unused*/) { emit({{"event", "body.ended"}, {"lease_id", lease_id}}); };
  const std::unique_ptr<svc::Step, decltype(ended)> at_end{&step, ended};
  emit({{"event", "body.started"},
        {"lease_id", lease_id},
        {"run_id", step.run_id()},
        {"step_id", step.step_id()},
        {"attempt", step.attempt()}});
  try {
    return play(step, input);
  } catch (const svc::StepInterrupted&) {
    cancelled(step);
    throw;
  }
}

json run(const Call& call) {
  const auto& with = call.with;
  std::vector<svc::Workflow> workflows;
  for (const auto& definition : with.at("definitions")) {
    auto& workflow = workflows.emplace_back(svc::Json{definition});
    for (const auto& task : workflow.tasks()) workflow.step(task, scripted_body);
  }
  svc::WorkerOptions options{.settings = world().tracing.settings,
                             .worker_id = text(with, "worker_id"),
                             .version = text(with, "version"),
                             .run_id = text(with, "run_id"),
                             .stop_on_signals = with.value("signals", false),
                             .instrumentation = &world().tracer(),
                             .log = [](svc::LogLevel level, std::string_view line) {
                               emit({{"event", "worker.log"}, {"level", svc::to_string(level)}, {"message", line}});
                             }};
  options.concurrency = with.value("concurrency", options.concurrency);
  options.claim_wait = millis(with, "claim_wait_ms").value_or(options.claim_wait);
  options.grace = millis(with, "grace_ms").value_or(options.grace);
  options.settle = millis(with, "settle_ms").value_or(options.settle);
  const auto worker = std::make_shared<svc::Worker>(std::move(workflows), std::move(options));
  {
    const std::lock_guard lock{world().mutex};
    world().workers[with.value("name", std::string("w"))] = worker;
  }
  worker->run();
  return json::object();
}

json stop(const Call& call) {
  std::shared_ptr<svc::Worker> worker;
  {
    const std::lock_guard lock{world().mutex};
    worker = world().workers.at(call.with.value("name", std::string("w")));
  }
  worker->stop();
  return json::object();
}

json release(const Call& call) {
  const std::lock_guard lock{world().mutex};
  world().released.insert(call.with.at("name").get<std::string>());
  world().changed.notify_all();
  return json::object();
}

}  // namespace

Verbs worker_verbs() { return {{"worker.run", run}, {"worker.stop", stop}, {"release", release}}; }

}  // namespace fixture
