package dev.svc;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;

/**
 * What leases need of their worker.
 *
 * @param calls makes their calls
 * @param workerId the id of the worker
 * @param workerBody the body of a call that says no more than whose it is
 * @param heartbeat how often they beat
 * @param leaseTtl how long one lives without a beat
 * @param instrumentation where spans of bodies go
 * @param json reads inputs and writes outputs
 * @param log what is said of them
 * @param timers when they beat
 * @param executor runs bodies; null: the thread that serves the lease
 * @param force fires when bodies must end: the time that a stopping worker gives them is over
 * @param settle how long a body may take to end after that
 * @param onRunEnd is told when an answer says that the run of a lease has ended
 */
record LeaseHost(
    StepCalls calls,
    String workerId,
    byte[] workerBody,
    Duration heartbeat,
    Duration leaseTtl,
    Instrumentation instrumentation,
    Json json,
    System.Logger log,
    ScheduledExecutorService timers,
    Executor executor,
    Signal force,
    Duration settle,
    Consumer<String> onRunEnd) {}
