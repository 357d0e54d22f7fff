"""Series whose kernels run but not as they could, and near misses of them."""

from scene import (A100, A100P, G1080, H100, H100P, H200, L40S, R2080, R3090, R4090, T4, V100, Scene, cycle, fed,
                   kernels, wait)


WARM = (wait(8.0, main=0.9, disk=40, read=90, power=0.03),)


def small_kernels():
    """Kernels nearly all the time, none of them fills the chip."""
    def small(busy=0.93, sm=9, power=0.15, main=0.995, dram=4, **more):
        return cycle(kernels(0.4, busy=busy, sm=sm, tensor=1.5, dram=dram, power=power, main=main),
                     kernels(0.05, busy=busy * 0.9, sm=sm * 0.8, tensor=1, dram=dram, power=power, main=main), **more)
    return [
        ("h100_batch_1", Scene("batch of one: 9 % of the SMs' time", H100, small(), cpus=64)),
        ("a100_gnn", Scene("a small graph network: busy for 95 %, a sixth of the power", A100,
                           small(0.95, power=0.14),
                           cpus=32, workers=2)),
        ("ada_tiny_model", Scene("a tiny network on a big card", R4090, small(0.9, power=0.13, dram=3), cpus=24)),
        ("jax_small_batch", Scene("one compiled step with a batch far too small; the main thread sleeps", H100,
                                  small(0.98, sm=13, power=0.19, main=0.15, dram=6), cpus=96, framework="jax")),
        ("v100_unknown", Scene("a simulation of a few thousand particles", V100, small(0.96, power=0.16), cpus=40,
                               framework=None)),
        ("t4_batch_1", Scene("one picture at a time", T4, small(0.88, power=0.22, dram=8), cpus=8)),
        ("h100pcie_rnn", Scene("a recurrent network, one time step after the other", H100P,
                               small(0.91, sm=7, power=0.17),
                               cpus=48, workers=4, quirks=("no_minmax",))),
    ]


def near_small_kernels():
    """Short kernels or a short stretch of small ones; the chip is full."""
    rows = [
        (H100, 66, 0.72, 0.0), (A100, 70, 0.75, 0.0), (R4090, 72, 0.74, 0.0), (T4, 80, 0.9, 0.0),
        (V100, 75, 0.78, 0.0),
        (H100, 84, 0.85, 0.07), (A100, 84, 0.85, 0.06), (H100P, 80, 0.9, 0.08), (R3090, 82, 0.88, 0.07),
        (H200, 84, 0.82, 0.05),
    ]
    for number, (card, sm, power, share) in enumerate(rows):
        small = kernels(0.4 * max(share, 0.01), sm=8, tensor=1, dram=5, power=0.17, main=0.995)
        big = kernels(0.4 * (1 - share), busy=0.96, sm=sm, power=power, main=0.99)
        why = f"many kernels, but {sm} % of the SMs"
        if share:
            why = f"the optimizer's small kernels take {share * 100:.0f} %"
        yield Scene(why, card, cycle(small, big) if share else cycle(big), workers=number % 4,
                    framework=("torch", "jax", None)[number % 3])


def memory_bound():
    """The memory's bandwidth is the limit."""
    def streaming(dram=88, sm=84, tensor=6, power=0.6, main=0.98, busy=0.985):
        return cycle(kernels(0.3, busy=busy, sm=sm, tensor=tensor, dram=dram, power=power, main=main), wait(0.002))
    return [
        ("h100_decode", Scene("a language model decodes with small batches", H100, streaming(), cpus=64, memory=0.9)),
        ("h200_decode", Scene("decoding of long contexts, 85 % of the bandwidth", H200, streaming(85, 78, 9),
                              cpus=128,
                              memory=0.93)),
        ("a100_embedding", Scene("embedding tables; the driver's memory utilisation is at 90 %", A100,
                                 streaming(87, power=0.58),
                                 cpus=48, workers=4)),
        ("ada_decode", Scene("a quantised model decodes on a 4090", R4090, streaming(88, power=0.62, main=0.9),
                             cpus=16,
                             framework=None, memory=0.8)),
        ("h100_stencil", Scene("a stencil solver", H100, streaming(91, 93, 0, 0.66, main=0.1), cpus=96,
                               framework="jax")),
        ("t4_decode", Scene("a small model decodes on a T4", T4, streaming(90, power=0.75), cpus=8)),
        ("v100_sparse", Scene("sparse products, long kernels", V100, streaming(89, power=0.6, main=0.05), cpus=40,
                              framework=None)),
        ("h100pcie_recommender", Scene("a recommender's look-ups at 84 %", H100P, streaming(84, 72, 8, 0.7), cpus=48,
                                       workers=2)),
    ]


