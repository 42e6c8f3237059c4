"""Spec docker 5.4: own blocks, other people's blocks, no host address."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.sandbox.networks import SubnetAllocator, create_network


def test_every_block_is_handed_out_once() -> None:
    allocator = SubnetAllocator("10.1.0.0/26")
    blocks = {allocator.take() for _ in range(4)}
    assert blocks == {"10.1.0.0/28", "10.1.0.16/28", "10.1.0.32/28", "10.1.0.48/28"}
    with pytest.raises(SandboxRuntimeError, match="all 4 networks"):
        allocator.take()
    allocator.give_back("10.1.0.32/28")
    assert allocator.take() == "10.1.0.32/28"


@pytest.mark.parametrize("text", ["10.0.0.0/29", "fd00::/64"])
def test_a_range_without_room_is_refused(text: str) -> None:
    with pytest.raises(SandboxRuntimeError, match="holds /28 blocks"):
        SubnetAllocator(text)


def test_a_network_is_internal_labelled_and_without_host_address(fake: Any) -> None:
    made, block = create_network(fake, "name", {"a": "b"}, SubnetAllocator("10.1.0.0/28"))
    arguments = fake.all_networks[made]["arguments"]
    assert block == "10.1.0.0/28"
    assert arguments["internal"] is True
    assert arguments["labels"] == {"a": "b"}
    assert arguments["ipam"]["Config"][0]["Subnet"] == block
    assert arguments["options"] == {"com.docker.network.bridge.inhibit_ipv4": "true"}


def test_overlaps_are_tried_elsewhere_and_not_again(fake: Any, error: Any) -> None:
    allocator = SubnetAllocator("10.1.0.0/26")
    fake.failures["create_network"] = [error(403), error(403), None]
    create_network(fake, "name", {}, allocator)
    allocator.take()
    with pytest.raises(SandboxRuntimeError):
        allocator.take()


def test_fifty_overlaps_or_another_refusal_end_it(fake: Any, error: Any) -> None:
    from docker.errors import APIError

    fake.failures["create_network"] = [error(403)] * 50
    with pytest.raises(APIError):
        create_network(fake, "name", {}, SubnetAllocator("10.1.0.0/16"))
    assert fake.done.count("create_network") == 50
    fake.failures["create_network"] = [error(500)]
    with pytest.raises(APIError):
        create_network(fake, "name", {}, SubnetAllocator("10.1.0.0/16"))
