package dev.svc;

/**
 * What became of signals since the start of their {@link Instrumentation}.
 *
 * @param sent stored by the service, or recognised by it as sent before
 * @param dropped pushed out by newer ones while the queue was full; or too large, or not JSON; or
 *     recorded after {@code close}
 * @param refused refused by the service: a 4xx, or an error of its answer
 * @param failed given up after the last try, or at {@code close}
 * @param invalid calls that gave something that is no signal, such as a score without a scale
 */
public record ExportCounters(long sent, long dropped, long refused, long failed, long invalid) {}
