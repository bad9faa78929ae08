/// Starts, follows and steers runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "svc/errors.hpp"
#include "svc/payload.hpp"
#include "svc/settings.hpp"
#include "svc/watch.hpp"
#include "svc/wire.hpp"

namespace svc::inline v0 {

using wire::BulkAction;
using wire::JournalKind;
using wire::RunStatus;

namespace detail {
class ClientCore;
}

struct ClientOptions {
  /// `SVC_ENDPOINT`, else `http://127.0.0.1:4317`.
  std::optional<std::string> endpoint{};
  /// `SVC_API_KEY`
  std::optional<std::string> api_key{};
  /// `SVC_PROJECT`. What a call names wins.
  std::optional<std::string> project{};
  /// For one try of one call.
  std::chrono::milliseconds timeout{30'000};
  /// A followed journal that is silent so long is replaced: the service writes a comment every 15 s, and three were missed.
  std::chrono::milliseconds stream_idle{50'000};
  RetryPolicy retry{};
};

struct StartOptions {
  /// The highest version that is stored, by default.
  std::optional<std::int64_t> version{};
  std::optional<std::string> project{};
  /// The same key again gives the run that it started first. Without one, a new one makes a retry of the call safe.
  std::optional<std::string> idempotency_key{};
  std::optional<wire::RunCorrelation> correlation{};
  /// How long the call waits for the end of the run, which may still be open in its answer; at most a minute.
  std::optional<std::chrono::milliseconds> wait{};
  /// RFC 3339, or from now as `+10m`.
  std::optional<std::string> start_at{};
  /// From -100 to 100; steps of a higher one are offered first.
  std::optional<std::int64_t> priority{};
};

struct RestartOptions {
  /// The step that failed, by default.
  std::optional<std::string> from_step{};
  /// Its last one, by default.
  std::optional<std::int64_t> visit{};
  std::optional<std::int64_t> definition_version{};
  /// In place of that of the ended run.
  std::optional<Json> input{};
  /// Its top-level keys replace those of the state.
  std::optional<Json> state_patch{};
  std::optional<std::string> idempotency_key{};
};

struct WaitOptions {
  /// Without it the wait lasts as long as the run. Over it: TimedOut.
  std::optional<std::chrono::milliseconds> timeout{};
  std::stop_token stop{};
};

struct PublishOptions {
  /// The same id again changes nothing. Without one, a new one makes a retry of the call safe.
  std::optional<std::string> event_id{};
  std::optional<std::string> project{};
};

/// A page of a list. The next one begins at the `next_cursor` of the answer before.
struct PageOptions {
  std::optional<std::string> project{};
  std::optional<std::int64_t> limit{};
  std::optional<std::string> cursor{};
};

struct JournalOptions {
  /// Entries behind this sequence number.
  std::optional<std::int64_t> after{};
  std::optional<std::int64_t> limit{};
};

struct ListRunsOptions {
  std::optional<wire::RunStatus> status{};
  std::optional<std::string> definition_id{};
  std::optional<std::string> user_id{};
  std::optional<std::string> session_id{};
  std::optional<std::string> parent_run_id{};
  std::optional<wire::WaitingOn> waiting_on{};
  /// Other members of the correlation: `{{"request_id", "r-1"}}`.
  std::map<std::string, std::string> correlation{};
  /// Created at or after: RFC 3339, or relative as `-1h`.
  std::optional<std::string> from{};
  /// Created before.
  std::optional<std::string> to{};
  PageOptions page{};
};

/// Members of a query that have no option here, by their names on the wire.
using Parameters = std::map<std::string, std::string>;

template <typename Output>
class Run;

/// Talks to the service on behalf of who starts, follows and steers runs. Safe for threads. Nothing is called before the
/// first call.
///
/// A call is tried again on 429, on a 5xx that says "later" and when there is no answer; that is safe, because starts and
/// events carry a key of their own. Calls throw ServiceError when the service refuses, ConnectionError when it does not
/// answer, and Cancelled when the `std::stop_token` that they were given is asked to stop: they return at once then.
class Client {
 public:
  /// Throws `std::invalid_argument` on a setting that cannot be used.
  explicit Client(ClientOptions options = {});
  Client(Client&&) noexcept = default;
  Client& operator=(const Client&) = delete;
  Client& operator=(Client&&) noexcept = default;
  ~Client() = default;

  // --- Runs

  /// Starts a run of a definition. Throws IncompatibleServer where the service has another major `spec_version`.
  /// @tparam Output what the run gives: read by its `from_json` in `Run::wait`
  template <typename Output = Json, typename Input = Json>
  Run<Output> start(std::string_view definition_id, const Input& input, const StartOptions& options = {},
                    const std::stop_token& stop = {}) {
    return {share(), start_run(definition_id, detail::to_wire(input), options, stop)};
  }
  /// A handle of a run that was started elsewhere.
  template <typename Output = Json>
  Run<Output> attach(std::string_view run_id, const std::stop_token& stop = {});

  /// Without a handle.
  wire::Run start_run(std::string_view definition_id, const Json& input, const StartOptions& options = {},
                      const std::stop_token& stop = {});
  /// With its attempts, timers, waits and children.
  wire::RunDetail get_run(std::string_view run_id, const std::stop_token& stop = {});
  /// Newest-updated first.
  wire::ListRunsResponse list_runs(const ListRunsOptions& options = {}, const std::stop_token& stop = {});
  wire::ListRunEventsResponse journal(std::string_view run_id, const JournalOptions& options = {},
                                      const std::stop_token& stop = {});
  /// Why a step was attempted: the journal entries that led to it, oldest last.
  wire::GetStepCauseResponse step_cause(std::string_view run_id, std::string_view step_id, const std::stop_token& stop = {});
  [[nodiscard]] Watch watch(std::string_view run_id, const WatchOptions& options = {});
  /// Waits for the end of a run, and gives its output. Throws RunFailed, with the run, when it did not succeed; TimedOut.
  Json wait(std::string_view run_id, const WaitOptions& options = {});
  /// The same, and gives the run as it ended, however it did.
  wire::RunDetail wait_for_end(std::string_view run_id, const WaitOptions& options = {});

  /// Gives an event to the run's own open wait. ServiceError `conflict` when it has none, `run_terminal` when it has ended.
  wire::EventOutcome signal(std::string_view run_id, std::string_view event, const Json& payload,
                            const std::optional<std::string>& event_id = {}, const std::stop_token& stop = {});
  /// Publishes an event to whichever run waits for it by name and key; it is held for 24 hours when none does.
  wire::EventOutcome publish(std::string_view event, std::string_view key, const Json& payload,
                             const PublishOptions& options = {}, const std::stop_token& stop = {});
  /// Ends a run and its children. A run that has ended is returned as it is.
  wire::Run cancel(std::string_view run_id, const std::optional<std::string>& reason = {}, const std::stop_token& stop = {});
  /// Pauses a run and its children: what a worker holds goes on, and nothing new is offered or starts.
  wire::Run pause(std::string_view run_id, const std::optional<std::string>& reason = {}, const std::stop_token& stop = {});
  wire::Run resume(std::string_view run_id, const std::optional<std::string>& reason = {}, const std::stop_token& stop = {});
  /// Takes up an ended run as a new run, with the state and outputs of that moment. The ended run stays as it is.
  wire::Run restart(std::string_view run_id, const RestartOptions& options = {}, const std::stop_token& stop = {});

  // --- Definitions

  /// Stores definitions without a worker, all or none. ServiceError `definition_invalid`, or `definition_conflict` where a
  /// version has other content.
  std::vector<wire::StoredDefinition> store_definitions(const std::vector<Json>& definitions,
                                                        const std::optional<std::string>& project = {},
                                                        const std::stop_token& stop = {});
  /// Stores nothing, and says of each definition what is wrong with it: a list of `{"id", "version", "faults"}`.
  Json check_definitions(const std::vector<Json>& definitions, const std::optional<std::string>& project = {},
                         const std::stop_token& stop = {});
  wire::ListDefinitionsResponse list_definitions(const PageOptions& page = {}, const std::stop_token& stop = {});
  /// The project's own where it owns one of that id, else the service's.
  wire::DefinitionOverview get_definition(std::string_view definition_id, const std::optional<std::string>& project = {},
                                          const std::stop_token& stop = {});
  wire::DefinitionVersion get_definition_version(std::string_view definition_id, std::int64_t version,
                                                 const std::optional<std::string>& project = {},
                                                 const std::stop_token& stop = {});
  /// Pauses a definition in all its versions: starts stay queued, and no step of its runs is offered.
  wire::DefinitionState pause_definition(std::string_view definition_id, const std::optional<std::string>& reason = {},
                                         const std::optional<std::string>& project = {}, const std::stop_token& stop = {});
  /// Runs that were paused by name stay paused.
  wire::DefinitionState resume_definition(std::string_view definition_id, const std::optional<std::string>& reason = {},
                                          const std::optional<std::string>& project = {}, const std::stop_token& stop = {});

  // --- Schedules

  /// By project and id, without their inputs.
  wire::ListSchedulesResponse list_schedules(const PageOptions& page = {}, const std::stop_token& stop = {});
  /// With its next ten times, and what became of the last ten.
  wire::Schedule get_schedule(std::string_view schedule_id, const std::optional<std::string>& project = {},
                              const std::stop_token& stop = {});
  /// One that is there with the same content is the answer; with other content: ServiceError `conflict`.
  wire::Schedule create_schedule(wire::ScheduleInput schedule, const std::stop_token& stop = {});
  /// What is left out gets its default.
  wire::Schedule replace_schedule(std::string_view schedule_id, const wire::ChangedSchedule& schedule,
                                  const std::optional<std::string>& project = {}, const std::stop_token& stop = {});
  /// Runs that it started go on. `not_found` also where an earlier try was not answered.
  void delete_schedule(std::string_view schedule_id, const std::optional<std::string>& project = {},
                       const std::stop_token& stop = {});
  /// Its times are missed from now on; a trigger still works.
  wire::Schedule pause_schedule(std::string_view schedule_id, const std::optional<std::string>& project = {},
                                const std::stop_token& stop = {});
  /// The times that were missed follow its `catch_up`.
  wire::Schedule resume_schedule(std::string_view schedule_id, const std::optional<std::string>& project = {},
                                 const std::stop_token& stop = {});
  /// Fires once, now: see the first of `firings`. Not tried again, as a lost try may have fired.
  wire::Schedule trigger_schedule(std::string_view schedule_id, const std::optional<std::string>& project = {},
                                  const std::stop_token& stop = {});

  // --- Many runs at once

  /// How many runs match, and ten of them; nothing is begun.
  wire::StartedBulk count_bulk(wire::BulkInput bulk, const std::stop_token& stop = {});
  /// Does something with all runs that match, in slices behind this call; no `bulk_id`: no run matched. The same
  /// `idempotency_key` again gives the action that it began first, for as long as that is kept; without one, a new one makes a
  /// retry of this call safe.
  wire::StartedBulk start_bulk(wire::BulkInput bulk, const std::stop_token& stop = {});
  /// How far it is: `count`, `done`, `refused`.
  wire::Bulk get_bulk(std::string_view bulk_id, const std::stop_token& stop = {});
  /// What was done stays done.
  wire::Bulk stop_bulk(std::string_view bulk_id, const std::stop_token& stop = {});

  // --- Traces, scores, feedback

  /// @param include a comma list of `scores` and `feedback`, or `all`
  wire::TraceDetail get_trace(std::string_view trace_id, const std::optional<std::string>& include = {},
                              const std::stop_token& stop = {});
  /// With the parameters of `GET /v1/api/traces`, such as `q`, `has_score`, `sort`, `limit`.
  wire::ListTracesResponse list_traces(const Parameters& parameters = {}, const std::stop_token& stop = {});
  /// Stores one score now, and returns it as it was stored. A `score_id` makes a retry safe; one is made where none is given.
  wire::Score score(wire::ScoreInput score, const std::stop_token& stop = {});
  /// Stores one judgement now, and returns it as it was stored.
  wire::Feedback feedback(wire::FeedbackInput feedback, const std::stop_token& stop = {});
  /// With the parameters of `GET /v1/api/scores`; newest first.
  wire::ListScoresResponse list_scores(const Parameters& parameters = {}, const std::stop_token& stop = {});
  wire::ListFeedbackResponse list_feedback(std::string_view trace_id, const std::stop_token& stop = {});

  // --- Other reads

  wire::ListWorkersResponse list_workers(const PageOptions& page = {}, const std::stop_token& stop = {});
  /// Events that no run has taken yet.
  wire::ListParkedEventsResponse list_parked_events(const PageOptions& page = {}, const std::stop_token& stop = {});
  /// A read of the query API that has no call here: `read("/v1/api/sessions", {{"limit", "10"}})`.
  Json read(std::string_view path, const Parameters& parameters = {}, const std::stop_token& stop = {});

  /// Breaks off what is on its way, in handles of runs and watches too; later calls are a ConnectionError. The end of the last
  /// of client and handles does the same.
  void close() noexcept;

 private:
  template <typename Output>
  friend class Run;
  Client(const Client&) = default;
  /// For the handle of a run, which may outlive its client.
  [[nodiscard]] Client share() const { return *this; }

  std::shared_ptr<detail::ClientCore> core_;
};

/// A run, and what can be done with it.
/// @tparam Output read from the output by its `from_json`
template <typename Output = Json>
class Run {
 public:
  /// As it was when this was made.
  [[nodiscard]] const wire::Run& snapshot() const noexcept { return run_; }
  [[nodiscard]] const std::string& run_id() const noexcept { return run_.run_id; }
  [[nodiscard]] const std::string& trace_id() const noexcept { return run_.trace_id; }

  /// As it is now.
  wire::RunDetail get(const std::stop_token& stop = {}) { return client_.get_run(run_.run_id, stop); }
  [[nodiscard]] Watch watch(const WatchOptions& options = {}) { return client_.watch(run_.run_id, options); }
  /// Waits for its end, and gives its output. Throws RunFailed when it did not succeed, TimedOut, and what `from_json` throws
  /// on an output that is not what was expected.
  Output wait(const WaitOptions& options = {}) { return detail::from_wire<Output>(client_.wait(run_.run_id, options)); }
  /// Gives an event to its own open wait.
  template <typename Value = Json>
  wire::EventOutcome signal(std::string_view event, const Value& payload, const std::optional<std::string>& event_id = {},
                            const std::stop_token& stop = {}) {
    return client_.signal(run_.run_id, event, detail::to_wire(payload), event_id, stop);
  }
  wire::Run cancel(const std::optional<std::string>& reason = {}, const std::stop_token& stop = {}) {
    return client_.cancel(run_.run_id, reason, stop);
  }
  wire::Run pause(const std::optional<std::string>& reason = {}, const std::stop_token& stop = {}) {
    return client_.pause(run_.run_id, reason, stop);
  }
  wire::Run resume(const std::optional<std::string>& reason = {}, const std::stop_token& stop = {}) {
    return client_.resume(run_.run_id, reason, stop);
  }

 private:
  friend class Client;
  Run(Client client, wire::Run run) : client_(std::move(client)), run_(std::move(run)) {}

  Client client_;
  wire::Run run_;
};

namespace detail {
/// The members that a run shares with its detail.
[[nodiscard]] wire::Run run_of(const wire::RunDetail& detail);
}  // namespace detail

template <typename Output>
Run<Output> Client::attach(std::string_view run_id, const std::stop_token& stop) {
  return {share(), detail::run_of(get_run(run_id, stop))};
}

}  // namespace svc::inline v0
