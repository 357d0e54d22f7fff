// The layer under --gpu-test, on the CPU and on a fake driver. That driver runs the very PTX that a
// real one is given.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <new>
#include <set>
#include <string>

#include "compute/cuda_api.h"
#include "compute/kernels.h"
#include "compute/proof.h"

namespace berth::compute {
namespace {

using ::testing::HasSubstr;

constexpr auto first_uuid = "00000000-0000-4000-8000-000000000000";
constexpr auto second_uuid = "00000001-0000-4000-8000-000000000000";

class Compute : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("BERTH_FAKE_CUDA",
             "00000000000040008000000000000000=A;00000001000040008000000000000000=B", 1);
    ::setenv("BERTH_FAKE_CUDA_FAULT", "", 1);
    auto loaded = load_cuda_to_compute(BERTH_FAKE_CUDA_LIBRARY);
    ASSERT_TRUE(loaded) << loaded.error().message();
    api_ = *loaded;
  }
  static void fault(const char* what) { ::setenv("BERTH_FAKE_CUDA_FAULT", what, 1); }
  std::unique_ptr<Device> cuda(const char* uuid = first_uuid) {
    auto device = make_cuda(api_, uuid);
    EXPECT_TRUE(device) << device.error().message();
    return std::move(*device);
  }
  CudaApi api_;
};

std::vector<std::uint32_t> filled_on(Device& device, std::size_t words, std::uint32_t seed) {
  auto buffer = device.allocate(words * 4);
  EXPECT_TRUE(buffer);
  const auto done = run(fill_kernel, fill_arguments(*buffer, seed));
  EXPECT_TRUE(done) << done.error().message();
  const auto cpu = make_cpu(1);
  auto mine = cpu->allocate(words * 4);
  EXPECT_TRUE(copy(*buffer, *mine));
  return {mine->words().begin(), mine->words().end()};
}

TEST_F(Compute, FillsTheSameOnEveryDevice) {
  // Not a multiple of a block: the last threads have nothing to do.
  constexpr std::size_t words = 1000;
  const auto of_cuda = filled_on(*cuda(), words, 3);
  const auto of_cpu = filled_on(*make_cpu(2), words, 3);
  EXPECT_EQ(of_cuda, of_cpu);
  EXPECT_EQ(wrong_word(of_cpu, 3), std::nullopt);
  std::vector<int> seen(5, 0);
  for (std::uint32_t i = 0; i < words; ++i)
    ++seen.at(static_cast<std::size_t>(filled_number(i, 3) + 2));
  for (const int count : seen) EXPECT_GT(count, 150);
}

std::vector<std::uint32_t> product_on(Device& device, std::uint32_t side) {
  const std::size_t bytes = std::size_t{side} * side * 4;
  auto a = device.allocate(bytes);
  auto b = device.allocate(bytes);
  auto product = device.allocate(bytes);
  EXPECT_TRUE(run(fill_kernel, fill_arguments(*a, 1)));
  EXPECT_TRUE(run(fill_kernel, fill_arguments(*b, 2)));
  const auto done = run(multiply_kernel, multiply_arguments(*a, *b, *product, side));
  EXPECT_TRUE(done) << done.error().message();
  const auto cpu = make_cpu(1);
  auto mine = cpu->allocate(bytes);
  EXPECT_TRUE(copy(*product, *mine));
  return {mine->words().begin(), mine->words().end()};
}

/// By the definition, element by element.
std::vector<std::uint32_t> product_by_definition(std::uint32_t side) {
  std::vector<std::uint32_t> product;
  for (std::uint32_t row = 0; row < side; ++row) {
    for (std::uint32_t column = 0; column < side; ++column) {
      int sum = 0;
      for (std::uint32_t k = 0; k < side; ++k) {
        sum += filled_number(row * side + k, 1) * filled_number(k * side + column, 2);
      }
      product.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(sum)));
    }
  }
  return product;
}

