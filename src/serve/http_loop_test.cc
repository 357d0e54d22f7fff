#include "serve/http_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process.h"

namespace berth::serve {
namespace {

TEST(Loop, WhereNoDescriptorIsLeftWhoeverWaitsLooksItselfSoon) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  Loop loop;
  // Not for ever, if it should not be called; it also has the loop take what it needs itself.
  bool was_late = false;
  loop.after(std::chrono::seconds(30), [&] {
    was_late = true;
    loop.stop();
  });
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  int calls = 0;
  loop.when_readable(pipe->read.get(), std::chrono::hours(1), [&] {
    ++calls;
    loop.stop();
  });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  loop.run();
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(was_late);
}

TEST(Loop, CallsOnceWhenThereIsSomethingToRead) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  Loop loop;
  int calls = 0;
  loop.when_readable(pipe->read.get(), std::chrono::hours(1), [&] {
    ++calls;
    loop.after(std::chrono::milliseconds(1), [&] { loop.stop(); });
  });
  ASSERT_TRUE(write_all(pipe->write.get(), "x"));
  loop.run();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace berth::serve
