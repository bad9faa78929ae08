// Generated from spec/openapi.yaml and spec/definition.schema.json by `npm run codegen`. Edit the document, not this file.
// source sha256: 0c87b8208664319b34af13b8654233199d127ea4401069e1231c33d64f4331e2
// content sha256: 9e0dd515770b965fe2aa6270ce58e38a597de1e6569bf6a617319d459697b5dc
/** Any JSON value, as data. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };
export interface paths {
    readonly "/v1/ingest": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send any mix of the six signals
         * @description One batch, an array of batches, or a stream of batches, one a line. The whole request is refused, with nothing stored, when a part of it
         *     cannot be read or it is over a bound; a signal that is not as it should be is refused by itself, and named in `errors`.
         *
         *     A batch with an `ingest_key` is written in a transaction of its own, and only once: sent again it is counted in `duplicate`. Batches
         *     without a key are written together, after the others. After a failure the outcome is unknown; the same request may be sent again.
         */
        readonly post: operations["ingestBatch"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List runs
         * @description Newest-updated first, without input, output and state.
         */
        readonly get: operations["listRuns"];
        readonly put?: never;
        /**
         * Start a run
         * @description Of the highest stored version of the definition, or of the one named; the run keeps it. With an `idempotency_key` that was used in the
         *     project before, and whose run is still kept, nothing is started and that run is the answer, with status 200. With `wait_ms` the answer
         *     comes when the run has ended, or as it stands when the time is over. A definition whose `concurrency` says `on_limit: reject` answers 409
         *     `limit_reached`, which names the key, while as many runs hold it as may.
         */
        readonly post: operations["startRun"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/bulk": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Do something with many runs
         * @description Counts the runs that a list with the same filter would hold, names ten of them, and does it to each, a slice a commit, over restarts.
         *     With `dry_run`, or where no run matches, nothing is begun and the answer is 200. Runs that start later are none of them. A run that
         *     does not take the action (it has ended, waits for no such event, or cannot be loaded) is counted as `refused`. `restart` takes up each
         *     run that failed at the step that failed, once each, as a new run; it is not done with runs that go on or ended otherwise. An action
         *     that has ended can be looked at for 24 hours.
         */
        readonly post: operations["startBulk"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/bulk/{bulk}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of an action on many runs */
                readonly bulk: string;
            };
            readonly cookie?: never;
        };
        /** How far an action on many runs is */
        readonly get: operations["getBulk"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Stop an action on many runs
         * @description What is done stays done. One that has ended is returned as it is.
         */
        readonly delete: operations["stopBulk"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/{run}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        /**
         * One complete run
         * @description With every attempt, unfired timers, open waits and children. With `wait_ms` the answer comes when the run has ended, or as it stands
         *     when the time is over; a service that stops answers at once.
         */
        readonly get: operations["getRun"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/{run}/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        /**
         * The journal of a run
         * @description Every change of the run, in committed order, with `seq` from 0 without a gap. As a page of entries after `after`; or, with
         *     `Accept: text/event-stream`, as a stream that ends when the run ends: `id` is `seq`, `data` the entry, `Last-Event-ID` goes before
         *     `after`, and a comment comes every 15 seconds. A stream may also end before the run does, when the service stops or the stream is an
         *     hour old: connect again with the last `seq` seen. Whose `Last-Event-ID` is the end of the run is answered 204, upon which an
         *     `EventSource` stops. A reader that does not keep up is cut.
         */
        readonly get: operations["listRunEvents"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/{run}/steps/{step}/cause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
                readonly step: string;
            };
            readonly cookie?: never;
        };
        /**
         * Why a step ran
         * @description The chain of journal entries that led to an attempt, the oldest last; to the latest attempt of the step, unless one is named.
         */
        readonly get: operations["getStepCause"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/{run}/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Cancel a run
         * @description Ends the run and its child runs. A run that has ended is returned as it is. A step in flight is not interrupted: its worker learns at
         *     its next heartbeat.
         */
        readonly post: operations["cancelRun"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/{run}/pause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Pause a run
         * @description Nothing of it is offered or started from now on, and it is `paused`; its child runs are paused with it. A worker that holds a lease of it
         *     notices nothing: its step may end, and `run_timeout_ms` and the step's `timeout_ms` go on. Sleeps, backoffs, `start_at` and the timeout
         *     of a wait that fall due, and events that come (they answer `delivered`), are kept and act when it is resumed. A run that is paused is
         *     returned as it is; 409 `run_terminal` of one that has ended.
         */
        readonly post: operations["pauseRun"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/{run}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Resume a paused run
         * @description What was kept acts at once. Child runs are resumed with it, but for those that were paused by name. A run that is not paused is
         *     returned as it is; 409 `run_terminal` of one that has ended.
         */
        readonly post: operations["resumeRun"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/{run}/restart": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Take up an ended run at one of its steps
         * @description Starts a new run in the same project, with the same correlation and priority, that begins at `from_step` with state, outputs, last
         *     event and visit counts as they were when the ended run entered that step. Payloads are copied, so either run may be erased without
         *     the other. Usage, cost, `step_count` and all limits of the new run count from zero. It has a trace of its own, whose root span links to
         *     that of the ended run, and `restarted_from`. The ended run stays as it is. A child run is restarted as a run without a parent.
         */
        readonly post: operations["restartRun"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/runs/{run}/signal": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Give an event to one run
         * @description To that run's own open wait for an event of this name, whatever its key. 409 `conflict` when it has none, `run_terminal` when the run
         *     has ended. An `event_id` that was seen in the project changes nothing.
         */
        readonly post: operations["signalRun"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Publish an event
         * @description To the oldest open wait for an event of this name and key in the project; in the same transaction the run goes on. Without one the
         *     event is parked, for a later wait that accepts parked events, for 24 hours. An `event_id` that was seen in the project is a duplicate: nothing
         *     is written. It is known for as long as the run that took its event is kept, whose `run_id` the answer names; where no run took it, for
         *     the 24 hours that it can be taken.
         */
        readonly post: operations["publishEvent"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/definitions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Stored definitions
         * @description The latest version of each, by id: those of the service, and those of the projects that the key reaches. A definition belongs to
         *     the service when a top-level key (or, on an open surface, no key) stored it, and to a project when a key of that project did.
         */
        readonly get: operations["listDefinitions"];
        readonly put?: never;
        /**
         * Store definitions
         * @description Without a worker: a run may be started before the first worker is there, and waits for it. One that is not right refuses the whole
         *     call, and nothing of it is stored; the refusals are those of a worker's register. With `check=true` nothing is stored in any case,
         *     and the answer names all faults of each definition: none means that it would be stored, or is.
         *     They belong to the service where the key is a top-level one (or there is none, on an open surface), else to the project of the key.
         */
        readonly post: operations["storeDefinitions"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/definitions/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: components["parameters"]["definitionInPath"];
            };
            readonly cookie?: never;
        };
        /**
         * A definition and its versions
         * @description The project's own where it owns one of that id, else the service's. Open runs and workers of each version, as far as the key reaches,
         *     tell when an old worker may go.
         */
        readonly get: operations["getDefinition"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/definitions/{id}/pause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: components["parameters"]["definitionInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Pause a definition
         * @description In all its versions. Starts of it are taken and stay `queued`, its runs get no offers, and both have the `queued_reason` `definition_paused`; what
         *     a worker holds goes on, and so do sleeps and waits. Only its owner may: the service's takes a key of all projects. A definition that is
         *     paused stays as it is.
         */
        readonly post: operations["pauseDefinition"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/definitions/{id}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: components["parameters"]["definitionInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Resume a paused definition
         * @description Runs that waited for it begin, a slice at a time, and steps are offered again. A run that was paused by name stays paused. A definition that
         *     is not paused stays as it is.
         */
        readonly post: operations["resumeDefinition"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/definitions/{id}/versions/{version}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: components["parameters"]["definitionInPath"];
                readonly version: number;
            };
            readonly cookie?: never;
        };
        /**
         * One version of a definition
         * @description The project's own where it stored that version, else the service's.
         */
        readonly get: operations["getDefinitionVersion"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/schedules": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Schedules
         * @description By project and id, without their inputs.
         */
        readonly get: operations["listSchedules"];
        readonly put?: never;
        /**
         * Make a schedule
         * @description Starts a run of a definition at the times of `cron` in `timezone`, or each `every_ms`. Each nominal time starts at most one run, in the
         *     commit that moves the schedule on, under the idempotency key `schedule/<id>/<nominal time, RFC 3339 UTC>`. A local time that does not
         *     exist fires at the first instant after the gap, one that exists twice at its first.
         *     An id that is there with the same content is answered with 200, with other content with 409 `conflict`. A definition that is not there is 404.
         */
        readonly post: operations["createSchedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/schedules/{schedule}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        /**
         * A schedule
         * @description With its next ten times and what became of the last ten.
         */
        readonly get: operations["getSchedule"];
        /**
         * Change a schedule
         * @description Replaces all that it was made of; what is left out gets its default. Where the times stay (`cron`, `timezone`, `every_ms`, `starts_at`,
         *     `ends_at`), the next time stays; else the next one is the first of the new times after now. A pause stays, and runs that are open go on.
         */
        readonly put: operations["changeSchedule"];
        readonly post?: never;
        /**
         * Delete a schedule
         * @description Runs that it started go on.
         */
        readonly delete: operations["deleteSchedule"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/schedules/{schedule}/pause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Pause a schedule
         * @description Its times are missed from now on; a trigger still works. A schedule that is paused stays so. 409 `conflict` when it has ended.
         */
        readonly post: operations["pauseSchedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/schedules/{schedule}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Resume a schedule
         * @description The times that were missed follow `catch_up`. 409 `conflict` when it has ended.
         */
        readonly post: operations["resumeSchedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/schedules/{schedule}/trigger": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Fire a schedule now
         * @description Starts a run at once, under the key `schedule/<id>/trigger/<its own id>`. Works while the schedule is paused, and obeys `overlap`: the first
         *     of `firings` says what became of it, or `waiting` does.
         */
        readonly post: operations["triggerSchedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/workers": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Registered workers
         * @description By id, with when each was last seen and how many leases it holds. A key of certain projects sees the workers limited to those, and
         *     those limited to none. A worker that holds no lease and was not seen for 30 days is no longer registered; it may register again at any time.
         */
        readonly get: operations["listWorkers"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/workers/register": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Announce a worker
         * @description Stores the definitions that it holds; one that is not right refuses the whole call, and nothing of it is stored. They belong to the
         *     service where the key is a top-level one (or there is none, on an open surface), else to the project of the key, to which the worker
         *     is limited then; a key of several projects names one in `project`. A worker gets steps of the very definitions that it registered:
         *     its key decides whether those of a project or those of the service. Registering again
         *     replaces the worker's list. That takes a key which reaches the worker's `project` or, where it has none, every project that the key
         *     reached which registered it: 403 on `worker_id` otherwise. `docs/worker-protocol.md` says how a worker works.
         */
        readonly post: operations["registerWorker"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/steps/claim": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Take steps that can run
         * @description Held until there is one, at most `wait_ms`, at most four fifths of the request timeout, and at most a minute; a service that stops
         *     answers at once. So an empty answer can come early: claim again. A claimer that hangs up gives back what it was offered.
         */
        readonly post: operations["claimSteps"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/steps/batch": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Many calls on leases, and a claim, in one
         * @description Taken in the order `started`, `heartbeats`, `completes`, `fails`, `claim`, and all answered together. Each item is checked and answered as
         *     its own call would be, and a bad one spoils no other. At most 1,000 items a call, and 16 MiB. The single calls stay sufficient.
         */
        readonly post: operations["batchSteps"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/steps/{lease}/started": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly lease: components["parameters"]["leaseInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Declare that the body runs
         * @description Always before the body. Repeating it is 200.
         */
        readonly post: operations["startStep"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/steps/{lease}/heartbeat": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly lease: components["parameters"]["leaseInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Extend a lease
         * @description A refused heartbeat cancels the body.
         */
        readonly post: operations["beatStep"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/steps/{lease}/complete": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly lease: components["parameters"]["leaseInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Report what a body gave */
        readonly post: operations["completeStep"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/steps/{lease}/fail": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly lease: components["parameters"]["leaseInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Report that a body failed */
        readonly post: operations["failStep"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        readonly Attempt: {
            readonly lease_id: string;
            readonly step_id: string;
            /**
             * Format: int64
             * @description Counts entries into the step
             */
            readonly visit: number;
            /**
             * Format: int64
             * @description Counts leases within the visit
             */
            readonly attempt: number;
            readonly status: components["schemas"]["AttemptStatus"];
            readonly worker_id: string;
            readonly offered_at: components["schemas"]["Timestamp"];
            readonly started_at?: components["schemas"]["Timestamp"];
            readonly ended_at?: components["schemas"]["Timestamp"];
            readonly lease_expires_at?: components["schemas"]["Timestamp"];
            /** @description Any JSON */
            readonly output?: Json;
            readonly error?: components["schemas"]["StepError"];
            readonly usage?: readonly components["schemas"]["ReportedUsage"][];
            readonly cost?: components["schemas"]["Cost"];
            readonly span_id: components["schemas"]["SpanId"];
        };
        /**
         * @description `lapsed` was never started in time; its body never ran
         * @enum {string}
         */
        readonly AttemptStatus: "offered" | "running" | "succeeded" | "failed" | "orphaned" | "unservable" | "lapsed" | "cancelled";
        /** @description Flattened attribute map */
        readonly Attributes: {
            readonly [key: string]: Json;
        };
        /** @enum {string} */
        readonly AuthorKind: "end_user" | "expert" | "developer" | "system";
        readonly Bulk: {
            readonly bulk_id: string;
            readonly action: components["schemas"]["BulkAction"];
            /** @enum {string} */
            readonly status: "running" | "done" | "stopped";
            /**
             * Format: int64
             * @description Runs that matched when it was asked for
             */
            readonly count: number;
            /** Format: int64 */
            readonly done: number;
            /**
             * Format: int64
             * @description Runs that did not take the action
             */
            readonly refused: number;
            readonly started_at: components["schemas"]["Timestamp"];
            readonly ended_at?: components["schemas"]["Timestamp"];
        };
        /** @enum {string} */
        readonly BulkAction: "cancel" | "pause" | "resume" | "restart" | "signal";
        /**
         * @description Which times that were missed while the service was away or the schedule paused still fire: none, the last (default), or all within `catch_up_window_ms`, at most 100
         * @enum {string}
         */
        readonly CatchUp: "none" | "last" | "all";
        readonly ChangedSchedule: {
            /** @description The highest version that is stored when it fires */
            readonly definition_id: string;
            /** @description Any JSON that meets the definition's `input_schema`; `{}` by default */
            readonly input?: Json;
            readonly correlation?: components["schemas"]["RunCorrelation"];
            /** @description Of its runs */
            readonly priority?: number;
            /** @description Minute, hour, day of month, month, day of week; seconds may stand before them. Either this or `every_ms` */
            readonly cron?: string;
            /** @description In which `cron` is read: a name of the IANA database, `UTC` by default */
            readonly timezone?: string;
            /**
             * Format: int64
             * @description At least 1000, counted from `starts_at`, else from the creation
             */
            readonly every_ms?: number;
            readonly overlap?: components["schemas"]["Overlap"];
            readonly catch_up?: components["schemas"]["CatchUp"];
            /**
             * Format: int64
             * @description How old a missed time may be that `all` still fires; 3600000 by default
             */
            readonly catch_up_window_ms?: number;
            /**
             * Format: int64
             * @description Each time fires up to so much later, always by the same; at most the time between two firings
             */
            readonly jitter_ms?: number;
            /**
             * Format: date-time
             * @description No nominal time is before
             */
            readonly starts_at?: string;
            /**
             * Format: date-time
             * @description Every nominal time is before
             */
            readonly ends_at?: string;
        };
        readonly CheckedDefinition: {
            /** @description Absent where the definition has none that can be read */
            readonly id?: string;
            /** Format: int64 */
            readonly version?: number;
            /** @description At most 100, and one more that counts the rest */
            readonly faults: readonly {
                /** @description Where, as `steps[2].next[0].when`; empty for the definition as such */
                readonly path: string;
                readonly message: string;
            }[];
        };
        readonly CheckedDefinitions: {
            readonly definitions: readonly components["schemas"]["CheckedDefinition"][];
        };
        /** Starts child runs and waits for all of them */
        readonly ChildStep: {
            readonly id: components["schemas"]["DefinitionId"];
            /** @constant */
            readonly kind: "child";
            /** @description The workflow that is started, in its highest stored version. */
            readonly definition: components["schemas"]["DefinitionId"];
            /** @description Template of a list of at most 10,000 items: one child for each. Without it: one child. */
            readonly for_each?: string | readonly Json[];
            /** @description Of each child; with for_each it may read item. Absent: {}. */
            readonly input?: components["schemas"]["DefinitionTemplate"];
            /**
             * @description Most children that run at once.
             * @default 10
             */
            readonly max_parallel?: number;
            /**
             * @description With for_each: whether a child that fails fails the step and cancels the others, or is listed by its error in the output.
             * @default fail_fast
             * @enum {unknown}
             */
            readonly on_item_error?: "fail_fast" | "collect";
            readonly next?: components["schemas"]["DefinitionNext"];
            readonly on_error?: components["schemas"]["DefinitionOnError"];
        };
        readonly Claim: {
            readonly worker_id: components["schemas"]["WorkerId"];
            /** @description Most steps to offer: no more than there are free slots */
            readonly max: number;
            /** @description How long to wait for the first; the service may answer earlier */
            readonly wait_ms: number;
            /** @description Steps of this run alone */
            readonly run_id?: string;
        };
        /** @description Money in units of the currency. Absent, never zero, where a model could not be priced. Never recomputed on read. */
        readonly Cost: {
            readonly total_cost: number;
            readonly input_cost?: number;
            readonly output_cost?: number;
            /** @description ISO 4217 */
            readonly currency: string;
            /** @description True for anything derived from a price book */
            readonly is_estimated: boolean;
            readonly price_book_id?: string;
        };
        /**
         * Workflow definition
         * @description What a worker registers: an immutable graph of steps. A text may hold ${path} templates where this says template; a condition is a CEL expression.
         */
        readonly Definition: {
            /** @description Names the workflow; a start and a child step use it. */
            readonly id: components["schemas"]["DefinitionId"];
            /** @description A stored version never changes; other content needs a new number. */
            readonly version: number;
            /** @description JSON Schema (2020-12, or draft-07 where $schema names it) that the input of a run must meet. Patterns have the syntax of RE2: no lookaround, no backreferences. References stay within the schema, and $dynamicRef is not supported. */
            readonly input_schema?: {
                readonly [key: string]: Json;
            } | boolean;
            /** @description Limits of one run; passing one ends it as failed, with class limit, and no on_error takes that. */
            readonly limits?: {
                /**
                 * @description Entries into steps of every kind; one more ends the run.
                 * @default 100000
                 */
                readonly max_steps?: number;
                /** @description From the start of the run, whatever it does or waits for. */
                readonly run_timeout_ms?: components["schemas"]["DefinitionPositiveDurationMs"];
                /** @description The run ends when the priced usage that its steps reported reaches it, failed attempts and all runs below it included. Limits of those hold as well. */
                readonly max_cost_usd?: number;
            };
            /** @description What steps get that do not say it themselves. */
            readonly defaults?: {
                /** @description Of every task; a task's own members win, one by one. */
                readonly retry?: components["schemas"]["DefinitionRetry"];
            };
            /** @description How many runs of one key may go on at once; a run holds its place from its admission to its end. */
            readonly concurrency?: components["schemas"]["DefinitionConcurrency"];
            /** @description How many runs of one key may begin in a time. */
            readonly rate?: components["schemas"]["DefinitionRate"];
            /** @description The output of a run that ends by "end"; absent: the output of its last step. */
            readonly output?: components["schemas"]["DefinitionTemplate"];
            /** @description The first is where a run starts. */
            readonly steps: readonly components["schemas"]["DefinitionStep"][];
        };
        readonly DefinitionAwaited: {
            /** @description The name of the event; no template. */
            readonly event: components["schemas"]["DefinitionName"];
            /**
             * @description Template of text, expanded once, when the wait opens. Where two lines of one event come to the same text, the first of them counts.
             * @default
             */
            readonly key?: string;
            /** @description A step id or "end": where the run goes when this event comes first; absent: next decides. */
            readonly to?: components["schemas"]["DefinitionName"];
        };
        readonly DefinitionConcurrency: {
            /** @description What is counted together: over input and correlation, expanded at the start of the run, on a task when it is entered. */
            readonly key: components["schemas"]["DefinitionKey"];
            /** @description Most holders of one key at once. */
            readonly limit: components["schemas"]["DefinitionPlaces"];
            /**
             * @description queue: it waits in line, by priority, then by age; reject: the start is refused with 409 limit_reached, a task fails with class limit; cancel_oldest: the run that has held the key longest is cancelled (not on a task).
             * @default queue
             * @enum {unknown}
             */
            readonly on_limit?: "queue" | "reject" | "cancel_oldest";
        };
        readonly DefinitionDurationMs: number;
        readonly DefinitionId: string;
        readonly DefinitionKey: string;
        readonly DefinitionName: string;
        /** @description Absent: the step that follows. Else a step id, "end", or branches read in order. */
        readonly DefinitionNext: string | readonly {
            /** @description CEL condition; absent: always. */
            readonly when?: string;
            /** @description A step id or "end". */
            readonly to: components["schemas"]["DefinitionName"];
        }[];
        /** @description Where errors of a class, a code or both lead, the first match; a line with neither takes them all. */
        readonly DefinitionOnError: readonly {
            /** @description Takes errors of this class. */
            readonly class?: components["schemas"]["DefinitionName"];
            /** @description Takes errors of this code. */
            readonly code?: components["schemas"]["DefinitionName"];
            /** @description A step id or "end". */
            readonly to: components["schemas"]["DefinitionName"];
        }[];
        readonly DefinitionOverview: {
            readonly id: string;
            /** @description The project that owns it; absent where the service does */
            readonly project?: string;
            readonly pause?: components["schemas"]["DefinitionPause"];
            readonly versions: readonly {
                /** Format: int64 */
                readonly version: number;
                readonly created_at: components["schemas"]["Timestamp"];
                /** Format: int64 */
                readonly open_runs: number;
                /**
                 * Format: int64
                 * @description Live workers that registered this version
                 */
                readonly workers: number;
            }[];
            readonly latest: components["schemas"]["Definition"];
        };
        /** @description Present while the definition is paused */
        readonly DefinitionPause: {
            readonly since: components["schemas"]["Timestamp"];
            readonly reason?: string;
        };
        readonly DefinitionPlaces: number;
        readonly DefinitionPositiveDurationMs: number;
        readonly DefinitionRate: {
            /** @description As in concurrency. */
            readonly key: components["schemas"]["DefinitionKey"];
            /** @description Most starts of one key in any window of per_ms; what is over it waits. */
            readonly limit: components["schemas"]["DefinitionPlaces"];
            /** @description The length of the window, which slides; at most 31 days. */
            readonly per_ms: number;
        };
        readonly DefinitionRetry: {
            /**
             * @description Failures in one visit, of the classes retryable and timeout; the one with this number is not tried again. Always 1 with at_most_once.
             * @default 4
             */
            readonly max_attempts?: number;
            /**
             * @description The wait after the first failure.
             * @default 1000
             */
            readonly backoff_ms?: components["schemas"]["DefinitionDurationMs"];
            /**
             * @description Each further wait is so many times as long.
             * @default 2
             */
            readonly multiplier?: number;
            /**
             * @description No wait is longer.
             * @default 60000
             */
            readonly max_backoff_ms?: components["schemas"]["DefinitionDurationMs"];
            /**
             * @description full: a random time up to the wait; none: the wait itself.
             * @default full
             * @enum {unknown}
             */
            readonly jitter?: "full" | "none";
        };
        readonly DefinitionState: {
            readonly id: string;
            /** @description The owner; absent where the service is */
            readonly project?: string;
            readonly pause?: components["schemas"]["DefinitionPause"];
        };
        readonly DefinitionStep: components["schemas"]["TaskStep"] | components["schemas"]["WaitEventStep"] | components["schemas"]["SleepStep"] | components["schemas"]["ChildStep"] | components["schemas"]["SucceedStep"] | components["schemas"]["FailStep"];
        readonly DefinitionSummary: {
            readonly id: string;
            /** @description The project that owns it; absent where the service does */
            readonly project?: string;
            /** Format: int64 */
            readonly version: number;
            readonly created_at: components["schemas"]["Timestamp"];
        };
        /** @description Limits of one task in one run, over all its visits; passing one ends the run as failed, with class limit, and no on_error takes that. */
        readonly DefinitionTaskLimits: {
            /** @description Attempts in all visits together, however they ended, but for offers that lapsed and bodies that a worker could not serve; one more ends the run. */
            readonly max_attempts_total?: number;
            /** @description The run ends when the priced usage that attempts of this task reported reaches it, failed ones included. */
            readonly max_cost_usd?: number;
        };
        /** @description Any JSON; its texts may hold ${path}, or ${path?} where the path may be missing. */
        readonly DefinitionTemplate: Json;
        readonly DefinitionVersion: {
            readonly id: string;
            /** @description The project that owns it; absent where the service does */
            readonly project?: string;
            /** Format: int64 */
            readonly version: number;
            readonly created_at: components["schemas"]["Timestamp"];
            readonly definition: components["schemas"]["Definition"];
        };
        /** @description A refusal. Clients branch on `code`. */
        readonly Error: {
            /** @enum {string} */
            readonly code: "invalid_parameter" | "invalid_body" | "invalid_id" | "unknown_scorer" | "cap_exceeded" | "definition_invalid" | "input_invalid" | "judge_not_configured" | "unauthorized" | "forbidden" | "not_found" | "method_not_allowed" | "not_acceptable" | "already_applied" | "fenced" | "run_terminal" | "not_started" | "definition_conflict" | "conflict" | "limit_reached" | "payload_too_large" | "unsupported_content_encoding" | "unsupported_media_type" | "overloaded" | "over_quota" | "runs_disabled" | "store_unavailable" | "request_timeout" | "internal";
            readonly message: string;
            /** @description The one parameter or body field at fault */
            readonly field?: string;
        };
        readonly EventOutcome: {
            /** @enum {string} */
            readonly outcome: "delivered" | "parked" | "duplicate";
            /** @description The run that took it */
            readonly run_id?: string;
        };
        /** Ends the run as failed */
        readonly FailStep: {
            readonly id: components["schemas"]["DefinitionId"];
            /** @constant */
            readonly kind: "fail";
            /** @description The code of the run's error; no template. */
            readonly code?: components["schemas"]["DefinitionName"];
            /** @description Template of text: the message of the run's error; absent: one that names the step. */
            readonly message?: string;
        };
        /** @enum {string} */
        readonly FeedbackKind: "thumbs" | "rating" | "correction" | "tag" | "comment";
        readonly FilterText: string;
        readonly Firing: {
            readonly nominal_at: components["schemas"]["Timestamp"];
            /** @description Of a firing that a call asked for */
            readonly trigger_id?: string;
            /** @description When its run was started */
            readonly fired_at?: components["schemas"]["Timestamp"];
            readonly run_id?: string;
            /** @enum {string} */
            readonly outcome: "started" | "skipped";
            /**
             * @description Why it was skipped: `missed` while the service was away; `already_started` under its key by somebody else; `refused` by the start for another reason
             * @enum {string}
             */
            readonly reason?: "missed" | "paused" | "catch_up_window" | "overlap" | "definition_unknown" | "input_invalid" | "already_started" | "refused";
        };
        readonly IngestBatch: {
            /** @description Idempotency key of the batch. The batch is written once, in a transaction of its own. */
            readonly ingest_key?: string;
            readonly spans?: readonly components["schemas"]["NewSpan"][];
            readonly logs?: readonly components["schemas"]["NewLogRecord"][];
            readonly metrics?: readonly components["schemas"]["NewMetricPoint"][];
            readonly scores?: readonly components["schemas"]["NewScore"][];
            readonly feedback?: readonly components["schemas"]["NewFeedback"][];
            readonly aspect_notes?: readonly components["schemas"]["NewAspectNote"][];
        };
        /** @description One refused signal, by its place in the request. */
        readonly IngestError: {
            /**
             * Format: int64
             * @description Position of the batch among those of the request
             */
            readonly batch: number;
            /** @enum {string} */
            readonly signal: "spans" | "logs" | "metrics" | "scores" | "feedback" | "aspect_notes";
            /**
             * Format: int64
             * @description Position in the batch's array of that signal
             */
            readonly index: number;
            readonly code: string;
            readonly message: string;
            readonly field?: string;
        };
        /** @description One result for the whole request. */
        readonly IngestReply: {
            /**
             * Format: int64
             * @description Signals written
             */
            readonly accepted: number;
            /**
             * Format: int64
             * @description Signals refused, each with an entry in `errors`
             */
            readonly rejected: number;
            /**
             * Format: int64
             * @description Batches recognised as resends of their `ingest_key`; nothing of them was written again
             */
            readonly duplicate: number;
            /**
             * Format: int64
             * @description Signals that the sampling policy dropped; not to be sent again. Absent when there are none
             */
            readonly sampled_out?: number;
            readonly errors: readonly components["schemas"]["IngestError"][];
        };
        readonly JournalEntry: {
            /** Format: int64 */
            readonly seq: number;
            readonly kind: components["schemas"]["JournalKind"];
            readonly at: components["schemas"]["Timestamp"];
            readonly step_id?: string;
            /** Format: int64 */
            readonly visit?: number;
            /** Format: int64 */
            readonly attempt?: number;
            readonly lease_id?: string;
            readonly worker_id?: string;
            /** @description What the kind adds; its times, `due_at`, `retry_at` and `start_at`, are timestamps. A timer that is never due has none */
            readonly data: {
                readonly [key: string]: Json;
            };
        };
        /** @enum {string} */
        readonly JournalKind: "run.started" | "cursor.moved" | "step.leased" | "step.started" | "step.finished" | "step.failed" | "step.orphaned" | "step.requeued" | "run.waiting" | "run.resumed" | "run.held" | "run.admitted" | "run.paused" | "run.unpaused" | "event.delivered" | "child.started" | "child.finished" | "run.finished";
        /** @description One attempt, held by one worker for a bounded time, with all that its body needs. */
        readonly Lease: {
            readonly lease_id: string;
            readonly run_id: string;
            readonly project: string;
            readonly definition_id: string;
            /** Format: int64 */
            readonly definition_version: number;
            readonly step_id: string;
            /** Format: int64 */
            readonly visit: number;
            /** Format: int64 */
            readonly attempt: number;
            /** @enum {string} */
            readonly delivery: "at_least_once" | "at_most_once";
            /** @description Rendered; absent where the step's definition gives none */
            readonly input?: Json;
            /** @description What the prior steps gave, by step id */
            readonly steps: {
                readonly [key: string]: {
                    /** @description Any JSON */
                    readonly output?: Json;
                };
            };
            readonly state: {
                readonly [key: string]: Json;
            };
            readonly correlation: components["schemas"]["RunCorrelation"];
            /** @description The same for every attempt of one visit of the step */
            readonly step_key: string;
            readonly trace_id: components["schemas"]["TraceId"];
            readonly span_id: components["schemas"]["SpanId"];
            readonly lease_expires_at: components["schemas"]["Timestamp"];
            /** @description When the run's `run_timeout_ms` is over; absent for a run without one. `timeout_ms` of the step counts from `started` */
            readonly deadline_at?: components["schemas"]["Timestamp"];
            /** @description The details of the last heartbeat of the attempt before this one */
            readonly last_details?: Json;
        };
        /** @description Of a schedule that this release cannot load only `fault` is known. */
        readonly ListedSchedule: {
            readonly id: string;
            readonly project: string;
            readonly definition_id?: string;
            readonly cron?: string;
            readonly timezone?: string;
            /** Format: int64 */
            readonly every_ms?: number;
            readonly status?: components["schemas"]["ScheduleStatus"];
            readonly next_at?: components["schemas"]["Timestamp"];
            readonly last_firing?: components["schemas"]["Firing"];
            /** Format: int64 */
            readonly started?: number;
            /** Format: int64 */
            readonly skipped?: number;
            readonly fault?: string;
        };
        readonly NewAspectNote: {
            /** @description Absent makes the server generate one */
            readonly note_id?: string;
            readonly trace_id: components["schemas"]["TraceId"];
            readonly span_id?: components["schemas"]["SpanId"];
            readonly aspect: string;
            readonly text: string;
            readonly model?: string;
            /** @description RFC 3339; now by default */
            readonly timestamp?: components["schemas"]["Timestamp"];
            readonly correlation?: components["schemas"]["NewCorrelation"];
        };
        readonly NewBulk: {
            readonly action: components["schemas"]["BulkAction"];
            readonly filter: components["schemas"]["RunFilter"];
            /**
             * @description Only count
             * @default false
             */
            readonly dry_run?: boolean;
            /** @description Of a cancel, pause or resume */
            readonly reason?: string;
            /** @description Of a signal, which needs it */
            readonly event?: string;
            /** @description Of a signal; `{}` by default */
            readonly payload?: {
                readonly [key: string]: Json;
            };
        };
        /** @description What a signal belongs to. Without `project` it is the project of the key, or the daemon's default. */
        readonly NewCorrelation: {
            readonly project?: string;
            readonly environment?: string;
            readonly service_name?: string;
            readonly service_version?: string;
            readonly session_id?: string;
            readonly thread_id?: string;
            readonly user_id?: string;
            readonly request_id?: string;
            readonly release?: string;
            readonly run_id?: string;
            readonly resource_id?: string;
            readonly experiment_id?: string;
            readonly tags?: readonly string[];
        };
        /** @description A cost as the sender knows it. */
        readonly NewCost: {
            readonly total_cost: number;
            readonly input_cost?: number;
            readonly output_cost?: number;
            /** @description ISO 4217; USD by default */
            readonly currency?: string;
            readonly is_estimated?: boolean;
            readonly price_book_id?: string;
        };
        readonly NewDefinitions: {
            readonly definitions: readonly components["schemas"]["Definition"][];
            /** @description The project that owns them, for a key of several: required there */
            readonly project?: components["schemas"]["ProjectName"];
        };
        readonly NewEvent: {
            readonly project?: components["schemas"]["ProjectName"];
            readonly event: string;
            readonly key: string;
            readonly payload: {
                readonly [key: string]: Json;
            };
            /** @description Unique in the project; send one when the event may be sent twice */
            readonly event_id?: string;
        };
        readonly NewFeedback: {
            /** @description Absent or empty makes the server generate one */
            readonly feedback_id?: string;
            /** @description This or `span_id` is needed */
            readonly trace_id?: components["schemas"]["TraceId"];
            readonly span_id?: components["schemas"]["SpanId"];
            readonly kind: components["schemas"]["FeedbackKind"];
            /** @description `thumbs`: `up` or `down`; `rating`: a number; others: text */
            readonly value: string | number;
            readonly comment?: string;
            readonly author_kind?: components["schemas"]["AuthorKind"];
            /** @description Stored exactly as sent; send a pseudonymous id */
            readonly author_id?: string;
            readonly metadata?: components["schemas"]["Attributes"];
            /** @description RFC 3339; now by default */
            readonly timestamp?: components["schemas"]["Timestamp"];
            readonly correlation?: components["schemas"]["NewCorrelation"];
        };
        readonly NewLogRecord: {
            /**
             * @description Absent makes the server generate one. Kept as sent; a record never replaces another, so a batch that may be sent
             *     again needs an `ingest_key`.
             */
            readonly log_id?: string;
            /** @description RFC 3339; now by default */
            readonly timestamp?: components["schemas"]["Timestamp"];
            readonly severity?: components["schemas"]["Severity"];
            readonly message: string;
            readonly logger?: string;
            readonly trace_id?: components["schemas"]["TraceId"];
            readonly span_id?: components["schemas"]["SpanId"];
            readonly attributes?: components["schemas"]["Attributes"];
            readonly correlation?: components["schemas"]["NewCorrelation"];
        };
        /** @description A histogram has `sum`, `count`, `bounds` and one more of `bucket_counts`; the other types have `value`. */
        readonly NewMetricPoint: {
            readonly name: string;
            /** @enum {string} */
            readonly type: "counter" | "gauge" | "histogram";
            readonly unit?: string;
            readonly description?: string;
            /** @description RFC 3339; now by default */
            readonly timestamp?: components["schemas"]["Timestamp"];
            readonly value?: number;
            readonly sum?: number;
            /** Format: int64 */
            readonly count?: number;
            readonly bounds?: readonly number[];
            readonly bucket_counts?: readonly number[];
            /** @enum {string} */
            readonly temporality?: "delta" | "cumulative";
            readonly attributes?: components["schemas"]["Attributes"];
            readonly correlation?: components["schemas"]["NewCorrelation"];
            readonly exemplars?: readonly {
                readonly trace_id?: components["schemas"]["TraceId"];
                readonly span_id?: components["schemas"]["SpanId"];
                readonly value?: number;
                readonly timestamp?: components["schemas"]["Timestamp"];
                readonly attributes?: components["schemas"]["Attributes"];
            }[];
        };
        readonly NewRun: {
            readonly definition_id: string;
            /** @description Any JSON that meets the definition's `input_schema` */
            readonly input: Json;
            readonly project?: components["schemas"]["ProjectName"];
            /** @description The highest stored one by default */
            readonly definition_version?: number;
            /** @description Unique in the project while the run is kept */
            readonly idempotency_key?: string;
            readonly correlation?: components["schemas"]["RunCorrelation"];
            /** @description How long to wait for the end of the run; at most four fifths of the request timeout */
            readonly wait_ms?: number;
            /**
             * Format: later-time
             * @description When the run begins: an RFC 3339 timestamp before the year 2262, or `+<n><unit>` from now with unit `s`, `m`, `h`, `d` or `w`, at most 3650 days. What is not ahead means at once. Until then the
             *     run is `scheduled`; `run_timeout_ms` counts from then.
             */
            readonly start_at?: string;
            /** @description 0 by default */
            readonly priority?: components["schemas"]["Priority"];
        };
        readonly NewSchedule: {
            readonly id: components["schemas"]["ScheduleId"];
            readonly project?: components["schemas"]["ProjectName"];
            /** @description The highest version that is stored when it fires */
            readonly definition_id: string;
            /** @description Any JSON that meets the definition's `input_schema`; `{}` by default */
            readonly input?: Json;
            readonly correlation?: components["schemas"]["RunCorrelation"];
            /** @description Of its runs */
            readonly priority?: number;
            /** @description Minute, hour, day of month, month, day of week; seconds may stand before them. Either this or `every_ms` */
            readonly cron?: string;
            /** @description In which `cron` is read: a name of the IANA database, `UTC` by default */
            readonly timezone?: string;
            /**
             * Format: int64
             * @description At least 1000, counted from `starts_at`, else from the creation
             */
            readonly every_ms?: number;
            readonly overlap?: components["schemas"]["Overlap"];
            readonly catch_up?: components["schemas"]["CatchUp"];
            /**
             * Format: int64
             * @description How old a missed time may be that `all` still fires; 3600000 by default
             */
            readonly catch_up_window_ms?: number;
            /**
             * Format: int64
             * @description Each time fires up to so much later, always by the same; at most the time between two firings
             */
            readonly jitter_ms?: number;
            /**
             * Format: date-time
             * @description No nominal time is before
             */
            readonly starts_at?: string;
            /**
             * Format: date-time
             * @description Every nominal time is before
             */
            readonly ends_at?: string;
        };
        readonly NewScore: {
            /** @description Absent or empty makes the server generate one */
            readonly score_id?: string;
            /** @description This or `span_id` is needed */
            readonly trace_id?: components["schemas"]["TraceId"];
            readonly span_id?: components["schemas"]["SpanId"];
            readonly scorer_id: string;
            readonly scorer_version?: string;
            /** @description From `min` to `max`, which `min` is below */
            readonly value: number;
            /** @default 0 */
            readonly min?: number;
            /** @default 1 */
            readonly max?: number;
            readonly label?: string;
            readonly reason?: string;
            readonly source?: components["schemas"]["ScoreSource"];
            readonly score_trace_id?: components["schemas"]["TraceId"];
            readonly cost?: components["schemas"]["NewCost"];
            /** @description RFC 3339; now by default */
            readonly timestamp?: components["schemas"]["Timestamp"];
            readonly correlation?: components["schemas"]["NewCorrelation"];
            readonly experiment_id?: string;
            readonly metadata?: components["schemas"]["Attributes"];
        };
        readonly NewSpan: {
            readonly trace_id: components["schemas"]["TraceId"];
            readonly span_id: components["schemas"]["SpanId"];
            readonly parent_span_id?: components["schemas"]["SpanId"];
            readonly name?: string;
            readonly kind?: components["schemas"]["SpanKind"];
            readonly status?: components["schemas"]["SpanStatus"];
            readonly start_time?: components["schemas"]["Timestamp"];
            readonly end_time?: components["schemas"]["Timestamp"];
            readonly is_event?: boolean;
            /** @description Any JSON */
            readonly input?: Json;
            /** @description Any JSON */
            readonly output?: Json;
            readonly model?: string;
            readonly provider?: string;
            readonly entity_name?: string;
            readonly usage?: components["schemas"]["Usage"];
            readonly cost?: components["schemas"]["NewCost"];
            readonly error?: components["schemas"]["SpanError"];
            readonly correlation?: components["schemas"]["NewCorrelation"];
            readonly attributes?: components["schemas"]["Attributes"];
            readonly events?: readonly {
                readonly name?: string;
                readonly time?: components["schemas"]["Timestamp"];
                readonly attributes?: components["schemas"]["Attributes"];
            }[];
            readonly links?: readonly {
                readonly trace_id?: components["schemas"]["TraceId"];
                readonly span_id?: components["schemas"]["SpanId"];
                readonly attributes?: components["schemas"]["Attributes"];
            }[];
            readonly scope_name?: string;
        };
        readonly NewWorker: {
            readonly worker_id: components["schemas"]["WorkerId"];
            readonly definitions: readonly components["schemas"]["Definition"][];
            readonly name?: string;
            readonly version?: string;
            /** @description Limits the claims of this worker; of a key of several projects, which must name one, it owns the definitions too */
            readonly project?: components["schemas"]["ProjectName"];
            readonly concurrency?: number;
        };
        /** @description Opaque; absent on the last page */
        readonly NextCursor: string;
        /**
         * @description What a firing does while a run of the schedule is open: `skip` (default) is skipped, `queue` lets one wait and skips later ones, `allow` starts, `cancel_running` cancels the open run and starts
         * @enum {string}
         */
        readonly Overlap: "skip" | "queue" | "allow" | "cancel_running";
        /**
         * @description Steps of a higher priority are offered first, among the same priority the older ones. A step gains one point for each minute that it
         *     waits. Children have that of their parent.
         */
        readonly Priority: number;
        readonly ProjectName: string;
        /**
         * @description Why a queued run that was read is queued. `no_worker`: no live worker holds the definition; a worker is live while a claim of it is
         *     held, and for three heartbeats after its last call. `version_missing`: those that hold it did not register the version, or refused it.
         *     `workers_busy`: it waits for its turn. `definition_paused`: somebody paused its definition.
         *     `concurrency_key`: as many hold its key as may. `rate`: as many began with its key as may.
         * @enum {string}
         */
        readonly QueuedReason: "no_worker" | "version_missing" | "workers_busy" | "definition_paused" | "concurrency_key" | "rate";
        readonly Registration: {
            readonly worker_id: string;
            /** Format: int64 */
            readonly lease_ttl_ms: number;
            /** Format: int64 */
            readonly heartbeat_ms: number;
            readonly definitions: readonly components["schemas"]["StoredDefinition"][];
        };
        /** @description One model call, or several of one model. A count that is not known is left out, never zero. `cost` is money that is already known, in US dollars. */
        readonly ReportedUsage: {
            readonly model?: string;
            readonly input_tokens?: components["schemas"]["TokenCount"];
            readonly output_tokens?: components["schemas"]["TokenCount"];
            readonly total_tokens?: components["schemas"]["TokenCount"];
            readonly input_details?: {
                readonly cache_read?: components["schemas"]["TokenCount"];
                readonly cache_write?: components["schemas"]["TokenCount"];
                readonly cache_write_5m?: components["schemas"]["TokenCount"];
                readonly cache_write_1h?: components["schemas"]["TokenCount"];
                readonly audio?: components["schemas"]["TokenCount"];
                readonly text?: components["schemas"]["TokenCount"];
            };
            readonly output_details?: {
                readonly reasoning?: components["schemas"]["TokenCount"];
                readonly audio?: components["schemas"]["TokenCount"];
                readonly text?: components["schemas"]["TokenCount"];
            };
            readonly cost?: number;
            /**
             * @description True asks the service for a span of it: a priced `model_generation` below the span of the step. For usage that no span of the
             *     worker holds; without it the tokens are expected on the worker's own spans.
             */
            readonly record?: boolean;
        };
        readonly RestartRun: {
            /** @description The step with which the new run begins, by default the one that failed. Required where the run has not failed */
            readonly from_step?: string;
            /** @description Which visit of that step is made again; by default the last */
            readonly visit?: number;
            /** @description By default the one of the ended run */
            readonly definition_version?: number;
            /** @description In place of the input of the ended run. Any JSON that meets the definition's `input_schema` */
            readonly input?: Json;
            /** @description Its top-level members replace those of the state as it was then */
            readonly state_patch?: {
                readonly [key: string]: Json;
            };
            /** @description Unique in the project while the run is kept; starts and restarts share them */
            readonly idempotency_key?: string;
        };
        /** @description The ended run that this one takes up, which may be gone meanwhile, and where this one began. */
        readonly RestartedFrom: {
            readonly run_id: string;
            readonly step_id: string;
            /**
             * Format: int64
             * @description Counted over both runs
             */
            readonly visit: number;
        };
        readonly Run: components["schemas"]["RunSummary"] & {
            /** @description Any JSON */
            readonly input: Json;
            /** @description Any JSON; absent until the run has succeeded */
            readonly output?: Json;
            readonly state: {
                readonly [key: string]: Json;
            };
        };
        /** @description What the run belongs to, as the caller sent it; its spans carry it, redacted and hashed like those of any span. */
        readonly RunCorrelation: {
            /** @description Ignored; the project of the run counts */
            readonly project?: string;
            readonly environment?: string;
            readonly service_name?: string;
            readonly service_version?: string;
            readonly session_id?: string;
            readonly thread_id?: string;
            readonly user_id?: string;
            readonly request_id?: string;
            readonly release?: string;
            readonly run_id?: string;
            readonly resource_id?: string;
            readonly experiment_id?: string;
            readonly tags?: readonly string[];
        };
        readonly RunDetail: components["schemas"]["Run"] & {
            readonly waiting_for?: components["schemas"]["WaitingFor"];
            readonly attempts: readonly components["schemas"]["Attempt"][];
            readonly timers: readonly {
                /** @description `start_at`, `sleep`, `wait`, `backoff`, `run_timeout`, or `timeout` of a body that runs */
                readonly name: string;
                readonly due_at?: components["schemas"]["Timestamp"];
                readonly step_id?: string;
            }[];
            readonly waits: readonly {
                readonly event: string;
                readonly key: string;
                readonly step_id: string;
                readonly since: components["schemas"]["Timestamp"];
                readonly deadline_at?: components["schemas"]["Timestamp"];
            }[];
            readonly children: readonly {
                readonly run_id: string;
                readonly definition_id: string;
                /** Format: int64 */
                readonly definition_version: number;
                readonly status: components["schemas"]["RunStatus"];
                readonly step_id: string;
                /** Format: int64 */
                readonly visit: number;
                /**
                 * Format: int64
                 * @description Place among the children of the visit, from 0
                 */
                readonly index: number;
                /** @description Of a failed child: why, and at which of its steps */
                readonly error?: components["schemas"]["RunError"];
            }[];
        };
        readonly RunError: {
            readonly class: string;
            readonly code?: string;
            readonly message: string;
            readonly step_id?: string;
            /**
             * @description Present with class `limit`. The message says whether it is a limit of the run or of a task, and `step_id` names the task
             * @enum {string}
             */
            readonly limit?: "max_steps" | "run_timeout_ms" | "max_cost_usd" | "max_attempts_total" | "descendants" | "concurrency";
        };
        /** @description The members of the list of runs; a run matches all that are given. */
        readonly RunFilter: {
            /** @description As of the list; `*` is every project */
            readonly project?: string;
            readonly status?: components["schemas"]["RunStatus"];
            readonly definition_id?: components["schemas"]["FilterText"];
            readonly user_id?: components["schemas"]["FilterText"];
            readonly session_id?: components["schemas"]["FilterText"];
            readonly parent_run_id?: components["schemas"]["FilterText"];
            /** @enum {string} */
            readonly waiting_on?: "event" | "timer" | "backoff" | "children" | "worker";
            /** @description Created at or after this time */
            readonly from?: components["schemas"]["TimeParameter"];
            /** @description Created before this time */
            readonly to?: components["schemas"]["TimeParameter"];
            readonly correlation?: {
                readonly environment?: components["schemas"]["FilterText"];
                readonly service_name?: components["schemas"]["FilterText"];
                readonly service_version?: components["schemas"]["FilterText"];
                readonly session_id?: components["schemas"]["FilterText"];
                readonly thread_id?: components["schemas"]["FilterText"];
                readonly user_id?: components["schemas"]["FilterText"];
                readonly request_id?: components["schemas"]["FilterText"];
                readonly release?: components["schemas"]["FilterText"];
                readonly run_id?: components["schemas"]["FilterText"];
                readonly resource_id?: components["schemas"]["FilterText"];
                readonly experiment_id?: components["schemas"]["FilterText"];
            };
        };
        /**
         * @description `scheduled`: its `start_at` lies ahead. `queued`: a step is runnable and no worker holds it, or `queued_reason` says what holds the run back. `running`: a worker holds a lease. `waiting`: for an event, a sleep, a backoff or children. `paused`: somebody paused it, or its parent; a worker may still hold a lease. The others are ends.
         * @enum {string}
         */
        readonly RunStatus: "scheduled" | "queued" | "running" | "waiting" | "paused" | "succeeded" | "failed" | "cancelled";
        readonly RunSummary: {
            /** Format: uuid */
            readonly run_id: string;
            readonly trace_id: components["schemas"]["TraceId"];
            readonly parent_run_id?: string;
            readonly restarted_from?: components["schemas"]["RestartedFrom"];
            readonly project: string;
            readonly definition_id: string;
            /** Format: int64 */
            readonly definition_version: number;
            readonly status: components["schemas"]["RunStatus"];
            /** @description Why the run is quarantined: this release cannot load it, or a row of it is damaged. Nothing moves it, and what cannot be read is left out. */
            readonly fault?: string;
            readonly queued_reason?: components["schemas"]["QueuedReason"];
            /** @description Present while the run is `paused` */
            readonly pause?: {
                readonly since: components["schemas"]["Timestamp"];
                /** @description Its parent was paused, and it is resumed with it; false: it was paused by name */
                readonly by_parent: boolean;
                readonly reason?: string;
            };
            /** @description The step where the run is, while it is open */
            readonly cursor?: string;
            readonly error?: components["schemas"]["RunError"];
            readonly correlation: components["schemas"]["RunCorrelation"];
            readonly idempotency_key?: string;
            readonly usage: components["schemas"]["RunUsage"];
            readonly cost?: components["schemas"]["Cost"];
            /** @description Its own usage and that of all runs below it; absent where it started none. `max_cost_usd` bounds this. */
            readonly tree_usage?: components["schemas"]["RunUsage"];
            /** @description Its own cost and that of all runs below it; absent where it started none, or nothing was priced. */
            readonly tree_cost?: components["schemas"]["Cost"];
            /**
             * Format: int64
             * @description Entries into steps of every kind
             */
            readonly step_count: number;
            readonly priority: components["schemas"]["Priority"];
            readonly created_at: components["schemas"]["Timestamp"];
            readonly updated_at: components["schemas"]["Timestamp"];
            /** @description When it was to begin; absent where its start named no time */
            readonly start_at?: components["schemas"]["Timestamp"];
            readonly ended_at?: components["schemas"]["Timestamp"];
            readonly deadline_at?: components["schemas"]["Timestamp"];
        };
        /** @description What the steps reported, added up. `cost`, in US dollars, is absent while nothing was priced. */
        readonly RunUsage: {
            /** Format: int64 */
            readonly input_tokens: number;
            /** Format: int64 */
            readonly output_tokens: number;
            /** Format: int64 */
            readonly total_tokens: number;
            readonly cost?: number;
        };
        readonly Schedule: {
            readonly id: string;
            readonly project: string;
            readonly definition_id: string;
            /** @description Any JSON */
            readonly input: Json;
            readonly correlation?: components["schemas"]["RunCorrelation"];
            readonly priority?: number;
            readonly cron?: string;
            readonly timezone?: string;
            /** Format: int64 */
            readonly every_ms?: number;
            readonly overlap: components["schemas"]["Overlap"];
            readonly catch_up: components["schemas"]["CatchUp"];
            /** Format: int64 */
            readonly catch_up_window_ms: number;
            /** Format: int64 */
            readonly jitter_ms: number;
            readonly starts_at?: components["schemas"]["Timestamp"];
            readonly ends_at?: components["schemas"]["Timestamp"];
            readonly status: components["schemas"]["ScheduleStatus"];
            readonly created_at: components["schemas"]["Timestamp"];
            readonly updated_at: components["schemas"]["Timestamp"];
            readonly paused_at?: components["schemas"]["Timestamp"];
            /** @description Nominal times; while it is paused, those from now on */
            readonly next_times: readonly components["schemas"]["Timestamp"][];
            /** @description Newest first */
            readonly firings: readonly components["schemas"]["Firing"][];
            /**
             * Format: int64
             * @description Firings that started a run
             */
            readonly started: number;
            /**
             * Format: int64
             * @description Firings that did not
             */
            readonly skipped: number;
            /** @description Runs that it started and that have not ended, oldest first; the last 100 */
            readonly running: readonly string[];
            /** @description With `overlap: queue`, the firing that waits for the end of the run before it */
            readonly waiting?: {
                readonly nominal_at: components["schemas"]["Timestamp"];
                readonly trigger_id?: string;
            };
        };
        readonly ScheduleId: string;
        /** @enum {string} */
        readonly ScheduleStatus: "active" | "paused" | "ended";
        /** @enum {string} */
        readonly ScoreSource: "live" | "offline" | "experiment" | "manual";
        /** @enum {string} */
        readonly Severity: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
        readonly Signal: {
            readonly event: string;
            readonly payload: {
                readonly [key: string]: Json;
            };
            readonly event_id?: string;
        };
        /** The run sleeps: exactly one of sleep_ms and sleep_until */
        readonly SleepStep: {
            readonly id: components["schemas"]["DefinitionId"];
            /** @constant */
            readonly kind: "sleep";
            /** @description From when the step was entered. */
            readonly sleep_ms?: components["schemas"]["DefinitionDurationMs"];
            /** @description RFC 3339, or a template of it. A time that is past is due at the next second, one after the year 2262 never. */
            readonly sleep_until?: string;
            readonly next?: components["schemas"]["DefinitionNext"];
            readonly on_error?: components["schemas"]["DefinitionOnError"];
        };
        readonly SpanError: {
            readonly message: string;
            readonly type?: string;
            readonly stack?: string;
        };
        /**
         * Format: span-id
         * @description 16 lowercase hex characters that are not all zero
         */
        readonly SpanId: string;
        /** @enum {string} */
        readonly SpanKind: "model_generation" | "workflow_run" | "tool_call" | "agent_run" | "retrieval" | "rag_embedding" | "rag_action" | "guardrail" | "scorer_run" | "mcp_tool_call" | "http_request" | "generic" | "client_tool_call" | "provider_tool_call";
        /**
         * @description `unset` is a span that still runs
         * @enum {string}
         */
        readonly SpanStatus: "ok" | "error" | "unset";
        readonly StartedBulk: {
            /** @description Absent where nothing was begun */
            readonly bulk_id?: string;
            /** Format: int64 */
            readonly count: number;
            /** @description Runs that match */
            readonly sample: readonly string[];
        };
        readonly StepBatch: {
            readonly worker_id: components["schemas"]["WorkerId"];
            /** @description `lease_id`, and the body of `startStep` */
            readonly started?: readonly components["schemas"]["StepBatchItem"][];
            /** @description `lease_id`, and the body of `beatStep` */
            readonly heartbeats?: readonly components["schemas"]["StepBatchItem"][];
            /** @description `lease_id`, and the body of `completeStep` */
            readonly completes?: readonly components["schemas"]["StepBatchItem"][];
            /** @description `lease_id`, and the body of `failStep` */
            readonly fails?: readonly components["schemas"]["StepBatchItem"][];
            readonly claim?: {
                /** @description Most steps to offer: no more than there are free slots */
                readonly max: number;
                /** @description How long to wait for the first, and with it for the whole answer; 0 unless given */
                readonly wait_ms?: number;
                /** @description Steps of this run alone */
                readonly run_id?: string;
            };
        };
        readonly StepBatchAnswer: {
            readonly started: readonly components["schemas"]["StepBatchItemAnswer"][];
            readonly heartbeats: readonly components["schemas"]["StepBatchItemAnswer"][];
            readonly completes: readonly components["schemas"]["StepBatchItemAnswer"][];
            readonly fails: readonly components["schemas"]["StepBatchItemAnswer"][];
            readonly leases: readonly components["schemas"]["Lease"][];
            /** @description Why nothing was claimed; absent when the claim was taken, or none was made */
            readonly claim_error?: {
                /** @description The status of the single call */
                readonly status: number;
                readonly body: components["schemas"]["Error"];
            };
        };
        /** @description `lease_id`, and the members of the body of the single call; `worker_id` may be left out. Checked one by one: what is wrong is said in the item's answer */
        readonly StepBatchItem: {
            readonly [key: string]: Json;
        };
        readonly StepBatchItemAnswer: {
            /** @description Absent where the item named none that can be */
            readonly lease_id?: string;
            /** @description The status of the single call */
            readonly status: number;
            /** @description The body of the single call */
            readonly body: {
                readonly [key: string]: Json;
            };
        };
        readonly StepError: {
            readonly class: string;
            readonly code?: string;
            readonly message: string;
        };
        readonly StepFailure: {
            readonly worker_id: components["schemas"]["WorkerId"];
            readonly error: {
                /** @description `retryable`, `rate_limited`, `fatal`, `unservable`, or a name of yours; those of the service are refused */
                readonly class: string;
                readonly code?: string;
                readonly message: string;
            };
            /**
             * Format: int64
             * @description A minimum; at most 3650 days
             */
            readonly retry_after_ms?: number;
            readonly usage?: components["schemas"]["StepUsage"];
        };
        readonly StepResult: {
            readonly worker_id: components["schemas"]["WorkerId"];
            /** @description Any JSON */
            readonly output?: Json;
            /** @description Its top-level keys replace those of the run's state */
            readonly state_patch?: {
                readonly [key: string]: Json;
            };
            readonly usage?: components["schemas"]["StepUsage"];
        };
        /** @description One report of usage, or a list of them. */
        readonly StepUsage: components["schemas"]["ReportedUsage"] | readonly components["schemas"]["ReportedUsage"][];
        readonly StoredDefinition: {
            readonly id: string;
            /** Format: int64 */
            readonly version: number;
            /** @enum {string} */
            readonly stored: "created" | "unchanged";
        };
        readonly StoredDefinitions: {
            readonly definitions: readonly components["schemas"]["StoredDefinition"][];
        };
        /** Ends the run as succeeded */
        readonly SucceedStep: {
            readonly id: components["schemas"]["DefinitionId"];
            /** @constant */
            readonly kind: "succeed";
            /** @description The output of the run; absent: the output of the step before. */
            readonly output?: components["schemas"]["DefinitionTemplate"];
        };
        /** A worker serves it */
        readonly TaskStep: {
            readonly id: components["schemas"]["DefinitionId"];
            /** @constant */
            readonly kind: "task";
            /** @description What the worker's body gets; absent: nothing. */
            readonly input?: components["schemas"]["DefinitionTemplate"];
            /**
             * @description at_most_once: a body that has started is never started again, whatever becomes of it.
             * @default at_least_once
             * @enum {unknown}
             */
            readonly delivery?: "at_least_once" | "at_most_once";
            /** @description How long one attempt may take, from its started; absent: as long as its heartbeats come. */
            readonly timeout_ms?: components["schemas"]["DefinitionPositiveDurationMs"];
            /** @description Its members win over those of the definition's defaults, one by one. */
            readonly retry?: components["schemas"]["DefinitionRetry"];
            /** @description Over all visits of this task in one run. */
            readonly limits?: components["schemas"]["DefinitionTaskLimits"];
            /** @description How many steps of one key may be out at once; each attempt holds its place until it ends. */
            readonly concurrency?: components["schemas"]["DefinitionConcurrency"];
            /** @description How many attempts of one key may go to workers in a time. */
            readonly rate?: components["schemas"]["DefinitionRate"];
            readonly next?: components["schemas"]["DefinitionNext"];
            readonly on_error?: components["schemas"]["DefinitionOnError"];
        };
        /**
         * Format: time-parameter
         * @description An RFC 3339 time of the calendar, or a time before now in seconds, minutes, hours, days or weeks
         */
        readonly TimeParameter: string;
        /**
         * Format: date-time
         * @description RFC 3339, UTC, fraction of 0, 3, 6 or 9 digits
         */
        readonly Timestamp: string;
        /** Format: int64 */
        readonly TokenCount: number;
        /**
         * Format: trace-id
         * @description 32 lowercase hex characters that are not all zero
         */
        readonly TraceId: string;
        /** @description Tokens of a model call. A count that the sender did not give is absent, never zero. */
        readonly Usage: {
            /** Format: int64 */
            readonly input_tokens?: number;
            /** Format: int64 */
            readonly output_tokens?: number;
            /** Format: int64 */
            readonly total_tokens?: number;
            readonly input_details?: {
                /** Format: int64 */
                readonly cache_read?: number;
                /** Format: int64 */
                readonly cache_write?: number;
                /** Format: int64 */
                readonly cache_write_5m?: number;
                /** Format: int64 */
                readonly cache_write_1h?: number;
                /** Format: int64 */
                readonly audio?: number;
                /** Format: int64 */
                readonly text?: number;
            };
            readonly output_details?: {
                /** Format: int64 */
                readonly reasoning?: number;
                /** Format: int64 */
                readonly audio?: number;
                /** Format: int64 */
                readonly text?: number;
            };
        };
        /** The run waits for an event of this name and key, or for the first of several: exactly one of event and any */
        readonly WaitEventStep: {
            readonly id: components["schemas"]["DefinitionId"];
            /** @constant */
            readonly kind: "wait_event";
            /** @description The name of the event; no template. */
            readonly event?: components["schemas"]["DefinitionName"];
            /**
             * @description Template of text, expanded once, when the wait opens; goes with event.
             * @default
             */
            readonly key?: string;
            /** @description Instead of event and key: several events, of which the first that comes ends the wait for all. */
            readonly any?: readonly components["schemas"]["DefinitionAwaited"][];
            /**
             * @description Also take an event that came before the wait opened, the oldest that is parked; with any, the oldest that is parked for one of them.
             * @default false
             */
            readonly accept_parked?: boolean;
            /** @description From when the wait opened; absent: it waits indefinitely. */
            readonly timeout_ms?: components["schemas"]["DefinitionPositiveDurationMs"];
            /**
             * @description fail: the step fails with class timeout; continue: it ends without an output.
             * @default fail
             * @enum {unknown}
             */
            readonly on_timeout?: "fail" | "continue";
            readonly next?: components["schemas"]["DefinitionNext"];
            readonly on_error?: components["schemas"]["DefinitionOnError"];
        };
        /** @description The key for which a run waits, or the task that it is at, while its `queued_reason` is `concurrency_key` or `rate`. */
        readonly WaitingFor: {
            /** @description Its actor, of type `limit` */
            readonly limit_id: string;
            readonly key: string;
            /**
             * Format: int64
             * @description Among all that wait and need the key: by priority, then by age
             */
            readonly position: number;
            /** @description Runs that hold it, the longest first, at most 100; none of a rate */
            readonly holders: readonly string[];
            /** @description When a rate next has room for the first in line */
            readonly next_at?: components["schemas"]["Timestamp"];
        };
        readonly Worker: {
            readonly worker_id: string;
            readonly name?: string;
            readonly version?: string;
            /** @description The only project whose steps it takes */
            readonly project?: string;
            /** Format: int64 */
            readonly concurrency?: number;
            readonly definitions: readonly {
                readonly id: string;
                /** Format: int64 */
                readonly version: number;
            }[];
            readonly last_seen_at: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Live leases that it holds, of runs that the list reaches
             */
            readonly leases: number;
        };
        readonly WorkerId: string;
    };
    responses: never;
    parameters: {
        /** @description The `next_cursor` of the page before, with the same filters. */
        readonly cursor: string;
        readonly definitionInPath: string;
        /** @description The project that a definition is looked up for, as a start in it would. Without it, that of a key of one project, else the service. */
        readonly definitionOwner: string;
        readonly leaseInPath: string;
        /** @description Most rows of a page. */
        readonly limit: number;
        /**
         * @description Which project to read. Without it, the daemon's default project, or, for a key of certain projects, those. `*` is every project, for
         *     keys that reach all of them.
         */
        readonly project: string;
        /**
         * @description Only what belongs to this project, or to none: to the service, or to workers that no project limits. Without it, all that the key
         *     reaches. `*` is every project, for keys that reach all of them.
         */
        readonly projectAndService: string;
        readonly runInPath: string;
        /** @description The id of a schedule */
        readonly scheduleInPath: components["schemas"]["ScheduleId"];
        /** @description The project of the schedule. Without it, the daemon's default project where the key reaches it, else the first of the key. */
        readonly scheduleProject: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Attempt = components['schemas']['Attempt'];
export type AttemptStatus = components['schemas']['AttemptStatus'];
export type Attributes = components['schemas']['Attributes'];
export type AuthorKind = components['schemas']['AuthorKind'];
export type Bulk = components['schemas']['Bulk'];
export type BulkAction = components['schemas']['BulkAction'];
export type CatchUp = components['schemas']['CatchUp'];
export type ChangedSchedule = components['schemas']['ChangedSchedule'];
export type CheckedDefinition = components['schemas']['CheckedDefinition'];
export type CheckedDefinitions = components['schemas']['CheckedDefinitions'];
export type ChildStep = components['schemas']['ChildStep'];
export type Claim = components['schemas']['Claim'];
export type Cost = components['schemas']['Cost'];
export type Definition = components['schemas']['Definition'];
export type DefinitionAwaited = components['schemas']['DefinitionAwaited'];
export type DefinitionConcurrency = components['schemas']['DefinitionConcurrency'];
export type DefinitionDurationMs = components['schemas']['DefinitionDurationMs'];
export type DefinitionId = components['schemas']['DefinitionId'];
export type DefinitionKey = components['schemas']['DefinitionKey'];
export type DefinitionName = components['schemas']['DefinitionName'];
export type DefinitionNext = components['schemas']['DefinitionNext'];
export type DefinitionOnError = components['schemas']['DefinitionOnError'];
export type DefinitionOverview = components['schemas']['DefinitionOverview'];
export type DefinitionPause = components['schemas']['DefinitionPause'];
export type DefinitionPlaces = components['schemas']['DefinitionPlaces'];
export type DefinitionPositiveDurationMs = components['schemas']['DefinitionPositiveDurationMs'];
export type DefinitionRate = components['schemas']['DefinitionRate'];
export type DefinitionRetry = components['schemas']['DefinitionRetry'];
export type DefinitionState = components['schemas']['DefinitionState'];
export type DefinitionStep = components['schemas']['DefinitionStep'];
export type DefinitionSummary = components['schemas']['DefinitionSummary'];
export type DefinitionTaskLimits = components['schemas']['DefinitionTaskLimits'];
export type DefinitionTemplate = components['schemas']['DefinitionTemplate'];
export type DefinitionVersion = components['schemas']['DefinitionVersion'];
export type Error = components['schemas']['Error'];
export type EventOutcome = components['schemas']['EventOutcome'];
export type FailStep = components['schemas']['FailStep'];
export type FeedbackKind = components['schemas']['FeedbackKind'];
export type FilterText = components['schemas']['FilterText'];
export type Firing = components['schemas']['Firing'];
export type IngestBatch = components['schemas']['IngestBatch'];
export type IngestError = components['schemas']['IngestError'];
export type IngestReply = components['schemas']['IngestReply'];
export type JournalEntry = components['schemas']['JournalEntry'];
export type JournalKind = components['schemas']['JournalKind'];
export type Lease = components['schemas']['Lease'];
export type ListedSchedule = components['schemas']['ListedSchedule'];
export type NewAspectNote = components['schemas']['NewAspectNote'];
export type NewBulk = components['schemas']['NewBulk'];
export type NewCorrelation = components['schemas']['NewCorrelation'];
export type NewCost = components['schemas']['NewCost'];
export type NewDefinitions = components['schemas']['NewDefinitions'];
export type NewEvent = components['schemas']['NewEvent'];
export type NewFeedback = components['schemas']['NewFeedback'];
export type NewLogRecord = components['schemas']['NewLogRecord'];
export type NewMetricPoint = components['schemas']['NewMetricPoint'];
export type NewRun = components['schemas']['NewRun'];
export type NewSchedule = components['schemas']['NewSchedule'];
export type NewScore = components['schemas']['NewScore'];
export type NewSpan = components['schemas']['NewSpan'];
export type NewWorker = components['schemas']['NewWorker'];
export type NextCursor = components['schemas']['NextCursor'];
export type Overlap = components['schemas']['Overlap'];
export type Priority = components['schemas']['Priority'];
export type ProjectName = components['schemas']['ProjectName'];
export type QueuedReason = components['schemas']['QueuedReason'];
export type Registration = components['schemas']['Registration'];
export type ReportedUsage = components['schemas']['ReportedUsage'];
export type RestartRun = components['schemas']['RestartRun'];
export type RestartedFrom = components['schemas']['RestartedFrom'];
export type Run = components['schemas']['Run'];
export type RunCorrelation = components['schemas']['RunCorrelation'];
export type RunDetail = components['schemas']['RunDetail'];
export type RunError = components['schemas']['RunError'];
export type RunFilter = components['schemas']['RunFilter'];
export type RunStatus = components['schemas']['RunStatus'];
export type RunSummary = components['schemas']['RunSummary'];
export type RunUsage = components['schemas']['RunUsage'];
export type Schedule = components['schemas']['Schedule'];
export type ScheduleId = components['schemas']['ScheduleId'];
export type ScheduleStatus = components['schemas']['ScheduleStatus'];
export type ScoreSource = components['schemas']['ScoreSource'];
export type Severity = components['schemas']['Severity'];
export type Signal = components['schemas']['Signal'];
export type SleepStep = components['schemas']['SleepStep'];
export type SpanError = components['schemas']['SpanError'];
export type SpanId = components['schemas']['SpanId'];
export type SpanKind = components['schemas']['SpanKind'];
export type SpanStatus = components['schemas']['SpanStatus'];
export type StartedBulk = components['schemas']['StartedBulk'];
export type StepBatch = components['schemas']['StepBatch'];
export type StepBatchAnswer = components['schemas']['StepBatchAnswer'];
export type StepBatchItem = components['schemas']['StepBatchItem'];
export type StepBatchItemAnswer = components['schemas']['StepBatchItemAnswer'];
export type StepError = components['schemas']['StepError'];
export type StepFailure = components['schemas']['StepFailure'];
export type StepResult = components['schemas']['StepResult'];
export type StepUsage = components['schemas']['StepUsage'];
export type StoredDefinition = components['schemas']['StoredDefinition'];
export type StoredDefinitions = components['schemas']['StoredDefinitions'];
export type SucceedStep = components['schemas']['SucceedStep'];
export type TaskStep = components['schemas']['TaskStep'];
export type TimeParameter = components['schemas']['TimeParameter'];
export type Timestamp = components['schemas']['Timestamp'];
export type TokenCount = components['schemas']['TokenCount'];
export type TraceId = components['schemas']['TraceId'];
export type Usage = components['schemas']['Usage'];
export type WaitEventStep = components['schemas']['WaitEventStep'];
export type WaitingFor = components['schemas']['WaitingFor'];
export type Worker = components['schemas']['Worker'];
export type WorkerId = components['schemas']['WorkerId'];
export type ParameterCursor = components['parameters']['cursor'];
export type ParameterDefinitionInPath = components['parameters']['definitionInPath'];
export type ParameterDefinitionOwner = components['parameters']['definitionOwner'];
export type ParameterLeaseInPath = components['parameters']['leaseInPath'];
export type ParameterLimit = components['parameters']['limit'];
export type ParameterProject = components['parameters']['project'];
export type ParameterProjectAndService = components['parameters']['projectAndService'];
export type ParameterRunInPath = components['parameters']['runInPath'];
export type ParameterScheduleInPath = components['parameters']['scheduleInPath'];
export type ParameterScheduleProject = components['parameters']['scheduleProject'];
export type $defs = Record<string, never>;
export interface operations {
    readonly ingestBatch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** @description At most 32 MiB as received (`--max-body-bytes`), gzip or plain, and 10,000 signals in all batches together (`--max-batch-signals`). */
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["IngestBatch"] | readonly components["schemas"]["IngestBatch"][];
                readonly "application/x-ndjson": string;
                readonly "application/jsonl": string;
            };
        };
        readonly responses: {
            /** @description What was taken is committed. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["IngestReply"];
                };
            };
        };
    };
    readonly listRuns: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description Which project to read. Without it, the daemon's default project, or, for a key of certain projects, those. `*` is every project, for
                 *     keys that reach all of them.
                 */
                readonly project?: components["parameters"]["project"];
                /** @description Most rows of a page. */
                readonly limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the page before, with the same filters. */
                readonly cursor?: components["parameters"]["cursor"];
                /** @description Created at or after this time. */
                readonly from?: components["schemas"]["TimeParameter"];
                /** @description Created before this time. */
                readonly to?: components["schemas"]["TimeParameter"];
                readonly status?: components["schemas"]["RunStatus"];
                readonly definition_id?: components["schemas"]["FilterText"];
                /** @description The `user_id` of the correlation. */
                readonly user_id?: components["schemas"]["FilterText"];
                /** @description The `session_id` of the correlation. */
                readonly session_id?: components["schemas"]["FilterText"];
                /** @description Children of this run. */
                readonly parent_run_id?: components["schemas"]["FilterText"];
                /** @description Runs that were restarted from this one. */
                readonly restarted_from?: components["schemas"]["FilterText"];
                /** @description What the run waits for; `worker` are queued runs that nothing holds back, `timer` sleeps and scheduled runs, `backoff` runs whose step is tried again later. */
                readonly waiting_on?: "event" | "timer" | "backoff" | "children" | "worker";
                readonly "correlation.environment"?: components["schemas"]["FilterText"];
                readonly "correlation.service_name"?: components["schemas"]["FilterText"];
                readonly "correlation.service_version"?: components["schemas"]["FilterText"];
                readonly "correlation.session_id"?: components["schemas"]["FilterText"];
                readonly "correlation.thread_id"?: components["schemas"]["FilterText"];
                readonly "correlation.user_id"?: components["schemas"]["FilterText"];
                readonly "correlation.request_id"?: components["schemas"]["FilterText"];
                readonly "correlation.release"?: components["schemas"]["FilterText"];
                readonly "correlation.run_id"?: components["schemas"]["FilterText"];
                readonly "correlation.resource_id"?: components["schemas"]["FilterText"];
                readonly "correlation.experiment_id"?: components["schemas"]["FilterText"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of runs. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly runs: readonly components["schemas"]["RunSummary"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
        };
    };
    readonly startRun: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewRun"];
            };
        };
        readonly responses: {
            /** @description The run that this key started before, as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The run as it was stored, or as it is after `wait_ms`. */
            readonly 201: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
        };
    };
    readonly startBulk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewBulk"];
            };
        };
        readonly responses: {
            /** @description How many runs match; nothing was begun. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["StartedBulk"];
                };
            };
            /** @description How many runs match, and the id of what was begun. */
            readonly 202: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["StartedBulk"];
                };
            };
        };
    };
    readonly getBulk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of an action on many runs */
                readonly bulk: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The action. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Bulk"];
                };
            };
        };
    };
    readonly stopBulk: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of an action on many runs */
                readonly bulk: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The action. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Bulk"];
                };
            };
        };
    };
    readonly getRun: {
        readonly parameters: {
            readonly query?: {
                /** @description How long to wait for the end of the run; at most four fifths of the request timeout. */
                readonly wait_ms?: number;
            };
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The run. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["RunDetail"];
                };
            };
        };
    };
    readonly listRunEvents: {
        readonly parameters: {
            readonly query?: {
                /** @description The last `seq` seen; -1 is the start. */
                readonly after?: number;
                /** @description Most entries of a page. A stream has none. */
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Entries. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly events: readonly components["schemas"]["JournalEntry"][];
                        /**
                         * Format: int64
                         * @description The `after` of the next page
                         */
                        readonly next_after: number;
                    };
                    readonly "text/event-stream": string;
                };
            };
            /** @description The run has ended and `Last-Event-ID` names its last entry */
            readonly 204: {
                headers: {
                    readonly [name: string]: Json;
                };
                content?: never;
            };
        };
    };
    readonly getStepCause: {
        readonly parameters: {
            readonly query?: {
                readonly visit?: number;
                readonly attempt?: number;
            };
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
                readonly step: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The attempt, where there was one, and its chain. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly attempt?: components["schemas"]["Attempt"];
                        readonly chain: readonly components["schemas"]["JournalEntry"][];
                    };
                };
            };
        };
    };
    readonly cancelRun: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    readonly reason?: string;
                };
            };
        };
        readonly responses: {
            /** @description The run. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
        };
    };
    readonly pauseRun: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    readonly reason?: string;
                };
            };
        };
        readonly responses: {
            /** @description The run. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
        };
    };
    readonly resumeRun: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    readonly reason?: string;
                };
            };
        };
        readonly responses: {
            /** @description The run. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
        };
    };
    readonly restartRun: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["RestartRun"];
            };
        };
        readonly responses: {
            /** @description The run that was restarted under this idempotency key before. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The new run. */
            readonly 201: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
        };
    };
    readonly signalRun: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly run: components["parameters"]["runInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Signal"];
            };
        };
        readonly responses: {
            /** @description What became of it. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["EventOutcome"];
                };
            };
        };
    };
    readonly publishEvent: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewEvent"];
            };
        };
        readonly responses: {
            /** @description What became of it. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["EventOutcome"];
                };
            };
        };
    };
    readonly listDefinitions: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description Only what belongs to this project, or to none: to the service, or to workers that no project limits. Without it, all that the key
                 *     reaches. `*` is every project, for keys that reach all of them.
                 */
                readonly project?: components["parameters"]["projectAndService"];
                /** @description Most rows of a page. */
                readonly limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the page before, with the same filters. */
                readonly cursor?: components["parameters"]["cursor"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly definitions: readonly components["schemas"]["DefinitionSummary"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
        };
    };
    readonly storeDefinitions: {
        readonly parameters: {
            readonly query?: {
                /** @description Whether to check only */
                readonly check?: boolean;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewDefinitions"];
            };
        };
        readonly responses: {
            /** @description What became of each definition, in the order sent; with `check=true`, what is wrong with it. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["StoredDefinitions"] | components["schemas"]["CheckedDefinitions"];
                };
            };
        };
    };
    readonly getDefinition: {
        readonly parameters: {
            readonly query?: {
                /** @description The project that a definition is looked up for, as a start in it would. Without it, that of a key of one project, else the service. */
                readonly project?: components["parameters"]["definitionOwner"];
            };
            readonly header?: never;
            readonly path: {
                readonly id: components["parameters"]["definitionInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Its versions, ascending, and the latest document. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["DefinitionOverview"];
                };
            };
        };
    };
    readonly pauseDefinition: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: components["parameters"]["definitionInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    readonly reason?: string;
                    /** @description The project that owns the definition. By default that of a key that has one alone; of a key of all projects, the service */
                    readonly project?: components["schemas"]["ProjectName"];
                };
            };
        };
        readonly responses: {
            /** @description The definition as it stands. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["DefinitionState"];
                };
            };
        };
    };
    readonly resumeDefinition: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: components["parameters"]["definitionInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    readonly reason?: string;
                    /** @description The project that owns the definition. By default that of a key that has one alone; of a key of all projects, the service */
                    readonly project?: components["schemas"]["ProjectName"];
                };
            };
        };
        readonly responses: {
            /** @description The definition as it stands. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["DefinitionState"];
                };
            };
        };
    };
    readonly getDefinitionVersion: {
        readonly parameters: {
            readonly query?: {
                /** @description The project that a definition is looked up for, as a start in it would. Without it, that of a key of one project, else the service. */
                readonly project?: components["parameters"]["definitionOwner"];
            };
            readonly header?: never;
            readonly path: {
                readonly id: components["parameters"]["definitionInPath"];
                readonly version: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The document as it was registered. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["DefinitionVersion"];
                };
            };
        };
    };
    readonly listSchedules: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description Which project to read. Without it, the daemon's default project, or, for a key of certain projects, those. `*` is every project, for
                 *     keys that reach all of them.
                 */
                readonly project?: components["parameters"]["project"];
                /** @description Most rows of a page. */
                readonly limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the page before, with the same filters. */
                readonly cursor?: components["parameters"]["cursor"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly schedules: readonly components["schemas"]["ListedSchedule"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
        };
    };
    readonly createSchedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewSchedule"];
            };
        };
        readonly responses: {
            /** @description The schedule, which was there with the same content. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The schedule. */
            readonly 201: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    readonly getSchedule: {
        readonly parameters: {
            readonly query?: {
                /** @description The project of the schedule. Without it, the daemon's default project where the key reaches it, else the first of the key. */
                readonly project?: components["parameters"]["scheduleProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The schedule. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    readonly changeSchedule: {
        readonly parameters: {
            readonly query?: {
                /** @description The project of the schedule. Without it, the daemon's default project where the key reaches it, else the first of the key. */
                readonly project?: components["parameters"]["scheduleProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ChangedSchedule"];
            };
        };
        readonly responses: {
            /** @description The schedule. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    readonly deleteSchedule: {
        readonly parameters: {
            readonly query?: {
                /** @description The project of the schedule. Without it, the daemon's default project where the key reaches it, else the first of the key. */
                readonly project?: components["parameters"]["scheduleProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is gone. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly project: string;
                        /** @constant */
                        readonly deleted: true;
                    };
                };
            };
        };
    };
    readonly pauseSchedule: {
        readonly parameters: {
            readonly query?: {
                /** @description The project of the schedule. Without it, the daemon's default project where the key reaches it, else the first of the key. */
                readonly project?: components["parameters"]["scheduleProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The schedule. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    readonly resumeSchedule: {
        readonly parameters: {
            readonly query?: {
                /** @description The project of the schedule. Without it, the daemon's default project where the key reaches it, else the first of the key. */
                readonly project?: components["parameters"]["scheduleProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The schedule. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    readonly triggerSchedule: {
        readonly parameters: {
            readonly query?: {
                /** @description The project of the schedule. Without it, the daemon's default project where the key reaches it, else the first of the key. */
                readonly project?: components["parameters"]["scheduleProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description The id of a schedule */
                readonly schedule: components["parameters"]["scheduleInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The schedule. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    readonly listWorkers: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description Only what belongs to this project, or to none: to the service, or to workers that no project limits. Without it, all that the key
                 *     reaches. `*` is every project, for keys that reach all of them.
                 */
                readonly project?: components["parameters"]["projectAndService"];
                /** @description Most rows of a page. */
                readonly limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the page before, with the same filters. */
                readonly cursor?: components["parameters"]["cursor"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly workers: readonly components["schemas"]["Worker"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
        };
    };
    readonly registerWorker: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewWorker"];
            };
        };
        readonly responses: {
            /** @description How long leases live, how often to beat, and what became of each definition. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["Registration"];
                };
            };
        };
    };
    readonly claimSteps: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Claim"];
            };
        };
        readonly responses: {
            /** @description Leases, or none. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly leases: readonly components["schemas"]["Lease"][];
                    };
                };
            };
        };
    };
    readonly batchSteps: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["StepBatch"];
            };
        };
        readonly responses: {
            /** @description What became of each item, in the order sent, and the leases of the claim. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": components["schemas"]["StepBatchAnswer"];
                };
            };
        };
    };
    readonly startStep: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly lease: components["parameters"]["leaseInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly worker_id: components["schemas"]["WorkerId"];
                };
            };
        };
        readonly responses: {
            /** @description Run the body now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly run_status: components["schemas"]["RunStatus"];
                        readonly lease_expires_at: components["schemas"]["Timestamp"];
                    };
                };
            };
        };
    };
    readonly beatStep: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly lease: components["parameters"]["leaseInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly worker_id: components["schemas"]["WorkerId"];
                    /** @description Any JSON of at most 64 KiB; the next attempt gets the last one as `last_details` */
                    readonly details?: Json;
                };
            };
        };
        readonly responses: {
            /** @description The lease was extended. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly lease_expires_at: components["schemas"]["Timestamp"];
                    };
                };
            };
        };
    };
    readonly completeStep: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly lease: components["parameters"]["leaseInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["StepResult"];
            };
        };
        readonly responses: {
            /** @description The attempt has succeeded; where the run is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly run_status: components["schemas"]["RunStatus"];
                        /** @description The step where the run is; absent when it has ended */
                        readonly next_step?: string;
                    };
                };
            };
        };
    };
    readonly failStep: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly lease: components["parameters"]["leaseInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["StepFailure"];
            };
        };
        readonly responses: {
            /** @description The attempt has failed; where the run is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: Json;
                };
                content: {
                    readonly "application/json": {
                        readonly run_status: components["schemas"]["RunStatus"];
                        /** @description The step where the run is; absent when it has ended */
                        readonly next_step?: string;
                        /** @description Whether the same visit of the step is tried again */
                        readonly will_retry: boolean;
                    };
                };
            };
        };
    };
}
