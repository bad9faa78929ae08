#!/bin/sh
# Draws keys and a password into ./secrets, once: what is there stays.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
draw() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
[ -e secrets/postgres-password ] || draw > secrets/postgres-password
url() { printf 'postgres://svc:%s@postgres/svc' "$(cat secrets/postgres-password)"; }
keys() {
  printf '"ingest_key": ["%s"], "read_key": ["%s"], "write_key": ["%s"],\n  "admin_key": ["%s"], "execute_key": ["%s"], "worker_key": ["%s"]' \
    "$(draw)" "$(draw)" "$(draw)" "$(draw)" "$(draw)" "$(draw)"
}
[ -e secrets/svc.json ] || printf '{\n  %s\n}\n' "$(keys)" > secrets/svc.json
[ -e secrets/svc-postgres.json ] ||
  printf '{\n  "sqlstore_url": "%s",\n  "runs_url": "%s",\n  %s\n}\n' "$(url)" "$(url)" "$(keys)" > secrets/svc-postgres.json
# Compose mounts a file as it stands, and the service runs as user 65532. Who is not root opens the file to all, in a folder of their own.
for file in secrets/svc.json secrets/svc-postgres.json; do
  if chown 65532:65532 "$file" 2>/dev/null; then chmod 0400 "$file"; else chmod 0444 "$file"; fi
done
echo "secrets/svc.json and secrets/svc-postgres.json hold the keys"