def near_memory_bound():
    """Much traffic to memory under much computing, or for a short while."""
    rows = [
        (H100, 52, 50, 0.0), (A100, 50, 0, 0.0), (H200, 50, 48, 0.0), (R4090, 48, 0, 0.0), (T4, 55, 0, 0.0),
        (H100, 40, 45, 0.07), (V100, 42, 0, 0.08), (L40S, 45, 0, 0.06), (R3090, 50, 0, 0.05), (H100P, 45, 50, 0.06),
    ]
    for number, (card, dram, tensor, share) in enumerate(rows):
        stream = kernels(0.5 * max(share, 0.01), sm=80, tensor=2, dram=90, power=0.6)
        rest = kernels(0.5 * (1 - share), sm=88, tensor=tensor or 40, dram=dram, power=0.9)
        why = f"an optimizer step bound by memory takes {share * 100:.0f} %" if share else f"{dram} % of the bandwidth"
        yield Scene(why + ", else full of computing", card, cycle(stream, rest) if share else cycle(rest),
                    workers=number % 3 * 2, cpus=16 + 8 * number)


def hot(card, seconds, clock, temp, power, share=1.0, **scene):
    """Kernels under heat, `share` of the time."""
    held = kernels(seconds * share, clock=clock, throttle=("heat",), temp=temp, power=power, sm=86)
    free = kernels(seconds * max(1 - share, 0.01), temp=temp - 3, power=power * 1.1)
    return {"card": card, "cycle": cycle(held, free) if share < 1 else cycle(held), **scene}


def held(card, clock, power=0.985, limit=1.0, share=1.0, seconds=0.4, **scene):
    """Kernels under a power limit, `share` of the time."""
    low = kernels(seconds * share, clock=clock, throttle=("power",), power=power, sm=88, tensor=52, dram=30)
    free = kernels(seconds * max(1 - share, 0.01), power=power * 0.85)
    return {"card": card, "cycle": cycle(low, free) if share < 1 else cycle(low), "limit": limit, **scene}


def throttled_power():
    """The clocks are far down for want of power."""
    return [
        ("t4_70w", Scene("70 W are all a T4 has: half of its clock", **held(T4, 0.5, cpus=8))),
        ("h100_limit_350", Scene("somebody set 350 of 700 W", **held(H100, 0.58, limit=0.5, cpus=96, workers=4))),
        ("desktop_limit_200", Scene("a limit of 200 of 350 W, 53 % of the clock",
                                    **held(R3090, 0.57, limit=0.57, cpus=12))),
        ("v100_supply", Scene("the server's supply brakes all the time",
                              **held(V100, 0.45, power=0.5, cpus=40, framework=None))),
        ("a100_limit_200", Scene("200 of 400 W; nine tenths of the time at 55 %",
                                 **held(A100, 0.55, limit=0.5, share=0.9, seconds=8, steps=60, cpus=64, workers=8))),
        ("gpus2_l40s", Scene("two cards of 350 W capped at 170", **held(L40S, 0.5, limit=0.49, cpus=64, gpus=2,
                                                                        ranks=2,
                                                                      steps=30))),
        ("old_card", Scene("a 1080 Ti limited to half", **held(G1080, 0.55, limit=0.5, cpus=8, framework=None))),
    ]


