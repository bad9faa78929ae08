package dev.svc;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.ChangedSchedule;
import dev.svc.wire.ListSchedulesResponse;
import dev.svc.wire.Schedule;
import dev.svc.wire.ScheduleInput;
import java.util.Map;

/** Starts by the clock. Calls throw as those of {@link SvcClient} do. */
public final class Schedules {
  private final Api api;

  Schedules(Api api) {
    this.api = api;
  }

  /**
   * By project and id, without their inputs.
   *
   * @param query {@code limit}, {@code cursor}
   * @return a page
   */
  public ListSchedulesResponse list(Query query) {
    return api.get(ListSchedulesResponse.class, "/v1/api/schedules", api.query(query.parameters()));
  }

  /**
   * A schedule with its next ten times, and what became of the last ten.
   *
   * @param id its id
   * @return the schedule
   */
  public Schedule get(String id) {
    return api.get(Schedule.class, path(id), api.query(Map.of()));
  }

  /**
   * Makes a schedule. One that is there with the same content is the answer.
   *
   * @param schedule what it is made of
   * @return the schedule
   * @throws ServiceException {@code conflict} where it is there with other content
   */
  public Schedule create(ScheduleInput schedule) {
    ObjectNode body = Json.ownTree(schedule);
    if (api.project != null && !body.has("project")) {
      body.put("project", api.project);
    }
    return api.post(Schedule.class, "/v1/api/schedules", body);
  }

  /**
   * Replaces all that a schedule was made of; what is left out gets its default.
   *
   * @param id its id
   * @param schedule what it is made of from now on
   * @return the schedule
   */
  public Schedule replace(String id, ChangedSchedule schedule) {
    byte[] body = Json.encodeOwn(schedule);
    Request request = new Request("PUT", path(id), api.query(Map.of()), body, Map.of(), null);
    return Json.decode(api.call(request), Schedule.class);
  }

  /**
   * Deletes a schedule; runs that it started go on.
   *
   * @param id its id
   * @throws ServiceException {@code not_found} also where an earlier try was not answered
   */
  public void delete(String id) {
    api.call(new Request("DELETE", path(id), api.query(Map.of()), null, Map.of(), null));
  }

  /**
   * Pauses it: its times are missed from now on, and a trigger still works.
   *
   * @param id its id
   * @return the schedule
   */
  public Schedule pause(String id) {
    return Json.decode(api.call(move(id, "pause")), Schedule.class);
  }

  /**
   * Resumes it; the times that were missed follow its {@code catch_up}.
   *
   * @param id its id
   * @return the schedule
   */
  public Schedule resume(String id) {
    return Json.decode(api.call(move(id, "resume")), Schedule.class);
  }

  /**
   * Fires once, now: see the first of its firings. Not tried again, as a lost try may have fired.
   *
   * @param id its id
   * @return the schedule
   */
  public Schedule trigger(String id) {
    return Json.decode(api.once(move(id, "trigger")), Schedule.class);
  }

  private Request move(String id, String verb) {
    return new Request("POST", path(id) + "/" + verb, api.query(Map.of()), null, Map.of(), null);
  }

  private static String path(String id) {
    return "/v1/api/schedules/" + Api.segment(id);
  }
}
