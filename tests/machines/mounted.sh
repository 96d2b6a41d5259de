# mounted.sh TYPE DIRECTORY COMMAND...: runs a command while a file system of that type is mounted on DIRECTORY/mounted,
# and keeps in DIRECTORY/trace what it leaves there in `trace`. Ends with the status of the command. Run it in a mount
# namespace of its own.
type=$1 directory=$2
shift 2
cd "$directory" && mkdir mounted || exit 99
case $type in
overlay)
    mount -t tmpfs none mounted && mkdir mounted/lower mounted/upper mounted/work mounted/merged || exit 99
    mount -t overlay -o lowerdir=mounted/lower,upperdir=mounted/upper,workdir=mounted/work none mounted/merged || exit 99
    cd mounted/merged
    ;;
ext2)
    truncate -s 64M image && mke2fs -q -t ext2 image && mount -o loop image mounted || exit 99
    cd mounted
    ;;
*)
    mount -t "$type" none mounted || exit 99
    cd mounted
    ;;
esac
"$@"
status=$?
cp -r trace "$directory/trace"
exit $status
