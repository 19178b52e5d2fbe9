#!/usr/bin/env bash
# A PostgreSQL and a MariaDB server on this machine for the tests: both on the loopback address,
# everything in one folder. They never wait for a disk, because no test simulates a power
# failure, and each test creates and removes a database: 250 statements that change the schema take
# MariaDB 12 seconds on a disk, and 2 in memory. One file has all of its tables: a file for each would have to be created
# and removed for each test.
set -euo pipefail

# The folder is in memory if there is enough memory.
memory=/dev/shm
free=$(df --output=avail --block-size=1G "$memory" 2> /dev/null | tail -n 1) || free=0
if ((free < 4)); then memory=${TMPDIR:-/tmp}; fi
folder=${SERVERS_FOLDER:-$memory/online-store-servers}
postgres=15500
mariadb=13300

usage() {
    cat << USAGE
usage: $0 COMMAND
  start      makes and starts both servers; those of a run before are removed
  postgres   prints the address of one, as TEST_POSTGRES takes it
  mariadb    prints the address of the other, as TEST_MARIADB takes it
  stop       ends both and removes the folder
The folder is \$SERVERS_FOLDER, by default $folder.
USAGE
}

fail() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

# The programs of the newest installed PostgreSQL.
programs=$(find /usr/lib/postgresql -path '*/bin/initdb' 2> /dev/null | sort -V | tail -n 1)
programs=${programs%/*}

# Runs a program as this user, because the servers refuse to run as root.
as() {
    local user=$1
    shift
    if ((EUID == 0)); then runuser -u "$user" -- "$@"; else "$@"; fi
}

own() {
    mkdir -p "$folder/$1"
    if ((EUID == 0)); then chown "$1:" "$folder/$1"; fi
}

start_postgres() {
    own postgres
    as postgres "$programs/initdb" --username postgres --auth trust --no-sync \
        --pgdata "$folder/postgres/data" > /dev/null
    cat >> "$folder/postgres/data/postgresql.conf" << CONF
port = $postgres
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 400
fsync = off
full_page_writes = off
CONF
    as postgres "$programs/pg_ctl" start --silent --wait --pgdata "$folder/postgres/data" \
        --log "$folder/postgres/log"
}

start_mariadb() {
    local user=()
    own mysql
    if ((EUID == 0)); then user=(--user=mysql); fi
    mariadb-install-db --no-defaults "${user[@]}" --datadir="$folder/mysql/data" --skip-test-db \
        --auth-root-authentication-method=normal > "$folder/mysql/log" 2>&1 \
        || fail "MariaDB cannot make its data: $(cat "$folder/mysql/log")"
    setsid mariadbd --no-defaults "${user[@]}" --datadir="$folder/mysql/data" \
        --socket="$folder/mysql/socket" --pid-file="$folder/mysql/pid" \
        --log-error="$folder/mysql/log" --bind-address=127.0.0.1 --port=$mariadb --skip-name-resolve \
        --max-connections=400 --innodb-flush-method=nosync --innodb-flush-log-at-trx-commit=0 \
        --innodb-doublewrite=0 --innodb-file-per-table=0 < /dev/null > /dev/null 2>&1 &
    for _ in $(seq 600); do
        if mariadb-admin --no-defaults --silent --host 127.0.0.1 --port $mariadb --user root ping \
            > /dev/null 2>&1; then return; fi
        sleep 0.1
    done
    fail "MariaDB does not answer: $(tail -n 5 "$folder/mysql/log")"
}

start() {
    if [[ -z $programs ]]; then fail "there is no PostgreSQL; 'apt-get install postgresql' installs it"; fi
    if ! command -v mariadbd > /dev/null; then
        fail "there is no MariaDB; 'apt-get install mariadb-server' installs it"
    fi
    # A run that was killed left them.
    if [[ -e $folder ]]; then stop; fi
    start_postgres
    start_mariadb
}

stop() {
    local pid
    # Neither needs to run, and another program may have got the number that a file has.
    as postgres "$programs/pg_ctl" stop --silent --mode immediate \
        --pgdata "$folder/postgres/data" 2> /dev/null || true
    if pid=$(cat "$folder/mysql/pid" 2> /dev/null) \
        && [[ $(ps -o comm= -p "$pid") == mariadbd ]]; then
        kill -KILL "$pid" || true
        # It is not a child of this script, which so cannot wait for it otherwise.
        while kill -0 "$pid" 2> /dev/null; do sleep 0.1; done
    fi
    rm -rf "$folder"
}

case "${1:-}" in
    start) start ;;
    postgres) echo "postgres://postgres@127.0.0.1:$postgres" ;;
    mariadb) echo "mysql://root@127.0.0.1:$mariadb" ;;
    stop) stop ;;
    *)
        usage >&2
        exit 2
        ;;
esac
