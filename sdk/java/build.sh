#!/usr/bin/env bash
# Compiles the library, its tests, its conformance fixture, its benchmark and its examples with javac and the Jackson of Debian
# alone; users build with Maven (pom.xml). Does nothing where the classes are newer than their sources. `--probe` succeeds where
# all that it needs is there.
set -euo pipefail
cd "$(dirname "$0")"

jars=/usr/share/java
classpath=$jars/jackson-databind.jar:$jars/jackson-core.jar:$jars/jackson-annotations.jar
if [ "${1-}" = --probe ]; then
  [ -e "$jars/jackson-databind.jar" ] && javac --release 17 --version
  exit
fi

# Two test files may come here at once.
exec 9> .build.lock
flock 9

stamp=.build/built
sources=(src/main/java src/test/java conformance bench examples)
if [ -e "$stamp" ] && [ -z "$(find "${sources[@]}" build.sh -newer "$stamp" -print -quit)" ]; then
  exit 0
fi
flags=(-J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC --release 17 -encoding UTF-8 -g -Xlint:all -Werror)

rm -rf .build
mkdir -p .build/main .build/more
# The jars of Debian are no modules: module-info.java is compiled by Maven.
find src/main/java -name '*.java' ! -name module-info.java > .build/sources
javac "${flags[@]}" -Xdoclint:all/protected -d .build/main -cp "$classpath" @.build/sources
find src/test/java conformance bench examples -name '*.java' > .build/sources
javac "${flags[@]}" -d .build/more -cp ".build/main:$classpath" @.build/sources

# The kit starts a virtual machine for each scenario: with the classes that all of them load in an archive, it starts sooner.
# The archive is good for this very class path alone (tools/sdk.ts).
jar --create --file .build/all.jar -C .build/main . -C .build/more .
printf '%s\n' '{"id":1,"do":"hello"}' '{"id":2,"do":"configure","with":{"endpoint":"http://127.0.0.1:9","delay_ms":0}}' \
  '{"id":3,"do":"span","with":{"name":"warm","input":{}}}' '{"id":4,"do":"close","with":{"timeout_ms":200}}' |
  { cat; sleep 1; } |
  java -XX:ArchiveClassesAtExit=.build/fixture.jsa -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable \
    -cp "$PWD/.build/all.jar:$classpath" dev.svc.conformance.Fixture > .build/archive.log 2>&1 || rm -f .build/fixture.jsa
touch "$stamp"