def near_throttled_power():
    """At the limit with the clock near its highest, as a card is that is used well. Or at the limit for a moment."""
    rows = [
        (H100, 0.96, 1.0, 1.0), (A100, 0.97, 1.0, 1.0), (V100, 0.95, 1.0, 1.0), (L40S, 0.97, 1.0, 1.0),
        (H200, 0.95, 0.9, 1.0),
        (T4, 0.7, 1.0, 0.06), (R3090, 0.75, 1.0, 0.08), (A100P, 0.97, 0.9, 1.0), (G1080, 0.96, 1.0, 1.0),
        (H100, 0.6, 1.0, 0.06),
    ]
    for number, (card, clock, limit, share) in enumerate(rows):
        yield Scene(f"at the power limit for {share:.0%} of the time, with {clock:.0%} of the usual clock",
                    workers=number % 4, framework=("torch", None, "jax")[number % 3], steps=60, cpus=16 + 8 * number,
                    **held(card, clock, limit=limit, share=share, seconds=10 if share < 1 else 0.4))


def throttled_heat():
    """The clocks are far down because it is hot."""
    return [
        ("h100_no_air", Scene("a fan of the server died: 88 degrees, half of the clock",
                              **hot(H100, 0.5, 0.5, 88, 0.5, cpus=96))),
        ("t4_desktop_case", Scene("a passive card in a case without wind", **hot(T4, 0.5, 0.35, 94, 0.45, cpus=8))),
        ("turing_dust", Scene("dust in the fan, 55 % of the clock", **hot(R2080, 0.3, 0.55, 89, 0.6, cpus=12,
                                                                          workers=2))),
        ("v100_hot_aisle", Scene("the room's cooling is off", **hot(V100, 0.4, 0.45, 87, 0.48, cpus=40,
                                                                    framework=None))),
        ("old_card", Scene("a 1080 Ti whose paste has dried", **hot(G1080, 0.5, 0.55, 92, 0.6, cpus=8, framework=None,
                                                                 quirks=("flaky",)))),
        ("a100_nine_tenths", Scene("nine tenths of the time at 45 %", **hot(A100P, 6.0, 0.45, 86, 0.5, 0.9, cpus=32,
                                                                            steps=60))),
        ("gpus2_ada", Scene("two 4090s without space between them", **hot(R4090, 0.4, 0.5, 87, 0.45, cpus=32, gpus=2,
                                                                          ranks=2,
                                                                         steps=30))),
    ]


def near_throttled_heat():
    """Warm, or hot for a moment; the clock is near its highest."""
    rows = [
        (H100, 0.97, 86, 0.5), (A100, 0.96, 85, 0.3), (T4, 0.95, 88, 0.3), (R3090, 0.7, 83, 0.06),
        (V100, 0.8, 83, 0.08),
        (R2080, 0.97, 84, 0.4), (G1080, 0.96, 86, 0.6), (H200, 0.6, 86, 0.05), (L40S, 0.75, 85, 0.07),
        (R4090, 0.96, 84, 0.4),
    ]
    for number, (card, clock, temp, share) in enumerate(rows):
        yield Scene(f"{temp} degrees; heat holds the clock at {clock:.0%} of the usual for {share:.0%} of the time",
                    workers=number % 4, steps=60, cpus=16 + 4 * number, framework="torch" if number % 2 else None,
                    **hot(card, 10 if share < 0.2 else 0.5, clock, temp, 0.85, share))


def rank(own, waiting, link=9000, main=0.98, wait_sm=13, pcie=0, **every):
    """One rank's step: its own kernels, the collective that waits, the exchange."""
    return cycle(
        kernels(own, link=link * 0.2, main=main),
        kernels(max(waiting, 0.001), busy=1.0, sm=wait_sm, tensor=0, dram=1.2, power=0.19, link=0, rx=0.5, main=main),
        kernels(max(0.01, own * 0.04), busy=1.0, sm=18, tensor=0, dram=24, power=0.35, link=link * 6, rx=pcie,
                tx=pcie, main=main),
        **every,
    )


