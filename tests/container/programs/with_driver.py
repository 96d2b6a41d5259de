"""run_docker.py on a host that seems to have NVIDIA's driver: FOLDER holds what /proc/driver/nvidia would.

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
run_docker.main()
