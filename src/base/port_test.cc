#include "base/port.h"

#include <gmock/gmock.h>
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

// As a kernel 6.1 prints it: listening at 29500 (0x733C), connected to it, and from another port.
TEST(SocketsAtPort, AreThoseThatListenAndThatAreConnected) {
  const std::string head =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n";
  const std::string listens =
      "   0: 00000000:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
      "41 1 0000000000000000 100 0 0 10 0\n";
  const std::string connected =
      "   1: 0100007F:B1C6 0100007F:733C 01 00000000:00000000 00:00000000 00000000  1000        0 "
      "17 1 0000000000000000 20 4 30 10 -1\n";
  const std::string other =
      "   2: 0100007F:1F90 0100007F:0733 01 00000000:00000000 00:00000000 00000000  1000        0 "
      "18 1 0000000000000000 20 4 30 10 -1\n";
  const std::string closing =
      "   3: 0100007F:B1C7 0100007F:733C 06 00000000:00000000 00:00000000 00000000     0        0 "
      "0 3 0000000000000000\n";
  EXPECT_THAT(sockets_at_port(head + listens + connected + other + closing, 29500),
              testing::ElementsAre(17, 41));
  EXPECT_THAT(sockets_at_port("", 29500), testing::IsEmpty());
}

}  // namespace
}  // namespace berth
