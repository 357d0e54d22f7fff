#include "guard/memory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using namespace literals;
using namespace std::chrono_literals;

/// A second at a time.
class Watching {
 public:
  explicit Watching(std::optional<Bytes> cap,
                    MemoryWatch::Figures figures = MemoryWatch::Figures::measured)
      : watch_({{"GPU 2", cap}}, figures) {}

  std::vector<Note> see(const Reading<Bytes>& own, PromisesTaken taken = {}) {
    clock_.advance(1s);
    return watch_.news({{.own = own, .taken = std::move(taken)}}, clock_.now());
  }
  /// All that is said in so many seconds of the same.
  std::vector<std::string> texts(int seconds, const Reading<Bytes>& own,
                                 const PromisesTaken& taken = {}) {
    std::vector<std::string> said;
    for (int second = 0; second < seconds; ++second) {
      for (const Note& news : see(own, taken)) said.push_back(news.text.english());
    }
    return said;
  }

 private:
  FakeClock clock_;
  MemoryWatch watch_;
};

TEST(MemoryWatch, TellsOnceWhoIsOverItsShareForThreeLooks) {
  Watching watching(10_GiB);
  EXPECT_THAT(watching.texts(2, 12_GiB), IsEmpty());
  const auto news = watching.see(12_GiB);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].kind, "memory_over_cap");
  EXPECT_EQ(news[0].text.english(),
            "GPU 2: this run uses 12.0 GiB there and was promised 10.0 GiB");
  EXPECT_EQ(news[0].kind, memory_over_cap) << "what --cap-action says is due";
  EXPECT_THAT(watching.texts(3600, 13_GiB), IsEmpty());
}

TEST(MemoryWatch, ToleratesWhatTheDriverCountsOtherwise) {
  Watching watching(100_GiB);
  EXPECT_THAT(watching.texts(10, 105_GiB), IsEmpty());
  EXPECT_THAT(watching.texts(3, 105_GiB + 1_MiB), SizeIs(1));
}

TEST(MemoryWatch, IsNotMovedByAPeakOfTwoLooks) {
  Watching watching(10_GiB);
  for (int times = 0; times < 20; ++times) {
    EXPECT_THAT(watching.texts(2, 40_GiB), IsEmpty());
    EXPECT_THAT(watching.texts(1, 10_GiB), IsEmpty());
  }
}

TEST(MemoryWatch, TellsWhoIsBackBelowAndOverAgainOnceAMinuteAtMost) {
  Watching watching(10_GiB);
  EXPECT_THAT(watching.texts(3, 12_GiB), SizeIs(1));
  for (int times = 0; times < 5; ++times) {
    EXPECT_THAT(watching.texts(1, 5_GiB), IsEmpty());
    EXPECT_THAT(watching.texts(10, 12_GiB), IsEmpty()) << times;
  }
  EXPECT_THAT(watching.texts(1, 5_GiB), IsEmpty());
  EXPECT_THAT(watching.texts(10, 12_GiB), SizeIs(1)) << "a minute after it was told";
}

TEST(MemoryWatch, JudgesByThisSecondsReadingsAlone) {
  Watching watching(10_GiB);
  for (int times = 0; times < 20; ++times) {
    EXPECT_THAT(watching.texts(2, 12_GiB), IsEmpty());
    EXPECT_THAT(watching.texts(1, Absent::not_sampled), IsEmpty()) << "nobody knows what it was";
  }
}

TEST(MemoryWatch, SaysOnceThatItCannotWatchAndWhy) {
  Watching watching(10_GiB);
  EXPECT_THAT(watching.texts(60, Absent::unsupported),
              ElementsAre("GPU 2: whether this run keeps to its 10.0 GiB cannot be watched: not "
                          "supported by this device"));
  EXPECT_THAT(watching.texts(1, 1_GiB), IsEmpty());
  EXPECT_THAT(watching.texts(60, Absent::unsupported), IsEmpty());
  EXPECT_THAT(Watching(10_GiB).texts(60, Absent::not_sampled), IsEmpty());
}

TEST(MemoryWatch, LetsAnybodyUseWhatNobodyHolds) {
  EXPECT_THAT(Watching(std::nullopt).texts(60, 80_GiB), IsEmpty());
  EXPECT_THAT(Watching(std::nullopt).texts(60, Absent::unsupported), IsEmpty());
}

TEST(MemoryWatch, CallsSimulatedFiguresSimulated) {
  Watching watching(10_GiB, MemoryWatch::Figures::simulated);
  EXPECT_THAT(watching.texts(3, 12_GiB),
              ElementsAre("GPU 2: this run uses 12.0 GiB there and was promised 10.0 GiB: these "
                          "figures are simulated"));
}

TEST(MemoryWatch, TellsOfWhoUsesWhatWasPromisedWithoutALease) {
  Watching watching(10_GiB);
  const PromisesTaken taken{
      .memory = 4_GiB, .by = {{"dan", 15_GiB}, {"", 2_GiB}}, .promised_to = {}};
  EXPECT_THAT(watching.texts(2, 1_GiB, taken), IsEmpty());
  const auto news = watching.see(1_GiB, taken);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].kind, "neighbour_in_promised_memory");
  EXPECT_EQ(news[0].text.english(),
            "GPU 2: 4.0 GiB promised to leases there are used without a lease (dan 15.0 GiB, ? "
            "2.0 GiB)");
  EXPECT_NE(news[0].kind, memory_over_cap) << "nothing is done to the run for it";
  EXPECT_THAT(watching.texts(600, 1_GiB, taken), IsEmpty());
}

}  // namespace
}  // namespace berth
