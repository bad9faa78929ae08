package dev.svc;

import dev.svc.wire.MetricPointInput;
import dev.svc.wire.MetricType;
import dev.svc.wire.ScoreInput;

/** What is a signal at all. The rest is the service's to judge. */
final class Validity {
  private Validity() {}

  static boolean isPoint(MetricPointInput point) {
    if (!MetricType.HISTOGRAM.equals(point.type())) {
      return isFinite(point.value());
    }
    return isFinite(point.sum())
        && point.count() != null
        && point.bounds() != null
        && point.bucketCounts() != null
        && point.bucketCounts().size() == point.bounds().size() + 1
        && point.bounds().stream().allMatch(Validity::isFinite);
  }

  /** Without a scale a number says nothing. */
  static boolean isScore(ScoreInput score) {
    return isFinite(score.min())
        && isFinite(score.max())
        && score.min() < score.max()
        && Double.isFinite(score.value());
  }

  private static boolean isFinite(Double number) {
    return number != null && Double.isFinite(number);
  }
}
