#include "probe/probe_process/channel.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace berth {

Result<Channel> Channel::open() {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return fail_system(errno, "share memory with the probe process");
  ::new (memory) Shared{};
  return Channel(memory);
}

Channel::Channel(Channel&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}

Channel::~Channel() {
  if (memory_ != nullptr) ::munmap(memory_, size);
}

bool Channel::write(std::string_view bytes) {
  const std::uint64_t length = shared().length.load(std::memory_order_relaxed);
  if (length > size - header || bytes.size() > size - header - length) {
    shared().full.store(true, std::memory_order_relaxed);
    return false;
  }
  std::memcpy(data() + length, bytes.data(), bytes.size());
  shared().length.store(length + bytes.size(), std::memory_order_release);
  return true;
}

void Channel::note_step() { shared().steps.fetch_add(1, std::memory_order_release); }

void Channel::clear() {
  shared().length.store(0, std::memory_order_relaxed);
  shared().full.store(false, std::memory_order_relaxed);
}

std::string_view Channel::bytes() const {
  // The other side has a vendor's library in it: a length may be anything.
  const std::uint64_t length = shared().length.load(std::memory_order_acquire);
  return {data(), std::min<std::uint64_t>(length, size - header)};
}

std::uint64_t Channel::steps() const { return shared().steps.load(std::memory_order_acquire); }

bool Channel::is_full() const { return shared().full.load(std::memory_order_relaxed); }

}  // namespace berth
