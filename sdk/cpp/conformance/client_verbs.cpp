#include "fixture.hpp"

namespace fixture {

namespace {

std::string run_of(const Call& call) { return call.with.at("run_id"); }
std::string id_of(const Call& call) { return call.with.at("id"); }

svc::PageOptions page_of(const json& with) {
  return {.project = text(with, "project"), .limit = maybe<std::int64_t>(with, "limit"), .cursor = text(with, "cursor")};
}

json start(const Call& call) {
  const auto& with = call.with;
  const svc::StartOptions options{
      .version = maybe<std::int64_t>(with, "version"),
      .project = text(with, "project"),
      .idempotency_key = text(with, "idempotency_key"),
      .correlation = maybe<svc::wire::RunCorrelation>(with, "correlation"),
      .wait = millis(with, "wait_ms"),
      .start_at = text(with, "start_at"),
      .priority = maybe<std::int64_t>(with, "priority"),
  };
  return world().client().start(with.at("definition_id").get<std::string>(), with.at("input"), options, call.stop).snapshot();
}

json watch(const Call& call) {
  const auto limit = maybe<std::size_t>(call.with, "limit");
  auto seqs = json::array();
  for (const auto& entry :
       world().client().watch(run_of(call), {.after = call.with.value("after", std::int64_t{-1}), .stop = call.stop})) {
    seqs.push_back(entry.seq);
    emit({{"event", "watch.entry"}, {"call", call.id}, {"seq", entry.seq}, {"kind", entry.kind.text()}});
    if (seqs.size() == limit) break;
  }
  return {{"seqs", seqs}};
}

json list(const Call& call) {
  const auto& with = call.with;
  svc::ListRunsOptions options{
      .definition_id = text(with, "definition_id"), .user_id = text(with, "user_id"), .page = page_of(with)};
  if (with.contains("status")) options.status = svc::RunStatus(with["status"].get<std::string>());
  return world().client().list_runs(options, call.stop);
}

json restart(const Call& call) {
  const auto& with = call.with;
  return world().client().restart(run_of(call),
                                  {.from_step = text(with, "from_step"),
                                   .visit = maybe<std::int64_t>(with, "visit"),
                                   .definition_version = maybe<std::int64_t>(with, "definition_version"),
                                   .input = any(with, "input"),
                                   .state_patch = any(with, "state_patch"),
                                   .idempotency_key = text(with, "idempotency_key")},
                                  call.stop);
}

std::vector<svc::Json> definitions_of(const Call& call) {
  const auto& given = call.with.at("definitions");
  return {given.begin(), given.end()};
}

json read(const Call& call) {
  svc::Parameters parameters;
  const auto query = call.with.value("query", json::object());
  for (const auto& [name, value] : query.items())
    parameters[name] = value.is_string() ? value.get<std::string>() : value.dump();
  return world().client().read(call.with.at("path").get<std::string>(), parameters, call.stop);
}

svc::wire::BulkInput bulk_of(const Call& call) {
  const auto& with = call.with;
  return {.action = svc::BulkAction(with.at("action").get<std::string>()),
          .filter = with.at("filter"),
          .idempotency_key = text(with, "idempotency_key"),
          .reason = text(with, "reason"),
          .event = text(with, "event"),
          .payload = any(with, "payload")};
}

svc::wire::ScheduleInput schedule_of(const Call& call) {
  auto body = call.with.at("schedule");
  body["id"] = call.with.at("id");
  return body;
}

}  // namespace

Verbs client_verbs() {
  const auto client = []() -> svc::Client& { return world().client(); };
  return {
      {"client.start", start},
      {"client.watch", watch},
      {"client.list", list},
      {"client.restart", restart},
      {"client.read", read},
      {"client.wait",
       [=](const Call& c) -> json {
         return {{"output", client().wait(run_of(c), {.stop = c.stop})}};
       }},
      {"client.get", [=](const Call& c) -> json { return client().get_run(run_of(c), c.stop); }},
      {"client.journal",
       [=](const Call& c) -> json {
         return client().journal(run_of(c), {maybe<std::int64_t>(c.with, "after"), maybe<std::int64_t>(c.with, "limit")},
                                 c.stop);
       }},
      {"client.cause",
       [=](const Call& c) -> json { return client().step_cause(run_of(c), c.with.at("step_id").get<std::string>(), c.stop); }},
      {"client.signal",
       [=](const Call& c) -> json {
         return client().signal(run_of(c), c.with.at("event").get<std::string>(), {c.with.at("payload")},
                                text(c.with, "event_id"), c.stop);
       }},
      {"client.publish",
       [=](const Call& c) -> json {
         return client().publish(c.with.at("event").get<std::string>(), c.with.at("key").get<std::string>(),
                                 {c.with.at("payload")}, {text(c.with, "event_id"), text(c.with, "project")}, c.stop);
       }},
      {"client.cancel", [=](const Call& c) -> json { return client().cancel(run_of(c), text(c.with, "reason"), c.stop); }},
      {"client.pause", [=](const Call& c) -> json { return client().pause(run_of(c), text(c.with, "reason"), c.stop); }},
      {"client.resume", [=](const Call& c) -> json { return client().resume(run_of(c), text(c.with, "reason"), c.stop); }},
      {"client.store_definitions",
       [=](const Call& c) -> json {
         return {{"definitions", client().store_definitions(definitions_of(c), {}, c.stop)}};
       }},
      {"client.check_definitions",
       [=](const Call& c) -> json {
         return {{"definitions", client().check_definitions(definitions_of(c), {}, c.stop)}};
       }},
      {"client.pause_definition",
       [=](const Call& c) -> json { return client().pause_definition(id_of(c), text(c.with, "reason"), {}, c.stop); }},
      {"client.resume_definition",
       [=](const Call& c) -> json { return client().resume_definition(id_of(c), text(c.with, "reason"), {}, c.stop); }},
      {"client.create_schedule", [=](const Call& c) -> json { return client().create_schedule(schedule_of(c), c.stop); }},
      {"client.replace_schedule",
       [=](const Call& c) -> json {
         return client().replace_schedule(id_of(c), c.with.at("schedule").get<svc::wire::ChangedSchedule>(), {}, c.stop);
       }},
      {"client.get_schedule", [=](const Call& c) -> json { return client().get_schedule(id_of(c), {}, c.stop); }},
      {"client.pause_schedule", [=](const Call& c) -> json { return client().pause_schedule(id_of(c), {}, c.stop); }},
      {"client.resume_schedule", [=](const Call& c) -> json { return client().resume_schedule(id_of(c), {}, c.stop); }},
      {"client.trigger_schedule", [=](const Call& c) -> json { return client().trigger_schedule(id_of(c), {}, c.stop); }},
      {"client.delete_schedule",
       [=](const Call& c) -> json {
         client().delete_schedule(id_of(c), {}, c.stop);
         return json::object();
       }},
      {"client.list_schedules", [=](const Call& c) -> json { return client().list_schedules(page_of(c.with), c.stop); }},
      {"client.count_bulk", [=](const Call& c) -> json { return client().count_bulk(bulk_of(c), c.stop); }},
      {"client.start_bulk", [=](const Call& c) -> json { return client().start_bulk(bulk_of(c), c.stop); }},
      {"client.get_bulk",
       [=](const Call& c) -> json { return client().get_bulk(c.with.at("bulk_id").get<std::string>(), c.stop); }},
      {"client.stop_bulk",
       [=](const Call& c) -> json { return client().stop_bulk(c.with.at("bulk_id").get<std::string>(), c.stop); }},
      {"client.list_workers", [=](const Call& c) -> json { return client().list_workers(page_of(c.with), c.stop); }},
      {"client.close",
       [=](const Call& /*c*/) -> json {
         client().close();
         return json::object();
       }},
  };
}

}  // namespace fixture
