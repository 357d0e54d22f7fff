#include "run/driver_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;

Snapshot look(Reading<std::string> version) {
  Snapshot seen = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).build();
  seen.host.software_of(Runtime::cuda).driver = std::move(version);
  return seen;
}

std::vector<std::string> kinds(const std::vector<Note>& news) {
  std::vector<std::string> kinds;
  for (const Note& one : news) kinds.emplace_back(one.kind);
  return kinds;
}

TEST(DriverWatch, AnotherVersionIsToldOnce) {
  DriverWatch watch(look(std::string("550.54.15")));
  EXPECT_THAT(watch.news(look(std::string("550.54.15"))), IsEmpty());
  const auto news = watch.news(look(std::string("555.42.02")));
  ASSERT_THAT(kinds(news), ElementsAre("driver_changed"));
  EXPECT_EQ(news[0].text.english(),
            "the driver was 550.54.15 when the run began and is 555.42.02 now");
  EXPECT_THAT(watch.news(look(std::string("555.42.02"))), IsEmpty());
}

TEST(DriverWatch, EachVendorsDriverIsComparedWithItself) {
  Snapshot given = look(std::string("550.54.15"));
  given.devices[1].kind = DeviceKind::amd_gpu;
  given.host.software_of(Runtime::rocm).driver = std::string("6.10.5");
  DriverWatch watch(given);
  Snapshot later = given;
  later.host.software_of(Runtime::rocm).driver = std::string("6.12.1");
  const auto news = watch.news(later);
  ASSERT_THAT(kinds(news), ElementsAre("driver_changed"));
  EXPECT_EQ(news[0].text.english(),
            "the AMD driver was 6.10.5 when the run began and is 6.12.1 now");
  later.host.software_of(Runtime::cuda).driver = std::string("555.42.02");
  const auto more = watch.news(later);
  ASSERT_THAT(kinds(more), ElementsAre("driver_changed"));
  EXPECT_EQ(more[0].text.english(),
            "the NVIDIA driver was 550.54.15 when the run began and is 555.42.02 now");
  EXPECT_THAT(watch.news(later), IsEmpty());
}

TEST(DriverWatch, TheDriverOfDevicesThatTheRunDoesNotHaveIsNoMatter) {
  Snapshot given = look(std::string("550.54.15"));
  given.host.software_of(Runtime::rocm).driver = std::string("6.10.5");
  DriverWatch watch(given);
  Snapshot later = given;
  later.host.software_of(Runtime::rocm).driver = std::string("6.12.1");
  EXPECT_THAT(watch.news(later), IsEmpty());
}

TEST(DriverWatch, AVersionThatCannotBeReadIsNoOther) {
  DriverWatch known(look(std::string("550.54.15")));
  EXPECT_THAT(known.news(look(Absent::failed)), IsEmpty());
  DriverWatch unknown(look(Absent::not_sampled));
  EXPECT_THAT(unknown.news(look(std::string("550.54.15"))), IsEmpty());
}

TEST(DriverWatch, OfARunWithoutADeviceTheDriverIsNoMatter) {
  Snapshot given = look(std::string("550"));
  given.devices.clear();
  DriverWatch watch(given);
  EXPECT_THAT(watch.news(look(std::string("555"))), IsEmpty());
}

TEST(DriverWatch, ADeviceThatWasLostAndAnswersWasReset) {
  Snapshot given = look(std::string("550"));
  DriverWatch watch(given);
  EXPECT_THAT(watch.news(given), IsEmpty());
  Snapshot lost = given;
  lost.devices[1].lost = true;
  lost.devices[1].memory_used = Absent::failed;
  EXPECT_THAT(watch.news(lost), IsEmpty());
  lost.devices[1].lost = false;
  EXPECT_THAT(watch.news(lost), IsEmpty()) << "it answers nothing yet";
  const auto news = watch.news(given);
  ASSERT_THAT(kinds(news), ElementsAre("gpu_back"));
  EXPECT_EQ(news[0].text.english(), "GPU 1: it was lost and answers again");
  EXPECT_THAT(watch.news(given), IsEmpty()) << "told once";
}

TEST(DriverWatch, ADeviceThatALookLacksWasNotLost) {
  Snapshot given = look(std::string("550"));
  DriverWatch watch(given);
  EXPECT_THAT(watch.news(SnapshotBuilder().gpu("A", 8_GiB).build()), IsEmpty());
  EXPECT_THAT(watch.news(given), IsEmpty());
}

}  // namespace
}  // namespace berth
