"""A config as the caller gives it: an object, a YAML file, or a dictionary of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cutegen.config import GemmConfig
from cutegen.loader import dump, load, validate
from cutegen.yamlread import Document

__all__ = ["ConfigLike", "Evidence", "config_of"]

ConfigLike = GemmConfig | Mapping[str, Any] | str | Path


class Evidence(Mapping[str, str]):
    """The resolved config as a file, written out only when a kernel is really built."""

    def __init__(self, config: GemmConfig) -> None:
        self._files = {"config.yaml": config}

    def __getitem__(self, name: str) -> str:
        return dump(self._files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def config_of(config: ConfigLike) -> GemmConfig:
    """The config that is meant.

    Raises:
        ConfigError: It is none, or breaks a rule that concerns one field alone.
    """
    if isinstance(config, GemmConfig):
        return config
    if isinstance(config, Mapping):
        return validate(Document(name="<dict>", data=_plain(config))).config
    return load(config)


def _plain(value: Any) -> Any:
    """Mappings as dictionaries and sequences as tuples, as the YAML reader gives them."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value
