#include "host_environment/mps.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/temporary_directory.h"

namespace berth {
namespace {

constexpr Bytes gibibytes(std::uint64_t count) { return Bytes(count << 30); }

TEST(Mps, LimitsAreOfTheDevicesAsTheJobSeesThem) {
  EXPECT_EQ(mps_limits({gibibytes(10)}), "0=10240M");
  EXPECT_EQ(mps_limits({gibibytes(1), Bytes(512ULL << 20)}), "0=1024M,1=512M");
}

TEST(Mps, AServerIsThereWhereItsPipesAre) {
  const TemporaryDirectory pipes;
  const std::vector<std::string> environment = {"CUDA_MPS_PIPE_DIRECTORY=" + pipes.path()};
  const auto none = find_mps(environment, ::getuid());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::not_found);
  std::ofstream(pipes / "control") << "";
  const auto found = find_mps(environment, ::getuid());
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, pipes.path());
}

TEST(Mps, AnotherUsersPipesAreNotTrusted) {
  const TemporaryDirectory pipes;
  std::ofstream(pipes / "control") << "";
  constexpr uid_t stranger = 4711;
  // Root's would be trusted: as root they are made the stranger's; else they are ours, and we the
  // stranger.
  const bool is_root = ::getuid() == 0;
  if (is_root) {
    ASSERT_EQ(::chown(pipes.path().c_str(), stranger, stranger), 0);
  }
  const auto found = find_mps({"CUDA_MPS_PIPE_DIRECTORY=" + pipes.path()}, is_root ? 0 : stranger);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::no_permission);
}

}  // namespace
}  // namespace berth
