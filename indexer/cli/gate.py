"""What the gate said of an encoder, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexer.cli.output import table

if TYPE_CHECKING:
    from trainer.retrain.gate import Report


def judgement(name: str, judged: Report) -> str:
    """Old beside new, with each limit."""
    rows = [
        (
            check.name,
            "" if check.old is None else f"{check.old:.3f}",
            "-" if check.new is None else f"{check.new:.3f}",  # JSON has no NaN
            check.limit,
            check.verdict,
        )
        for check in judged.checks
    ]
    said = f"{name}: {'may take over' if judged.accepted else 'may not take over'}"
    return f"{said}\n{table(rows, head=('', 'old', 'new', 'limit', 'verdict'), right=(1, 2))}"
