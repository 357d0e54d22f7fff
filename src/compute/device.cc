#include "compute/device.h"

#include <bit>

#include "base/check.h"

namespace berth::compute {

Buffer::Buffer(Buffer&& other) noexcept
    : device_(other.device_),
      address_(std::exchange(other.address_, 0)),
      bytes_(other.bytes_),
      memory_(other.memory_) {}

Buffer::~Buffer() {
  if (address_ != 0) device_->release(*this);
}

std::span<std::uint32_t> Buffer::words() {
  BERTH_CHECK(is_host(), "only the host's memory is read in place");
  return {std::bit_cast<std::uint32_t*>(address_), bytes_ / sizeof(std::uint32_t)};
}

std::span<const std::uint32_t> Buffer::words() const {
  BERTH_CHECK(is_host(), "only the host's memory is read in place");
  return {std::bit_cast<const std::uint32_t*>(address_), bytes_ / sizeof(std::uint32_t)};
}

Result<void> copy(const Buffer& from, Buffer& to) {
  if (to.bytes() < from.bytes()) {
    return fail(ErrorCode::invalid, "copying {} bytes from {} to {} bytes on {}: they do not fit",
                from.bytes(), from.device().name(), to.bytes(), to.device().name());
  }
  // The CPU knows nothing of other devices' memory: the other one copies.
  Device& copier = from.device().kind() == Kind::cpu ? to.device() : from.device();
  return copier.copy_here(from, to);
}

Result<void> run(const Kernel& kernel, const Arguments& arguments) {
  if (arguments.buffers.empty()) {
    return fail(ErrorCode::invalid, "{}: it was given no buffer", kernel.name);
  }
  Device& device = arguments.buffers.front()->device();
  for (std::size_t i = 1; i < arguments.buffers.size(); ++i) {
    const Device& other = arguments.buffers[i]->device();
    if (&other == &device) continue;
    return fail(ErrorCode::invalid,
                "{}: its 1st buffer is on {} and its {}. on {}: copy one of them to the other's "
                "device first",
                kernel.name, device.name(), i + 1, other.name());
  }
  if (auto started = device.start(kernel, arguments); !started) return started;
  return device.finish();
}

}  // namespace berth::compute
