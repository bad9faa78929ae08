// Generated from spec/openapi.yaml by `npm run codegen`. Edit the document, not this file.
// source sha256: 07de09b9cc60d39c1177c4e33003403d4a455cf22ecefe8ce0afe6936fa106e3
// content sha256: a2f0154993a47807c3a7cc9df8c068d6f31e96e17eebf78a6d2d388478c1a2e7
export interface paths {
    readonly "/healthz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Whether the process serves
         * @description Touches no storage. Always 200 while the process serves.
         */
        readonly get: operations["getHealth"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/readyz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Whether the stores answer
         * @description One trivial read of each store.
         */
        readonly get: operations["getReadiness"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/metrics": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Counters since the process started
         * @description Text exposition format, version 0.0.4. Touches no storage.
         */
        readonly get: operations["getCounters"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/openapi.json": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** This document */
        readonly get: operations["getDocument"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The interface
         * @description Markup only; what it shows comes through the query API with the reader's own key. The paths whose first segment stands in `x-pages`, and
         *     all below them, answer the same: the script reads which page is asked for, and its state, from the address. Where the interface was not
         *     built, a simpler page says how to build it.
         */
        readonly get: operations["getPage"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/assets/{file}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * A script or a style sheet of the interface
         * @description Named after a digest of its content, so that it may be kept indefinitely.
         */
        readonly get: operations["getPageAsset"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/page.js": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The script of the page that stands in for an interface that was not built */
        readonly get: operations["getPageScript"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/page.css": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The style of the page that stands in for an interface that was not built */
        readonly get: operations["getPageStyle"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/traces": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send traces (OTLP over HTTP)
         * @description The protobuf encoding is read when the content type contains `protobuf`, else JSON. The answer has the encoding of the request,
         *     unless `Accept` names JSON. To a protobuf client a refusal is a `google.rpc.Status` whose `ErrorInfo` detail has the code below as
         *     its `reason`; refusals before the request is looked at (keys, paths, deadlines) are JSON to everyone.
         *
         *     A span with a missing, wrong-length or all-zero id is refused and counted; the rest of the request is written. Spans that the sampling
         *     policy drops are not counted: sending them again changes nothing. Times in seconds, milliseconds or microseconds where nanoseconds
         *     belong, and ends before starts, are stored as sent: `errorMessage` warns, and `svc_signals_doubtful_time_total` of `/metrics` counts them.
         */
        readonly post: operations["ingestTraces"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/public/otel/v1/traces": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send traces, at the path of another product
         * @description `POST /v1/traces`, for exporters that can only name another product's path.
         *
         *     The protobuf encoding is read when the content type contains `protobuf`, else JSON. The answer has the encoding of the request,
         *     unless `Accept` names JSON. To a protobuf client a refusal is a `google.rpc.Status` whose `ErrorInfo` detail has the code below as
         *     its `reason`; refusals before the request is looked at (keys, paths, deadlines) are JSON to everyone.
         *
         *     A span with a missing, wrong-length or all-zero id is refused and counted; the rest of the request is written. Spans that the sampling
         *     policy drops are not counted: sending them again changes nothing.
         */
        readonly post: operations["ingestTracesCompatible"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/logs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send logs (OTLP over HTTP)
         * @description JSON only. Records are refused one by one; the rest of the request is written.
         */
        readonly post: operations["ingestLogs"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/metrics": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send metrics (OTLP over HTTP)
         * @description JSON only. Data points are refused one by one; the rest of the request is written. A summary point is refused.
         */
        readonly post: operations["ingestMetrics"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
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
    readonly "/v1/api/traces": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List traces
         * @description Traces that hold all given filters, newest first unless `sort` and `order` say otherwise. `model`, `provider`, `entity_name`, `kind`
         *     and `tag` hold when at least one span of the trace has the value.
         */
        readonly get: operations["listTraces"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/traces/{trace_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly trace_id: components["parameters"]["traceIdInPath"];
            };
            readonly cookie?: never;
        };
        /**
         * One trace with its spans
         * @description Spans are in waterfall order, a parent before its children.
         */
        readonly get: operations["getTrace"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Delete a trace
         * @description Removes its spans, logs, scores, feedback and notes.
         */
        readonly delete: operations["deleteTrace"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/traces/{trace_id}/spans/{span_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly trace_id: components["parameters"]["traceIdInPath"];
                readonly span_id: components["parameters"]["spanIdInPath"];
            };
            readonly cookie?: never;
        };
        /** One complete span */
        readonly get: operations["getSpan"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/spans": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List spans
         * @description By start time, newest first unless `order` says otherwise.
         */
        readonly get: operations["listSpans"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/logs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List log records
         * @description By time, newest first unless `order` says otherwise.
         */
        readonly get: operations["listLogs"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/metrics": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List metric names and types
         * @description By name, ascending.
         */
        readonly get: operations["listMetrics"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/metrics/{name}/points": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the points of one metric
         * @description By time, newest first unless `order` says otherwise.
         */
        readonly get: operations["listMetricPoints"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/aspect_notes": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List aspect notes
         * @description Newest first.
         */
        readonly get: operations["listAspectNotes"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/scores": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List scores
         * @description Newest first, always. With `trace_id`: the scores of the trace and those of its spans, also where a score names its
         *     span alone. The means of a trace, `has_score` and `has_feedback` count the judgements that name the trace.
         */
        readonly get: operations["listScores"];
        readonly put?: never;
        /**
         * Record a score
         * @description An id that was sent before replaces that record. A score with neither `trace_id` nor `span_id` is 400. Counts against the project's
         *     ceiling per minute. A member that is null counts as absent.
         */
        readonly post: operations["createScore"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/feedback": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Judgements on one run
         * @description Judgements on a trace and on its spans, oldest first.
         */
        readonly get: operations["listFeedback"];
        readonly put?: never;
        /**
         * Record a person's judgement
         * @description An id that was sent before replaces that record. Feedback with neither `trace_id` nor `span_id` is 400. Counts against the project's
         *     ceiling per minute.
         */
        readonly post: operations["createFeedback"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/sessions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Traces rolled up by session
         * @description The session seen last comes first.
         */
        readonly get: operations["listSessions"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/users": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Traces rolled up by user
         * @description The user seen last comes first.
         */
        readonly get: operations["listUsers"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/projects": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Projects that hold signals
         * @description Every project that the key reaches, by name.
         */
        readonly get: operations["listProjects"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/analytics/cost": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * What model calls and runs cost
         * @description `count` is a number of model calls when grouping by `model`, `provider` or `entity_name`, and a number of runs otherwise. Calls count
         *     that carry a cost, and calls of a model of the price book that have ended, also when they failed; a group of calls without a cost has no
         *     `total_cost`. Calls of any other model are in no group. Model ids that name the same entry of the price book are one group, whose key is
         *     the id of the entry. Sums of money are rounded to twelve significant digits.
         */
        readonly get: operations["getCostReport"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/analytics/summary": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Runs, errors, cost and latency of a window
         * @description Counts runs in every grouping; `groups` is there when `group_by` is. Grouped by `model`, `provider` or `entity_name` a run counts in each
         *     group that one of its spans is in, with its failure and its latency; cost and tokens are those of the group's own calls that began in the
         *     window. Model ids that name the same entry of the price book are one group, as in the report of costs.
         */
        readonly get: operations["getSummaryReport"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/scorers": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The built-in scorers
         * @description The thirteen deterministic ones. Criteria of a configured judge are not listed.
         */
        readonly get: operations["listScorers"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/score": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Run scorers over stored runs
         * @description Runs exactly `trace_ids` if given, else the newest `limit` runs of the project that started at `from` or after it, newest first. Without
         *     `scorers` every deterministic scorer that needs no configuration runs; a judged one runs only where it is named. For every run and
         *     scorer there is either a score or an entry of `skipped`. Scoring a run again replaces the score that the same scorer, in the same
         *     version, gave it. Every stored score counts against the project's ceiling per minute.
         *
         *     A judged scorer is one model call a run, and the request must end in time: more runs than fit if every call took its whole timeout are
         *     refused with `cap_exceeded`, which names the cap, before any call; without `limit` as many of the newest runs as fit are graded.
         */
        readonly post: operations["scoreRuns"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/datasets": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List datasets
         * @description Newest first.
         */
        readonly get: operations["listDatasets"];
        readonly put?: never;
        /**
         * Create a dataset
         * @description An id that was sent before replaces that record; its cases stay. A name that another dataset of the project has is 409 `conflict`.
         */
        readonly post: operations["createDataset"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/datasets/{dataset}": {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
            };
            readonly cookie?: never;
        };
        /** One dataset */
        readonly get: operations["getDataset"];
        readonly put?: never;
        readonly post?: never;
        /** Delete a dataset with its cases */
        readonly delete: operations["deleteDataset"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/datasets/{dataset}/items": {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
            };
            readonly cookie?: never;
        };
        /**
         * The cases of a dataset
         * @description In the order in which they were made, so that who walks the pages while others add sees every case.
         */
        readonly get: operations["listDatasetItems"];
        readonly put?: never;
        /**
         * Add a case
         * @description An id that was sent before replaces that case.
         */
        readonly post: operations["createDatasetItem"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/datasets/{dataset}/items/{item}": {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
                /** @description Id of the case */
                readonly item: components["schemas"]["RecordId"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        /**
         * Replace a case
         * @description Keeps its id, its place and the time of its making. What the body leaves out, the case no longer has.
         */
        readonly put: operations["replaceDatasetItem"];
        readonly post?: never;
        /** Delete a case */
        readonly delete: operations["deleteDatasetItem"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/datasets/{dataset}/capture": {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Make cases of stored runs
         * @description Runs of the dataset's project. Each case keeps `source_trace_id`; its input is the run's, its expected answer, where asked for, what the
         *     run answered. The answer names the cases and does not repeat what they hold.
         */
        readonly post: operations["captureRuns"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/experiments": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List experiments
         * @description Newest first.
         */
        readonly get: operations["listExperiments"];
        readonly put?: never;
        /**
         * Record an experiment
         * @description An id that was sent before replaces that record. Scores belong to it by their `experiment_id`.
         */
        readonly post: operations["createExperiment"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/experiments/compare": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Compare two experiments, scorer by scorer
         * @description Only equal scorer versions compare. `decidable` is false while a side has fewer than 20 scores; `regressed` is true when it is decidable,
         *     the candidate's mean is lower, and the p-value of Welch's t-test is below 0.05.
         */
        readonly get: operations["compareExperiments"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/experiments/{experiment_id}": {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                readonly experiment_id: components["schemas"]["RecordId"];
            };
            readonly cookie?: never;
        };
        /** One experiment */
        readonly get: operations["getExperiment"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/monitors": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Monitors and how they stand
         * @description By id. A condition is rebuilt from readings, so it starts nominal at each start of the service.
         */
        readonly get: operations["listMonitors"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/monitors/{id}/ack": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Its id in the config file. */
                readonly id: components["parameters"]["watchInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Say that a tripped monitor is known
         * @description It stays acknowledged while the condition persists, and returns to nominal on its own. Again changes nothing. One that is nominal
         *     answers 409 `conflict`.
         */
        readonly post: operations["acknowledgeMonitor"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/monitors/{id}/history": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Its id in the config file. */
                readonly id: components["parameters"]["watchInPath"];
            };
            readonly cookie?: never;
        };
        /**
         * The last evaluations and transitions of a monitor
         * @description Both newest first, at most `limit` of each a page; `next_cursor` goes on with both until neither has more. Evaluations are the last 1,000
         *     since the start of the service. Transitions are starts of the service and changes of `condition`; they are kept in the runs file
         *     over restarts, the newest 10,000 for 400 days. With `--runs-data off` they are the last 1,000 since the start.
         */
        readonly get: operations["listMonitorHistory"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/slos": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Service level objectives and how they stand
         * @description By id. A condition is rebuilt from readings, so it starts nominal at each start of the service.
         */
        readonly get: operations["listSlos"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/slos/{id}/ack": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Its id in the config file. */
                readonly id: components["parameters"]["watchInPath"];
            };
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Say that a tripped service level objective is known
         * @description It stays acknowledged while the condition persists, and returns to nominal on its own. Again changes nothing. One that is nominal
         *     answers 409 `conflict`.
         */
        readonly post: operations["acknowledgeSlo"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/slos/{id}/history": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Its id in the config file. */
                readonly id: components["parameters"]["watchInPath"];
            };
            readonly cookie?: never;
        };
        /**
         * The last evaluations and transitions of a service level objective
         * @description Both newest first, at most `limit` of each a page; `next_cursor` goes on with both until neither has more. Evaluations are the last 1,000
         *     since the start of the service. Transitions are starts of the service and changes of `condition`; they are kept in the runs file
         *     over restarts, the newest 10,000 for 400 days. With `--runs-data off` they are the last 1,000 since the start.
         */
        readonly get: operations["listSloHistory"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/whoami": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * What the presented key may do
         * @description Without a key, what may be done without one.
         */
        readonly get: operations["getCaller"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/audit": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Who read what
         * @description Reads of stored payloads, allowed and refused, newest first.
         */
        readonly get: operations["listAudit"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/doctor": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Check of the deployment
         * @description What `svc doctor --read-only --offline` would say, from inside the running service: twelve groups in a fixed order. Nothing is
         *     written and nobody is contacted. It looks at the whole service, so it takes an admin key that reaches every project.
         */
        readonly get: operations["getDoctorReport"];
        readonly put?: never;
        readonly post?: never;
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
        /**
         * Parked events
         * @description Events that no run has taken: a wait that accepts parked events takes the oldest of its name and key. Newest first, without payloads;
         *     those past their 24 hours are not listed.
         */
        readonly get: operations["listParkedEvents"];
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
    readonly "/v1/api/leases": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Live leases
         * @description Oldest first.
         */
        readonly get: operations["listLeases"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/subjects/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /**
         * Erase a person's finished runs
         * @description Those whose correlation held this `user_id` when they started, with their child runs, all that is stored about them, and their
         *     traces. Unfinished runs are left unchanged and counted. Parked events are not reached; they expire within 24 hours.
         */
        readonly delete: operations["eraseSubject"];
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
    readonly "/v1/api/actors": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Actors and where they are */
        readonly get: operations["listActors"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/actors/{type}/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly type: string;
                readonly id: string;
            };
            readonly cookie?: never;
        };
        /** The snapshot of an actor */
        readonly get: operations["getActor"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/machines": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * State machines
         * @description Those of the service, then by definition id what the latest version of each compiles to.
         */
        readonly get: operations["listMachines"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/api/machines/{name}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description One of the service's own, such as `lease`, or `run:<definition>@<version>`. */
                readonly name: string;
            };
            readonly cookie?: never;
        };
        /**
         * A state machine
         * @description Its configuration opens in xstate's `createMachine`.
         */
        readonly get: operations["getMachine"];
        readonly put?: never;
        readonly post?: never;
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
        /** @description A refusal. Clients branch on `code`. */
        readonly Error: {
            /** @enum {string} */
            readonly code: "invalid_parameter" | "invalid_body" | "invalid_id" | "unknown_scorer" | "cap_exceeded" | "definition_invalid" | "input_invalid" | "judge_not_configured" | "unauthorized" | "forbidden" | "not_found" | "method_not_allowed" | "not_acceptable" | "already_applied" | "fenced" | "run_terminal" | "not_started" | "definition_conflict" | "conflict" | "limit_reached" | "payload_too_large" | "unsupported_content_encoding" | "unsupported_media_type" | "overloaded" | "over_quota" | "runs_disabled" | "store_unavailable" | "request_timeout" | "internal";
            readonly message: string;
            /** @description The one parameter or body field at fault */
            readonly field?: string;
        };
        /** @description Opaque; absent on the last page */
        readonly NextCursor: string;
        readonly FilterText: string;
        /**
         * Format: time-parameter
         * @description An RFC 3339 time of the calendar, or a time before now in seconds, minutes, hours, days or weeks
         * @example 2026-11-20T09:00:00Z
         * @example -7d
         */
        readonly TimeParameter: string;
        /**
         * Format: date-time
         * @description RFC 3339, UTC, fraction of 0, 3, 6 or 9 digits
         * @example 2026-11-20T09:00:00.123Z
         */
        readonly Timestamp: string;
        /**
         * Format: trace-id
         * @description 32 lowercase hex characters that are not all zero
         * @example 5b8efff798038103d269b633813fc60c
         */
        readonly TraceId: string;
        /**
         * Format: span-id
         * @description 16 lowercase hex characters that are not all zero
         * @example eee19b7ec3c1b174
         */
        readonly SpanId: string;
        /** @enum {string} */
        readonly SpanKind: "model_generation" | "workflow_run" | "tool_call" | "agent_run" | "retrieval" | "rag_embedding" | "rag_action" | "guardrail" | "scorer_run" | "mcp_tool_call" | "http_request" | "generic" | "client_tool_call" | "provider_tool_call";
        /**
         * @description `unset` is a span that still runs
         * @enum {string}
         */
        readonly SpanStatus: "ok" | "error" | "unset";
        /** @enum {string} */
        readonly Severity: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
        /** @enum {string} */
        readonly FeedbackKind: "thumbs" | "rating" | "correction" | "tag" | "comment";
        /** @enum {string} */
        readonly AuthorKind: "end_user" | "expert" | "developer" | "system";
        /** @enum {string} */
        readonly ScoreSource: "live" | "offline" | "experiment" | "manual";
        /** @enum {string} */
        readonly CostGrouping: "model" | "provider" | "entity_name" | "environment" | "status" | "session_id" | "user_id" | "service_name" | "name";
        /** @description Flattened attribute map */
        readonly Attributes: {
            readonly [key: string]: unknown;
        };
        /**
         * @example {
         *       "status": "ok",
         *       "version": "0.1.0",
         *       "spec_version": "1.0",
         *       "uptime_seconds": 12,
         *       "storage": "sqlite"
         *     }
         */
        readonly Health: {
            /** @enum {string} */
            readonly status: "ok" | "degraded";
            /** @description Version of the build */
            readonly version: string;
            /** @description Version of the data model that this build implements */
            readonly spec_version: string;
            /** Format: int64 */
            readonly uptime_seconds: number;
            /** @description Kind of the signal store */
            readonly storage: string;
            /** @description Present when something is wrong */
            readonly detail?: string;
        };
        /** @description What a signal belongs to. Absent means that the sender did not say. */
        readonly Correlation: {
            readonly project: string;
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
        /** @description Sum of what was priced. */
        readonly TotalCost: {
            readonly total_cost: number;
            /** @description ISO 4217 */
            readonly currency?: string;
        };
        readonly SpanError: {
            readonly message: string;
            readonly type?: string;
            readonly stack?: string;
        };
        readonly Span: {
            readonly trace_id: components["schemas"]["TraceId"];
            readonly span_id: components["schemas"]["SpanId"];
            readonly parent_span_id?: components["schemas"]["SpanId"];
            readonly name: string;
            readonly kind: components["schemas"]["SpanKind"];
            readonly status: components["schemas"]["SpanStatus"];
            readonly start_time: components["schemas"]["Timestamp"];
            readonly end_time?: components["schemas"]["Timestamp"];
            readonly is_root: boolean;
            readonly is_event: boolean;
            readonly received_at: components["schemas"]["Timestamp"];
            /** @description Any JSON */
            readonly input?: unknown;
            /** @description Any JSON */
            readonly output?: unknown;
            readonly model?: string;
            readonly provider?: string;
            readonly entity_name?: string;
            readonly usage?: components["schemas"]["Usage"];
            readonly cost?: components["schemas"]["Cost"];
            readonly error?: components["schemas"]["SpanError"];
            readonly correlation: components["schemas"]["Correlation"];
            readonly attributes?: components["schemas"]["Attributes"];
            readonly events?: readonly {
                readonly name: string;
                readonly time: components["schemas"]["Timestamp"];
                readonly attributes: components["schemas"]["Attributes"];
            }[];
            readonly links?: readonly {
                readonly trace_id: components["schemas"]["TraceId"];
                readonly span_id: components["schemas"]["SpanId"];
                readonly attributes: components["schemas"]["Attributes"];
            }[];
            readonly scope_name?: string;
        };
        /**
         * @example {
         *       "trace_id": "5b8efff798038103d269b633813fc60c",
         *       "name": "answer_ticket",
         *       "status": "ok",
         *       "start_time": "2026-11-20T09:00:00.123Z",
         *       "duration_ns": 1834000000,
         *       "span_count": 7,
         *       "error_count": 0,
         *       "cost": {
         *         "total_cost": 0.00421,
         *         "currency": "USD"
         *       },
         *       "usage": {
         *         "input_tokens": 1200,
         *         "output_tokens": 310,
         *         "total_tokens": 1510
         *       },
         *       "models": [
         *         "gpt-4o-mini"
         *       ],
         *       "correlation": {
         *         "project": "default",
         *         "user_id": "u-17"
         *       },
         *       "scores": [
         *         {
         *           "scorer_id": "answered",
         *           "scorer_version": "1",
         *           "mean": 1,
         *           "count": 1
         *         }
         *       ],
         *       "feedback": {
         *         "thumbs": 2
         *       }
         *     }
         */
        readonly TraceSummary: {
            readonly trace_id: components["schemas"]["TraceId"];
            /** @description Name of the root span, or of the earliest span */
            readonly name: string;
            readonly status: components["schemas"]["SpanStatus"];
            /** @description Present, and true, for the trace of a durable run that was cancelled: its status is `unset`, and it is in no rate */
            readonly cancelled?: boolean;
            readonly start_time: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description From the earliest start to the latest end; null while nothing has ended
             */
            readonly duration_ns: number | null;
            /** Format: int64 */
            readonly span_count: number;
            /** Format: int64 */
            readonly error_count: number;
            readonly cost?: components["schemas"]["TotalCost"];
            readonly usage?: components["schemas"]["Usage"];
            readonly models: readonly string[];
            readonly correlation: components["schemas"]["Correlation"];
            readonly scores: readonly components["schemas"]["ScoreMean"][];
            /**
             * @description Number of judgements of each kind. Counted, never averaged.
             * @example {
             *       "thumbs": 2
             *     }
             */
            readonly feedback: {
                readonly [key: string]: number;
            };
        };
        readonly ScoreMean: {
            readonly scorer_id: string;
            readonly scorer_version?: string;
            readonly mean: number;
            /** Format: int64 */
            readonly count: number;
        };
        readonly TraceDetail: {
            readonly trace: components["schemas"]["TraceSummary"];
            readonly spans: readonly components["schemas"]["Span"][];
            readonly scores?: readonly components["schemas"]["Score"][];
            readonly feedback?: readonly components["schemas"]["Feedback"][];
            readonly logs?: readonly components["schemas"]["LogRecord"][];
            /** @description Which of the included lists were cut at 10,000 rows. */
            readonly truncated?: readonly ("scores" | "feedback" | "logs")[];
        };
        readonly LogRecord: {
            readonly log_id: string;
            readonly timestamp: components["schemas"]["Timestamp"];
            readonly received_at: components["schemas"]["Timestamp"];
            readonly severity: components["schemas"]["Severity"];
            readonly message: string;
            readonly logger?: string;
            readonly trace_id?: components["schemas"]["TraceId"];
            readonly span_id?: components["schemas"]["SpanId"];
            readonly attributes: components["schemas"]["Attributes"];
            readonly correlation: components["schemas"]["Correlation"];
        };
        readonly MetricName: {
            readonly name: string;
            /** @enum {string} */
            readonly type: "counter" | "gauge" | "histogram";
            readonly unit?: string;
            /** Format: int64 */
            readonly points: number;
            readonly last_seen: components["schemas"]["Timestamp"];
        };
        readonly MetricPoint: {
            readonly name: string;
            /** @enum {string} */
            readonly type: "counter" | "gauge" | "histogram";
            readonly unit?: string;
            readonly description?: string;
            readonly timestamp: components["schemas"]["Timestamp"];
            readonly received_at: components["schemas"]["Timestamp"];
            readonly value?: number;
            readonly sum?: number;
            /** Format: int64 */
            readonly count?: number;
            readonly bounds?: readonly number[];
            readonly bucket_counts?: readonly number[];
            /** @enum {string} */
            readonly temporality?: "delta" | "cumulative";
            readonly attributes: components["schemas"]["Attributes"];
            readonly correlation: components["schemas"]["Correlation"];
            readonly exemplars: readonly {
                readonly trace_id?: components["schemas"]["TraceId"];
                readonly span_id?: components["schemas"]["SpanId"];
                readonly value: number;
                readonly timestamp: components["schemas"]["Timestamp"];
                readonly attributes: components["schemas"]["Attributes"];
            }[];
        };
        readonly AspectNote: {
            readonly note_id: string;
            readonly trace_id: components["schemas"]["TraceId"];
            readonly span_id?: components["schemas"]["SpanId"];
            readonly aspect: string;
            readonly text: string;
            readonly model?: string;
            readonly timestamp: components["schemas"]["Timestamp"];
            readonly received_at: components["schemas"]["Timestamp"];
            readonly correlation: components["schemas"]["Correlation"];
        };
        readonly Score: {
            readonly score_id: string;
            readonly trace_id?: components["schemas"]["TraceId"];
            readonly span_id?: components["schemas"]["SpanId"];
            readonly scorer_id: string;
            /** @description Scores compare only within one version */
            readonly scorer_version?: string;
            readonly value: number;
            readonly min: number;
            readonly max: number;
            readonly label?: string;
            readonly reason?: string;
            readonly source: components["schemas"]["ScoreSource"];
            readonly score_trace_id?: components["schemas"]["TraceId"];
            readonly cost?: components["schemas"]["Cost"];
            readonly timestamp: components["schemas"]["Timestamp"];
            readonly received_at: components["schemas"]["Timestamp"];
            readonly correlation: components["schemas"]["Correlation"];
            readonly experiment_id?: string;
            readonly metadata?: components["schemas"]["Attributes"];
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
        readonly Feedback: {
            readonly feedback_id: string;
            readonly trace_id?: components["schemas"]["TraceId"];
            readonly span_id?: components["schemas"]["SpanId"];
            readonly kind: components["schemas"]["FeedbackKind"];
            /** @description `thumbs`: `up` or `down`; `rating`: a number; others: text */
            readonly value: string | number;
            readonly comment?: string;
            readonly author_kind?: components["schemas"]["AuthorKind"];
            /** @description Stored exactly as sent */
            readonly author_id?: string;
            readonly metadata?: components["schemas"]["Attributes"];
            readonly timestamp: components["schemas"]["Timestamp"];
            readonly received_at: components["schemas"]["Timestamp"];
            readonly correlation: components["schemas"]["Correlation"];
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
        readonly RejectedSpans: {
            readonly partialSuccess: {
                /**
                 * Format: int64
                 * @description 0 when everything was taken
                 */
                readonly rejectedSpans: number;
                /** @description Why signals were refused, and a warning about doubtful times of those stored; else empty */
                readonly errorMessage: string;
            };
        };
        readonly RejectedLogRecords: {
            readonly partialSuccess: {
                /**
                 * Format: int64
                 * @description 0 when everything was taken
                 */
                readonly rejectedLogRecords: number;
                /** @description Why signals were refused, and a warning about doubtful times of those stored; else empty */
                readonly errorMessage: string;
            };
        };
        readonly RejectedDataPoints: {
            readonly partialSuccess: {
                /**
                 * Format: int64
                 * @description 0 when everything was taken
                 */
                readonly rejectedDataPoints: number;
                /** @description Why signals were refused, and a warning about doubtful times of those stored; else empty */
                readonly errorMessage: string;
            };
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
        /**
         * @description One result for the whole request.
         * @example {
         *       "accepted": 9,
         *       "rejected": 1,
         *       "duplicate": 0,
         *       "errors": [
         *         {
         *           "batch": 0,
         *           "signal": "spans",
         *           "index": 3,
         *           "code": "invalid_id",
         *           "message": "trace_id is all zero",
         *           "field": "trace_id"
         *         }
         *       ]
         *     }
         */
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
            readonly input?: unknown;
            /** @description Any JSON */
            readonly output?: unknown;
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
        readonly RollUp: {
            readonly project: string;
            /** Format: int64 */
            readonly trace_count: number;
            /** Format: int64 */
            readonly error_count: number;
            readonly cost?: components["schemas"]["TotalCost"];
            readonly first_seen: components["schemas"]["Timestamp"];
            readonly last_seen: components["schemas"]["Timestamp"];
        };
        readonly CostReport: {
            readonly from: components["schemas"]["Timestamp"];
            readonly to: components["schemas"]["Timestamp"];
            readonly currency?: string;
            /** @description 0, in the currency of the price book, where no priced call lies in the window */
            readonly total_cost?: number;
            readonly groups: readonly {
                /** @description Absent for what has no value of the grouping field */
                readonly key?: string;
                /** Format: int64 */
                readonly count: number;
                /** Format: int64 */
                readonly error_count: number;
                /** @description Absent where nothing in the group was priced */
                readonly total_cost?: number;
                /** Format: int64 */
                readonly input_tokens: number;
                /** Format: int64 */
                readonly output_tokens: number;
                /** @description Milliseconds. */
                readonly latency?: {
                    readonly mean: number;
                    readonly max: number;
                };
                readonly models?: components["schemas"]["ModelShares"];
            }[];
            readonly series?: readonly {
                readonly time: components["schemas"]["Timestamp"];
                readonly key?: string;
                /** Format: int64 */
                readonly count: number;
                readonly total_cost?: number;
            }[];
        };
        /**
         * @description The ids by which the models of the group were called, the largest cost first. Only when grouping by `model`, and only where they say
         *     more than `key`.
         */
        readonly ModelShares: readonly {
            readonly model: string;
            /**
             * Format: int64
             * @description Calls
             */
            readonly count: number;
            readonly total_cost?: number;
        }[];
        readonly SummaryTotals: {
            /** Format: int64 */
            readonly trace_count: number;
            /** Format: int64 */
            readonly error_count: number;
            /**
             * Format: int64
             * @description Cancelled durable runs among the traces, which neither succeeded nor failed
             */
            readonly cancelled_count: number;
            /** @description Failed runs over those that were not cancelled; absent when there was none */
            readonly error_rate?: number;
            readonly total_cost?: number;
            /** Format: int64 */
            readonly input_tokens: number;
            /** Format: int64 */
            readonly output_tokens: number;
            /** @description Milliseconds. */
            readonly latency?: {
                readonly mean: number;
                readonly p50: number;
                readonly p90: number;
                readonly p95: number;
                readonly p99: number;
                readonly max: number;
            };
        };
        readonly SummaryReport: components["schemas"]["SummaryTotals"] & {
            readonly from: components["schemas"]["Timestamp"];
            readonly to: components["schemas"]["Timestamp"];
            readonly currency?: string;
            readonly groups?: readonly (components["schemas"]["SummaryTotals"] & {
                readonly key?: string;
                readonly models?: components["schemas"]["ModelShares"];
            })[];
        };
        readonly Whoami: {
            readonly scopes: readonly components["schemas"]["Scope"][];
            /** @description Projects that the key reaches; `*` is all of them */
            readonly projects: readonly string[];
            /** @description Projects by scope, where a key reaches different ones with different scopes. */
            readonly grants: {
                readonly [key: string]: readonly string[];
            };
            readonly version: string;
            readonly spec_version: string;
        };
        readonly DoctorReport: {
            readonly checked_at: components["schemas"]["Timestamp"];
            /** @description Version of the build that looked */
            readonly version: string;
            /** Format: int64 */
            readonly window_days: number;
            /** @description Nothing but storage was contacted */
            readonly offline: boolean;
            /** @description Nothing was written, so storage proves only that it can be read */
            readonly read_only: boolean;
            /** @description In the order in which they were evaluated. */
            readonly groups: readonly {
                /** @enum {string} */
                readonly group: "storage" | "runs" | "keys" | "identity" | "projects" | "retention" | "limits" | "forwarding" | "judge" | "monitors" | "clock" | "pricing";
                readonly findings: readonly components["schemas"]["DoctorFinding"][];
            }[];
            /** @description Findings by level. Those skipped were not run and proved nothing. */
            readonly summary: {
                /** Format: int64 */
                readonly ok: number;
                /** Format: int64 */
                readonly skipped: number;
                /** Format: int64 */
                readonly warning: number;
                /** Format: int64 */
                readonly fault: number;
            };
        };
        readonly DoctorFinding: {
            /** @enum {string} */
            readonly level: "ok" | "skipped" | "warning" | "fault";
            readonly message: string;
            /** @description The flag or the step that mends it; on every warning and fault */
            readonly mend?: string;
        };
        /** @enum {string} */
        readonly Scope: "ingest" | "read" | "write" | "admin" | "execute" | "worker";
        readonly RecordId: string;
        readonly Deletion: {
            readonly deleted: boolean;
            /** @description Whether bytes of it are still to be removed */
            readonly deletes_pending: boolean;
        };
        readonly Scorer: {
            readonly scorer_id: string;
            readonly scorer_version: string;
            /** @description When it scores 1 */
            readonly description: string;
            /** @description When it gives no score */
            readonly declines?: string;
            /** @description Runs only where it is named and configured */
            readonly needs_config: boolean;
            /** @description The keys of `config` that it reads */
            readonly config: readonly string[];
        };
        readonly ScoreRequest: {
            readonly project?: components["schemas"]["ProjectName"];
            readonly trace_ids?: readonly components["schemas"]["TraceId"][];
            readonly from?: components["schemas"]["TimeParameter"];
            /** @description 1000 by default; with judged scorers as many as fit */
            readonly limit?: number;
            readonly scorers?: readonly string[];
            readonly config?: components["schemas"]["ScorerConfig"];
            /**
             * @description Store nothing
             * @default false
             */
            readonly dry_run?: boolean;
        };
        /** @description Other keys are refused by name. */
        readonly ScorerConfig: {
            /** @description The right answer; else that of the newest case captured from the run */
            readonly expected?: unknown;
            readonly contains?: string | readonly string[];
            readonly max_ms?: number;
            readonly max_cost?: number;
            /** Format: int64 */
            readonly max_tool_calls?: number;
            readonly span_kind?: components["schemas"]["SpanKind"];
            readonly span_name?: string;
            /**
             * @description Of `tool_succeeded`, which scores 1 as soon as one call ended ok. Its reason tells apart: never ran (and which tools did), ran and none
             *     ended ok (with the last error), ran several times with only some ok (which scores 1 all the same).
             */
            readonly tool_name?: string;
            /**
             * @description Of `exact_match` and `contains`; names are always compared exactly
             * @default false
             */
            readonly case_sensitive?: boolean;
        } & {
            readonly [key: string]: unknown;
        };
        readonly ScoreReport: {
            readonly scores: readonly components["schemas"]["Score"][];
            /** Format: int64 */
            readonly scores_written: number;
            readonly skipped: readonly {
                readonly trace_id: string;
                readonly scorer_id: string;
                readonly reason: string;
            }[];
            /**
             * @description Present when the request deadline came before all runs were looked for
             * @constant
             */
            readonly cut_short?: true;
        };
        readonly NewDataset: {
            /** @description Absent or empty makes the server generate one */
            readonly dataset_id?: string;
            /** @description Unique in its project */
            readonly name: string;
            readonly project?: components["schemas"]["ProjectName"];
            readonly description?: string;
        };
        readonly Dataset: {
            readonly dataset_id: string;
            readonly name: string;
            readonly project: string;
            readonly description?: string;
            readonly created_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            readonly item_count: number;
        };
        readonly DatasetItemContent: {
            /** @description Any JSON */
            readonly input: unknown;
            /** @description Any JSON; null is absent */
            readonly expected?: unknown;
            readonly metadata?: components["schemas"]["Attributes"];
            /** @description The run that the case was made of */
            readonly source_trace_id?: components["schemas"]["TraceId"];
        };
        readonly NewDatasetItem: {
            /** @description Absent or empty makes the server generate one */
            readonly item_id?: string;
            /** @description Any JSON */
            readonly input: unknown;
            /** @description Any JSON; null is absent */
            readonly expected?: unknown;
            readonly metadata?: components["schemas"]["Attributes"];
            /** @description The run that the case was made of */
            readonly source_trace_id?: components["schemas"]["TraceId"];
        };
        readonly DatasetItem: {
            readonly item_id: string;
            readonly dataset_id: string;
            /** @description Any JSON */
            readonly input: unknown;
            /** @description Any JSON */
            readonly expected?: unknown;
            readonly metadata?: components["schemas"]["Attributes"];
            readonly source_trace_id?: components["schemas"]["TraceId"];
            readonly created_at: components["schemas"]["Timestamp"];
        };
        readonly NewExperiment: {
            /** @description Absent or empty makes the server generate one */
            readonly experiment_id?: string;
            readonly name: string;
            readonly project?: components["schemas"]["ProjectName"];
            readonly dataset_id?: string;
            readonly service_version?: string;
            readonly metadata?: components["schemas"]["Attributes"];
        };
        readonly Experiment: {
            readonly experiment_id: string;
            readonly name: string;
            readonly project: string;
            readonly dataset_id?: string;
            readonly service_version?: string;
            readonly metadata?: components["schemas"]["Attributes"];
            readonly created_at: components["schemas"]["Timestamp"];
        };
        readonly ScoreSample: {
            readonly mean: number;
            /** Format: int64 */
            readonly count: number;
            /** @description Of the sample; absent for a single score */
            readonly stddev?: number;
        };
        readonly Comparison: {
            readonly baseline: string;
            readonly candidate: string;
            readonly scorers: readonly {
                readonly scorer_id: string;
                readonly scorer_version?: string;
                readonly baseline: components["schemas"]["ScoreSample"];
                readonly candidate: components["schemas"]["ScoreSample"];
                /** @description Mean of the candidate less that of the baseline */
                readonly delta: number;
                /** @description Two-sided, of Welch's t-test; absent where a side has a single score */
                readonly p_value?: number;
                /** @description Whether both sides have 20 scores */
                readonly decidable: boolean;
                readonly regressed: boolean;
            }[];
            /** @description Scorers in a version that only one side was scored with. */
            readonly not_compared: readonly {
                readonly scorer_id: string;
                readonly scorer_version?: string;
                /** @enum {string} */
                readonly side: "baseline" | "candidate";
                /** Format: int64 */
                readonly count: number;
            }[];
        };
        /**
         * @description `acknowledged` is tripped, and known to somebody
         * @enum {string}
         */
        readonly Condition: "nominal" | "tripped" | "acknowledged";
        readonly Watched: {
            readonly id: string;
            readonly name: string;
            readonly project: string;
            /**
             * @description The origin that reports are posted to; its path is a secret
             * @example https://hooks.example.com
             */
            readonly webhook?: string;
            /**
             * Format: int64
             * @description Windows that hold fewer neither trip nor recover anything
             */
            readonly min_samples: number;
            readonly condition: components["schemas"]["Condition"];
            /**
             * Format: int64
             * @description Runs or scores of the last reading
             */
            readonly samples: number;
            /** @description The last evaluation in a sentence, also where it read nothing */
            readonly detail: string;
            readonly evaluated_at?: components["schemas"]["Timestamp"];
            readonly tripped_at?: components["schemas"]["Timestamp"];
            readonly acknowledged_at?: components["schemas"]["Timestamp"];
        };
        readonly Monitor: components["schemas"]["Watched"] & {
            /** @description False is listed and never evaluated */
            readonly enabled: boolean;
            /** @enum {string} */
            readonly watch: "error_rate" | "latency_p95" | "cost" | "score_mean" | "trace_count" | "step_count_divergence" | "run_repetition";
            /**
             * @description A value on the threshold trips neither
             * @enum {string}
             */
            readonly compare: "above" | "below";
            readonly threshold: number;
            /** Format: int64 */
            readonly window_seconds: number;
            readonly scorer_id?: string;
            /** @description The last reading; absent where there is none */
            readonly value?: number;
        };
        readonly Slo: components["schemas"]["Watched"] & {
            readonly objective: number;
            /** Format: int64 */
            readonly window_days: number;
            readonly success_rate?: number;
            /** @description The share of the error budget that is left; may be negative */
            readonly budget_remaining?: number;
            readonly burn_rate_1h?: number;
            readonly burn_rate_6h?: number;
        };
        readonly WatchEvaluation: {
            readonly evaluated_at: components["schemas"]["Timestamp"];
            readonly condition: components["schemas"]["Condition"];
            readonly detail: string;
            /**
             * Format: int64
             * @description Absent where nothing could be read
             */
            readonly samples?: number;
        };
        readonly MonitorEvaluation: components["schemas"]["WatchEvaluation"] & {
            readonly value?: number;
        };
        readonly SloEvaluation: components["schemas"]["WatchEvaluation"] & {
            readonly success_rate?: number;
            readonly budget_remaining?: number;
            readonly burn_rate_1h?: number;
            readonly burn_rate_6h?: number;
        };
        readonly WatchTransition: {
            /**
             * Format: int64
             * @description Counts the entries of one monitor or objective, over restarts too; `at_seq` of its actor takes it. A missing number was dropped, because the runs store did not take it
             */
            readonly seq: number;
            readonly at: components["schemas"]["Timestamp"];
            /**
             * @description `watch.started`: the service started, and the condition begins nominal
             * @enum {string}
             */
            readonly event: "watch.started" | "evaluation.ended" | "trip.acknowledged";
            /** @description Absent for `watch.started` */
            readonly from?: components["schemas"]["Condition"];
            readonly to: components["schemas"]["Condition"];
            /** @description What had been read then, in a sentence */
            readonly detail: string;
        };
        readonly AuditEntry: {
            readonly audit_id: string;
            readonly at: components["schemas"]["Timestamp"];
            readonly operation: string;
            /** @description Project of the stored object; `*` for a read of all projects */
            readonly project: string;
            readonly subject?: string;
            /** @description First eight hex digits of the SHA-256 of the key */
            readonly key_fingerprint?: string;
            readonly remote_address: string;
            readonly resource: string;
            /** @enum {string} */
            readonly outcome: "allowed" | "refused";
        };
        /**
         * @description `scheduled`: its `start_at` lies ahead. `queued`: a step is runnable and no worker holds it, or `queued_reason` says what holds the run back. `running`: a worker holds a lease. `waiting`: for an event, a sleep, a backoff or children. `paused`: somebody paused it, or its parent; a worker may still hold a lease. The others are ends.
         * @enum {string}
         */
        readonly RunStatus: "scheduled" | "queued" | "running" | "waiting" | "paused" | "succeeded" | "failed" | "cancelled";
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
        readonly StepError: {
            readonly class: string;
            readonly code?: string;
            readonly message: string;
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
        /**
         * @description Why a queued run that was read is queued. `no_worker`: no live worker holds the definition; a worker is live while a claim of it is
         *     held, and for three heartbeats after its last call. `version_missing`: those that hold it did not register the version, or refused it.
         *     `workers_busy`: it waits for its turn. `definition_paused`: somebody paused its definition.
         *     `concurrency_key`: as many hold its key as may. `rate`: as many began with its key as may.
         * @enum {string}
         */
        readonly QueuedReason: "no_worker" | "version_missing" | "workers_busy" | "definition_paused" | "concurrency_key" | "rate";
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
        readonly Run: components["schemas"]["RunSummary"] & {
            /** @description Any JSON */
            readonly input: unknown;
            /** @description Any JSON; absent until the run has succeeded */
            readonly output?: unknown;
            readonly state: {
                readonly [key: string]: unknown;
            };
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
        /** @enum {string} */
        readonly BulkAction: "cancel" | "pause" | "resume" | "restart" | "signal";
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
                readonly [key: string]: unknown;
            };
        };
        readonly StartedBulk: {
            /** @description Absent where nothing was begun */
            readonly bulk_id?: string;
            /** Format: int64 */
            readonly count: number;
            /** @description Runs that match */
            readonly sample: readonly string[];
        };
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
        readonly ScheduleId: string;
        /**
         * @description What a firing does while a run of the schedule is open: `skip` (default) is skipped, `queue` lets one wait and skips later ones, `allow` starts, `cancel_running` cancels the open run and starts
         * @enum {string}
         */
        readonly Overlap: "skip" | "queue" | "allow" | "cancel_running";
        /**
         * @description Which times that were missed while the service was away or the schedule paused still fire: none, the last (default), or all within `catch_up_window_ms`, at most 100
         * @enum {string}
         */
        readonly CatchUp: "none" | "last" | "all";
        readonly NewSchedule: {
            readonly id: components["schemas"]["ScheduleId"];
            readonly project?: components["schemas"]["ProjectName"];
            /** @description The highest version that is stored when it fires */
            readonly definition_id: string;
            /** @description Any JSON that meets the definition's `input_schema`; `{}` by default */
            readonly input?: unknown;
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
        readonly ChangedSchedule: {
            /** @description The highest version that is stored when it fires */
            readonly definition_id: string;
            /** @description Any JSON that meets the definition's `input_schema`; `{}` by default */
            readonly input?: unknown;
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
        /** @enum {string} */
        readonly ScheduleStatus: "active" | "paused" | "ended";
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
        readonly Schedule: {
            readonly id: string;
            readonly project: string;
            readonly definition_id: string;
            /** @description Any JSON */
            readonly input: unknown;
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
        readonly ProjectName: string;
        /**
         * @description Steps of a higher priority are offered first, among the same priority the older ones. A step gains one point for each minute that it
         *     waits. Children have that of their parent.
         */
        readonly Priority: number;
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
        readonly RestartRun: {
            /** @description The step with which the new run begins, by default the one that failed. Required where the run has not failed */
            readonly from_step?: string;
            /** @description Which visit of that step is made again; by default the last */
            readonly visit?: number;
            /** @description By default the one of the ended run */
            readonly definition_version?: number;
            /** @description In place of the input of the ended run. Any JSON that meets the definition's `input_schema` */
            readonly input?: unknown;
            /** @description Its top-level members replace those of the state as it was then */
            readonly state_patch?: {
                readonly [key: string]: unknown;
            };
            /** @description Unique in the project while the run is kept; starts and restarts share them */
            readonly idempotency_key?: string;
        };
        readonly NewRun: {
            readonly definition_id: string;
            /** @description Any JSON that meets the definition's `input_schema` */
            readonly input: unknown;
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
             * @example +10m
             */
            readonly start_at?: string;
            /** @description 0 by default */
            readonly priority?: components["schemas"]["Priority"];
        };
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
            readonly output?: unknown;
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
        /** @enum {string} */
        readonly JournalKind: "run.started" | "cursor.moved" | "step.leased" | "step.started" | "step.finished" | "step.failed" | "step.orphaned" | "step.requeued" | "run.waiting" | "run.resumed" | "run.held" | "run.admitted" | "run.paused" | "run.unpaused" | "event.delivered" | "child.started" | "child.finished" | "run.finished";
        /**
         * @example {
         *       "seq": 3,
         *       "kind": "step.started",
         *       "at": "2026-11-20T09:00:00.25Z",
         *       "step_id": "pay",
         *       "visit": 1,
         *       "attempt": 1,
         *       "lease_id": "019aa1f0-2f5c-7d51-b0c7-3d2b8f6d1a10",
         *       "worker_id": "host-1-4711-9f3c",
         *       "data": {}
         *     }
         */
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
                readonly [key: string]: unknown;
            };
        };
        readonly Signal: {
            readonly event: string;
            readonly payload: {
                readonly [key: string]: unknown;
            };
            readonly event_id?: string;
        };
        readonly NewEvent: {
            readonly project?: components["schemas"]["ProjectName"];
            readonly event: string;
            readonly key: string;
            readonly payload: {
                readonly [key: string]: unknown;
            };
            /** @description Unique in the project; send one when the event may be sent twice */
            readonly event_id?: string;
        };
        /**
         * @example {
         *       "outcome": "delivered",
         *       "run_id": "019aa1ef-8a11-7c42-9d5e-5f0f6f2b7c01"
         *     }
         */
        readonly EventOutcome: {
            /** @enum {string} */
            readonly outcome: "delivered" | "parked" | "duplicate";
            /** @description The run that took it */
            readonly run_id?: string;
        };
        readonly DefinitionSummary: {
            readonly id: string;
            /** @description The project that owns it; absent where the service does */
            readonly project?: string;
            /** Format: int64 */
            readonly version: number;
            readonly created_at: components["schemas"]["Timestamp"];
        };
        readonly DefinitionVersion: {
            readonly id: string;
            /** @description The project that owns it; absent where the service does */
            readonly project?: string;
            /** Format: int64 */
            readonly version: number;
            readonly created_at: components["schemas"]["Timestamp"];
            readonly definition: components["schemas"]["Definition"];
        };
        /** @description A workflow definition. Its own schema is `spec/definition.schema.json`. */
        readonly Definition: {
            readonly [key: string]: unknown;
        };
        readonly NewDefinitions: {
            readonly definitions: readonly components["schemas"]["Definition"][];
            /** @description The project that owns them, for a key of several: required there */
            readonly project?: components["schemas"]["ProjectName"];
        };
        readonly StoredDefinition: {
            readonly id: string;
            /** Format: int64 */
            readonly version: number;
            /** @enum {string} */
            readonly stored: "created" | "unchanged";
        };
        /**
         * @example {
         *       "definitions": [
         *         {
         *           "id": "hello",
         *           "version": 1,
         *           "stored": "created"
         *         }
         *       ]
         *     }
         */
        readonly StoredDefinitions: {
            readonly definitions: readonly components["schemas"]["StoredDefinition"][];
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
        /**
         * @example {
         *       "definitions": [
         *         {
         *           "id": "hello",
         *           "version": 1,
         *           "faults": [
         *             {
         *               "path": "steps[0].next",
         *               "message": "there is no step \"greeet\""
         *             }
         *           ]
         *         }
         *       ]
         *     }
         */
        readonly CheckedDefinitions: {
            readonly definitions: readonly components["schemas"]["CheckedDefinition"][];
        };
        /** @description Present while the definition is paused */
        readonly DefinitionPause: {
            readonly since: components["schemas"]["Timestamp"];
            readonly reason?: string;
        };
        readonly DefinitionState: {
            readonly id: string;
            /** @description The owner; absent where the service is */
            readonly project?: string;
            readonly pause?: components["schemas"]["DefinitionPause"];
        };
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
        readonly LiveLease: {
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
            readonly status: components["schemas"]["AttemptStatus"];
            readonly worker_id: string;
            readonly offered_at: components["schemas"]["Timestamp"];
            readonly started_at?: components["schemas"]["Timestamp"];
            readonly lease_expires_at: components["schemas"]["Timestamp"];
        };
        readonly ParkedEvent: {
            readonly event: string;
            readonly key: string;
            readonly project: string;
            readonly event_id?: string;
            readonly parked_at: components["schemas"]["Timestamp"];
            /** @description From then on no run can take it */
            readonly expires_at: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Of the payload as JSON in UTF-8
             */
            readonly payload_bytes: number;
        };
        readonly ErasedSubject: {
            /**
             * Format: int64
             * @description Child runs included
             */
            readonly runs_erased: number;
            /**
             * Format: int64
             * @description Unfinished runs of that person, which were left unchanged
             */
            readonly runs_in_flight: number;
            /** Format: int64 */
            readonly traces_erased: number;
            /** @description Whether the trace store deletes later */
            readonly deletes_pending: boolean;
            readonly note: string;
        };
        readonly WorkerId: string;
        readonly NewWorker: {
            readonly worker_id: components["schemas"]["WorkerId"];
            readonly definitions: readonly components["schemas"]["Definition"][];
            readonly name?: string;
            readonly version?: string;
            /** @description Limits the claims of this worker; of a key of several projects, which must name one, it owns the definitions too */
            readonly project?: components["schemas"]["ProjectName"];
            readonly concurrency?: number;
        };
        /**
         * @example {
         *       "worker_id": "host-1-4711-9f3c",
         *       "lease_ttl_ms": 30000,
         *       "heartbeat_ms": 10000,
         *       "definitions": [
         *         {
         *           "id": "hello",
         *           "version": 1,
         *           "stored": "created"
         *         }
         *       ]
         *     }
         */
        readonly Registration: {
            readonly worker_id: string;
            /** Format: int64 */
            readonly lease_ttl_ms: number;
            /** Format: int64 */
            readonly heartbeat_ms: number;
            readonly definitions: readonly components["schemas"]["StoredDefinition"][];
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
        /** @description `lease_id`, and the members of the body of the single call; `worker_id` may be left out. Checked one by one: what is wrong is said in the item's answer */
        readonly StepBatchItem: {
            readonly [key: string]: unknown;
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
        readonly StepBatchItemAnswer: {
            /** @description Absent where the item named none that can be */
            readonly lease_id?: string;
            /** @description The status of the single call */
            readonly status: number;
            /** @description The body of the single call */
            readonly body: {
                readonly [key: string]: unknown;
            };
        };
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
            readonly input?: unknown;
            /** @description What the prior steps gave, by step id */
            readonly steps: {
                readonly [key: string]: {
                    /** @description Any JSON */
                    readonly output?: unknown;
                };
            };
            readonly state: {
                readonly [key: string]: unknown;
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
            readonly last_details?: unknown;
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
        /** Format: int64 */
        readonly TokenCount: number;
        /** @description One report of usage, or a list of them. */
        readonly StepUsage: components["schemas"]["ReportedUsage"] | readonly components["schemas"]["ReportedUsage"][];
        readonly StepResult: {
            readonly worker_id: components["schemas"]["WorkerId"];
            /** @description Any JSON */
            readonly output?: unknown;
            /** @description Its top-level keys replace those of the run's state */
            readonly state_patch?: {
                readonly [key: string]: unknown;
            };
            readonly usage?: components["schemas"]["StepUsage"];
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
        /**
         * @description `quarantined`: this release cannot load it; it waits for a release that can
         * @enum {string}
         */
        readonly ActorStatus: "active" | "done" | "quarantined";
        readonly Actor: {
            readonly type: string;
            readonly id: string;
            readonly machine: string;
            /** @description Where the machine is; a state, or states within states */
            readonly value: unknown;
            readonly status: components["schemas"]["ActorStatus"];
            /**
             * Format: int64
             * @description Counts its changes
             */
            readonly version: number;
            readonly updated_at: components["schemas"]["Timestamp"];
        };
        readonly ActorSnapshot: components["schemas"]["Actor"] & {
            /** Format: int64 */
            readonly machine_version: number;
            /**
             * @description What the machine remembers. Of `timer`, `pipeline`, `dispatcher` and `outbox`, whose `id` is `main`: what tells why it does, or
             *     does not, move. It holds counts, ages and rates (members ending in `Ms` are milliseconds, in `At` milliseconds since 1970),
             *     no payload and no project; a key of certain projects sees the counts of all, and definitions of its own projects alone.
             */
            readonly context: unknown;
            /**
             * Format: int64
             * @description Messages to it that are not answered yet; of timer, dispatcher, outbox and pipeline what waits for them: overdue timers, claims, rows, turns
             */
            readonly mailbox: number;
            /** @description Why it cannot be loaded */
            readonly fault?: string;
        };
        readonly Machine: {
            readonly name: string;
            /** Format: int64 */
            readonly version: number;
            readonly states: readonly string[];
            /** @description The project that owns the definition; absent where the service does */
            readonly project?: string;
        };
    };
    responses: {
        /** @description `invalid_body`, `invalid_parameter`, `input_invalid` or `definition_invalid`; the message names each fault of a definition and its path. */
        readonly InvalidRun: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "input_invalid",
                 *       "message": "the input does not meet the definition's input_schema: missing field `ticket`",
                 *       "field": "input"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_parameter` or `invalid_id`: a parameter is unknown, or its value is unusable; `field` names it. */
        readonly InvalidParameter: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid_parameter",
                 *       "message": "`limit` must be at most 1000; it is 5000",
                 *       "field": "limit"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_body`, `invalid_parameter` or `invalid_id`; where the body of a typed endpoint is not JSON, plain text. */
        readonly InvalidBody: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid_body",
                 *       "message": "a score needs `trace_id` or `span_id`",
                 *       "field": "trace_id"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
                readonly "text/plain": string;
            };
        };
        /** @description The body is JSON, and does not decode into the type of the endpoint; names the field. */
        readonly Undecodable: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /** @example the request body does not decode: missing field `scorer_id` */
                readonly "text/plain": string;
            };
        };
        /** @description `unauthorized`: no key, or one that is not known. */
        readonly Unauthorized: {
            headers: {
                readonly "WWW-Authenticate"?: "Bearer";
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "unauthorized",
                 *       "message": "this call needs a key with the read scope: send it as `Authorization: Bearer <key>` or `X-Svc-Key: <key>`"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `forbidden`: the key lacks the scope or does not reach the project. */
        readonly Forbidden: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "forbidden",
                 *       "message": "this key does not reach project \"billing\"",
                 *       "field": "project"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `not_found`. */
        readonly NotFound: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_found",
                 *       "message": "no trace 5b8efff798038103d269b633813fc60c is stored"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `not_acceptable`: the Accept header allows none of the types in which this call answers. */
        readonly NotAcceptable: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_acceptable",
                 *       "message": "this call answers in application/json"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `conflict`, `limit_reached`, `definition_conflict`, `already_applied`, `fenced`, `run_terminal` or `not_started`. */
        readonly Conflict: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `payload_too_large`: the message names the size and the bound. */
        readonly TooLarge: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `unsupported_media_type` or `unsupported_content_encoding`. */
        readonly UnsupportedMedia: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `overloaded` or `over_quota`. */
        readonly TooMany: {
            headers: {
                /** @description Seconds */
                readonly "Retry-After"?: number;
                readonly [name: string]: unknown;
            };
            content: {
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `internal`: a fault of the service; its log tells why, by the x-request-id of the answer. */
        readonly Internal: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "internal",
                 *       "message": "the service failed at this request; its log tells why, by the x-request-id"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `store_unavailable`, `request_timeout` or `runs_disabled`. */
        readonly Unavailable: {
            headers: {
                /** @description Seconds; present where a retry can help */
                readonly "Retry-After"?: number;
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "store_unavailable",
                 *       "message": "the embedded store does not answer: the disk is full"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_body`: the request as a whole cannot be read; nothing of it is stored. */
        readonly IngestUnreadable: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid_body",
                 *       "message": "body is not valid JSON"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `payload_too_large`: the request is over a bound, and nothing of it is stored. The message names what was found and both bounds. */
        readonly IngestTooLarge: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "payload_too_large",
                 *       "message": "body of 33554433 bytes is too large: a request holds at most 10000 signals (--max-batch-signals) and 33554432 bytes (32 MiB) as received (--max-body-bytes); send smaller batches"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description `overloaded`: what is in flight takes all the memory there is for it; nothing of the request is stored. `over_quota`: nothing was written,
         *     and a project's ceiling is why; the answer of a 200 stands beside the code.
         */
        readonly IngestTooMany: {
            headers: {
                /** @description Seconds */
                readonly "Retry-After"?: number;
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "over_quota",
                 *       "message": "project \"default\" is over its ceiling of 1000 signals a minute; send again in 12 s, or raise quota_per_minute",
                 *       "accepted": 0,
                 *       "rejected": 1,
                 *       "duplicate": 0,
                 *       "errors": [
                 *         {
                 *           "batch": 0,
                 *           "signal": "spans",
                 *           "index": 0,
                 *           "code": "over_quota",
                 *           "message": "project \"default\" is over its ceiling of 1000 signals a minute"
                 *         }
                 *       ]
                 *     }
                 */
                readonly "application/json": {
                    readonly [key: string]: unknown;
                } & components["schemas"]["Error"];
            };
        };
    };
    parameters: {
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
        /** @description The id of a schedule */
        readonly scheduleInPath: components["schemas"]["ScheduleId"];
        /** @description The project of the schedule. Without it, the daemon's default project where the key reaches it, else the first of the key. */
        readonly scheduleProject: string;
        /** @description The project that a definition is looked up for, as a start in it would. Without it, that of a key of one project, else the service. */
        readonly definitionOwner: string;
        /** @description Most rows of a page. */
        readonly limit: number;
        /** @description The `next_cursor` of the page before, with the same filters. */
        readonly cursor: string;
        /** @description At or after this time. */
        readonly from: components["schemas"]["TimeParameter"];
        /** @description Before this time. */
        readonly to: components["schemas"]["TimeParameter"];
        /** @description At or after this time; seven days before `to` by default. */
        readonly analyticsFrom: components["schemas"]["TimeParameter"];
        /** @description Before this time; now by default. */
        readonly analyticsTo: components["schemas"]["TimeParameter"];
        readonly order: "asc" | "desc";
        /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
        readonly datasetInPath: string;
        /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
        readonly ownerProject: string;
        readonly traceIdInPath: components["schemas"]["TraceId"];
        readonly spanIdInPath: components["schemas"]["SpanId"];
        /** @description Its id in the config file. */
        readonly watchInPath: string;
        readonly runInPath: string;
        readonly leaseInPath: string;
        readonly definitionInPath: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readonly getHealth: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The process serves. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Health"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 500: components["responses"]["Internal"];
        };
    };
    readonly getReadiness: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Every store answered. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Health"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 500: components["responses"]["Internal"];
            /** @description A store did not answer; `status` is `degraded` and `detail` names the failure. */
            readonly 503: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    readonly getCounters: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The counters. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    /**
                     * @example # HELP svc_signals_accepted_total Signals written.
                     *     # TYPE svc_signals_accepted_total counter
                     *     svc_signals_accepted_total 42
                     */
                    readonly "text/plain": string;
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 500: components["responses"]["Internal"];
        };
    };
    readonly getDocument: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description This document as JSON. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": Record<string, never>;
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 500: components["responses"]["Internal"];
        };
    };
    readonly getPage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/html": string;
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 500: components["responses"]["Internal"];
        };
    };
    readonly getPageAsset: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly file: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The file. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/javascript": string;
                    readonly "text/css": string;
                    readonly "image/svg+xml": string;
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 404: components["responses"]["NotFound"];
            readonly 500: components["responses"]["Internal"];
        };
    };
    readonly getPageScript: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A script. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/javascript": string;
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 500: components["responses"]["Internal"];
        };
    };
    readonly getPageStyle: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A style sheet. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/css": string;
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 500: components["responses"]["Internal"];
        };
    };
    readonly ingestTraces: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** @description At most 32 MiB as received (`--max-body-bytes`), gzip or plain, and 10,000 spans (`--max-batch-signals`). */
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "resourceSpans": [
                 *         {
                 *           "resource": {
                 *             "attributes": [
                 *               {
                 *                 "key": "service.name",
                 *                 "value": {
                 *                   "stringValue": "refund-bot"
                 *                 }
                 *               }
                 *             ]
                 *           },
                 *           "scopeSpans": [
                 *             {
                 *               "scope": {
                 *                 "name": "my-agent"
                 *               },
                 *               "spans": [
                 *                 {
                 *                   "traceId": "5b8efff798038103d269b633813fc60c",
                 *                   "spanId": "eee19b7ec3c1b174",
                 *                   "name": "chat gpt-4o-mini",
                 *                   "startTimeUnixNano": "1763629200123000000",
                 *                   "endTimeUnixNano": "1763629201957000000",
                 *                   "attributes": [
                 *                     {
                 *                       "key": "gen_ai.request.model",
                 *                       "value": {
                 *                         "stringValue": "gpt-4o-mini"
                 *                       }
                 *                     },
                 *                     {
                 *                       "key": "gen_ai.usage.input_tokens",
                 *                       "value": {
                 *                         "intValue": "1200"
                 *                       }
                 *                     }
                 *                   ]
                 *                 }
                 *               ]
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                readonly "application/json": {
                    readonly [key: string]: unknown;
                };
                readonly "application/x-protobuf": string;
            };
        };
        readonly responses: {
            /** @description What was taken is committed. What was refused is counted, with the reasons in words. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "partialSuccess": {
                     *         "rejectedSpans": 1,
                     *         "errorMessage": "trace_id is all zero"
                     *       }
                     *     }
                     */
                    readonly "application/json": components["schemas"]["RejectedSpans"];
                    readonly "application/x-protobuf": string;
                };
            };
            readonly 400: components["responses"]["IngestUnreadable"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 413: components["responses"]["IngestTooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["IngestTooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly ingestTracesCompatible: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** @description At most 32 MiB as received (`--max-body-bytes`), gzip or plain, and 10,000 spans (`--max-batch-signals`). */
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "resourceSpans": [
                 *         {
                 *           "resource": {
                 *             "attributes": [
                 *               {
                 *                 "key": "service.name",
                 *                 "value": {
                 *                   "stringValue": "refund-bot"
                 *                 }
                 *               }
                 *             ]
                 *           },
                 *           "scopeSpans": [
                 *             {
                 *               "scope": {
                 *                 "name": "my-agent"
                 *               },
                 *               "spans": [
                 *                 {
                 *                   "traceId": "5b8efff798038103d269b633813fc60c",
                 *                   "spanId": "eee19b7ec3c1b174",
                 *                   "name": "chat gpt-4o-mini",
                 *                   "startTimeUnixNano": "1763629200123000000",
                 *                   "endTimeUnixNano": "1763629201957000000",
                 *                   "attributes": [
                 *                     {
                 *                       "key": "gen_ai.request.model",
                 *                       "value": {
                 *                         "stringValue": "gpt-4o-mini"
                 *                       }
                 *                     },
                 *                     {
                 *                       "key": "gen_ai.usage.input_tokens",
                 *                       "value": {
                 *                         "intValue": "1200"
                 *                       }
                 *                     }
                 *                   ]
                 *                 }
                 *               ]
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                readonly "application/json": {
                    readonly [key: string]: unknown;
                };
                readonly "application/x-protobuf": string;
            };
        };
        readonly responses: {
            /** @description What was taken is committed. What was refused is counted, with the reasons in words. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "partialSuccess": {
                     *         "rejectedSpans": 1,
                     *         "errorMessage": "trace_id is all zero"
                     *       }
                     *     }
                     */
                    readonly "application/json": components["schemas"]["RejectedSpans"];
                    readonly "application/x-protobuf": string;
                };
            };
            readonly 400: components["responses"]["IngestUnreadable"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 413: components["responses"]["IngestTooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["IngestTooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly ingestLogs: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** @description At most 32 MiB as received (`--max-body-bytes`), gzip or plain, and 10,000 records (`--max-batch-signals`). */
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly [key: string]: unknown;
                };
            };
        };
        readonly responses: {
            /** @description What was taken is committed. What was refused is counted, with the reasons in words. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "partialSuccess": {
                     *         "rejectedLogRecords": 1,
                     *         "errorMessage": "trace_id is all zero"
                     *       }
                     *     }
                     */
                    readonly "application/json": components["schemas"]["RejectedLogRecords"];
                };
            };
            readonly 400: components["responses"]["IngestUnreadable"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 413: components["responses"]["IngestTooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["IngestTooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly ingestMetrics: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** @description At most 32 MiB as received (`--max-body-bytes`), gzip or plain, and 10,000 data points (`--max-batch-signals`). */
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly [key: string]: unknown;
                };
            };
        };
        readonly responses: {
            /** @description What was taken is committed. What was refused is counted, with the reasons in words. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "partialSuccess": {
                     *         "rejectedDataPoints": 1,
                     *         "errorMessage": "trace_id is all zero"
                     *       }
                     *     }
                     */
                    readonly "application/json": components["schemas"]["RejectedDataPoints"];
                };
            };
            readonly 400: components["responses"]["IngestUnreadable"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 413: components["responses"]["IngestTooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["IngestTooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
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
                /**
                 * @example {
                 *       "ingest_key": "refund-bot-2026-11-20-0001",
                 *       "spans": [
                 *         {
                 *           "trace_id": "5b8efff798038103d269b633813fc60c",
                 *           "span_id": "eee19b7ec3c1b174",
                 *           "name": "chat gpt-4o-mini",
                 *           "kind": "model_generation",
                 *           "status": "ok",
                 *           "start_time": "2026-11-20T09:00:00.123Z",
                 *           "end_time": "2026-11-20T09:00:01.957Z",
                 *           "model": "gpt-4o-mini",
                 *           "usage": {
                 *             "input_tokens": 1200,
                 *             "output_tokens": 310
                 *           },
                 *           "input": [
                 *             {
                 *               "role": "user",
                 *               "content": "Where is my refund?"
                 *             }
                 *           ],
                 *           "output": "It was sent on Tuesday.",
                 *           "correlation": {
                 *             "session_id": "s-4"
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                readonly "application/json": components["schemas"]["IngestBatch"] | readonly components["schemas"]["IngestBatch"][];
                /**
                 * @example {"spans": [{"trace_id": "5b8efff798038103d269b633813fc60c", "span_id": "eee19b7ec3c1b174", "name": "chat", "start_time": "2026-11-20T09:00:00.123Z"}]}
                 *     {"feedback": [{"trace_id": "5b8efff798038103d269b633813fc60c", "kind": "thumbs", "value": "up"}]}
                 */
                readonly "application/x-ndjson": string;
                readonly "application/jsonl": string;
            };
        };
        readonly responses: {
            /** @description What was taken is committed. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["IngestReply"];
                };
            };
            readonly 400: components["responses"]["IngestUnreadable"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 413: components["responses"]["IngestTooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["IngestTooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listTraces: {
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
                /** @description At or after this time. */
                readonly from?: components["parameters"]["from"];
                /** @description Before this time. */
                readonly to?: components["parameters"]["to"];
                /** @description What to sort by. `score` sorts by the mean of the scorer that `has_score` names, and needs it. */
                readonly sort?: "start_time" | "duration" | "cost" | "span_count" | "score";
                readonly order?: components["parameters"]["order"];
                readonly status?: components["schemas"]["SpanStatus"];
                /** @description Name of the trace */
                readonly name?: components["schemas"]["FilterText"];
                /** @description Model of a span */
                readonly model?: components["schemas"]["FilterText"];
                /** @description Provider of a span */
                readonly provider?: components["schemas"]["FilterText"];
                /** @description Agent or entity of a span */
                readonly entity_name?: components["schemas"]["FilterText"];
                /** @description Kind of a span */
                readonly kind?: components["schemas"]["SpanKind"];
                readonly user_id?: components["schemas"]["FilterText"];
                readonly session_id?: components["schemas"]["FilterText"];
                readonly thread_id?: components["schemas"]["FilterText"];
                readonly environment?: components["schemas"]["FilterText"];
                readonly service_name?: components["schemas"]["FilterText"];
                readonly service_version?: components["schemas"]["FilterText"];
                readonly release?: components["schemas"]["FilterText"];
                /** @description One tag of a span */
                readonly tag?: components["schemas"]["FilterText"];
                readonly run_id?: components["schemas"]["FilterText"];
                readonly experiment_id?: components["schemas"]["FilterText"];
                /** @description A kind of feedback that the trace has */
                readonly has_feedback?: components["schemas"]["FeedbackKind"];
                /** @description Id of a scorer that scored the trace */
                readonly has_score?: components["schemas"]["FilterText"];
                /** @description Mean of the scorer that `has_score` names is strictly less; needs `has_score` */
                readonly score_below?: number;
                /** @description Total cost at least this; a positive value leaves out traces without a cost */
                readonly min_cost?: number;
                /** @description Total cost at most this; leaves out traces without a cost */
                readonly max_cost?: number;
                readonly min_duration_ms?: number;
                readonly max_duration_ms?: number;
                /** @description Whether a span of the trace failed */
                readonly has_error?: boolean;
                /**
                 * @description Full text over stored payloads. Words are ANDed within one span, whole, case-insensitive; `"a phrase"`; `word*` is a prefix.
                 *     There is no other syntax: any input is a valid query.
                 */
                readonly q?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of traces. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly traces: readonly components["schemas"]["TraceSummary"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getTrace: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description Comma list of what to add: `scores`, `feedback`, or `all`, which adds logs too.
                 * @example scores,feedback
                 */
                readonly include?: string;
                /** @description `none` leaves `input`, `output`, `attributes`, `events` and `links` out of the spans. */
                readonly payloads?: "all" | "none";
            };
            readonly header?: never;
            readonly path: {
                readonly trace_id: components["parameters"]["traceIdInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The trace. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TraceDetail"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly deleteTrace: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly trace_id: components["parameters"]["traceIdInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Deleted, or, where the store defers deletes, accepted for deletion. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "deleted": true,
                     *       "deletes_pending": false
                     *     }
                     */
                    readonly "application/json": {
                        /** @constant */
                        readonly deleted: true;
                        /** @description True when the store applies the delete later */
                        readonly deletes_pending: boolean;
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getSpan: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly trace_id: components["parameters"]["traceIdInPath"];
                readonly span_id: components["parameters"]["spanIdInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The span. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly span: components["schemas"]["Span"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listSpans: {
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
                /** @description At or after this time. */
                readonly from?: components["parameters"]["from"];
                /** @description Before this time. */
                readonly to?: components["parameters"]["to"];
                readonly order?: components["parameters"]["order"];
                readonly trace_id?: components["schemas"]["TraceId"];
                readonly kind?: components["schemas"]["SpanKind"];
                readonly status?: components["schemas"]["SpanStatus"];
                readonly name?: components["schemas"]["FilterText"];
                readonly model?: components["schemas"]["FilterText"];
                readonly provider?: components["schemas"]["FilterText"];
                readonly entity_name?: components["schemas"]["FilterText"];
                readonly session_id?: components["schemas"]["FilterText"];
                readonly user_id?: components["schemas"]["FilterText"];
                readonly environment?: components["schemas"]["FilterText"];
                readonly service_name?: components["schemas"]["FilterText"];
                /** @description `none` leaves `input`, `output`, `attributes`, `events` and `links` out of the spans. */
                readonly payloads?: "all" | "none";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of spans. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly spans: readonly components["schemas"]["Span"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listLogs: {
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
                /** @description At or after this time. */
                readonly from?: components["parameters"]["from"];
                /** @description Before this time. */
                readonly to?: components["parameters"]["to"];
                readonly order?: components["parameters"]["order"];
                readonly trace_id?: components["schemas"]["TraceId"];
                readonly span_id?: components["schemas"]["SpanId"];
                /** @description Exactly this severe */
                readonly severity?: components["schemas"]["Severity"];
                /** @description At least this severe */
                readonly min_severity?: components["schemas"]["Severity"];
                readonly logger?: components["schemas"]["FilterText"];
                readonly service_name?: components["schemas"]["FilterText"];
                readonly environment?: components["schemas"]["FilterText"];
                readonly session_id?: components["schemas"]["FilterText"];
                readonly user_id?: components["schemas"]["FilterText"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of log records. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly logs: readonly components["schemas"]["LogRecord"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listMetrics: {
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
            /** @description One page of metrics. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly metrics: readonly components["schemas"]["MetricName"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listMetricPoints: {
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
                /** @description At or after this time. */
                readonly from?: components["parameters"]["from"];
                /** @description Before this time. */
                readonly to?: components["parameters"]["to"];
                readonly order?: components["parameters"]["order"];
                readonly service_name?: components["schemas"]["FilterText"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Name of the metric */
                readonly name: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of points. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly points: readonly components["schemas"]["MetricPoint"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listAspectNotes: {
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
                readonly trace_id?: components["schemas"]["TraceId"];
                readonly aspect?: components["schemas"]["FilterText"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of notes. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly aspect_notes: readonly components["schemas"]["AspectNote"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listScores: {
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
                /** @description At or after this time. */
                readonly from?: components["parameters"]["from"];
                /** @description Before this time. */
                readonly to?: components["parameters"]["to"];
                readonly scorer_id?: components["schemas"]["FilterText"];
                readonly source?: components["schemas"]["ScoreSource"];
                readonly trace_id?: components["schemas"]["TraceId"];
                readonly experiment_id?: components["schemas"]["FilterText"];
                /** @description Value at least this */
                readonly min_value?: number;
                /** @description Value at most this */
                readonly max_value?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of scores. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly scores: readonly components["schemas"]["Score"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly createScore: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "trace_id": "5b8efff798038103d269b633813fc60c",
                 *       "scorer_id": "answered",
                 *       "value": 1,
                 *       "min": 0,
                 *       "max": 1,
                 *       "reason": "the run produced an answer"
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewScore"];
            };
        };
        readonly responses: {
            /** @description The score as stored. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Score"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 422: components["responses"]["Undecodable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listFeedback: {
        readonly parameters: {
            readonly query: {
                /**
                 * @description Which project to read. Without it, the daemon's default project, or, for a key of certain projects, those. `*` is every project, for
                 *     keys that reach all of them.
                 */
                readonly project?: components["parameters"]["project"];
                /** @description The run that was judged */
                readonly trace_id: components["schemas"]["TraceId"];
                /** @description Most judgements to answer; `truncated` tells when there are more. */
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The judgements. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly feedback: readonly components["schemas"]["Feedback"][];
                        /**
                         * @description Present when the run has more judgements than the limit
                         * @constant
                         */
                        readonly truncated?: true;
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly createFeedback: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "trace_id": "5b8efff798038103d269b633813fc60c",
                 *       "kind": "thumbs",
                 *       "value": "up",
                 *       "author_kind": "end_user"
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewFeedback"];
            };
        };
        readonly responses: {
            /** @description The judgement as stored. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Feedback"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 422: components["responses"]["Undecodable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listSessions: {
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
                /** @description At or after this time. */
                readonly from?: components["parameters"]["from"];
                /** @description Before this time. */
                readonly to?: components["parameters"]["to"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of sessions. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessions: readonly (components["schemas"]["RollUp"] & {
                            readonly session_id: string;
                        })[];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listUsers: {
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
                /** @description At or after this time. */
                readonly from?: components["parameters"]["from"];
                /** @description Before this time. */
                readonly to?: components["parameters"]["to"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of users. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly users: readonly (components["schemas"]["RollUp"] & {
                            readonly user_id: string;
                        })[];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listProjects: {
        readonly parameters: {
            readonly query?: {
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
            /** @description One page of projects. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly projects: readonly {
                            readonly project: string;
                            /** Format: int64 */
                            readonly trace_count: number;
                            readonly first_seen?: components["schemas"]["Timestamp"];
                            readonly last_seen?: components["schemas"]["Timestamp"];
                        }[];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getCostReport: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description Which project to read. Without it, the daemon's default project, or, for a key of certain projects, those. `*` is every project, for
                 *     keys that reach all of them.
                 */
                readonly project?: components["parameters"]["project"];
                /** @description At or after this time; seven days before `to` by default. */
                readonly from?: components["parameters"]["analyticsFrom"];
                /** @description Before this time; now by default. */
                readonly to?: components["parameters"]["analyticsTo"];
                readonly group_by?: components["schemas"]["CostGrouping"];
                /** @description Width of a point of the series; without it only totals */
                readonly bucket?: "30s" | "5m" | "1h" | "1d";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The report. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CostReport"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getSummaryReport: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description Which project to read. Without it, the daemon's default project, or, for a key of certain projects, those. `*` is every project, for
                 *     keys that reach all of them.
                 */
                readonly project?: components["parameters"]["project"];
                /** @description At or after this time; seven days before `to` by default. */
                readonly from?: components["parameters"]["analyticsFrom"];
                /** @description Before this time; now by default. */
                readonly to?: components["parameters"]["analyticsTo"];
                readonly group_by?: components["schemas"]["CostGrouping"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The report. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["SummaryReport"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listScorers: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description All of them, in their order. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly scorers: readonly components["schemas"]["Scorer"][];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly scoreRuns: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "from": "-1d",
                 *       "scorers": [
                 *         "answered",
                 *         "latency_budget"
                 *       ],
                 *       "config": {
                 *         "max_ms": 5000
                 *       }
                 *     }
                 */
                readonly "application/json": components["schemas"]["ScoreRequest"];
            };
        };
        readonly responses: {
            /** @description What was scored, and what was not. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ScoreReport"];
                };
            };
            /**
             * @description `unknown_scorer`: lists built-in scorers and configured criteria. `cap_exceeded`: names the cap. `invalid_parameter`: a key of
             *     `config` that no scorer reads, an id, or a time; `field` names it. Where the body is not JSON, plain text.
             */
            readonly 400: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "code": "invalid_parameter",
                     *       "message": "\"max_seconds\" is not a key of `config`; scorers read expected, contains, max_ms, max_cost, max_tool_calls, span_kind, span_name, tool_name, case_sensitive",
                     *       "field": "config.max_seconds"
                     *     }
                     */
                    readonly "application/json": components["schemas"]["Error"];
                    readonly "text/plain": string;
                };
            };
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 422: components["responses"]["Undecodable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listDatasets: {
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
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of datasets. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly datasets: readonly components["schemas"]["Dataset"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly createDataset: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "name": "refunds",
                 *       "description": "runs that paid twice"
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewDataset"];
            };
        };
        readonly responses: {
            /** @description The dataset as stored. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Dataset"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 422: components["responses"]["Undecodable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getDataset: {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The dataset. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Dataset"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly deleteDataset: {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is gone, or goes later. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deletion"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listDatasetItems: {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
                /** @description Most rows of a page. */
                readonly limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the page before, with the same filters. */
                readonly cursor?: components["parameters"]["cursor"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of cases. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly items: readonly components["schemas"]["DatasetItem"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly createDatasetItem: {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "input": {
                 *         "question": "Where is my order?"
                 *       },
                 *       "expected": "It arrives on Friday."
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewDatasetItem"];
            };
        };
        readonly responses: {
            /** @description The case as stored. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DatasetItem"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 422: components["responses"]["Undecodable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly replaceDatasetItem: {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
                /** @description Id of the case */
                readonly item: components["schemas"]["RecordId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "input": {
                 *         "question": "Where is my order?"
                 *       },
                 *       "expected": "It arrives on Monday."
                 *     }
                 */
                readonly "application/json": components["schemas"]["DatasetItemContent"];
            };
        };
        readonly responses: {
            /** @description The case as stored. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DatasetItem"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 422: components["responses"]["Undecodable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly deleteDatasetItem: {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
                /** @description Id of the case */
                readonly item: components["schemas"]["RecordId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is gone, or goes later. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deletion"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly captureRuns: {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Id or name of a dataset. A name is looked for in the project that lists without `project` answer for; an id, wherever the key reaches. */
                readonly dataset: components["parameters"]["datasetInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "trace_ids": [
                 *         "5b8efff798038103d269b633813fc60c"
                 *       ],
                 *       "use_output_as_expected": true
                 *     }
                 */
                readonly "application/json": {
                    readonly trace_ids: readonly components["schemas"]["TraceId"][];
                    /**
                     * @description Keeps the answer of each run as `expected`; a run without an answer gives a case without it
                     * @default false
                     */
                    readonly use_output_as_expected?: boolean;
                };
            };
        };
        readonly responses: {
            /** @description The cases that were made, and the runs that none was made of. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /**
                         * Format: int64
                         * @description Number of cases made
                         */
                        readonly captured: number;
                        readonly items: readonly {
                            readonly item_id: string;
                            readonly source_trace_id: components["schemas"]["TraceId"];
                        }[];
                        readonly skipped: readonly {
                            readonly trace_id: string;
                            readonly reason: string;
                        }[];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 422: components["responses"]["Undecodable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listExperiments: {
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
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of experiments. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly experiments: readonly components["schemas"]["Experiment"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly createExperiment: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                /**
                 * @example {
                 *       "name": "shorter prompt",
                 *       "service_version": "2.1.0",
                 *       "metadata": {
                 *         "prompt": "v7"
                 *       }
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewExperiment"];
            };
        };
        readonly responses: {
            /** @description The experiment as stored. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Experiment"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 422: components["responses"]["Undecodable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly compareExperiments: {
        readonly parameters: {
            readonly query: {
                /** @description Id of an experiment */
                readonly baseline: components["schemas"]["RecordId"];
                /** @description Id of an experiment */
                readonly candidate: components["schemas"]["RecordId"];
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The comparison. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Comparison"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getExperiment: {
        readonly parameters: {
            readonly query?: {
                /** @description The project to look in. Needed for a name outside of the default project, or for an id that several projects have. */
                readonly project?: components["parameters"]["ownerProject"];
            };
            readonly header?: never;
            readonly path: {
                readonly experiment_id: components["schemas"]["RecordId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The experiment. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Experiment"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listMonitors: {
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly monitors: readonly components["schemas"]["Monitor"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly acknowledgeMonitor: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Its id in the config file. */
                readonly id: components["parameters"]["watchInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The monitor as it stands now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Monitor"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listMonitorHistory: {
        readonly parameters: {
            readonly query?: {
                /** @description Most rows of a page. */
                readonly limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the page before, with the same filters. */
                readonly cursor?: components["parameters"]["cursor"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Its id in the config file. */
                readonly id: components["parameters"]["watchInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly evaluations: readonly components["schemas"]["MonitorEvaluation"][];
                        readonly transitions: readonly components["schemas"]["WatchTransition"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listSlos: {
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly slos: readonly components["schemas"]["Slo"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly acknowledgeSlo: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Its id in the config file. */
                readonly id: components["parameters"]["watchInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The service level objective as it stands now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Slo"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listSloHistory: {
        readonly parameters: {
            readonly query?: {
                /** @description Most rows of a page. */
                readonly limit?: components["parameters"]["limit"];
                /** @description The `next_cursor` of the page before, with the same filters. */
                readonly cursor?: components["parameters"]["cursor"];
            };
            readonly header?: never;
            readonly path: {
                /** @description Its id in the config file. */
                readonly id: components["parameters"]["watchInPath"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly evaluations: readonly components["schemas"]["SloEvaluation"][];
                        readonly transitions: readonly components["schemas"]["WatchTransition"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getCaller: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Scopes and projects. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "scopes": [
                     *         "read"
                     *       ],
                     *       "projects": [
                     *         "*"
                     *       ],
                     *       "grants": {
                     *         "read": [
                     *           "*"
                     *         ]
                     *       },
                     *       "version": "0.1.0",
                     *       "spec_version": "1.0"
                     *     }
                     */
                    readonly "application/json": components["schemas"]["Whoami"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listAudit: {
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
                /** @description At or after this time. */
                readonly from?: components["parameters"]["from"];
                /** @description Before this time. */
                readonly to?: components["parameters"]["to"];
                readonly operation?: components["schemas"]["FilterText"];
                readonly subject?: components["schemas"]["FilterText"];
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description One page of entries. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly entries: readonly components["schemas"]["AuditEntry"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getDoctorReport: {
        readonly parameters: {
            readonly query?: {
                /** @description Days of history that activity, clock and pricing read. */
                readonly window_days?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The report. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DoctorReport"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly runs: readonly components["schemas"]["RunSummary"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "definition_id": "refund",
                 *       "input": {
                 *         "ticket": {
                 *           "id": "t-1",
                 *           "amount": 40
                 *         }
                 *       },
                 *       "idempotency_key": "ticket-t-1"
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewRun"];
            };
        };
        readonly responses: {
            /** @description The run that this key started before, as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The run as it was stored, or as it is after `wait_ms`. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
            readonly 400: components["responses"]["InvalidRun"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "action": "cancel",
                 *       "filter": {
                 *         "definition_id": "refund",
                 *         "status": "waiting"
                 *       },
                 *       "dry_run": true
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewBulk"];
            };
        };
        readonly responses: {
            /** @description How many runs match; nothing was begun. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["StartedBulk"];
                };
            };
            /** @description How many runs match, and the id of what was begun. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["StartedBulk"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Bulk"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Bulk"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RunDetail"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
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
                    /**
                     * @example id: 0
                     *     data: {"seq":0,"kind":"run.started","at":"2026-11-20T09:00:00Z","data":{}}
                     */
                    readonly "text/event-stream": string;
                };
            };
            /** @description The run has ended and `Last-Event-ID` names its last entry */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly attempt?: components["schemas"]["Attempt"];
                        readonly chain: readonly components["schemas"]["JournalEntry"][];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The new run. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Run"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "event": "approval",
                 *       "payload": {
                 *         "approved": true
                 *       }
                 *     }
                 */
                readonly "application/json": components["schemas"]["Signal"];
            };
        };
        readonly responses: {
            /** @description What became of it. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["EventOutcome"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listParkedEvents: {
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly events: readonly components["schemas"]["ParkedEvent"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "event": "approval",
                 *       "key": "ticket/t-1",
                 *       "payload": {
                 *         "approved": true
                 *       },
                 *       "event_id": "mail-4711"
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewEvent"];
            };
        };
        readonly responses: {
            /** @description What became of it. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["EventOutcome"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly definitions: readonly components["schemas"]["DefinitionSummary"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "definitions": [
                 *         {
                 *           "id": "hello",
                 *           "version": 1,
                 *           "steps": [
                 *             {
                 *               "id": "greet",
                 *               "kind": "task",
                 *               "input": {
                 *                 "name": "${input.name}"
                 *               }
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewDefinitions"];
            };
        };
        readonly responses: {
            /** @description What became of each definition, in the order sent; with `check=true`, what is wrong with it. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["StoredDefinitions"] | components["schemas"]["CheckedDefinitions"];
                };
            };
            readonly 400: components["responses"]["InvalidRun"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DefinitionOverview"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DefinitionState"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DefinitionState"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DefinitionVersion"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly schedules: readonly components["schemas"]["ListedSchedule"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "id": "nightly-report",
                 *       "definition_id": "report",
                 *       "cron": "30 2 * * 1-5",
                 *       "timezone": "Europe/Berlin"
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewSchedule"];
            };
        };
        readonly responses: {
            /** @description The schedule, which was there with the same content. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The schedule. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            readonly 400: components["responses"]["InvalidRun"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            readonly 400: components["responses"]["InvalidRun"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
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
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedule"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly workers: readonly components["schemas"]["Worker"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listLeases: {
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly leases: readonly components["schemas"]["LiveLease"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly eraseSubject: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What was erased. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ErasedSubject"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "worker_id": "host-1-4711-9f3c",
                 *       "definitions": [
                 *         {
                 *           "id": "hello",
                 *           "version": 1,
                 *           "steps": [
                 *             {
                 *               "id": "greet",
                 *               "kind": "task",
                 *               "input": {
                 *                 "name": "${input.name}"
                 *               }
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                readonly "application/json": components["schemas"]["NewWorker"];
            };
        };
        readonly responses: {
            /** @description How long leases live, how often to beat, and what became of each definition. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Registration"];
                };
            };
            readonly 400: components["responses"]["InvalidRun"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "worker_id": "host-1-4711-9f3c",
                 *       "max": 4,
                 *       "wait_ms": 20000
                 *     }
                 */
                readonly "application/json": components["schemas"]["Claim"];
            };
        };
        readonly responses: {
            /** @description Leases, or none. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly leases: readonly components["schemas"]["Lease"][];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "worker_id": "host-1-4711-9f3c",
                 *       "started": [
                 *         {
                 *           "lease_id": "01a1e4f2-5d1c-7c3e-8a51-2f6c0b9d7e10"
                 *         }
                 *       ],
                 *       "completes": [
                 *         {
                 *           "lease_id": "01a1e4f2-5d1c-7c3e-8a51-2f6c0b9d7e10",
                 *           "output": {
                 *             "ok": true
                 *           }
                 *         }
                 *       ],
                 *       "claim": {
                 *         "max": 4
                 *       }
                 *     }
                 */
                readonly "application/json": components["schemas"]["StepBatch"];
            };
        };
        readonly responses: {
            /** @description What became of each item, in the order sent, and the leases of the claim. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["StepBatchAnswer"];
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly run_status: components["schemas"]["RunStatus"];
                        readonly lease_expires_at: components["schemas"]["Timestamp"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                    readonly details?: unknown;
                };
            };
        };
        readonly responses: {
            /** @description The lease was extended. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly lease_expires_at: components["schemas"]["Timestamp"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "worker_id": "host-1-4711-9f3c",
                 *       "output": {
                 *         "ok": true
                 *       },
                 *       "state_patch": {
                 *         "paid": true
                 *       }
                 *     }
                 */
                readonly "application/json": components["schemas"]["StepResult"];
            };
        };
        readonly responses: {
            /** @description The attempt has succeeded; where the run is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly run_status: components["schemas"]["RunStatus"];
                        /** @description The step where the run is; absent when it has ended */
                        readonly next_step?: string;
                    };
                };
            };
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
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
                /**
                 * @example {
                 *       "worker_id": "host-1-4711-9f3c",
                 *       "error": {
                 *         "class": "rate_limited",
                 *         "message": "the model asks to slow down"
                 *       },
                 *       "retry_after_ms": 20000
                 *     }
                 */
                readonly "application/json": components["schemas"]["StepFailure"];
            };
        };
        readonly responses: {
            /** @description The attempt has failed; where the run is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
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
            readonly 400: components["responses"]["InvalidBody"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 409: components["responses"]["Conflict"];
            readonly 413: components["responses"]["TooLarge"];
            readonly 415: components["responses"]["UnsupportedMedia"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listActors: {
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
                readonly type?: "run" | "lease" | "limit" | "monitor" | "slo" | "schedule" | "timer" | "pipeline" | "dispatcher" | "outbox";
                readonly status?: components["schemas"]["ActorStatus"];
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
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly actors: readonly components["schemas"]["Actor"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getActor: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description For a run, a monitor or an SLO, the snapshot as it was after that entry of its journal. `updated_at` is then the time of that entry, and `mailbox` is as now.
                 *     `version` is that of the newest snapshot for a run, that of then for a monitor or an SLO, whose entries are the `transitions` of its history.
                 */
                readonly at_seq?: number;
            };
            readonly header?: never;
            readonly path: {
                readonly type: string;
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The complete persisted snapshot. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ActorSnapshot"];
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly listMachines: {
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
            /** @description One page: names, versions and states. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly machines: readonly components["schemas"]["Machine"][];
                        readonly next_cursor?: components["schemas"]["NextCursor"];
                    };
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
    readonly getMachine: {
        readonly parameters: {
            readonly query?: {
                /** @description The project that a definition is looked up for, as a start in it would. Without it, that of a key of one project, else the service. */
                readonly project?: components["parameters"]["definitionOwner"];
                readonly format?: "json" | "mermaid";
            };
            readonly header?: never;
            readonly path: {
                /** @description One of the service's own, such as `lease`, or `run:<definition>@<version>`. */
                readonly name: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The configuration, or a Mermaid state diagram. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly [key: string]: unknown;
                    };
                    /**
                     * @example stateDiagram-v2
                     *       [*] --> offered
                     */
                    readonly "text/plain": string;
                };
            };
            readonly 400: components["responses"]["InvalidParameter"];
            readonly 401: components["responses"]["Unauthorized"];
            readonly 403: components["responses"]["Forbidden"];
            readonly 404: components["responses"]["NotFound"];
            readonly 406: components["responses"]["NotAcceptable"];
            readonly 429: components["responses"]["TooMany"];
            readonly 500: components["responses"]["Internal"];
            readonly 503: components["responses"]["Unavailable"];
        };
    };
}
