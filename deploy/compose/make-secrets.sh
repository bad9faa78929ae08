#!/bin/sh
# Draws keys and passwords into ./secrets, once: what is there stays.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
draw() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
[ -e secrets/postgres-password ] || draw > secrets/postgres-password
[ -e secrets/clickhouse-password ] || draw > secrets/clickhouse-password
url() { printf 'postgres://svc:%s@postgres/svc' "$(cat secrets/postgres-password)"; }
keys() {
  printf '"ingest_key": ["%s"], "read_key": ["%s"], "write_key": ["%s"],\n  "admin_key": ["%s"], "execute_key": ["%s"], "worker_key": ["%s"]' \
    "$(draw)" "$(draw)" "$(draw)" "$(draw)" "$(draw)" "$(draw)"
}
[ -e secrets/svc.json ] || printf '{\n  %s\n}\n' "$(keys)" > secrets/svc.json
[ -e secrets/svc-postgres.json ] ||
  printf '{\n  "sqlstore_url": "%s",\n  "runs_url": "%s",\n  %s\n}\n' "$(url)" "$(url)" "$(keys)" > secrets/svc-postgres.json
[ -e secrets/svc-clickhouse.json ] ||
  printf '{\n  "colstore_url": "http://clickhouse:8123",\n  "colstore_user": "svc",\n  "colstore_password": "%s",\n  %s\n}\n' \
    "$(cat secrets/clickhouse-password)" "$(keys)" > secrets/svc-clickhouse.json
# The server knows the password by its hash alone.
[ -e secrets/clickhouse-users.xml ] ||
  printf '<clickhouse><users><svc>\n  <password_sha256_hex>%s</password_sha256_hex>\n  <networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>\n</svc></users></clickhouse>\n' \
    "$(sha256sum < secrets/clickhouse-password | cut -d' ' -f1)" > secrets/clickhouse-users.xml
chmod 0444 secrets/clickhouse-users.xml
# Compose mounts a file as it stands, and the service runs as user 65532. Who is not root opens the file to all, in a folder of their own.
for file in secrets/svc.json secrets/svc-postgres.json secrets/svc-clickhouse.json; do
  if chown 65532:65532 "$file" 2>/dev/null; then chmod 0400 "$file"; else chmod 0444 "$file"; fi
done
echo "secrets/svc.json, secrets/svc-postgres.json and secrets/svc-clickhouse.json hold the keys"
