#!/usr/bin/env bash
# A Galera cluster of three MariaDB nodes on this machine, for tests: every port on the loopback
# address, everything else in one folder, and the settings of example-host/deploy/galera.cnf. The
# nodes write each commit to a file but never wait for a disk: a test kills a node, and no test is
# about a machine that loses power.
set -euo pipefail

# The folder is in memory where there is enough of it.
memory=/dev/shm
free=$(df --output=avail --block-size=1G "$memory" 2> /dev/null | tail -n 1) || free=0
if ((free < 4)); then memory=${TMPDIR:-/tmp}; fi
folder=${GALERA_FOLDER:-$memory/online-store-galera}

usage() {
    cat << USAGE
usage: $0 COMMAND
  install    installs what the cluster needs (Debian, as root)
  start      makes a new cluster of three nodes
  nodes      prints their addresses, as TEST_GALERA takes them
  status     prints the state of each node
  kill N     ends node N (1 to 3) with SIGKILL
  join N     starts node N again, and waits until it has caught up
  stop       ends all nodes and removes the folder
The folder is \$GALERA_FOLDER, by default $folder.
USAGE
}

config=$(cd "$(dirname "$0")/../../example-host/deploy" && pwd)/galera.cnf
provider=/usr/lib/galera/libgalera_smm.so
nodes=(1 2 3)
members=127.0.0.1:14301,127.0.0.1:14302,127.0.0.1:14303

sql_port() { echo "1330$1"; }

url() { echo "mysql://root@127.0.0.1:$(sql_port "$1")"; }

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "$0: $*"
    exit 1
}

needs() {
    local missing=()
    command -v mariadbd > /dev/null || missing+=(mariadb-server)
    command -v mariadb > /dev/null || missing+=(mariadb-client)
    command -v rsync > /dev/null || missing+=(rsync)
    # The script that sends a copy looks with one of these for the port that receives it.
    command -v lsof > /dev/null || command -v ss > /dev/null || missing+=(lsof)
    test -e $provider || missing+=(galera-4)
    if ((${#missing[@]})); then
        fail "missing: ${missing[*]}; '$0 install' installs it"
    fi
}

ask() {
    mariadb --no-defaults --host 127.0.0.1 --port "$(sql_port "$1")" --user root \
        --connect-timeout 2 --batch --skip-column-names --execute "$2"
}

# Whether a node is ready, its state, and how many nodes it sees.
state() {
    ask "$1" "SELECT GROUP_CONCAT(variable_value ORDER BY variable_name DESC SEPARATOR ' ')
        FROM information_schema.global_status WHERE variable_name IN
        ('wsrep_ready', 'wsrep_local_state_comment', 'wsrep_cluster_size')" 2> /dev/null
}

is_running() {
    local pid
    pid=$(cat "$folder/$1/pid" 2> /dev/null) && kill -0 "$pid" 2> /dev/null
}

# Starts a node with further arguments, and waits until it accepts statements.
start_node() {
    local node=$1 as=()
    shift
    if is_running "$node"; then fail "node $node runs already"; fi
    # The server refuses to be root.
    if ((EUID == 0)); then as=(--user=mysql); fi
    setsid mariadbd --defaults-file="$config" "${as[@]}" \
        --datadir="$folder/$node/data" --socket="$folder/$node/socket" \
        --pid-file="$folder/$node/pid" --log-error="$folder/$node/log" \
        --bind-address=127.0.0.1 --port="$(sql_port "$node")" --skip-name-resolve \
        --innodb-buffer-pool-size=256M --innodb-flush-method=nosync --max-connections=400 \
        --wsrep-provider=$provider --wsrep-cluster-address="gcomm://$members" \
        --wsrep-node-name="node$node" --wsrep-node-address=127.0.0.1 \
        --wsrep-sst-receive-address="127.0.0.1:1630$node" \
        --wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:1430$node;ist.recv_addr=127.0.0.1:1530$node" \
        "$@" < /dev/null > /dev/null 2>&1 &
    for _ in $(seq 600); do
        if [[ $(state "$node") == "ON Synced"* ]]; then return; fi
        if ! kill -0 $! 2> /dev/null; then break; fi
        sleep 0.1
    done
    tail -n 20 "$folder/$node/log" >&2
    fail "node $node does not take part; its log is $folder/$node/log"
}

start() {
    needs
    # A run that was killed left them.
    if [[ -e $folder ]]; then stop; fi
    for node in "${nodes[@]}"; do
        mkdir -p "$folder/$node"
        mariadb-install-db --no-defaults --datadir="$folder/$node/data" --skip-test-db \
            --auth-root-authentication-method=normal > "$folder/$node/log" 2>&1 \
            || fail "node $node cannot make its data: $(cat "$folder/$node/log")"
    done
    if ((EUID == 0)); then chown -R mysql: "$folder"; fi
    start_node 1 --wsrep-new-cluster
    start_node 2
    start_node 3
}

stop() {
    for node in "${nodes[@]}"; do
        if is_running "$node"; then kill "$(cat "$folder/$node/pid")"; fi
    done
    for node in "${nodes[@]}"; do
        for _ in $(seq 300); do
            if ! is_running "$node"; then break; fi
            sleep 0.1
        done
    done
    rm -rf "$folder"
}

case "${1:-}" in
    install)
        apt-get install --yes galera-4 lsof mariadb-client mariadb-server rsync
        ;;
    start) start ;;
    nodes) echo "$(url 1),$(url 2),$(url 3)" ;;
    status)
        for node in "${nodes[@]}"; do
            echo "node $node: $(state "$node" || echo away)"
        done
        ;;
    kill)
        is_running "${2:?which node}" || fail "node $2 does not run"
        kill -KILL "$(cat "$folder/$2/pid")"
        ;;
    join) start_node "${2:?which node}" ;;
    stop) stop ;;
    *)
        usage >&2
        exit 2
        ;;
esac
