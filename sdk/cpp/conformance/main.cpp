/// Joins the conformance kit to this library, through its public interface alone. See sdk/conformance/README.md.
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <thread>

#include "fixture.hpp"

namespace fixture {

namespace {

std::mutex output;
std::mutex calls_mutex;
std::map<std::int64_t, std::stop_source> under_way;

json error_of(const std::exception_ptr& thrown) {
  const auto told = [](const char* type, const std::exception& error) -> json {
    return {{"type", type}, {"message", error.what()}};
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const svc::ServiceError& error) {
    auto out = told("ServiceError", error);
    out["status"] = error.status();
    out["code"] = error.code();
    if (error.field()) out["field"] = *error.field();
    if (error.request_id()) out["request_id"] = *error.request_id();
    if (error.retry_after()) out["retry_after_ms"] = error.retry_after()->count();
    return out;
  } catch (const svc::RunFailed& error) {
    auto out = told("RunFailed", error);
    out["run"] = error.run();
    return out;
  } catch (const svc::ConnectionError& error) {
    return told("ConnectionError", error);
  } catch (const svc::IncompatibleServer& error) {
    return told("IncompatibleServer", error);
  } catch (const svc::Cancelled& error) {
    return told("Cancelled", error);
  } catch (const std::invalid_argument& error) {
    return told("InvalidArgument", error);
  } catch (const Unrepresentable& error) {
    return told("Unrepresentable", error);
  } catch (const Unsupported& error) {
    return told("Unsupported", error);
  } catch (const std::exception& error) {
    return told("Unexpected", error);
  }
}

json configure(const Call& call) {
  const auto& with = call.with;
  auto& [mutex, tracing, calling, made, caller, workers, released, changed] = world();
  tracing.settings = {.endpoint = text(with, "endpoint"),
                      .api_key = text(with, "api_key"),
                      .project = text(with, "project"),
                      .environment = text(with, "environment"),
                      .service_name = text(with, "service_name"),
                      .service_version = text(with, "service_version"),
                      .sample = maybe<double>(with, "sample"),
                      .enabled = maybe<bool>(with, "enabled")};
  tracing.max_queued = with.value("max_queued", tracing.max_queued);
  tracing.max_queued_bytes = with.value("max_queued_bytes", tracing.max_queued_bytes);
  tracing.batch_size = with.value("batch_size", tracing.batch_size);
  tracing.delay = millis(with, "delay_ms").value_or(tracing.delay);
  calling.endpoint = tracing.settings.endpoint;
  calling.api_key = tracing.settings.api_key;
  calling.project = tracing.settings.project;
  calling.timeout = millis(with, "timeout_ms").value_or(calling.timeout);
  calling.stream_idle = millis(with, "stream_idle_ms").value_or(calling.stream_idle);
  if (with.contains("retry")) {
    const auto& retry = with["retry"];
    calling.retry = {.attempts = retry.at("attempts"), .base = *millis(retry, "base_ms"), .max = *millis(retry, "max_ms")};
    tracing.retry = calling.retry;
  }
  return {{"problems", world().tracer().problems()}};
}

json hello(const Call& /*call*/) {
  return {{"language", "cpp"},
          {"library", "svc"},
          {"version", svc::library_version},
          {"capabilities", {"threads", "fork", "log_bridge", "blocking_bodies", "int64", "batch"}}};
}

json cancel_call(const Call& call) {
  const std::lock_guard lock{calls_mutex};
  const auto found = under_way.find(call.with.at("call"));
  if (found != under_way.end()) found->second.request_stop();
  return json::object();
}

json leave(const Call& call) {
  for (const auto& [name, worker] : world().workers) worker->stop();
  if (world().caller.has_value()) world().caller->close();
  if (world().made != nullptr) world().made->close();
  std::_Exit(call.with.value("code", 0));
}

const Verbs& all_verbs() {
  static const Verbs verbs = [] {
    Verbs all{{"hello", hello}, {"configure", configure}, {"cancel_call", cancel_call}, {"exit", leave}};
    for (auto more : {signal_verbs(), client_verbs(), worker_verbs()}) all.merge(more);
    return all;
  }();
  return verbs;
}

void serve(const json& request) {
  const auto id = request.at("id").get<std::int64_t>();
  std::stop_token stop;
  {
    const std::lock_guard lock{calls_mutex};
    stop = under_way[id].get_token();
  }
  json answer{{"id", id}};
  try {
    const auto verb = request.at("do").get<std::string>();
    const auto found = all_verbs().find(verb);
    if (found == all_verbs().end()) throw Unsupported(verb);
    answer["ok"] = found->second({request.value("with", json::object()), id, stop});
  } catch (...) {
    answer["error"] = error_of(std::current_exception());
  }
  {
    const std::lock_guard lock{calls_mutex};
    under_way.erase(id);
  }
  emit(answer);
}

}  // namespace

void emit(const json& line) {
  const auto text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  const std::lock_guard lock{output};
  std::cout << text << std::flush;
}

World& world() {
  static auto* const only = new World();
  return *only;
}

svc::Instrumentation& World::tracer() {
  const std::lock_guard lock{mutex};
  if (made == nullptr) made = std::make_unique<svc::Instrumentation>(tracing);
  return *made;
}

svc::Client& World::client() {
  const std::lock_guard lock{mutex};
  if (!caller.has_value()) caller.emplace(calling);
  return *caller;
}

}  // namespace fixture

namespace {

/// Waits for a line, and no longer than a moment in one call of the system: ThreadSanitizer calls the handler of a signal only
/// once the thread that got it leaves that call.
void await_line() {
  constexpr int moment_ms = 50;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (std::cin.rdbuf()->in_avail() <= 0 && poll(&input, 1, moment_ms) == 0) continue;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): a line that is no request ends the fixture, as it should
int main() {
  // Lines that came together are in the buffer of the stream.
  std::ios::sync_with_stdio(false);
  std::string line;
  while (await_line(), std::getline(std::cin, line)) {
    auto request = fixture::json::parse(line);
    {
      // Before the next line, which may cancel it.
      const std::lock_guard lock{fixture::calls_mutex};
      fixture::under_way.try_emplace(request.at("id").get<std::int64_t>());
    }
    std::thread([request = std::move(request)] { fixture::serve(request); }).detach();
  }
  std::_Exit(0);
}
