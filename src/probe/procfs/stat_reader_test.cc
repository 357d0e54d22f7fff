#include "probe/procfs/stat_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

/// A /proc of lines alone, with the clocks of its processes.
class StatLines : public testing::Test {
 protected:
  StatLines() {
    put(1, "init", 'S', 0, 1);
    look();
  }
  void put(pid_t pid, const std::string& comm, char state, pid_t parent, int start_ticks) {
    const std::string folder = directory_.path() + "/" + std::to_string(pid);
    ASSERT_TRUE(make_directories(folder));
    ASSERT_TRUE(write_file_atomically(
        folder + "/stat", std::to_string(pid) + " (" + comm + ") " + state + " " +
                              std::to_string(parent) + " 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 " +
                              std::to_string(start_ticks) + " 0 10 0 0 0 0\n"));
    clocks_.try_emplace(pid, milliseconds(5));
  }
  void look(Duration after = milliseconds(100)) { reader_.begin_look(now_ += after); }
  std::string comm_of(pid_t pid) {
    const StatRead read = reader_.stat_of(pid);
    return read.stat ? read.stat->comm : "";
  }
  std::string comm_at_next_look(pid_t pid, Duration after = milliseconds(100)) {
    look(after);
    return comm_of(pid);
  }

  TemporaryDirectory directory_;
  std::map<pid_t, Duration> clocks_;
  Instant now_{};
  StatReader reader_{directory_.path(), [this](pid_t pid) -> std::optional<Duration> {
                       const auto found = clocks_.find(pid);
                       return found == clocks_.end() ? std::nullopt : std::optional(found->second);
                     }};
};

TEST_F(StatLines, OfAProcessThatDidNotRunStaysForSomeSeconds) {
  put(7, "old", 'S', 1, 70);
  EXPECT_EQ(comm_of(7), "old");
  put(7, "new", 'S', 1, 70);
  EXPECT_EQ(comm_at_next_look(7), "old");
  EXPECT_EQ(comm_at_next_look(7, seconds(1)), "old");
  EXPECT_EQ(comm_at_next_look(7, seconds(6)), "new");
}

TEST_F(StatLines, OfAProcessThatRanIsReadAnew) {
  put(7, "old", 'S', 1, 70);
  EXPECT_EQ(comm_of(7), "old");
  put(7, "new", 'S', 1, 70);
  clocks_[7] += std::chrono::nanoseconds(1);
  EXPECT_EQ(comm_at_next_look(7), "new");
}

TEST_F(StatLines, WhereNoClockIsKnownOrItStandsAtNothingIsReadAnew) {
  put(7, "old", 'S', 1, 70);
  for (const auto& clock : {std::optional<Duration>(), std::optional(Duration{0})}) {
    clocks_.erase(7);
    if (clock) clocks_[7] = *clock;
    put(7, "old", 'S', 1, 70);
    if (!clock) clocks_.erase(7);
    EXPECT_EQ(comm_at_next_look(7), "old");
    put(7, "new", 'S', 1, 70);
    if (!clock) clocks_.erase(7);
    EXPECT_EQ(comm_at_next_look(7), "new");
  }
}

// A freezer changes a sleeper's "S" to "D" and back without its running. A runnable process may get
// no processor.
TEST_F(StatLines, OfOneThatIsRunnableOrDeepInTheKernelIsReadAnew) {
  for (const char state : {'R', 'D'}) {
    put(7, "old", state, 1, 70);
    clocks_[7] += milliseconds(1);
    EXPECT_EQ(comm_at_next_look(7), "old");
    put(7, "new", 'S', 1, 70);
    EXPECT_EQ(comm_at_next_look(7), "new") << state;
  }
}

TEST_F(StatLines, OfAChildThatLostItsParentIsReadAnew) {
  const auto lost = [&](const std::string& comm, char state, int start_ticks) {
    put(6, "parent", 'S', 1, 60);
    put(7, "child", 'S', 6, 70);
    look(seconds(10));
    EXPECT_THAT(reader_.ancestors_of(7), ElementsAre(6, 1));
    put(6, comm, state, 1, start_ticks);
    clocks_[6] += milliseconds(1);
    put(7, "child", 'S', 1, 70);
    look();
    EXPECT_THAT(reader_.ancestors_of(7), ElementsAre(1)) << comm;
  };
  lost("parent", 'Z', 60);    // it has ended, and nobody has asked how
  lost("stranger", 'S', 80);  // its number is a younger one's
}

}  // namespace
}  // namespace berth