def waiting_for_ranks():
    """A collective spins on the GPU until the others come."""
    return [
        ("h100_of_8", Scene("one of 8: half of the time in the collective", H100, rank(0.5, 0.5, worker=0.2), ranks=8,
                            cpus=128, workers=4)),
        ("h100_of_64", Scene("one of 64 that waits for a slow server, a third of the time", H100, rank(0.8, 0.4),
                             ranks=64,
                             cpus=192, steps=60)),
        ("h100_of_16_long", Scene("one of 16: 2.5 s of its own, 2 s of waiting", H100, rank(2.5, 2.0), ranks=16,
                                  cpus=128,
                                  steps=80)),
        ("a100_of_8", Scene("one of 8 on A100s: the power falls while the utilisation stays", A100,
                            rank(1.5, 1.6, 6000),
                            ranks=8, cpus=96, steps=80, workers=2)),
        ("h200_of_32_short", Scene("one of 32, steps of 0.2 s, 55 % of them waiting", H200,
                                   rank(0.08, 0.11, wait_sm=11),
                                   ranks=32, cpus=192)),
        ("gpus2_of_16", Scene("two of 16 ranks wait for another server", H100, rank(0.9, 0.75), gpus=2, ranks=16,
                              cpus=128,
                              steps=60)),
        ("v100_of_8", Scene("one of 8 on V100s that sleeps in its waits", V100, rank(2.0, 1.8, 3000, main=0.1),
                            ranks=8, cpus=80,
                            steps=80, quirks=("no_minmax",))),
        ("jax_of_8", Scene("one of 8 processes of JAX", H100, rank(0.35, 0.4, main=0.06, wait_sm=15), ranks=8,
                           cpus=128,
                           framework="jax")),
    ]


def near_waiting_for_ranks():
    """Ranks that wait for a few hundredths of their time."""
    rows = [
        (H100, 8, 0.5, 0.02), (H100, 64, 1.0, 0.06), (A100, 8, 0.8, 0.04), (H200, 32, 0.4, 0.015),
        (V100, 4, 1.5, 0.05),
        (H100, 16, 2.5, 0.15), (A100, 16, 0.3, 0.015), (R3090, 2, 0.6, 0.03), (L40S, 4, 0.7, 0.04),
        (H200, 8, 1.2, 0.03),
    ]
    for number, (card, ranks, own, waiting) in enumerate(rows):
        yield Scene(f"one of {ranks} ranks waits for {100 * waiting / (own + waiting):.0f} % of the time", card,
                    rank(own, waiting, 6000 if card.nvlink else 0, pcie=0 if card.nvlink else 7000, worker=0.3),
                    ranks=ranks, cpus=96, workers=number % 4, steps=60,
                    gpus=2 if number == 9 else 1, framework="jax" if number == 3 else "torch")


def between(work, pause, iteration=0.25, **what):
    """Iterations for `work` seconds, then a pause."""
    count = max(1, round(work / iteration))
    steps = [phase for _ in range(count) for phase in (kernels(iteration * 0.975), wait(iteration * 0.025, main=0.6))]
    return cycle(*steps, wait(pause, **({"main": 0.95} | what)))


