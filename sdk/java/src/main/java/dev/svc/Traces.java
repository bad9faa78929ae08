package dev.svc;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.Feedback;
import dev.svc.wire.FeedbackInput;
import dev.svc.wire.ListFeedbackResponse;
import dev.svc.wire.ListScoresResponse;
import dev.svc.wire.ListTracesResponse;
import dev.svc.wire.Score;
import dev.svc.wire.ScoreInput;
import dev.svc.wire.TraceDetail;
import java.util.Map;
import java.util.UUID;

/** Traces, and what was judged of them. Calls throw as those of {@link SvcClient} do. */
public final class Traces {
  private final Api api;

  Traces(Api api) {
    this.api = api;
  }

  /**
   * A trace with its spans.
   *
   * @param traceId the id of the trace
   * @param query {@code include}: a comma list of {@code scores} and {@code feedback}, or {@code all}
   * @return the trace
   */
  public TraceDetail get(String traceId, Query query) {
    return api.get(TraceDetail.class, "/v1/api/traces/" + Api.segment(traceId), query.parameters());
  }

  /**
   * Traces.
   *
   * @param query the parameters of {@code GET /v1/api/traces}, such as {@code q}, {@code has_score},
   *     {@code sort}, {@code limit}
   * @return a page
   */
  public ListTracesResponse list(Query query) {
    return api.get(ListTracesResponse.class, "/v1/api/traces", api.query(query.parameters()));
  }

  /**
   * Stores one score now.
   *
   * @param score the score; a {@code scoreId} is made where it has none, so that a retry is safe
   * @return the score as it was stored
   */
  public Score score(ScoreInput score) {
    ObjectNode body = Json.ownTree(score);
    if (score.scoreId() == null) {
      body.put("score_id", UUID.randomUUID().toString());
    }
    return api.post(Score.class, "/v1/api/scores", correlated(body));
  }

  /**
   * Stores one judgement now.
   *
   * @param feedback the judgement; a {@code feedbackId} is made where it has none, so that a retry is safe
   * @return the judgement as it was stored
   */
  public Feedback feedback(FeedbackInput feedback) {
    ObjectNode body = Json.ownTree(feedback);
    if (feedback.feedbackId() == null) {
      body.put("feedback_id", UUID.randomUUID().toString());
    }
    return api.post(Feedback.class, "/v1/api/feedback", correlated(body));
  }

  private ObjectNode correlated(ObjectNode body) {
    if (api.project != null && !body.path("correlation").has("project")) {
      body.withObject("/correlation").put("project", api.project);
    }
    return body;
  }

  /**
   * Scores, newest first.
   *
   * @param query the parameters of {@code GET /v1/api/scores}
   * @return a page
   */
  public ListScoresResponse listScores(Query query) {
    return api.get(ListScoresResponse.class, "/v1/api/scores", api.query(query.parameters()));
  }

  /**
   * Judgements on a trace.
   *
   * @param traceId the id of the trace
   * @return all of them
   */
  public ListFeedbackResponse listFeedback(String traceId) {
    return api.get(ListFeedbackResponse.class, "/v1/api/feedback", Map.of("trace_id", traceId));
  }
}
