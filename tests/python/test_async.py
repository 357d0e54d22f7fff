"""asyncio: what waits leaves the loop to others."""

from conftest import E2E, wait_until


def test_async_with_claims_and_releases(desk):
    inside, after, awaited = desk.told("""
        import asyncio
        async def main():
            async with berth.async_lease(2) as lease:
                inside = [[d.index for d in lease.devices], os.environ["CUDA_VISIBLE_DEVICES"]]
            after = [lease.released, os.environ.get("CUDA_VISIBLE_DEVICES")]
            awaited = await berth.async_lease()
            return [inside, after, isinstance(awaited, berth.Lease)]
        print(json.dumps(asyncio.run(main())))
    """)
    assert inside == [[4, 5], "4,5"]
    assert after == [True, None]
    assert awaited is True


def test_the_loop_goes_on_while_somebody_waits(desk):
    first = desk.holding("berth.lease(only=5)")
    second = desk.start_python("""
        import asyncio, berth
        async def main():
            steps = 0
            wait = asyncio.ensure_future(berth.async_lease(only=5, wait=True, on_news=lambda news: None).__aenter__())
            while not wait.done():
                await asyncio.sleep(0.001)
                steps += 1
                if steps == 50: print("going on", flush=True)
            print((await wait).devices[0].index, flush=True)
        asyncio.run(main())
    """)
    assert second.stdout.readline() == "going on\n"
    first.stdin.close()
    assert second.stdout.readline() == "5\n", second.stderr.read()


def test_cancelling_leaves_the_queue(desk):
    desk.holding("berth.lease(only=5)")
    waiting = desk.start_python("""
        import asyncio, sys, berth
        async def main():
            wait = asyncio.ensure_future(berth.async_lease(only=5, wait=True, on_news=lambda news: None).__aenter__())
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
            wait.cancel()
            try: await wait
            except asyncio.CancelledError: print("cancelled", flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        asyncio.run(main())
    """)
    wait_until(lambda: len(desk.queue()) == 1, "it stands in the queue")
    waiting.stdin.write("\n")
    waiting.stdin.flush()
    assert waiting.stdout.readline() == "cancelled\n", waiting.stderr.read()
    wait_until(lambda: desk.queue() == [], "it has left the queue", 30)


def test_two_at_a_time_in_one_loop_and_in_threads(desk):
    """Contexts are lent to one caller at a time; each of two gets its own."""
    looks, threads = desk.told("""
        import asyncio, threading
        async def main():
            async def once():
                async for look in berth.watch(0.001):
                    return len(look.devices)
            return await asyncio.gather(*[once() for _ in range(6)])
        found = []
        def work():
            for _ in range(5): found.append(len(berth.look(max_age=0).devices))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for one in threads: one.start()
        for one in threads: one.join()
        print(json.dumps([asyncio.run(main()), found]))
    """)
    assert looks == [8] * 6
    assert threads == [8] * 20


def test_the_loop_goes_on_while_a_card_hangs(desk):
    driver = E2E.FakeDriver(desk.directory, E2E.scenario("server-8xh100"), faults="*@3=hang")
    hung = {name: driver.env[name] for name in driver.env if name.startswith(("BERTH_NVML", "BERTH_FAKE"))}
    is_done, devices = desk.told(
        """
        import asyncio
        async def first():
            async for look in berth.watch(1): return look
        async def main():
            look = asyncio.ensure_future(first())
            for _ in range(20): await asyncio.sleep(0.001)
            is_done = look.done()
            return [is_done, len((await look).devices)]
        print(json.dumps(asyncio.run(main())))
        """,
        env=hung | {"BERTH_SIM": None},
    )
    assert is_done is False and devices == 8
