#include "base/line_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary_directory.h"

namespace berth {
namespace {

constexpr std::size_t longest = 1 << 20;

struct Ends {
  LineSocket one{Fd()};
  LineSocket other{Fd()};
};

Ends connected() {
  auto ends = LineSocket::make_ends();
  EXPECT_TRUE(ends);
  return {LineSocket(std::move(ends->first)), LineSocket(std::move(ends->second))};
}

TEST(LineSocket, GivesLinesOneByOneAndSaysWhereNoneHasCome) {
  Ends ends = connected();
  ASSERT_TRUE(ends.one.send("first"));
  ASSERT_TRUE(ends.one.send(""));
  EXPECT_EQ((*ends.other.receive(longest))->text, "first");
  EXPECT_EQ((*ends.other.receive(longest))->text, "");
  const auto none = ends.other.receive(longest);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST(LineSocket, ADescriptorComesWithItsOwnLineAmongOthers) {
  const TemporaryDirectory directory;
  const auto file = open_fd(directory.path() + "/file", O_RDWR | O_CREAT, 0600);
  Ends ends = connected();
  ASSERT_TRUE(ends.one.send("before"));
  ASSERT_TRUE(ends.one.send("with", file->get()));
  ASSERT_TRUE(ends.one.send("behind"));
  EXPECT_FALSE((*ends.other.receive(longest))->descriptor.is_open());
  const auto with = ends.other.receive(longest);
  EXPECT_EQ((*with)->text, "with");
  struct stat sent{};
  struct stat got{};
  ASSERT_EQ(::fstat(file->get(), &sent), 0);
  ASSERT_EQ(::fstat((*with)->descriptor.get(), &got), 0);
  EXPECT_EQ(sent.st_ino, got.st_ino);
  EXPECT_NE((*with)->descriptor.get(), file->get());
  EXPECT_FALSE((*ends.other.receive(longest))->descriptor.is_open());
}

TEST(LineSocket, ADescriptorIsTheLastLinesOfThoseThatComeAtOnce) {
  const TemporaryDirectory directory;
  const auto file = open_fd(directory.path() + "/file", O_RDWR | O_CREAT, 0600);
  Ends ends = connected();
  ASSERT_TRUE(ends.one.send("a sentence before"));
  ASSERT_TRUE(ends.one.send("with", file->get()));
  const auto before = ends.other.receive(longest);
  EXPECT_EQ((*before)->text, "a sentence before");
  EXPECT_FALSE((*before)->descriptor.is_open());
  EXPECT_TRUE((*ends.other.receive(longest))->descriptor.is_open());
}

TEST(LineSocket, TheEndOfTheOtherIsAnErrorBehindWhatItSaid) {
  Ends ends = connected();
  ASSERT_TRUE(ends.one.send("last"));
  ends.one = LineSocket(Fd());
  EXPECT_EQ((*ends.other.receive(longest))->text, "last");
  EXPECT_EQ(ends.other.receive(longest).error().code(), ErrorCode::io);
  EXPECT_EQ(ends.other.send("nobody").error().code(), ErrorCode::io);
}

TEST(LineSocket, RefusesALineWithoutAnEnd) {
  Ends ends = connected();
  ASSERT_EQ(::write(ends.one.descriptor(), std::string(100'000, 'x').data(), 100'000), 100'000);
  EXPECT_EQ(ends.other.receive(10'000).error().code(), ErrorCode::io);
}

TEST(LineSocket, TellsWhoMadeItAndKeepsOffTheStandardStreams) {
  Ends ends = connected();
  EXPECT_EQ(*ends.other.peer(), ::getpid());
  EXPECT_GE(ends.one.descriptor(), 3);
  EXPECT_GE(ends.other.descriptor(), 3);
}

}  // namespace
}  // namespace berth
