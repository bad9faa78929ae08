package dev.svc;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The body of an answer, read piece by piece, each with a time limit of its own. */
final class ByteStream implements HttpResponse.BodySubscriber<ByteStream>, AutoCloseable {
  private static final List<ByteBuffer> END = List.of();

  /** No exception: each answer is closed, and few have a reader then. */
  private static final Object CLOSED = new Object();

  /** Holds pieces, which are lists of buffers, and at last END, CLOSED or what broke the stream off. */
  private final LinkedBlockingQueue<Object> pieces = new LinkedBlockingQueue<>();

  private volatile Flow.Subscription subscription;
  private volatile boolean closed;

  @Override
  public CompletionStage<ByteStream> getBody() {
    return CompletableFuture.completedFuture(this);
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    if (closed) {
      given.cancel();
    } else {
      given.request(1);
    }
  }

  @Override
  public void onNext(List<ByteBuffer> piece) {
    pieces.add(piece);
  }

  @Override
  public void onError(Throwable cause) {
    pieces.add(cause);
  }

  @Override
  public void onComplete() {
    pieces.add(END);
  }

  /** The next bytes; none at the end. */
  @SuppressWarnings("unchecked")
  List<ByteBuffer> next(long nanos) throws IOException, TimeoutException, InterruptedException {
    Object piece = pieces.poll(Math.max(0, nanos), TimeUnit.NANOSECONDS);
    if (piece == null) {
      throw new TimeoutException();
    }
    if (piece == CLOSED) {
      throw new IOException("the answer broke off");
    }
    if (piece instanceof Throwable) {
      throw new IOException("the answer broke off", (Throwable) piece);
    }
    if (piece != END) {
      subscription.request(1);
    }
    return (List<ByteBuffer>) piece;
  }

  /** Closes the connection, unless the body has ended; who reads meanwhile is told so. */
  @Override
  public void close() {
    closed = true;
    Flow.Subscription held = subscription;
    if (held != null) {
      held.cancel();
    }
    pieces.add(CLOSED);
  }
}
