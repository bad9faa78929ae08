/**
 * Instrumentation, durable runs and workers for the agent service.
 *
 * <p>{@link dev.svc.Instrumentation} records what an agent does, {@link dev.svc.SvcClient} starts and
 * follows runs, and {@link dev.svc.Worker} serves their steps.
 */
package dev.svc;
