"""The account of a run: guard/account.h in Python. Its author did not write the other two."""

import struct


class Account:
    """A file of its own, as berth makes it before a job: a limit in bytes per UUID."""

    PAGE, SLOTS, DEVICES, SLOT = 65536, 1024, 16, 192
    BYTES = 2 * PAGE + SLOTS * SLOT
    EMPTYING = (1 << 64) - 1

    def __init__(self, path, limits, context=0):
        self.path = path
        header = struct.pack("<8sQQQ", b"BERTHMEM", 1, self.BYTES, len(limits))
        for uuid, limit in limits.items():
            header += struct.pack("<16sQQ", bytes.fromhex(uuid), limit, context)
        self.path.touch(0o600)
        self.path.write_bytes(header.ljust(self.BYTES, b"\0"))

    def words(self, offset, count):
        with self.path.open("rb") as file:
            file.seek(offset)
            return struct.unpack(f"<{count}Q", file.read(8 * count))

    def put(self, offset, *words):
        with self.path.open("r+b") as file:
            file.seek(offset)
            file.write(struct.pack(f"<{len(words)}Q", *words))

    def result(self, device=0):
        """Highest charge, refusals, unseen bytes."""
        return self.words(self.PAGE + 64 * device, 3)

    def slots(self):
        """pid → bytes per device, of those in use."""
        found = {}
        for number in range(self.words(self.PAGE + 64 * self.DEVICES, 1)[0]):
            pid, *rest = self.words(2 * self.PAGE + self.SLOT * number, 8 + self.DEVICES)
            if pid:
                found[pid] = list(rest[7:])
        return found

    def charged(self, device=0):
        """What all slots have; nothing is on its way."""
        words = [slot[device] for slot in self.slots().values()]
        assert all(word < 1 << 48 for word in words), words
        return sum(words)
