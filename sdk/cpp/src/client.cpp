#include "svc/client.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client_core.hpp"
#include "decoded.hpp"
#include "text.hpp"
#include "trace_context.hpp"

namespace svc::inline v0 {

namespace {

using detail::Millis;
using detail::Query;
using detail::Request;
using nlohmann::json;

/// How long one call asks the service to wait for the end of a run; it may answer sooner.
constexpr Millis end_wait{20'000};
/// A call that is not answered so long after its wait is over, is lost.
constexpr Millis wait_slack{15'000};
/// Answered sooner than this, a call was not held: the next one waits a moment.
constexpr Millis held_time{1000};

template <typename Value>
void put(json& body, const char* name, const std::optional<Value>& value) {
  if (!value.has_value()) return;
  if constexpr (std::same_as<Value, Json>)
    body[name] = value->value();
  else
    body[name] = *value;
}

std::optional<std::string> text_of(const std::optional<std::int64_t>& number) {
  return number.has_value() ? std::optional(std::to_string(*number)) : std::nullopt;
}

Request get(std::string path, Query query = {}) {
  return {.method = "GET", .path = std::move(path), .query = std::move(query)};
}

Request post(std::string path, const json& body) {
  return {.method = "POST", .path = std::move(path), .body = detail::encode(body)};
}

Request post_with(std::string path, Query query) {
  return {.method = "POST", .path = std::move(path), .query = std::move(query)};
}

Query query_of(const detail::ClientCore& core, const PageOptions& page) {
  return {{"project", core.project_or(page.project)}, {"limit", text_of(page.limit)}, {"cursor", page.cursor}};
}

Query query_of(const Parameters& parameters) { return {parameters.begin(), parameters.end()}; }

/// With the client's project, where the parameters name none.
Query query_in_project(const detail::ClientCore& core, const Parameters& parameters) {
  auto query = query_of(parameters);
  if (!parameters.contains("project")) query.emplace_back("project", core.project_or({}));
  return query;
}

std::string definition_path(std::string_view id, std::string_view more = {}) {
  return "/v1/api/definitions/" + detail::percent_encoded(id) + std::string(more);
}

std::string schedule_path(std::string_view id, std::string_view more = {}) {
  return "/v1/api/schedules/" + detail::percent_encoded(id) + std::string(more);
}

json reason_body(const std::optional<std::string>& reason) {
  auto body = json::object();
  put(body, "reason", reason);
  return body;
}

json definitions_body(const detail::ClientCore& core, const std::vector<Json>& definitions,
                      const std::optional<std::string>& project) {
  json body{{"definitions", json::array()}};
  for (const auto& definition : definitions) body["definitions"].push_back(definition.value());
  put(body, "project", core.project_or(project));
  return body;
}

template <typename Correlation>
void fill_project(std::optional<Correlation>& correlation, const std::optional<std::string>& project) {
  if (!project.has_value()) return;
  if (!correlation.has_value()) correlation.emplace();
  if (!correlation->project.has_value()) correlation->project = project;
}

/// An empty filter stays empty, which the service refuses: it would mean every run.
Request bulk_request(const detail::ClientCore& core, wire::BulkInput bulk, bool is_dry_run) {
  bulk.dry_run = is_dry_run;
  const json filter = bulk.filter;
  if (!filter.empty() && !bulk.filter.project.has_value()) bulk.filter.project = core.project_or({});
  return post("/v1/api/runs/bulk", bulk);
}

wire::RunDetail ask_for_end(detail::ClientCore& core, std::string_view run_id, const WaitOptions& options,
                            std::optional<detail::Clock::time_point> deadline) {
  using detail::Clock;
  const auto over = [&] { return TimedOut("run " + std::string(run_id) + " has not ended in time"); };
  // A service of an earlier release does not hold a read.
  bool is_held = true;
  int unheld = 0;
  while (true) {
    const auto asked_at = Clock::now();
    auto wait = end_wait;
    auto policy = core.following();
    if (deadline.has_value()) {
      const auto left = std::chrono::ceil<Millis>(*deadline - asked_at);
      if (left <= Millis{0}) throw over();
      wait = std::min(wait, left);
      policy.within = std::min(left, policy.within.value_or(left));
    }
    Request request = get(detail::run_path(run_id));
    if (is_held) {
      request.query = {{"wait_ms", std::to_string(wait.count())}};
      request.timeout = wait + wait_slack;
    }
    try {
      auto run = detail::decoded<wire::RunDetail>(core.call(std::move(request), options.stop, policy));
      if (detail::is_over(run.status.text())) return run;
    } catch (const ConnectionError&) {
      if (deadline.has_value() && Clock::now() >= *deadline) throw over();
      throw;
    } catch (const ServiceError& error) {
      if (!is_held || error.field() != "wait_ms") throw;
      is_held = false;
    }
    unheld = Clock::now() - asked_at < held_time ? unheld + 1 : 0;
    if (unheld == 0) continue;
    auto pause = is_held ? detail::backoff(core.options().retry, unheld) : held_time;
    if (deadline.has_value()) pause = std::clamp(std::chrono::ceil<Millis>(*deadline - Clock::now()), Millis{0}, pause);
    if (detail::wait_for(options.stop, pause)) throw Cancelled("the wait was stopped by its caller");
  }
}

}  // namespace

namespace detail {

wire::Run run_of(const wire::RunDetail& detail) {
  // What a run has, its detail has too.
  return json(detail).get<wire::Run>();
}

}  // namespace detail

Client::Client(ClientOptions options) : core_(std::make_shared<detail::ClientCore>(std::move(options))) {}
void Client::close() noexcept { core_->close(); }

wire::Run Client::start_run(std::string_view definition_id, const Json& input, const StartOptions& options,
                            const std::stop_token& stop) {
  core_->ensure_spec(stop);
  const wire::RunInput body{
      .definition_id = std::string(definition_id),
      .input = input,
      .project = core_->project_or(options.project),
      .definition_version = options.version,
      .idempotency_key = options.idempotency_key.has_value() ? options.idempotency_key : detail::new_uuid(),
      .correlation = options.correlation,
      .wait_ms = options.wait.has_value() ? std::optional<std::int64_t>(options.wait->count()) : std::nullopt,
      .start_at = options.start_at,
      .priority = options.priority,
  };
  auto request = post("/v1/api/runs", body);
  if (options.wait.has_value()) request.timeout = std::max(core_->options().timeout, *options.wait + wait_slack);
  return detail::decoded<wire::Run>(core_->call(std::move(request), stop));
}

wire::RunDetail Client::get_run(std::string_view run_id, const std::stop_token& stop) {
  return detail::decoded<wire::RunDetail>(core_->call(get(detail::run_path(run_id)), stop));
}

wire::ListRunsResponse Client::list_runs(const ListRunsOptions& options, const std::stop_token& stop) {
  auto query = query_of(*core_, options.page);
  if (options.status.has_value()) query.emplace_back("status", options.status->text());
  if (options.waiting_on.has_value()) query.emplace_back("waiting_on", options.waiting_on->text());
  query.emplace_back("definition_id", options.definition_id);
  query.emplace_back("user_id", options.user_id);
  query.emplace_back("session_id", options.session_id);
  query.emplace_back("parent_run_id", options.parent_run_id);
  query.emplace_back("from", options.from);
  query.emplace_back("to", options.to);
  for (const auto& [name, value] : options.correlation) query.emplace_back("correlation." + name, value);
  return detail::decoded<wire::ListRunsResponse>(core_->call(get("/v1/api/runs", std::move(query)), stop));
}

wire::ListRunEventsResponse Client::journal(std::string_view run_id, const JournalOptions& options,
                                            const std::stop_token& stop) {
  auto request =
      get(detail::run_path(run_id, "/events"), {{"after", text_of(options.after)}, {"limit", text_of(options.limit)}});
  return detail::decoded<wire::ListRunEventsResponse>(core_->call(std::move(request), stop));
}

wire::GetStepCauseResponse Client::step_cause(std::string_view run_id, std::string_view step_id, const std::stop_token& stop) {
  auto request = get(detail::run_path(run_id, "/steps/" + detail::percent_encoded(step_id) + "/cause"));
  return detail::decoded<wire::GetStepCauseResponse>(core_->call(std::move(request), stop));
}

wire::RunDetail Client::wait_for_end(std::string_view run_id, const WaitOptions& options) {
  std::optional<detail::Clock::time_point> deadline;
  if (options.timeout.has_value()) deadline = detail::Clock::now() + *options.timeout;
  return ask_for_end(*core_, run_id, options, deadline);
}

Json Client::wait(std::string_view run_id, const WaitOptions& options) {
  auto run = wait_for_end(run_id, options);
  if (run.status != wire::RunStatus::succeeded) throw RunFailed(std::move(run));
  return run.output.value_or(Json());
}

wire::EventOutcome Client::signal(std::string_view run_id, std::string_view event, const Json& payload,
                                  const std::optional<std::string>& event_id, const std::stop_token& stop) {
  const json body{{"event", event}, {"payload", payload.value()}, {"event_id", event_id.value_or(detail::new_uuid())}};
  return detail::decoded<wire::EventOutcome>(core_->call(post(detail::run_path(run_id, "/signal"), body), stop));
}

wire::EventOutcome Client::publish(std::string_view event, std::string_view key, const Json& payload,
                                   const PublishOptions& options, const std::stop_token& stop) {
  const wire::EventInput body{
      .project = core_->project_or(options.project),
      .event = std::string(event),
      .key = std::string(key),
      .payload = payload,
      .event_id = options.event_id.value_or(detail::new_uuid()),
  };
  return detail::decoded<wire::EventOutcome>(core_->call(post("/v1/api/events", body), stop));
}

wire::Run Client::cancel(std::string_view run_id, const std::optional<std::string>& reason, const std::stop_token& stop) {
  return detail::decoded<wire::Run>(core_->call(post(detail::run_path(run_id, "/cancel"), reason_body(reason)), stop));
}

wire::Run Client::pause(std::string_view run_id, const std::optional<std::string>& reason, const std::stop_token& stop) {
  return detail::decoded<wire::Run>(core_->call(post(detail::run_path(run_id, "/pause"), reason_body(reason)), stop));
}

wire::Run Client::resume(std::string_view run_id, const std::optional<std::string>& reason, const std::stop_token& stop) {
  return detail::decoded<wire::Run>(core_->call(post(detail::run_path(run_id, "/resume"), reason_body(reason)), stop));
}

wire::Run Client::restart(std::string_view run_id, const RestartOptions& options, const std::stop_token& stop) {
  const wire::RestartRun body{
      .from_step = options.from_step,
      .visit = options.visit,
      .definition_version = options.definition_version,
      .input = options.input,
      .state_patch = options.state_patch,
      .idempotency_key = options.idempotency_key.value_or(detail::new_uuid()),
  };
  return detail::decoded<wire::Run>(core_->call(post(detail::run_path(run_id, "/restart"), body), stop));
}

std::vector<wire::StoredDefinition> Client::store_definitions(const std::vector<Json>& definitions,
                                                              const std::optional<std::string>& project,
                                                              const std::stop_token& stop) {
  core_->ensure_spec(stop);
  const auto answer = core_->call(post("/v1/api/definitions", definitions_body(*core_, definitions, project)), stop);
  try {
    return answer.value().at("definitions").get<std::vector<wire::StoredDefinition>>();
  } catch (const json::exception&) {
    throw ConnectionError("the answer lacks `definitions`");
  }
}

Json Client::check_definitions(const std::vector<Json>& definitions, const std::optional<std::string>& project,
                               const std::stop_token& stop) {
  auto request = post("/v1/api/definitions", definitions_body(*core_, definitions, project));
  request.query = {{"check", "true"}};
  const auto answer = core_->call(std::move(request), stop);
  try {
    return {answer.value().at("definitions")};
  } catch (const json::exception&) {
    throw ConnectionError("the answer lacks `definitions`");
  }
}

wire::ListDefinitionsResponse Client::list_definitions(const PageOptions& page, const std::stop_token& stop) {
  return detail::decoded<wire::ListDefinitionsResponse>(core_->call(get("/v1/api/definitions", query_of(*core_, page)), stop));
}

wire::DefinitionOverview Client::get_definition(std::string_view definition_id, const std::optional<std::string>& project,
                                                const std::stop_token& stop) {
  auto request = get(definition_path(definition_id), {{"project", core_->project_or(project)}});
  return detail::decoded<wire::DefinitionOverview>(core_->call(std::move(request), stop));
}

wire::DefinitionVersion Client::get_definition_version(std::string_view definition_id, std::int64_t version,
                                                       const std::optional<std::string>& project, const std::stop_token& stop) {
  auto request =
      get(definition_path(definition_id, "/versions/" + std::to_string(version)), {{"project", core_->project_or(project)}});
  return detail::decoded<wire::DefinitionVersion>(core_->call(std::move(request), stop));
}

wire::DefinitionState Client::pause_definition(std::string_view definition_id, const std::optional<std::string>& reason,
                                               const std::optional<std::string>& project, const std::stop_token& stop) {
  auto body = reason_body(reason);
  put(body, "project", core_->project_or(project));
  return detail::decoded<wire::DefinitionState>(core_->call(post(definition_path(definition_id, "/pause"), body), stop));
}

wire::DefinitionState Client::resume_definition(std::string_view definition_id, const std::optional<std::string>& reason,
                                                const std::optional<std::string>& project, const std::stop_token& stop) {
  auto body = reason_body(reason);
  put(body, "project", core_->project_or(project));
  return detail::decoded<wire::DefinitionState>(core_->call(post(definition_path(definition_id, "/resume"), body), stop));
}

wire::ListSchedulesResponse Client::list_schedules(const PageOptions& page, const std::stop_token& stop) {
  return detail::decoded<wire::ListSchedulesResponse>(core_->call(get("/v1/api/schedules", query_of(*core_, page)), stop));
}

wire::Schedule Client::get_schedule(std::string_view schedule_id, const std::optional<std::string>& project,
                                    const std::stop_token& stop) {
  auto request = get(schedule_path(schedule_id), {{"project", core_->project_or(project)}});
  return detail::decoded<wire::Schedule>(core_->call(std::move(request), stop));
}

wire::Schedule Client::create_schedule(wire::ScheduleInput schedule, const std::stop_token& stop) {
  schedule.project = core_->project_or(schedule.project);
  return detail::decoded<wire::Schedule>(core_->call(post("/v1/api/schedules", schedule), stop));
}

wire::Schedule Client::replace_schedule(std::string_view schedule_id, const wire::ChangedSchedule& schedule,
                                        const std::optional<std::string>& project, const std::stop_token& stop) {
  auto request = post(schedule_path(schedule_id), schedule);
  request.method = "PUT";
  request.query = {{"project", core_->project_or(project)}};
  return detail::decoded<wire::Schedule>(core_->call(std::move(request), stop));
}

void Client::delete_schedule(std::string_view schedule_id, const std::optional<std::string>& project,
                             const std::stop_token& stop) {
  auto request = get(schedule_path(schedule_id), {{"project", core_->project_or(project)}});
  request.method = "DELETE";
  static_cast<void>(core_->call(std::move(request), stop));
}

wire::Schedule Client::pause_schedule(std::string_view schedule_id, const std::optional<std::string>& project,
                                      const std::stop_token& stop) {
  auto request = post_with(schedule_path(schedule_id, "/pause"), {{"project", core_->project_or(project)}});
  return detail::decoded<wire::Schedule>(core_->call(std::move(request), stop));
}

wire::Schedule Client::resume_schedule(std::string_view schedule_id, const std::optional<std::string>& project,
                                       const std::stop_token& stop) {
  auto request = post_with(schedule_path(schedule_id, "/resume"), {{"project", core_->project_or(project)}});
  return detail::decoded<wire::Schedule>(core_->call(std::move(request), stop));
}

wire::Schedule Client::trigger_schedule(std::string_view schedule_id, const std::optional<std::string>& project,
                                        const std::stop_token& stop) {
  auto request = post_with(schedule_path(schedule_id, "/trigger"), {{"project", core_->project_or(project)}});
  request.is_sent_once = true;
  return detail::decoded<wire::Schedule>(core_->call_once(std::move(request), stop));
}

wire::StartedBulk Client::count_bulk(wire::BulkInput bulk, const std::stop_token& stop) {
  bulk.idempotency_key.reset();
  return detail::decoded<wire::StartedBulk>(core_->call(bulk_request(*core_, std::move(bulk), true), stop));
}

wire::StartedBulk Client::start_bulk(wire::BulkInput bulk, const std::stop_token& stop) {
  if (!bulk.idempotency_key.has_value()) bulk.idempotency_key = detail::new_uuid();
  return detail::decoded<wire::StartedBulk>(core_->call(bulk_request(*core_, std::move(bulk), false), stop));
}

wire::Bulk Client::get_bulk(std::string_view bulk_id, const std::stop_token& stop) {
  return detail::decoded<wire::Bulk>(core_->call(get("/v1/api/runs/bulk/" + detail::percent_encoded(bulk_id)), stop));
}

wire::Bulk Client::stop_bulk(std::string_view bulk_id, const std::stop_token& stop) {
  auto request = get("/v1/api/runs/bulk/" + detail::percent_encoded(bulk_id));
  request.method = "DELETE";
  return detail::decoded<wire::Bulk>(core_->call(std::move(request), stop));
}

wire::TraceDetail Client::get_trace(std::string_view trace_id, const std::optional<std::string>& include,
                                    const std::stop_token& stop) {
  auto request = get("/v1/api/traces/" + detail::percent_encoded(trace_id), {{"include", include}});
  return detail::decoded<wire::TraceDetail>(core_->call(std::move(request), stop));
}

wire::ListTracesResponse Client::list_traces(const Parameters& parameters, const std::stop_token& stop) {
  auto request = get("/v1/api/traces", query_in_project(*core_, parameters));
  return detail::decoded<wire::ListTracesResponse>(core_->call(std::move(request), stop));
}

wire::Score Client::score(wire::ScoreInput score, const std::stop_token& stop) {
  if (!score.score_id.has_value()) score.score_id = detail::new_uuid();
  fill_project(score.correlation, core_->project_or({}));
  return detail::decoded<wire::Score>(core_->call(post("/v1/api/scores", score), stop));
}

wire::Feedback Client::feedback(wire::FeedbackInput feedback, const std::stop_token& stop) {
  if (!feedback.feedback_id.has_value()) feedback.feedback_id = detail::new_uuid();
  fill_project(feedback.correlation, core_->project_or({}));
  return detail::decoded<wire::Feedback>(core_->call(post("/v1/api/feedback", feedback), stop));
}

wire::ListScoresResponse Client::list_scores(const Parameters& parameters, const std::stop_token& stop) {
  auto request = get("/v1/api/scores", query_in_project(*core_, parameters));
  return detail::decoded<wire::ListScoresResponse>(core_->call(std::move(request), stop));
}

wire::ListFeedbackResponse Client::list_feedback(std::string_view trace_id, const std::stop_token& stop) {
  auto request = get("/v1/api/feedback", {{"trace_id", std::string(trace_id)}});
  return detail::decoded<wire::ListFeedbackResponse>(core_->call(std::move(request), stop));
}

wire::ListWorkersResponse Client::list_workers(const PageOptions& page, const std::stop_token& stop) {
  return detail::decoded<wire::ListWorkersResponse>(core_->call(get("/v1/api/workers", query_of(*core_, page)), stop));
}

wire::ListParkedEventsResponse Client::list_parked_events(const PageOptions& page, const std::stop_token& stop) {
  return detail::decoded<wire::ListParkedEventsResponse>(core_->call(get("/v1/api/events", query_of(*core_, page)), stop));
}

Json Client::read(std::string_view path, const Parameters& parameters, const std::stop_token& stop) {
  return core_->call(get(std::string(path), query_of(parameters)), stop);
}

}  // namespace svc::inline v0
