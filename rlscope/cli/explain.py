"""The verb `explain` says what a rule looks for, why that is slow, and what to do about it."""

import click
from click.shell_completion import CompletionItem

from rlscope.errors import UsageError
from rlscope.rules.rule import rules


def _complete_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(rule.code, help=rule.title) for rule in rules() if rule.code.startswith(incomplete.upper())]


@click.command()
@click.argument("code", required=False, shell_complete=_complete_codes)
def explain(code: str | None) -> None:
    """Show the page of a rule, such as RLS202; without CODE, list all rules.

    \b
    Examples:
      rlscope explain
      rlscope explain RLS202
    """
    if code is None:
        for rule in rules():
            click.echo(f"{rule.code}  {rule.title}")
        return
    found = next((rule for rule in rules() if rule.code == code.upper()), None)
    if found is None:
        raise UsageError(f"the code of a rule was expected, found {code!r}; `rlscope explain` lists all rules")
    click.echo(f"{found.code} {found.name}\n\n{found.page}")
