#include "diagnose/ranks/flight_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "diagnose/ranks/pickle.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Written by Python's own pickle.
std::string sample(const std::string& name) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto folder =
      (program / __FILE__).parent_path() / "../../../tests/data/fuzz/flight_recorder";
  const auto bytes = read_file(folder / name);
  EXPECT_TRUE(bytes) << name;
  return bytes.value_or("");
}

FlightDump dump(const std::string& name) {
  auto read = read_flight_dump(sample(name));
  EXPECT_TRUE(read) << read.error().message();
  return read.value_or(FlightDump());
}

TEST(Pickle, HasPlainDataOfEachProtocol) {
  for (const char* name : {"waiting_2", "protocol_4"}) {
    const auto pickle = Pickle::read(sample(name));
    ASSERT_TRUE(pickle) << pickle.error().message();
    EXPECT_EQ(pickle->text(pickle->find(pickle->root(), "version")), "2.4");
  }
}

TEST(Pickle, RunsNothing) {
  const auto pickle = Pickle::read(sample("would_run"));
  ASSERT_FALSE(pickle);
  EXPECT_THAT(pickle.error().message(), HasSubstr("not for plain data"));
}

TEST(Pickle, TakesNoMoreThanThereIs) {
  const std::string whole = sample("waiting_2");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(Pickle::read(whole.substr(0, length))) << length;
  }
  EXPECT_FALSE(Pickle::read("a."));
  EXPECT_FALSE(Pickle::read("(."));
  EXPECT_FALSE(Pickle::read(std::string("X\xff\xff\xff\xff.", 6)));
}

TEST(Pickle, AListMayHoldItself) {
  const auto pickle = Pickle::read(sample("itself"));
  ASSERT_TRUE(pickle);
  EXPECT_THAT(pickle->items(pickle->root()), ElementsAre(pickle->root()));
}

TEST(Pickle, KnowsNegativeNumbers) {
  using namespace std::string_literals;
  const auto pickle = Pickle::read("(J\xfe\xff\xff\xffK\x07\x8a\x01\xff\x8a\x00l."s);
  ASSERT_TRUE(pickle) << pickle.error().message();
  const auto& items = pickle->items(pickle->root());
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(pickle->integer(items[0]), -2);
  EXPECT_EQ(pickle->integer(items[1]), 7);
  EXPECT_EQ(pickle->integer(items[2]), -1);
  EXPECT_EQ(pickle->integer(items[3]), 0);
}

TEST(FlightDump, HasTheLastOperationAndTheUsersLine) {
  const FlightDump read = dump("waiting_2");
  ASSERT_TRUE(read.contains("0"));
  const LastOperation& last = read.at("0");
  EXPECT_EQ(last.number, 2);
  EXPECT_EQ(last.name, "nccl:all_reduce");
  EXPECT_EQ(last.state, "started");
  EXPECT_EQ(last.where, "train.py:41 in step");
  EXPECT_EQ(dump("protocol_4").at("0").number, 1) << "an operation of a pair is none of all";
  EXPECT_EQ(dump("old_names").at("").number, 3);
  EXPECT_FALSE(read_flight_dump("."));
  EXPECT_FALSE(read_flight_dump("}."));
}

TEST(FlightStory, NamesWhoIsBehind) {
  const FlightStory story =
      flight_story({{0, dump("waiting_2")}, {1, dump("behind_2")}, {2, dump("waiting_2")}}, 3);
  EXPECT_EQ(story.how, FlightStory::How::behind);
  EXPECT_THAT(story.ranks, ElementsAre(1));
  EXPECT_THAT(story.others, ElementsAre(0, 2));
  EXPECT_EQ(story.awaited.number, 2);
  EXPECT_EQ(story.last, "nccl:all_reduce, train.py:41 in step");
}

TEST(FlightStory, NamesWhoToldNothing) {
  const FlightStory story = flight_story({{0, dump("waiting_2")}, {2, dump("waiting_2")}}, 3);
  EXPECT_EQ(story.how, FlightStory::How::undumped);
  EXPECT_THAT(story.ranks, ElementsAre(1));
}

TEST(FlightStory, SeesDifferentOperations) {
  FlightDump other = dump("waiting_2");
  other["0"].name = "nccl:broadcast";
  const FlightStory story = flight_story({{0, dump("waiting_2")}, {1, other}}, 2);
  EXPECT_EQ(story.how, FlightStory::How::differs);
  EXPECT_EQ(story.last, "0: nccl:all_reduce, 1: nccl:broadcast");
}

TEST(FlightStory, SaysNothingOfRanksThatGoOn) {
  EXPECT_EQ(flight_story({}, 4).how, FlightStory::How::nobody);
  EXPECT_EQ(flight_story({{0, dump("behind_2")}, {1, dump("behind_2")}}, 3).how,
            FlightStory::How::nobody)
      << "all that they have entered is over";
  EXPECT_EQ(flight_story({{0, dump("waiting_2")}, {1, dump("waiting_2")}}, 2).how,
            FlightStory::How::nobody)
      << "all are in the same";
}

}  // namespace
}  // namespace berth
