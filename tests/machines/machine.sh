# machine.sh DIRECTORY NAME ADDRESS COMMAND...: runs a command as if on a machine that was started 100000 s earlier, with
# a name and a network of its own. The network begins when an interface called NAME is moved here; ADDRESS is its own.
# DIRECTORY holds the machine's boot_id, NAME.boot_id, and shifted_clock.so.
set -e
directory=$1 name=$2 address=$3
shift 3
mount --bind "$directory/$name.boot_id" /proc/sys/kernel/random/boot_id
hostname "$name"
if [ "$address" != none ]; then
    until ip link show "$name" >/dev/null 2>&1; do sleep 0.01; done
    ip address add "$address/24" dev "$name"
    ip link set "$name" up
fi
export LD_PRELOAD="$directory/shifted_clock.so"
exec unshare --time --monotonic 100000 --fork -- "$@"
