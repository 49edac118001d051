"""What the commands that run on a GPU share."""

from __future__ import annotations

from cutegen.errors import ToolchainError
from cutegen.install import install_command

__all__ = ["require_gpu"]


def require_gpu(command: str, otherwise: str = "") -> str:
    """The name of the first GPU.

    Args:
        command: The command that needs one, for the message.
        otherwise: What can be done without, for the message.

    Raises:
        ToolchainError: There is none, or no torch that sees it.
    """
    from cutegen.device import gpus

    found = gpus()
    if not found:
        end = f"; {otherwise}" if otherwise else ""
        raise ToolchainError(f"{command} needs a GPU and its driver, which are not here{end}")
    try:
        import torch
    except ImportError:
        raise ToolchainError(
            f"{command.split()[0]} needs torch; install it: {install_command('torch')}"
        ) from None
    if not torch.cuda.is_available():
        raise ToolchainError(
            f"torch {torch.__version__} sees no GPU, though the driver does; install a CUDA build of torch"
        )
    return found[0].name
