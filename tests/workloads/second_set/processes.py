"""The processes of a scene's job and the host's readings."""

from scene import GIB


class Job:
    """A main process for each device (or one without), its workers and what else belongs to it."""

    def __init__(self, scene, timelines, rng):
        self.scene, self.timelines, self.rng = scene, timelines, rng
        self.first = rng.randrange(2_000, 900_000)
        self.launcher = self.first if scene.gpus > 1 else rng.randrange(1_000, 2_000)
        self.pids = [self.first + (1 if scene.gpus > 1 else 0) + 100 * index for index in range(scene.gpus)]

    def milliseconds(self, share, span):
        """CPU time of one thread in a step: never more than the step and what a clock's tick is worth."""
        value = share * span + (self.rng.gauss(0, 0.012 * span) if share > 0.03 else 0)
        value = max(0.0, min(value, span + 1.0))
        if "ticks" in self.scene.quirks:
            return int(min(value + self.rng.uniform(0, 10), span) // 10 * 10)
        return int(value)

    def state(self, running, stalled):
        """R, D or S, as often as it runs, waits for storage or sleeps."""
        if self.scene.state:
            return self.scene.state
        draw = self.rng.random()
        if draw < running:
            return "R"
        return "D" if draw < running + stalled else "S"

    def spread(self, amount):
        """An amount with noise, as a whole number."""
        return int(max(0.0, amount * self.rng.gauss(1.0, 0.08)))

    def counted(self, cpu, delay, stall, span):
        """Switches: voluntary ones if it waits, involuntary ones if it is pushed aside."""
        idle = max(0.0, 1 - cpu)
        return {
            "voluntary_switches": self.spread((20 * idle + 400 * stall + 60 * min(cpu, 1)) * span / 1000),
            "involuntary_switches": self.spread((12 * cpu + 180 * delay) * span / 1000),
        }

    def share_of_device(self, mean):
        """The process's part of the device's time."""
        return round(min(100.0, max(0.0, 100 * mean["busy"] - mean["others_share"]) * self.rng.gauss(0.99, 0.008)))

    def fitted(self, means):
        """No more CPU time than there is: what is too much, workers and pools wait for instead."""
        scene = self.scene
        wanted = sum(mean["main"] + mean["pool"] + scene.workers * mean["worker"] for mean in means)
        mains = sum(mean["main"] for mean in means)
        there = min(scene.allowed or scene.cpus, scene.cpus * (1 - scene.background)) * 0.985
        if wanted <= there:
            return means
        factor = max(0.0, there - mains) / (wanted - mains)
        out = []
        for mean in means:
            lost = {"worker_delay": mean["worker"] * (1 - factor), "delay": mean["pool"] * (1 - factor)}
            out.append(mean | {name: mean[name] + more for name, more in lost.items()}
                       | {"worker": mean["worker"] * factor, "pool": mean["pool"] * factor})
        return out

    def threads(self, pid, mean, span):
        """The main thread and the pool's."""
        main = self.milliseconds(mean["main"], span)
        rows = [[pid, self.state(mean["main"] + mean["delay"] / 4, mean["stall"]), main]]
        count = self.scene.pool_threads
        each = min(1.0, mean["pool"] / count) if count else 0
        for index in range(count):
            cpu = self.milliseconds(min(1.0, each * self.rng.uniform(0.93, 1.05)), span)
            rows.append([pid + 1 + index, self.state(each, 0.0), cpu])
        return rows

    def main(self, index, mean, span):
        """The process on the device."""
        scene, pid = self.scene, self.pids[index]
        rows = self.threads(pid, mean, span)
        cpu = sum(row[2] for row in rows)
        disk = self.spread(mean["disk"] * 1000 * span)
        out = {
            "pid": pid, "parent": self.launcher, "name": "python3", "state": rows[0][1], "devices": [index],
            "gpu_memory_bytes": int(scene.memory * scene.card.memory * GIB * 0.97),
            "sm_percent": self.share_of_device(mean),
            "cpu_ms": cpu, "run_delay_ms": self.spread((mean["delay"] + 0.004 * mean["main"]) * span),
            "storage_read_bytes": disk, "read_bytes": disk + self.spread((mean["read"] + 0.3) * 1000 * span),
            "written_bytes": self.spread((mean["write"] + 0.002) * 1000 * span),
        }
        out |= self.counted(cpu / span, mean["delay"], mean["stall"], span)
        swap = mean["swap_in"] * 1e6 * span / 1000
        out |= {"major_faults": self.spread(swap / 24_000), "swapped_bytes": int(scene.swapped * GIB),
                "threads": rows}
        if not scene.holds:
            for key in ("devices", "gpu_memory_bytes", "sm_percent"):
                del out[key]
        return self.without(out)

    def without(self, out):
        """Leaves out what this scene has no readings of."""
        if "no_process_sm" in self.scene.quirks and "sm_percent" in out:
            out["sm_percent"] = "unsupported"
        if "lean" in self.scene.quirks:
            for key in ("voluntary_switches", "involuntary_switches", "read_bytes", "written_bytes"):
                out.pop(key, None)
        return out

    def child(self, pid, parent, name, mean, span):
        """A worker; an idle one when `mean` is empty."""
        share, stall, delay = (mean.get(key, 0.0) for key in ("worker", "worker_stall", "worker_delay"))
        cpu = self.milliseconds(min(1.0, share * self.rng.uniform(0.95, 1.05)), span)
        state = self.state(share + delay * 0.9, stall)
        disk = self.spread(mean.get("worker_disk", 0.0) * 1000 * span)
        out = {
            "pid": pid, "parent": parent, "name": name, "state": state, "cpu_ms": cpu,
            "run_delay_ms": self.spread((delay + 0.006 * share) * span), "storage_read_bytes": disk,
            "read_bytes": disk + self.spread(mean.get("worker_read", 0.0) * 1000 * span), "written_bytes": 0,
        }
        out |= self.counted(share, delay, stall, span)
        return self.without(out | {"major_faults": 0, "swapped_bytes": 0, "threads": [[pid, state, cpu]]})

    def holder(self, number, span):
        """A child that holds a device and does nothing."""
        out = self.child(self.pids[0] + 60 + number, self.pids[0], "python3", {}, span)
        return out | {"devices": [0], "gpu_memory_bytes": int(0.04 * self.scene.card.memory * GIB)}

    def watched(self, means, span):
        """All processes as somebody who looks sees them."""
        scene, out = self.scene, []
        if scene.gpus > 1:
            out.append(self.child(self.launcher, 1, "torchrun" if scene.framework == "torch" else "python3", {},
                                  span))
        for index, mean in enumerate(means):
            out.append(self.main(index, mean, span))
            out += [
                self.child(self.pids[index] + 40 + number, self.pids[index], scene.worker_name, mean, span)
                for number in range(scene.workers)
            ]
        return out + [self.holder(number, span) for number in range(scene.idle_children)]

    def recorded(self, means, span):
        """The job as a run's record has it: one process, few numbers."""
        scene = self.scene
        cpu = sum(mean["main"] + mean["pool"] + scene.workers * mean["worker"] for mean in means)
        disk = sum(mean["disk"] + scene.workers * mean["worker_disk"] for mean in means)
        out = {
            "pid": self.first, "parent": 0, "name": "job", "devices": list(range(scene.gpus)),
            "gpu_memory_bytes": int(scene.gpus * scene.memory * scene.card.memory * GIB * 0.97),
            "cpu_ms": self.spread(cpu * span) // 10 * 10, "storage_read_bytes": self.spread(disk * 1000 * span),
            "written_bytes": self.spread(sum(mean["write"] for mean in means) * 1000 * span),
        }
        out["cpu_ms"] = int(min(out["cpu_ms"], (scene.allowed or scene.cpus) * span))
        if not scene.holds:
            del out["devices"]
            out["gpu_memory_bytes"] = 0
        return [out]

    def host(self, means, processes, span):
        """The host's readings."""
        scene, rng = self.scene, self.rng
        used = sum(one["cpu_ms"] for one in processes) / (span * scene.cpus)
        busy = min(1.0, used + max(0.0, scene.background * rng.gauss(1, 0.1)))
        stalls = [mean["stall"] for mean in means] + [mean["worker_stall"] for mean in means if scene.workers]
        waiting = sum(mean["stall"] + scene.workers * mean["worker_stall"] for mean in means)
        out = {
            "cpu_busy_percent": round(100 * busy, 1),
            "iowait_percent": round(100 * min(1 - busy, 0.8 * waiting / scene.cpus), 1),
            "io_pressure_percent": round(100 * min(1.0, max(stalls) * rng.uniform(0.95, 1.1)), 1),
            "swap_in_bytes": self.spread(sum(mean["swap_in"] for mean in means) * 1000 * span),
        }
        if "no_pressure" in scene.quirks:
            out["io_pressure_percent"] = "unsupported"
        return out

    def read(self, begin, end, present):
        """The processes and the host in one step."""
        span = round(1000 * (end - begin))
        means = self.fitted([timeline.mean(begin, end) for timeline in self.timelines])
        if self.scene.by == "run_samples":
            return (self.recorded(means, span) if present else []), {}
        processes = self.watched(means, span) if present else []
        return processes, self.host(means, processes, span)
