#include "base/line_buffer.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/process.h"

namespace berth {
namespace {

TEST(LineBuffer, GivesWholeLinesHoweverTheyCome) {
  LineBuffer lines;
  EXPECT_TRUE(lines.is_empty());
  lines.add("one\n\nthr");
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), "");
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_FALSE(lines.is_empty());
  lines.add("ee\n");
  EXPECT_EQ(lines.next(), "three");
  EXPECT_TRUE(lines.is_empty());
}

TEST(LineBuffer, HearsAPipeToItsEnd) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(write_all(pipe->write.get(), "ready\nhalf"));
  pipe->write.close();
  LineBuffer lines;
  EXPECT_TRUE(lines.add_from(pipe->read.get()));
  EXPECT_FALSE(lines.add_from(pipe->read.get()));
  EXPECT_EQ(lines.next(), "ready");
  EXPECT_EQ(lines.next(), std::nullopt);
  lines.clear();
  EXPECT_TRUE(lines.is_empty());
}

}  // namespace
}  // namespace berth
