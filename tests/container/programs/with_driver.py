"""run_docker.py on a host that seems to have NVIDIA's driver: FOLDER holds what /proc/driver/nvidia would.

The image that it builds for cuda is as small as the one for cpu, and needs no more room.

with_driver.py FOLDER OPTIONS...
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import run_docker
from container import host

driver = Path(sys.argv.pop(1))
host.KERNEL_DRIVER = driver / "version"
host.DRIVER_PARAMETERS = driver / "params"
host.ROOM_GB = {**host.ROOM_GB, "cuda": host.ROOM_GB["cpu"]}
run_docker.main()
