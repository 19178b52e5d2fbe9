#!/usr/bin/env bash
# A PostgreSQL server and a streaming replica of it on this machine, for tests: both on the loopback
# address, everything in one folder.
set -euo pipefail

folder=${REPLICA_FOLDER:-${TMPDIR:-/tmp}/online-store-replica}
primary=15501
replica=15502

say() { printf '%s\n' "$*" >&2; }

# The programs of the newest installed PostgreSQL.
programs=$(find /usr/lib/postgresql -path '*/bin/pg_basebackup' 2> /dev/null | sort -V | tail -n 1)
programs=${programs%/*}
if [[ -z $programs ]]; then
    say "$0: there is no PostgreSQL; 'apt-get install postgresql' installs it"
    exit 1
fi

# The servers refuse to run as root.
run() {
    if ((EUID == 0)); then runuser -u postgres -- "$@"; else "$@"; fi
}

serve() {
    run "$programs/pg_ctl" start --silent --wait --pgdata "$folder/$1" --log "$folder/$1.log" \
        --options "-p $2 -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
}

start() {
    # A run that was killed left them.
    if [[ -e $folder ]]; then stop; fi
    mkdir -p "$folder"
    if ((EUID == 0)); then chown postgres: "$folder"; fi
    run "$programs/initdb" --username postgres --auth trust --pgdata "$folder/primary" > /dev/null
    serve primary $primary
    run "$programs/pg_basebackup" --host 127.0.0.1 --port $primary --username postgres \
        --pgdata "$folder/replica" --write-recovery-conf --checkpoint fast
    serve replica $replica
}

stop() {
    for server in replica primary; do
        run "$programs/pg_ctl" stop --silent --mode immediate --pgdata "$folder/$server" 2> /dev/null || true
    done
    rm -rf "$folder"
}

case "${1:-}" in
    start) start ;;
    servers)
        user=postgres://postgres
        echo "$user@127.0.0.1:$primary,$user@127.0.0.1:$replica"
        ;;
    stop) stop ;;
    *)
        say "usage: $0 start|servers|stop"
        say "servers prints the addresses of both, as TEST_REPLICA takes them."
        say "The folder is \$REPLICA_FOLDER, by default $folder."
        exit 2
        ;;
esac