TEST_F(Compute, MultipliesAsTheDefinitionSaysOnEveryDevice) {
  for (const std::uint32_t side : {64U, 128U}) {
    const auto wanted = product_by_definition(side);
    EXPECT_EQ(product_on(*make_cpu(2), side), wanted) << side;
    EXPECT_EQ(product_on(*cuda(), side), wanted) << side;
  }
}

TEST(ProductCheck, FindsEachSingleWrongElement) {
  constexpr std::uint32_t side = 64;
  auto product = product_by_definition(side);
  EXPECT_EQ(wrong_row(product, side, 1, 2), std::nullopt);
  EXPECT_NE(wrong_row(product, side, 1, 3), std::nullopt);
  for (const std::size_t at : {0UL, 63UL, 64UL * 17 + 5, 64UL * 64 - 1}) {
    const auto kept = product[at];
    for (const float wrong : {std::bit_cast<float>(kept) + 1, 0.5F, NAN, INFINITY, 1e30F}) {
      product[at] = std::bit_cast<std::uint32_t>(wrong);
      EXPECT_EQ(wrong_row(product, side, 1, 2), at / side) << wrong;
    }
    product[at] = kept;
  }
}

TEST_F(Compute, AKernelNamesBothDevicesWhenItsBuffersAreMixed) {
  const auto gpu = cuda();
  const auto cpu = make_cpu(1);
  auto a = gpu->allocate(64 * 64 * 4);
  auto b = cpu->allocate(64 * 64 * 4);
  auto product = gpu->allocate(64 * 64 * 4);
  const auto done = run(multiply_kernel, multiply_arguments(*a, *b, *product, 64));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::invalid);
  EXPECT_THAT(done.error().message(), HasSubstr("cuda:0"));
  EXPECT_THAT(done.error().message(), HasSubstr("on cpu"));
}

TEST_F(Compute, CopiesFromAnywhereToAnywhere) {
  const auto one = cuda();
  const auto two = cuda(second_uuid);
  const auto cpu = make_cpu(1);
  auto from = cpu->allocate(4096);
  ASSERT_TRUE(run(fill_kernel, fill_arguments(*from, 9)));
  auto on_one = one->allocate(4096);
  auto on_two = two->allocate(4096);
  auto pinned = two->allocate(4096, Memory::pinned);
  auto back = cpu->allocate(4096);
  ASSERT_TRUE(copy(*from, *on_one));
  ASSERT_TRUE(copy(*on_one, *on_two));
  ASSERT_TRUE(copy(*on_two, *pinned));
  ASSERT_TRUE(copy(*pinned, *back));
  EXPECT_EQ(wrong_word(back->words(), 9), std::nullopt);
  auto small = cpu->allocate(100);
  EXPECT_FALSE(copy(*back, *small));
}

TEST_F(Compute, AKernelThatLeavesItsBuffersIsRefusedByTheDevice) {
  const auto gpu = cuda();
  auto small = gpu->allocate(100 * 4);
  Arguments arguments = fill_arguments(*small, 1);
  arguments.numbers[0] = 200;
  const auto done = run(fill_kernel, arguments);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(Compute, ADeviceThatIsNotThereIsNotFound) {
  const auto device = make_cuda(api_, "ffffffff-0000-4000-8000-000000000000");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), ErrorCode::not_found);
}

TEST_F(Compute, ALibraryThatIsNotThereOrNoDriverIsUnsupported) {
  EXPECT_EQ(load_cuda_to_compute("libno-such-cuda.so.1").error().code(), ErrorCode::unsupported);
  const auto other = load_cuda("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("cuInit"));
}

std::vector<ProofStep> proved(Device& device) {
  SystemClock clock;
  const auto cpu = make_cpu(2);
  std::vector<ProofStep> steps;
  prove(device, *cpu, clock, {.bytes = 1U << 20U, .long_enough = Duration(1), .step = Duration(1)},
        [&](const ProofStep& step) {
          if (step.end != ProofEnd::unfinished) steps.push_back(step);
        });
  return steps;
}

TEST_F(Compute, AWellDevicePassesEveryStep) {
  const auto steps = proved(*cuda());
  ASSERT_EQ(steps.size(), 7U);
  for (const ProofStep& step : steps) {
    EXPECT_EQ(step.end, ProofEnd::passed) << name_of(step.what) << " " << step.detail;
    EXPECT_GT(step.per_second.value_or(0), 0) << name_of(step.what);
  }
}

/// Each look at it takes a microsecond.
class TickingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_ += std::chrono::microseconds(1); }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  void wait_until(Instant deadline) override { now_ = std::max(now_, deadline); }
  void advance(Duration by) { now_ += by; }

 private:
  mutable Instant now_{};
};

