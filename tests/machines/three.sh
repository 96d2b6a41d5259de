# three.sh DIRECTORY PYTHON RLSCOPE_OPTIONS...: records Pythons on this machine and on two others into
# DIRECTORY/trace. A cable leads from here to the machine `near`; none to `far`. Run it in a network namespace of its own.
set -e
here=$(dirname "$0") directory=$1 python=$2
shift 2
if [ "$1" = inside ]; then
    "$python" -c "import time; time.sleep(0.3)" &
    local=$!
    unshare --mount --uts --net sh "$here/machine.sh" "$directory" far none "$python" -c "pass" &
    far=$!
    unshare --mount --uts --net sh "$here/machine.sh" "$directory" near 10.99.0.2 \
        sh -c '"$0" -c "import socket"; "$0" -c pass' "$python" &
    near=$!
    until [ "$(readlink /proc/$near/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
    ip link set near netns "$near"
    wait "$local" && wait "$far" && wait "$near"
    exit
fi
ip link add cable type veth peer name near
ip address add 10.99.0.1/24 dev cable
ip link set cable up
exec "$python" -m rlscope record -o "$directory/trace" "$@" -- sh "$0" "$directory" "$python" inside