def periodic_pauses():
    """Well used between pauses that come back."""
    save = {"main": 0.45, "stall": 0.45, "write": 420}
    return [
        ("h100_checkpoint", Scene("a checkpoint of 7 s after every 13 s", H100, between(13, 7, **save), cpus=64,
                                  steps=160)),
        ("a100_evaluation", Scene("5 s of evaluation on the CPU after every 9 s", A100, between(9, 5, 0.4, pool=3.0),
                                  cpus=32,
                                  steps=140)),
        ("desktop_pictures", Scene("pictures are drawn for 3 s after every 7 s", R3090, between(7, 3, 0.15), cpus=12,
                                   steps=90)),
        ("run_record", Scene("a run's record: 20 s of every minute are a checkpoint", H100,
                             between(40, 20, 1.0, **save),
                             WARM, by="run_samples", steps=300, cpus=96)),
        ("run_record_t4", Scene("a run's record: 12 s of every 36 s write results", T4,
                                between(24, 12, 0.8, main=0.6, write=60),
                                WARM, by="run_samples", steps=240, cpus=8)),
        ("v100_upload", Scene("the state is uploaded: 8 s of every 20 s", V100,
                              between(12, 8, 0.5, main=0.3, write=2),
                              cpus=40, steps=150, framework=None)),
        ("gpus2_checkpoint", Scene("both ranks stop for the checkpoint of one", H100, between(10, 6, 0.5, **save),
                                   gpus=2, ranks=2,
                                   cpus=96, steps=110, jitter=0.0)),
    ]


def near_periodic_pauses():
    """Pauses that are short or rare."""
    rows = [
        (H100, 15, 0.6, "watch"), (A100, 20, 1.0, "watch"), (R3090, 8, 0.4, "watch"), (H200, 60, 3.0, "run_samples"),
        (T4, 45, 2.0, "run_samples"), (V100, 12, 0.5, "watch"), (L40S, 10, 0.5, "watch"),
        (R4090, 30, 1.5, "run_samples"),
        (R2080, 9, 0.4, "watch"), (A100P, 18, 0.8, "watch"),
    ]
    for number, (card, work, pause, by) in enumerate(rows):
        yield Scene(f"{pause:g} s of pause after every {work} s", card,
                    between(work, pause, 0.2 + 0.05 * number, main=0.5, stall=0.3, write=200), by=by,
                    framework=None if number == 5 else "torch", steps=round(5 * work if by != "watch" else 8 * work))


def shared_with_others():
    """Others have a good part of the device."""
    def part(share, **more):
        return cycle(kernels(0.3, busy=0.985, others_share=share, main=0.99), wait(0.004, others_share=share), **more)
    return [
        ("h100_half", Scene("another user's training has 52 % of the card", H100, part(52), cpus=96, others=1,
                            memory=0.4)),
        ("a100_three", Scene("three other processes have two thirds", A100, part(66, worker=0.2), cpus=64, others=3,
                             workers=4,
                             memory=0.3)),
        ("desktop_game", Scene("somebody plays on the card", R3090, part(38), cpus=16, others=2, memory=0.5,
                               framework=None)),
        ("t4_servers", Scene("two model servers have 70 %", T4, part(70), cpus=8, others=2, memory=0.4,
                             framework="tensorflow")),
        ("v100_forgotten", Scene("a forgotten run has half", V100, part(50), cpus=40, others=1, memory=0.5,
                                 quirks=("ticks",))),
        ("l40s_hog", Scene("another process has 80 %", L40S, part(80), cpus=48, others=1, memory=0.25,
                           framework="jax")),
        ("old_card", Scene("two users of one 1080 Ti", G1080, part(55), cpus=8, others=1, memory=0.3,
                           framework=None)),
    ]


def near_shared_with_others():
    """Others are there and hardly compute."""
    rows = [
        (H100, 1, 2.0), (A100, 2, 0.0), (R4090, 2, 4.0), (T4, 1, 5.0), (V100, 1, 0.0), (L40S, 3, 6.0),
        (R3090, 2, 5.0),
        (R2080, 1, 3.0), (H200, 1, 1.0), (G1080, 2, 4.0),
    ]
    for number, (card, others, share) in enumerate(rows):
        yield Scene(f"{others} others hold memory and take {share:g} % of the time", card,
                    fed(0.2 + 0.05 * number, 0.03, others_share=share), others=others, memory=0.4, workers=number % 3,
                    framework=("torch", None)[number % 2], quirks=("no_process_sm",) if number == 7 else ())
