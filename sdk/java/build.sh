#!/usr/bin/env bash
# Compiles the library and its conformance fixture with javac and the Jackson of Debian alone; users
# build with Maven (pom.xml). Does nothing where the classes are newer than their sources.
set -euo pipefail
cd "$(dirname "$0")"

stamp=.build/built
sources=(src/main/java conformance)
if [ -e "$stamp" ] && [ -z "$(find "${sources[@]}" build.sh -newer "$stamp" -print -quit)" ]; then
  exit 0
fi
jars=/usr/share/java
classpath=$jars/jackson-databind.jar:$jars/jackson-core.jar:$jars/jackson-annotations.jar
flags=(-J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -J-Xshare:auto --release 17 -encoding UTF-8 -g -Xlint:all -Werror)

rm -rf .build
mkdir -p .build/main .build/more
# The jars of Debian are no modules: module-info.java is compiled by Maven.
find src/main/java -name '*.java' ! -name module-info.java > .build/sources
javac "${flags[@]}" -Xdoclint:all/protected -d .build/main -cp "$classpath" @.build/sources
find conformance -name '*.java' > .build/sources
javac "${flags[@]}" -d .build/more -cp ".build/main:$classpath" @.build/sources
touch "$stamp"
