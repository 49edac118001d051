"""Layout algebra as CuTe does it, on expressions as they are written in C++."""

from cutegen.playground.evaluate import Evaluation, evaluate
from cutegen.playground.layouts import text

__all__ = ["Evaluation", "evaluate", "text"]
