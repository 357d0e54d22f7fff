"""What each rule is about, plainly: three to six series of each."""

from series import *  # noqa: F403


def positives():
    B = "bursty"
    # nothing_running
    idle = dict(util=0, power=0.0, sm=0, tensor=0, dram=0, umem=0, seen=False, power_mean=0)
    w = "no process is on the device and it is at rest: nothing could keep it busy"
    series("nothing_running--h100_empty", w, "h100", 20, 500, 192, framework=None, ranks=None, dev=idle, host_busy=(1, .3))
    series("nothing_running--3090_desktop_less", w, "3090", 12, 1000, 16, framework=None, ranks=None, dev=dict(idle, power=.01), host_busy=(6, 2))
    series("nothing_running--t4_busy_host", w + "; the host's CPUs are busy with something else", "t4", 24, 500, 8, framework=None, ranks=None, dev=dict(idle, temperature=(36, .5)), host_busy=(88, 6), iowait=(3, 1))
    series("nothing_running--a100_others_cannot_be_seen_but_none", w, "a100", 20, 500, 64, framework=None, ranks=None, dev=idle, without=("others_percent",))

    # memory_held_idle
    w = "a process holds memory, and neither it nor the device does anything"
    held = dict(util=0, power=(.06, .01), sm=0, tensor=0, dram=0, umem=0, received=3e5, sent=2e5)
    series("memory_held_idle--notebook_3090", w + " (an idle notebook)", "3090", 24, 500, 24, dev=dict(held, memory=.41),
           procs=[main("3090", .004, [("S", .003), ("S", 0)], .41, name="python3", voluntary=12, read=0)])
    series("memory_held_idle--tf_whole_memory_v100", w + " (TensorFlow took all memory, the console waits for input)", "v100", 20, 1000, 40, framework="tensorflow", dev=dict(held, memory=.97),
           procs=[main("v100", .001, [("S", .001)] * 3, .97, name="ipython", voluntary=6, read=0)])
    series("memory_held_idle--deadlock_workers_h100", w + " (a dead lock: the process and its workers wait for each other)", "h100", 24, 500, 128, dev=dict(held, power=(.08, .005), memory=.55),
           procs=[main("h100", 0.0, [("S", 0), ("S", 0.002)], .55, voluntary=4, read=0)] + workers(6, 0.0, voluntary=1, involuntary=0, read=0))
    series("memory_held_idle--pdb_a100", w + " (stopped in a debugger)", "a100", 30, 500, 64, dev=dict(held, memory=.3),
           procs=[main("a100", 0.0, [("t", 0), ("t", 0)], .3, state="t", voluntary=0, involuntary=0, read=0, delay=0)], host_busy=(30, 4))
    series("memory_held_idle--jax_preallocated_4090", w + " (JAX keeps three quarters of the memory, the script sleeps)", "4090", 15, 1000, 32, framework="jax", dev=dict(held, memory=.76),
           procs=[main("4090", 0.002, [("S", .001)] * 2, .76, voluntary=9, read=0)])

    # computes_on_cpu
    w = "the process holds the device, no kernel ever runs, and it computes on many CPUs itself"
    series("computes_on_cpu--torch_forgot_cuda_a100", w + " (model never moved: OpenMP on 16 cores)", "a100", 20, 500, 64, dev=dict(held, memory=.012),
           procs=[main("a100", .99, [({"R": .96, "S": .04}, .96)] * 15, .012, pid=30022, voluntary=150, involuntary=60, delay=.05)])
    series("computes_on_cpu--tf_cpu_kernels_t4", w + " (TensorFlow places the operations on the CPU)", "t4", 24, 500, 8, framework="tensorflow", dev=dict(held, memory=.007),
           procs=[main("t4", .55, [({"R": .8, "S": .2}, (.82, .08))] * 7, .007, name="python3", voluntary=700, involuntary=200, delay=.3)])
    series("computes_on_cpu--jax_eigen_3090", w + " (a CPU-only jaxlib with a CUDA context from another library)", "3090", 15, 1000, 24, framework="jax", dev=dict(held, memory=.02),
           procs=[main("3090", .3, [({"R": .9, "S": .1}, (.9, .05))] * 11, .02, voluntary=400, involuntary=90, delay=.1)], host_busy=(3, 1))
    series("computes_on_cpu--onnx_fallback_l40s", w + " (ONNX Runtime fell back to its CPU provider)", "l40s", 20, 500, 32, framework=None, dev=dict(held, memory=.015),
           procs=[main("l40s", .97, [({"R": .85, "S": .15}, (.88, .06))] * 7, .015, name="infer_server", voluntary=2500, involuntary=80, delay=.06)])

    # loader_cpu_bound
    w = "the device waits; as many workers as CPUs, all of them busy all the time"
    d = dict(util=(31, 14), spread=B, power=(.3, .07), sm=(24, 9), tensor=(12, 5), dram=(10, 4), received=2.2e8, power_mean=.3)
    series("loader_cpu_bound--imagenet_t4_4cpu", w, "t4", 24, 500, 4, dev=dict(d, power=(.55, .1)), procs=[main("t4", .16, [("S", .06), ("S", .02)], delay=.06)] + workers(4, (.955, .02), delay=.03, involuntary=45))
    series("loader_cpu_bound--augment_a100_12of96", w + " (12 of 96 CPUs allowed)", "a100", 16, 500, 96, 12, dev=dict(d, util=(22, 10)), procs=[main("a100", .12, [("S", .04), ("S", .03)], delay=.03)] + workers(12, (.97, .015), delay=.02), host_busy=(35, 3))
    series("loader_cpu_bound--video_decode_3090", w + " (each worker decodes with its own process name)", "3090", 15, 1000, 8, dev=dict(d, util=(45, 12)), procs=[main("3090", .22, [("S", .05), ("S", .05)], delay=.08)] + workers(8, (.93, .03), name="python", delay=.05, read=2e7))
    series("loader_cpu_bound--keras_mp_v100pcie", w + " (Keras Sequence with use_multiprocessing)", "v100pcie", 20, 500, 6, framework="tensorflow", dev=dict(d, util=(12, 8), power=(.2, .04)), procs=[main("v100pcie", .1, [("S", .03)] * 3, delay=.05)] + workers(6, (.96, .02), name="python3", delay=.05))

    # loader_too_few_workers
    w = "the device waits for a few workers that are always busy, and most CPUs are free"
    series("loader_too_few_workers--2of64_a100", w, "a100", 24, 500, 64, dev=dict(d, util=(27, 12)), procs=[main("a100", .09)] + workers(2, (.985, .01)))
    series("loader_too_few_workers--4of128_h100", w, "h100", 20, 500, 192, dev=dict(d, util=(41, 11), power=(.36, .06)), procs=[main("h100", .15)] + workers(4, (.97, .015)), host_busy=(3, 1))
    series("loader_too_few_workers--1of16_2080ti", w, "2080ti", 15, 1000, 16, dev=dict(d, util=(52, 10), power=(.5, .08)), procs=[main("2080ti", .2)] + workers(1, (.99, .005)))
    series("loader_too_few_workers--8of32_4090", w + " (8 of 32; desktop noise)", "4090", 15, 500, 32, dev=dict(d, util=(58, 10), power=(.45, .07), received=9e8), procs=[main("4090", .35)] + workers(8, (.93, .04)), host_busy=(9, 3))
    series("loader_too_few_workers--2of8_v100_started_late", w + " (the first second is the start of the epoch)", "v100", 24, 500, 8, dev=lambda t: dict(d, util=0 if t < 1.2 else (36, 12)), procs=[main("v100", .12)] + workers(2, lambda t: .6 if t < 1.2 else .98))

    # loader_storage_bound
    w = "the device waits; those who load mostly stand in state D and read from the disk with little CPU time"
    series("loader_storage_bound--hdd_3090", w + " (random reads from a spinning disk)", "3090", 20, 500, 16, dev=dict(d, util=(11, 7), power=(.22, .04)), iowait=(22, 5), io_pressure=(86, 6),
           procs=[main("3090", .05, delay=.002)] + workers(4, (.05, .02), state={"D": .93, "S": .07}, storage=(2.6e6, 6e5), voluntary=60, major=1))
    series("loader_storage_bound--nfs_a100", w + " (network file system, 60 MB/s)", "a100", 20, 500, 64, dev=dict(d, util=(24, 9)), iowait=(9, 3), io_pressure=(70, 9),
           procs=[main("a100", .1)] + workers(6, (.11, .03), state={"D": .86, "R": .06, "S": .08}, storage=(1.0e7, 2e6), voluntary=240))
    series("loader_storage_bound--main_reads_v100pcie", w + " (no workers: the main process itself reads)", "v100pcie", 24, 500, 12, dev=dict(d, util=(18, 8)), iowait=(8, 2), io_pressure=(78, 8),
           procs=[main("v100pcie", (.13, .03), state={"D": .84, "R": .1, "S": .06}, storage=(9.5e7, 1e7), voluntary=800)])
    series("loader_storage_bound--mmap_faults_h100", w + " (memory-mapped token files, page faults from a slow volume)", "h100", 20, 500, 96, dev=dict(d, util=(33, 10)), iowait=(6, 2), io_pressure=(82, 6),
           procs=[main("h100", .14)] + workers(8, (.07, .02), state={"D": .9, "S": .06, "R": .04}, storage=(2.4e7, 4e6), read=0, major=(190, 30), voluntary=220, without=("involuntary_switches",)))
    series("loader_storage_bound--ebs_t4", w + " (a cloud volume at its limit of 125 MB/s)", "t4", 15, 1000, 8, dev=dict(d, util=(39, 9), power=(.5, .06)), iowait=(30, 5), io_pressure=(91, 4),
           procs=[main("t4", .2)] + workers(4, (.2, .04), state={"D": .78, "R": .12, "S": .1}, storage=(3.1e7, 3e6), voluntary=300))

    series("loader_storage_bound--other_users_job_v100", w + " (another user's job: /proc/PID/io may not be read, but D and the machine's pressure say it)", "v100", 20, 500, 40, dev=dict(d, util=(21, 9)), iowait=(11, 3), io_pressure=(83, 6),
           procs=[main("v100", .08, instead={k: "no permission" for k in ("storage_read_bytes", "read_bytes", "written_bytes")})]
           + workers(4, (.06, .02), state={"D": .9, "S": .05, "R": .05}, voluntary=150, instead={k: "no permission" for k in ("storage_read_bytes", "read_bytes", "written_bytes")}))

    # serial_python
    w = "the device waits for the one main thread that is always busy; no worker is"
    series("serial_python--tokenise_h100", w, "h100", 24, 500, 96, dev=dict(d, util=(37, 9), received=2e6), procs=[main("h100", (.99, .005), [("S", .05), ("S", .01)], state="R", voluntary=60)])
    series("serial_python--num_workers_0_2080ti", w + " (num_workers=0: loads and augments itself)", "2080ti", 20, 500, 12, dev=dict(d, util=(29, 10), power=(.33, .07)), procs=[main("2080ti", (.985, .01), [("S", .1), ("S", .02)], state="R", read=2.5e7)])
    series("serial_python--rl_env_a100", w + " (steps of an environment between the kernels; 4 idle workers are there)", "a100", 20, 500, 64, dev=dict(d, util=(8, 4), power=(.14, .02)),
           procs=[main("a100", (.995, .003), [("S", .02)], state="R", voluntary=30)] + workers(4, (.02, .01), name="python", voluntary=20))
    series("serial_python--tf_feed_dict_v100", w + " (TensorFlow 1, feed_dict built in Python)", "v100", 15, 1000, 40, framework="tensorflow", dev=dict(d, util=(46, 8), power=(.35, .05)), procs=[main("v100", (.93, .03), [("S", .18)] * 3, voluntary=500)])
    series("serial_python--postprocess_t4", w + " (detection: boxes are sorted out in Python)", "t4", 30, 500, 4, dev=dict(d, util=(60, 7), power=(.6, .07)), procs=[main("t4", (.98, .01), [("S", .04)], state="R", delay=.02)])

    # host_device_copies
    w = "the device waits while the link carries a good part of what it can"
    c = dict(util=(34, 8), spread=B, power=(.28, .04), sm=(22, 6), tensor=(9, 3), dram=(16, 4), power_mean=.28)
    series("host_device_copies--offload_optimizer_a100", w + " (ZeRO-Offload: gradients down, weights up)", "a100", 24, 500, 64, dev=dict(c, received=(1.25e10, 1.5e9), sent=(1.0e10, 1.5e9)), procs=[main("a100", .75, [("S", .1)])])
    series("host_device_copies--pinned_frames_h100", w + " (uncompressed frames, 38 GB/s of 63)", "h100", 20, 500, 128, dev=dict(c, util=(42, 7), received=(3.8e10, 3e9)), procs=[main("h100", .55, [("S", .05)])])
    series("host_device_copies--t4_x8_offloaded_layers", w + " (layers are fetched from host memory for every token: 6.2 GB/s of 7.9)", "t4", 20, 500, 8, dev=dict(c, util=(22, 6), power=(.5, .05), received=(6.2e9, 4e8)), procs=[main("t4", .98, [("S", .02)])])
    series("host_device_copies--v100_results_down", w + " (masks are copied to the host: 9 GB/s sent)", "v100pcie", 15, 1000, 24, dev=dict(c, util=(48, 7), sent=(9.4e9, 8e8), received=(1.6e9, 3e8)), procs=[main("v100pcie", .85)])
    series("host_device_copies--4090_embedding_tables", w + " (embedding rows from host memory, 17 GB/s of 31)", "4090", 20, 500, 32, dev=dict(c, util=(30, 9), received=(1.7e10, 2e9), sent=(2e9, 3e8)), procs=[main("4090", .6, [("S", .3)])])

    # small_kernels
    w = "kernels nearly always run, each uses little of the chip, and the launching thread is at its limit"
    k = dict(util=(94, 2), power=(.14, .015), sm=(11, 2), tensor=(2, .6), dram=(5, 1), received=3e6, power_mean=.15, umem_share=7)
    series("small_kernels--batch1_h100", w + " (eager, batch 1)", "h100", 24, 500, 96, dev=k, procs=[main("h100", (.995, .003), [("S", .02)], state="R", voluntary=15)])
    series("small_kernels--rnn_h200", w + " (an LSTM, step by step)", "h200", 20, 500, 64, dev=dict(k, util=(88, 3), sm=(15, 3), power=(.18, .02)), procs=[main("h200", (.985, .01), [({"R": .5, "S": .5}, .4)], state="R", voluntary=40)])
    series("small_kernels--gnn_h100pcie", w + " (scatter and gather on tiny graphs)", "h100pcie", 20, 500, 48, dev=dict(k, util=(91, 3), sm=(8, 2), power=(.16, .02)), procs=[main("h100pcie", (.99, .005), [("S", .05)], state="R")] + workers(2, (.08, .03)))
    series("small_kernels--sde_solver_jax_b200", w + " (lax.scan off: one dispatch per step)", "b200", 15, 1000, 144, framework="jax", dev=dict(k, sm=(6, 1.5), power=(.1, .01)), procs=[main("b200", (.97, .01), [({"R": .3, "S": .7}, .25)], state="R")])
    series("small_kernels--a100_no_counters", w + " (no SM counters here: power is near idle at full utilisation)", "a100", 24, 500, 64, dev=dict(k, util=(92, 2), power=(.13, .01)), procs=[main("a100", (.995, .003), [("S", .03)], state="R", voluntary=20)])

    # memory_bound
    w = "kernels nearly always run and DRAM is at its limit while the tensor cores do little"
    b = dict(util=(99, .6), power=(.55, .02), sm=(88, 3), tensor=(3, 1), dram=(87, 2), received=1e7, power_mean=.55, umem_share=82)
    series("memory_bound--decode_batch1_h100", w + " (decoding with batch 1 in CUDA graphs)", "h100", 24, 500, 96, dev=dict(b, sm=(72, 3), tensor=(5, 1)), procs=[main("h100", .6, [("S", .1)])])
    series("memory_bound--stencil_jax_h200", w + " (a finite-difference code)", "h200", 20, 500, 64, framework="jax", dev=dict(b, tensor=0, dram=(92, 1)), procs=[main("h200", .05, [("S", .02)])])
    series("memory_bound--recsys_h100", w + " (embedding look-ups)", "h100", 15, 1000, 192, framework="torch", dev=dict(b, sm=(93, 2), tensor=(8, 2), dram=(80, 3), power=(.6, .02)), procs=[main("h100", .8)] + workers(3, (.25, .06)))
    series("memory_bound--elementwise_h100pcie", w + " (unfused element-wise operations)", "h100pcie", 20, 500, 32, dev=dict(b, sm=(95, 1.5), tensor=(1, .4), dram=(89, 2), power=(.7, .02)), procs=[main("h100pcie", .45)])

    # throttled_power
    w = "kernels run and the power limit holds the clocks far below the highest"
    p = dict(util=(98.5, .8), power=1.1, throttle=["power"], power_mean=1)
    series("throttled_power--t4_70w", w + " (a T4 at its 70 W: 900 of 1590 MHz)", "t4", 24, 500, 8, dev=dict(p, clock=(.565, .02)), procs=[main("t4", .6)])
    series("throttled_power--a100_capped_250w", w + " (limit set to 250 of 400 W)", "a100", 20, 500, 64, limit=250, dev=dict(p, clock=(.69, .015)), procs=[main("a100", .9)] + workers(3, (.3, .05)))
    series("throttled_power--3090_capped_220w", w + " (limit set to 220 of 350 W)", "3090", 15, 1000, 24, limit=220, dev=dict(p, clock=(.58, .02)), procs=[main("3090", .95)])
    series("throttled_power--h100_power_brake", w + " (the supply's brake: 1095 of 1980 MHz although the limit is far)", "h100", 20, 500, 192, ranks=None, dev=dict(p, power=(.5, .02), power_mean=.5, clock=(.553, .01)), procs=[main("h100", .9)])
    series("throttled_power--v100_run_samples", w + " (a run's record: no threads)", "v100", 30, 1000, 40, taken_by="run_samples", limit=160, subject="run 20251120-101112-aa11bb", dev=dict(p, clock=(.62, .02), throttle=[("power", .95)]), procs=[main("v100", .7)])

    # throttled_heat
    w = "kernels run and heat holds the clocks far below the highest"
    h = dict(util=(98.5, .8), power=(.55, .03), throttle=["heat"], power_mean=.5)
    series("throttled_heat--t4_bad_airflow", w, "t4", 24, 500, 16, dev=dict(h, power=(.6, .03), temperature=(88, .6), clock=(.42, .03)), procs=[main("t4", .5)])
    series("throttled_heat--2080ti_stacked_cards", w, "2080ti", 20, 500, 12, dev=dict(h, temperature=(89, .5), clock=(.6, .03), power=(.62, .03), throttle=[("heat", .96)]), procs=[main("2080ti", .9)])
    series("throttled_heat--a100pcie_desk_side", w, "a100pcie", 15, 1000, 32, dev=dict(h, temperature=(93, .7), clock=(.63, .02), throttle=[("heat", 1), ("power", .1)]), procs=[main("a100pcie", .7)])
    series("throttled_heat--h100_pump_failed_grows", w + " (it gets worse while one looks)", "h100", 40, 500, 192, dev=lambda t: dict(h, temperature=84 + min(6, t * .5), clock=max(.45, .8 - t * .03), power=max(.3, .65 - t * .02)), procs=[main("h100", .8)])

    # waiting_for_ranks
    w = "one of several ranks: utilisation is full while nothing is computed, because a collective spins until another rank arrives"
    spin = dict(util=(100, .2), power=(.1, .008), sm=(4, .6), tensor=0, dram=(.8, .2), received=2e6, nvlink=3e6, power_mean=.15, umem_share=1)
    work = dict(util=(99, .7), power=(.85, .03), sm=(83, 3), tensor=(48, 3), dram=(40, 3), nvlink=8e10, power_mean=.5)

    def on_off(period, share, phase=0.0, on=None, off=None):
        x = part(period, share, phase)
        return lambda t: mix(on or work, off or spin, x(t))

    series("waiting_for_ranks--straggler_h100", w + " (half of each 4 s)", "h100", 32, 500, 192, ranks=8, dev=on_off(4, .5), procs=[main("h100", (.97, .02), [({"R": .5, "S": .5}, .4)], state="R")] + workers(2, (.2, .05)))
    series("waiting_for_ranks--hang_h200", w + " (all the time: another rank hangs)", "h200", 20, 500, 128, ranks=16, dev=spin, procs=[main("h200", .99, [("S", .02)], state="R", voluntary=30)])
    series("waiting_for_ranks--a100_no_counters", w + " (no SM counters: the power tells)", "a100", 28, 500, 64, ranks=4, dev=on_off(5, .4, on=work, off=dict(spin, power=(.12, .01))), procs=[main("a100", (.98, .01), [("S", .2)], state="R")])
    series("waiting_for_ranks--h100_blocking_wait", w + " (the thread sleeps, the kernel spins; 65 % of the time)", "h100", 28, 500, 192, ranks=64, dev=on_off(6, .35, on=dict(work, sm=(75, 4))), procs=[main("h100", (.2, .05), [("S", .05)])] + workers(4, (.1, .03)))
    series("waiting_for_ranks--two_devices_other_node_slow", w + " (both devices here wait for another node)", "h100", 24, 500, 192, ranks=4, subject="run 20251120-090000-k1k1k1", devs=[on_off(3, .5), on_off(3, .5)],
           procs=[main("h100", .97, [("S", .1)], state="R", pid=7001, parent=6990), main("h100", .97, [("S", .1)], state="R", pid=7002, parent=6990, devices=(1,)),
                  {"pid": 6990, "parent": 1, "name": "torchrun", "main_cpu": .005, "voluntary": 10}])

    # periodic_pauses
    w = "well used between pauses of more than a second that repeat"
    off = dict(util=0, power=(.12, .01), sm=0, tensor=0, dram=0, power_mean=.5)
    on = dict(util=(97.5, 1), power=(.83, .02), power_mean=.6)
    f = part(12, 8.5 / 12)
    series("periodic_pauses--checkpoints_h100", w + " (checkpoint: 3.5 of each 12 s)", "h100", 100, 500, 96, dev=lambda t: mix(on, off, f(t)),
           procs=[main("h100", lambda t: .7 if f(t) > .5 else .85, [("S", .08)], written=lambda t: 0 if f(t) > .5 else 1.6e9)])
    f2 = part(20, 14 / 20, step=1)
    series("periodic_pauses--evaluation_3090", w + " (metrics on the CPU: 6 of each 20 s)", "3090", 60, 1000, 16, dev=lambda t: mix(on, off, f2(t)), procs=[main("3090", lambda t: .6 if f2(t) > .5 else .97)])
    f3 = part(7, 5 / 7, phase=1.5)
    series("periodic_pauses--logging_a100", w + " (an upload of images every 7 s takes 2 s)", "a100", 84, 500, 64, dev=lambda t: mix(on, off, f3(t)), procs=[main("a100", lambda t: .8 if f3(t) > .5 else .15)])
    f4 = part(15, 11 / 15, phase=4.3, step=1)
    series("periodic_pauses--run_samples_v100", w + " (a run's record; checkpoints to a slow share, 4 of each 15 s)", "v100", 75, 1000, 40, taken_by="run_samples", subject="run 20251119-231500-zz00aa", dev=lambda t: mix(on, off, f4(t)),
           procs=[main("v100", lambda t: .7 if f4(t) > .5 else .06, written=lambda t: 0 if f4(t) > .5 else 1.1e8)])

    # too_few_cpus
    w = "the device waits, and the job's threads are ready but do not get a CPU for much of the time"
    series("too_few_cpus--slurm_1cpu_a100", w + " (one CPU allowed, four workers on it)", "a100", 20, 500, 128, 1, dev=dict(d, util=(16, 8)), procs=[main("a100", (.17, .04), [("R", .03)], state="R", delay=(.7, .06), involuntary=120)] + workers(4, (.19, .03), state={"R": .95, "S": .05}, delay=(.77, .05), involuntary=110, voluntary=10), host_busy=(22, 3))
    series("too_few_cpus--quota_2_h100", w + " (a container's quota of 2 CPUs for 6 workers)", "h100", 20, 500, 96, 2.0, dev=dict(d, util=(28, 9)), procs=[main("h100", (.3, .05), [("R", .06)], state={"R": .9, "S": .1}, delay=(.62, .05), involuntary=80)] + workers(6, (.26, .04), state={"R": .96, "S": .04}, delay=(.7, .05), involuntary=90), host_busy=(12, 2))
    series("too_few_cpus--others_take_cpus_3090", w + " (jobs of others fill all 16 CPUs)", "3090", 15, 1000, 16, dev=dict(d, util=(44, 9)), procs=[main("3090", (.4, .05), [("R", .05)], state={"R": .85, "S": .15}, delay=(.52, .06), involuntary=140)] + workers(4, (.42, .05), state={"R": .95, "S": .05}, delay=(.54, .06), involuntary=130), host_busy=(88, 2))
    series("too_few_cpus--bound_to_2_threads_v100", w + " (affinity of 2 CPUs; many OpenMP threads in the main process)", "v100", 24, 500, 40, 2, dev=dict(d, util=(33, 8)), procs=[main("v100", (.27, .04), [("R", (.21, .03))] * 8, state="R", delay=(6.1, .4), involuntary=700)])

    # shared_with_others
    w = "others compute on the same device and take a good part of its time"
    o = dict(util=(98, 1), power=(.72, .04), others=1, others_percent=(47, 4), power_mean=.7)
    series("shared_with_others--two_trainings_a100", w, "a100", 24, 500, 64, dev=dict(o, memory=.8), procs=[main("a100", .9, memory=.4, sm=(49, 4))])
    series("shared_with_others--student_server_v100", w + " (three others)", "v100", 20, 1000, 40, dev=dict(o, others=3, others_percent=(71, 5)), procs=[main("v100", .8, memory=.2, sm=(24, 4))] + workers(2, (.2, .05)))
    series("shared_with_others--inference_beside_t4", w + " (a server of another user takes 35 to 45 %)", "t4", 24, 500, 8, framework="tensorflow", dev=dict(o, util=(93, 3), others_percent=(40, 5)), procs=[main("t4", .7, sm=(52, 4), memory=.3)])
    series("shared_with_others--h100_mps", w, "h100", 20, 500, 96, dev=dict(o, util=(99.5, .3), others=2, others_percent=(60, 4), sm=(70, 5), tensor=(30, 4), dram=(35, 4)), procs=[main("h100", .95, memory=.3, sm=(38, 4))])

    # swapping
    w = "the device waits while the job's memory comes back from swap"
    s = dict(d, util=(13, 7), power=(.2, .03), received=4e7)
    series("swapping--big_dataset_3090", w, "3090", 20, 500, 8, dev=s, iowait=(45, 8), io_pressure=(88, 6), swap_in=(1.3e8, 2e7),
           procs=[main("3090", (.09, .03), state={"D": .85, "R": .08, "S": .07}, storage=(1.25e8, 2e7), major=(9000, 1200), swapped=lambda t: 9.1e9 + 1e8 * math.sin(t), voluntary=9500, read=1e5)])
    series("swapping--workers_copy_on_write_t4", w + " (workers' copies of the data set do not fit)", "t4", 15, 1000, 4, dev=s, iowait=(52, 8), io_pressure=(93, 4), swap_in=(7e7, 1e7),
           procs=[main("t4", .06, state={"D": .5, "S": .5}, major=(900, 200), storage=(5e6, 1e6), swapped=3 * GIB)] + workers(4, (.08, .03), state={"D": .9, "S": .06, "R": .04}, storage=(1.5e7, 3e6), major=(2600, 500), swapped=2 * GIB, read=1e5))
    series("swapping--offload_too_big_2080ti", w + " (weights offloaded to more host memory than there is)", "2080ti", 24, 500, 12, dev=dict(s, util=(7, 4)), iowait=(16, 4), io_pressure=(80, 8), swap_in=(2.1e8, 3e7),
           procs=[main("2080ti", (.16, .04), state={"D": .8, "R": .14, "S": .06}, storage=(2.0e8, 3e7), major=(12000, 2000), swapped=21 * GIB, voluntary=13000)])