/// A card of 1 TFLOP/s whose first kernel of each name takes 20 ms longer, as a real one's does.
class SlowAtFirst final : public Device {
 public:
  explicit SlowAtFirst(TickingClock& clock) : Device(Kind::cpu, "slow at first"), clock_(clock) {}
  Result<Buffer> allocate(std::size_t bytes, Memory memory) override {
    return Buffer(*this, reinterpret_cast<std::uint64_t>(::operator new(bytes)), bytes, memory);
  }
  Result<void> start(const Kernel& kernel, const Arguments& arguments) override {
    if (loaded_.insert(kernel.name).second) clock_.advance(std::chrono::milliseconds(20));
    const double side = arguments.numbers.at(0);
    if (arguments.buffers.size() == 3) {
      clock_.advance(Duration(static_cast<Duration::rep>(2 * side * side * side / 1000)));
    }
    std::vector<void*> buffers;
    for (const Buffer* one : arguments.buffers) {
      buffers.push_back(reinterpret_cast<void*>(one->address()));
    }
    const Shape& shape = arguments.shape;
    for (unsigned y = 0; y < shape.grid_y; ++y) {
      for (unsigned x = 0; x < shape.grid_x; ++x) {
        kernel.block(buffers, arguments.numbers, shape, x, y);
      }
    }
    return {};
  }
  Result<void> finish() override { return {}; }
  Result<std::size_t> free_bytes() override { return std::size_t{1} << 30U; }

 private:
  void release(Buffer& buffer) override {
    ::operator delete(reinterpret_cast<void*>(buffer.address()));
  }
  Result<void> copy_here(const Buffer& from, Buffer& to) override {
    std::ranges::copy(from.words(), to.words().begin());
    clock_.advance(std::chrono::milliseconds(1));
    return {};
  }
  TickingClock& clock_;
  std::set<std::string> loaded_;
};

TEST(Proof, WhatTheFirstRunTakesLongerIsNotTheCardsSpeed) {
  TickingClock clock;
  SlowAtFirst device(clock);
  std::optional<double> speed;
  prove(device, *make_cpu(2), clock,
        {.bytes = 1U << 20U, .long_enough = std::chrono::microseconds(400), .step = Duration(1)},
        [&](const ProofStep& step) {
          if (step.what == ProofOf::multiply && step.per_second) speed = step.per_second;
        });
  ASSERT_TRUE(speed);
  EXPECT_NEAR(*speed, 1e12, 1e11);
}

TEST_F(Compute, AWrongProductIsNamedWithItsRow) {
  fault("wrong:0");
  const auto steps = proved(*cuda());
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.front().what, ProofOf::multiply);
  EXPECT_EQ(steps.front().end, ProofEnd::wrong);
  EXPECT_EQ(steps.front().detail, "row 0 of 64 × 64");
  EXPECT_EQ(steps.front().per_second, std::nullopt);
}

TEST_F(Compute, NothingIsAskedAfterARefusal) {
  fault("cuLaunchKernel=719");
  const auto steps = proved(*cuda());
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps.front().end, ProofEnd::failed);
  EXPECT_THAT(steps.front().detail, HasSubstr("CUDA_ERROR_LAUNCH_FAILED (719)"));
}

}  // namespace
}  // namespace berth::compute
