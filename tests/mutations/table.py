"""All mutations."""

from __future__ import annotations

from tests.mutations.hopper_loads import HOPPER_LOADS
from tests.mutations.hopper_overlap import HOPPER_OVERLAP
from tests.mutations.hopper_products import HOPPER_PRODUCTS
from tests.mutations.hopper_registers import HOPPER_REGISTERS
from tests.mutations.hopper_ring import HOPPER_RING
from tests.mutations.hopper_small import HOPPER_SMALL
from tests.mutations.hopper_store import HOPPER_STORE
from tests.mutations.hopper_sums import HOPPER_SUMS
from tests.mutations.hopper_unfound import HOPPER_UNFOUND
from tests.mutations.idiomatic import IDIOMATIC
from tests.mutations.model import Mutation
from tests.mutations.rendered import RENDERED
from tests.mutations.tutorials import TUTORIALS

__all__ = ["FAULTS", "MUTATIONS", "UNFOUND"]

MUTATIONS: tuple[Mutation, ...] = (
    *RENDERED,
    *IDIOMATIC,
    *HOPPER_RING,
    *HOPPER_PRODUCTS,
    *HOPPER_REGISTERS,
    *HOPPER_LOADS,
    *HOPPER_STORE,
    *HOPPER_OVERLAP,
    *HOPPER_SMALL,
    *HOPPER_SUMS,
    *HOPPER_UNFOUND,
    *TUTORIALS,
)
FAULTS = tuple(m for m in MUTATIONS if not m.unfound)
UNFOUND = tuple(m for m in MUTATIONS if m.unfound)
