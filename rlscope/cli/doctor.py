"""The verb `doctor` says whether this machine is ready, and what to do where it is not."""

import json
from dataclasses import asdict

import click

from rlscope.checks.check import exit_status, print_checks
from rlscope.checks.machine_check import check_machine


@click.command(epilog="Example: rlscope doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def doctor(as_json: bool) -> int:
    """Check whether this machine is ready to record. Exit status 1 where something must be fixed."""
    from rlscope.checks.cupti_check import check_cuda  # and numpy, for which `rlscope --help` need not wait

    checks = [*check_machine(), *check_cuda()]
    if as_json:
        click.echo(json.dumps({"checks": [asdict(check) for check in checks]}, indent=2))
    else:
        print_checks(checks)
    return exit_status(checks)
