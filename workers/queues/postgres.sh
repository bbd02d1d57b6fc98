#!/bin/sh
# postgres.sh PORT FOLDER: a PostgreSQL of its own, with the superuser postgres. It refuses to run as root.
set -e
port=$1 folder=$2
set --
if [ "$(id -u)" = 0 ]; then
  chown postgres "$folder"
  # The folder may be below one that only root may enter.
  set -- setpriv --reuid postgres --regid postgres --clear-groups \
    --inh-caps +dac_override --ambient-caps +dac_override
fi
bin=$(pg_config --bindir || true)
[ -x "$bin/initdb" ] || for bin in /usr/lib/postgresql/*/bin; do :; done    # Debian's, the newest
[ -d "$folder/data" ] || "$@" "$bin/initdb" -D "$folder/data" -A trust -U postgres --no-sync
exec "$@" "$bin/postgres" -D "$folder/data" -p "$port" \
  -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off
