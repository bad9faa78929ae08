#!/bin/sh
# Checks the files of this folder by tools of their own; says which are not installed. Ends with 1 when one of them finds a fault.
set -u
cd "$(dirname "$0")" || exit 1
status=0
check() {
  title=$1; tool=$2; shift 2
  command -v "$tool" >/dev/null 2>&1 || { echo "not run: $title ($tool is not installed)"; return; }
  if output=$("$@" 2>&1); then echo "passed:  $title"; else status=1; echo "FAILED:  $title"; echo "$output"; fi
}
check 'alert rules' promtool promtool check rules prometheus/alerts.yaml
check 'tests of the alert rules' promtool promtool test rules prometheus/alerts.test.yaml
check 'scrape job' promtool promtool check config --syntax-only prometheus/scrape.yaml
for variant in file postgres; do
  check "kustomization of kubernetes/$variant" kubectl kubectl kustomize "kubernetes/$variant"
  check "schemas of kubernetes/$variant" kubernetes-validate sh -c "kubectl kustomize kubernetes/$variant | kubernetes-validate --strict --quiet -"
done
# Docker may be there without its plugin.
if docker compose version >/dev/null 2>&1; then compose='docker'; else compose='docker-compose-plugin'; fi
for file in file postgres clickhouse; do
  check "compose/$file.yaml" "$compose" docker compose -f "compose/$file.yaml" config --quiet
done
check 'configuration of HAProxy' haproxy sh -c "sed 's/ svc-[123]:4317/ 127.0.0.1:4317/' compose/haproxy.cfg > /tmp/svc-haproxy.cfg && haproxy -c -f /tmp/svc-haproxy.cfg"
check 'Dockerfile' dockerfile-utils dockerfile-utils lint Dockerfile
check 'shell scripts' shellcheck shellcheck compose/make-secrets.sh lint.sh
exit $status
