"""Turns: so many at once, and none is lost."""

import asyncio

import pytest
from turns import Busy, Turns

from tests.workers.embedding.batched import looped, settle


@looped
async def test_so_many_turns_are_taken_at_once_and_the_next_by_who_waits_longest() -> None:
    turns = Turns(2)
    order: list[int] = []

    async def one(number: int) -> None:
        await turns.take(60)
        order.append(number)

    tasks = [asyncio.create_task(one(number)) for number in range(5)]
    for taken in range(2, 6):
        await settle()
        assert order == list(range(taken))
        turns.give_back()
    await asyncio.gather(*tasks)


@looped
async def test_who_waits_in_vain_is_told_and_takes_no_turn_with_him() -> None:
    turns = Turns(1)
    await turns.take(0)
    with pytest.raises(Busy):
        await turns.take(0.01)
    turns.give_back()
    await turns.take(0)


@pytest.mark.parametrize("woken", [False, True])
@looped
async def test_who_goes_while_he_waits_or_is_woken_takes_no_turn_with_him(woken: bool) -> None:
    turns = Turns(1)
    await turns.take(0)
    going, staying = (asyncio.create_task(turns.take(60)) for _ in range(2))
    await settle()
    if woken:
        turns.give_back()
        going.cancel()
    else:
        going.cancel()
        await settle()
        turns.give_back()
    await staying
    assert going.cancelled()


async def overtaken() -> tuple[Turns, asyncio.Task[None], asyncio.Task[None]]:
    """Two wait for the only turn, and another takes it before the first, who is woken, does."""
    turns = Turns(1)
    await turns.take(0)
    first, second = (asyncio.create_task(turns.take(60)) for _ in range(2))
    await settle()
    turns.give_back()
    await turns.take(0)
    await settle()
    return turns, first, second


@looped
async def test_who_is_overtaken_is_still_the_first_and_not_overtaken_again() -> None:
    turns, first, second = await overtaken()
    assert not first.done()
    turns.give_back()
    with pytest.raises(Busy):
        await turns.take(0)
    await first
    assert not second.done()
    turns.give_back()
    await second


@looped
async def test_who_goes_with_a_turn_taken_for_him_gives_it_on() -> None:
    turns, first, second = await overtaken()
    turns.give_back()
    first.cancel()
    await second
    assert first.cancelled()
