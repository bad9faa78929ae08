#!/usr/bin/env bash
# Compiles the bridge to OpenTelemetry, and what joins it to the conformance fixture, which ../../build.sh has built. Maven brings
# the API of OpenTelemetry; `--fetch` does no more than that.
set -euo pipefail
cd "$(dirname "$0")"
version=$(sed -n 's:.*<opentelemetry.version>\(.*\)</.*:\1:p' ../pom.xml)
out=../../.build/otel
mkdir -p $out/classes/META-INF/services
for part in api context; do
  [ -e "$out/opentelemetry-$part.jar" ] ||
    mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dmdep.stripVersion=true \
      "-Dartifact=io.opentelemetry:opentelemetry-$part:$version" "-DoutputDirectory=$PWD/$out"
done
[ "${1-}" != --fetch ] || exit 0
jackson=$(printf ':/usr/share/java/jackson-%s.jar' databind core annotations)
# The jars of OpenTelemetry name annotations that they do not bring.
javac --release 17 -encoding UTF-8 -Xlint:all,-classfile,-try -Werror -d $out/classes \
  -cp "../../.build/all.jar:$out/opentelemetry-api.jar:$out/opentelemetry-context.jar$jackson" \
  BridgedSpans.java ../src/main/java/dev/svc/otel/OtelBridge.java
echo dev.svc.conformance.BridgedSpans > $out/classes/META-INF/services/dev.svc.conformance.OpenTelemetry
