"""All mutations."""

from __future__ import annotations

from tests.mutations.idiomatic import IDIOMATIC
from tests.mutations.model import Mutation
from tests.mutations.rendered import RENDERED
from tests.mutations.tutorials import TUTORIALS

__all__ = ["MUTATIONS"]

MUTATIONS: tuple[Mutation, ...] = (*RENDERED, *IDIOMATIC, *TUTORIALS)
