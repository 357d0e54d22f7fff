// The CPU as a device: memory is the program's own, the blocks of a kernel's grid are shared out
// among threads.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <thread>

#include "compute/device.h"

namespace berth::compute {

namespace {

constexpr std::align_val_t alignment{64};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(unsigned threads)
      : Device(Kind::cpu, "cpu"), threads_(std::max(1U, threads)) {}

  Result<Buffer> allocate(std::size_t bytes, Memory memory) override {
    void* address = ::operator new(std::max<std::size_t>(bytes, 1), alignment, std::nothrow);
    if (address == nullptr) {
      return fail(ErrorCode::io, "cpu: no memory for {} bytes", bytes);
    }
    return Buffer(*this, std::bit_cast<std::uint64_t>(address), bytes, memory);
  }

  Result<void> start(const Kernel& kernel, const Arguments& arguments) override {
    std::vector<void*> buffers;
    for (const Buffer* buffer : arguments.buffers) {
      buffers.push_back(std::bit_cast<void*>(buffer->address()));
    }
    const Shape& shape = arguments.shape;
    const std::size_t blocks = std::size_t{shape.grid_x} * shape.grid_y;
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < blocks; i = next++) {
        kernel.block(buffers, arguments.numbers, shape, static_cast<unsigned>(i % shape.grid_x),
                     static_cast<unsigned>(i / shape.grid_x));
      }
    };
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads_ && i < blocks; ++i) helpers.emplace_back(work);
    work();
    return {};
  }

  Result<void> finish() override { return {}; }
  Result<std::size_t> free_bytes() override {
    return fail(ErrorCode::unsupported, "the CPU's memory is everybody's");
  }

 private:
  void release(Buffer& buffer) override {
    ::operator delete(std::bit_cast<void*>(buffer.address()), alignment);
  }
  Result<void> copy_here(const Buffer& from, Buffer& to) override {
    std::memcpy(to.words().data(), from.words().data(), from.bytes());
    return {};
  }

  unsigned threads_;
};

}  // namespace

std::unique_ptr<Device> make_cpu(unsigned threads) { return std::make_unique<CpuDevice>(threads); }

}  // namespace berth::compute
