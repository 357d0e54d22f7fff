#pragma once
// A place that computes, the CPU or a CUDA device, and what lies and runs there:
//
//   auto cpu = make_cpu(4);
//   auto gpu = make_cuda(api, "1a2b…");                 // by UUID
//   auto a = (*gpu)->allocate(n * n * 4);
//   auto done = run(fill_kernel, fill_arguments(*a, seed));  // runs where its buffers lie
//   done = copy(*a, *mine);                              // from anywhere to anywhere
//
// Every failure names the attempt, the device and its answer. One thread at a time uses a device
// and its buffers; a device outlives its buffers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::compute {

class Buffer;

enum class Kind { cpu, cuda };

enum class Memory {
  own,     // where the device computes fastest
  pinned,  // the host's, locked in place so that the device reads it by itself
};

/// How many threads run a kernel, in blocks that share memory: CUDA's grid and block. The CPU takes
/// a block as one piece of work.
struct Shape {
  unsigned grid_x = 1;
  unsigned grid_y = 1;
  unsigned block_x = 1;
  unsigned block_y = 1;
};

/// What a kernel is given: buffers first, then numbers.
struct Arguments {
  std::vector<Buffer*> buffers;
  std::vector<std::uint32_t> numbers;
  Shape shape;
};

/// A computation with a body per kind of device.
struct Kernel {
  const char* name;
  /// PTX with an .entry of that name, parameters as in Arguments (addresses of 64 bits, then
  /// numbers of 32).
  std::string (*ptx)();
  /// One block of the grid.
  void (*block)(std::span<void* const> buffers, std::span<const std::uint32_t> numbers,
                const Shape& shape, unsigned block_x, unsigned block_y);
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  /// "cpu", "cuda:0".
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Kind kind() const { return kind_; }

  /// Bytes of undefined content. io: the device's answer.
  [[nodiscard]] virtual Result<Buffer> allocate(std::size_t bytes, Memory memory = Memory::own) = 0;
  /// Starts a kernel; returns before it is done where the device works by itself.
  [[nodiscard]] virtual Result<void> start(const Kernel& kernel, const Arguments& arguments) = 0;
  /// Waits until all that was started is done. What went wrong meanwhile is said here.
  [[nodiscard]] virtual Result<void> finish() = 0;
  /// Bytes that can still be allocated; nothing: not told.
  [[nodiscard]] virtual Result<std::size_t> free_bytes() = 0;

 protected:
  Device(Kind kind, std::string name) : kind_(kind), name_(std::move(name)) {}

 private:
  friend class Buffer;
  friend Result<void> copy(const Buffer& from, Buffer& to);
  virtual void release(Buffer& buffer) = 0;
  /// One of the two buffers is this device's.
  virtual Result<void> copy_here(const Buffer& from, Buffer& to) = 0;

  Kind kind_;
  std::string name_;
};

/// Memory of one device, given back when this ends.
class Buffer {
 public:
  Buffer(Device& device, std::uint64_t address, std::size_t bytes, Memory memory)
      : device_(&device), address_(address), bytes_(bytes), memory_(memory) {}
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  [[nodiscard]] Device& device() const { return *device_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] Memory memory() const { return memory_; }
  /// The device's own address, for its kernels.
  [[nodiscard]] std::uint64_t address() const { return address_; }
  /// Readable by this program: memory of the CPU, or pinned.
  [[nodiscard]] bool is_host() const {
    return memory_ == Memory::pinned || device_->kind() == Kind::cpu;
  }
  /// Only of one that is_host().
  [[nodiscard]] std::span<std::uint32_t> words();
  [[nodiscard]] std::span<const std::uint32_t> words() const;

 private:
  Device* device_;
  std::uint64_t address_;
  std::size_t bytes_;
  Memory memory_;
};

/// Copies all of `from` to the beginning of `to`, wherever they lie, and waits for it. invalid:
/// `to` is smaller.
[[nodiscard]] Result<void> copy(const Buffer& from, Buffer& to);

/// Runs a kernel where its buffers lie and waits for it. invalid: they lie on different devices
/// (both are named), or there is none.
[[nodiscard]] Result<void> run(const Kernel& kernel, const Arguments& arguments);

/// The CPU, with so many threads.
[[nodiscard]] std::unique_ptr<Device> make_cpu(unsigned threads);

/// CUDA's own UUIDs have nothing in front ("GPU-", "MIG-").
[[nodiscard]] inline std::string bare_uuid(const std::string& uuid) {
  return uuid.starts_with("GPU-") || uuid.starts_with("MIG-") ? uuid.substr(4) : uuid;
}

struct CudaApi;
/// The device of that UUID (without "GPU-" or "MIG-"). not_found: CUDA shows none of it. The api
/// outlives the device.
[[nodiscard]] Result<std::unique_ptr<Device>> make_cuda(const CudaApi& api,
                                                        const std::string& uuid);

}  // namespace berth::compute
