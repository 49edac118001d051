"""Finding GPUs without one: the driver API is played by Python."""

from __future__ import annotations

import pytest

from cutegen import device
from cutegen.errors import ConfigError, ToolchainError


class FakeDriver:
    """``libcuda`` as far as it is asked; each function writes through the references that it gets."""

    def __init__(self, *gpus: tuple[str, int], init: int = 0, broken: int = -1) -> None:
        self.gpus, self.init, self.broken = gpus, init, broken
        self.calls: list[str] = []

    def cuInit(self, flags):
        self.calls.append("init")
        assert flags == 0
        return self.init

    def cuDriverGetVersion(self, version):
        version._obj.value = 13010
        return 0

    def cuDeviceGetCount(self, count):
        count._obj.value = len(self.gpus)
        return 0

    def cuDeviceGet(self, handle, ordinal):
        handle._obj.value = 100 + ordinal
        return 0

    def cuDeviceGetName(self, name, size, handle):
        name.value = self.gpus[handle.value - 100][0].encode()
        return 0

    def cuDeviceGetAttribute(self, value, attribute, handle):
        ordinal = handle.value - 100
        cc = self.gpus[ordinal][1]
        value._obj.value = {75: cc // 10, 76: cc % 10, 16: 132}[attribute]
        return 999 if ordinal == self.broken else 0


@pytest.fixture
def machine(monkeypatch):
    def set_up(*gpus, **options):
        driver = FakeDriver(*gpus, **options)
        monkeypatch.setattr(device, "_driver", lambda: driver)
        device.gpus.cache_clear()
        return driver

    yield set_up
    device.gpus.cache_clear()


def test_gpus_are_described_and_asked_for_once(machine):
    driver = machine(("NVIDIA H200", 90), ("NVIDIA A100", 80))
    first, second = device.gpus()
    assert (first.ordinal, first.name, first.cc, first.target) == (0, "NVIDIA H200", 90, "sm_90")
    assert (second.ordinal, second.cc, second.multiprocessors) == (1, 80, 132)
    device.gpus()
    assert driver.calls == ["init"]


def test_none_without_a_driver(monkeypatch):
    monkeypatch.setattr(device, "_driver", lambda: None)
    device.gpus.cache_clear()
    assert device.gpus() == ()
    assert device.driver_version() is None
    device.gpus.cache_clear()


@pytest.mark.parametrize("error", [OSError("no such file"), AttributeError("undefined symbol")])
def test_a_missing_or_partial_libcuda_is_no_driver(monkeypatch, error):
    def fail(_):
        raise error

    monkeypatch.setattr(device.ctypes, "CDLL", fail)
    assert device._driver() is None


def test_none_when_the_driver_finds_no_gpu(machine):
    machine(("NVIDIA H200", 90), init=100)
    assert device.gpus() == ()


def test_a_gpu_that_cannot_be_described_is_left_out(machine):
    machine(("NVIDIA H200", 90), ("NVIDIA A100", 80), broken=0)
    assert [gpu.ordinal for gpu in device.gpus()] == [1]


def test_driver_version(machine):
    machine()
    assert device.driver_version() == "13.1"


@pytest.mark.parametrize(
    ("gpus", "level", "target"),
    [
        ([], "sm_80", "sm_80"),
        ([90], "sm_80", "sm_90"),
        ([90], "sm_75", "sm_90"),
        ([90], "sm_90a", "sm_90a"),
        ([75], "sm_80", "sm_80"),
        ([75, 90], "sm_80", "sm_90"),
        ([120, 86], "sm_80", "sm_86"),
        ([89], "sm_89", "sm_89"),
    ],
)
def test_default_target(machine, gpus, level, target):
    machine(*(("GPU", cc) for cc in gpus))
    assert device.native_target(level) == target
    assert device.build_target(level, None) == target


def test_named_targets(machine):
    machine()
    assert device.build_target("sm_80", "sm_86") == "sm_86"
    with pytest.raises(ToolchainError, match="target native needs a GPU"):
        device.build_target("sm_80", "native")
    machine(("NVIDIA A100", 80))
    assert device.build_target("sm_80", "native") == "sm_80"
    with pytest.raises(ConfigError, match="cannot be built for sm_80"):
        device.build_target("sm_89", "native")
