#include "base/port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace berth {
namespace {

/// As PyTorch's store listens (with SO_REUSEADDR), or as a plain program does.
bool can_listen(std::uint16_t port, int reuse) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
         ::listen(socket.get(), 1) == 0;
}

TEST(HeldPort, IsLeftToTheProgramItIsKeptFor) {
  const auto held = hold_port(std::nullopt);
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_GT(held->number, 0);
  EXPECT_FALSE(can_listen(held->number, 0));
  EXPECT_TRUE(can_listen(held->number, 1));
}

TEST(HeldPort, IsHeldOnce) {
  const auto held = hold_port(std::nullopt);
  ASSERT_TRUE(held) << held.error().message();
  const auto again = hold_port(held->number);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::busy);
  const auto other = hold_port(std::nullopt);
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_NE(other->number, held->number);
}

TEST(HeldPort, IsFreeAgainOnceItIsLetGo) {
  std::uint16_t number = 0;
  {
    const auto held = hold_port(std::nullopt);
    ASSERT_TRUE(held) << held.error().message();
    number = held->number;
  }
  EXPECT_TRUE(can_listen(number, 0));
}

}  // namespace
}  // namespace berth
