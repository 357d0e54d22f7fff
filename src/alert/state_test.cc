#include "alert/state.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

AlertState example() {
  const Alert lost{.id = "gpu_lost-1",
                   .rule = AlertRule::gpu_lost,
                   .subject = "GPU-A",
                   .severity = AlertSeverity::critical,
                   .device = DeviceId("GPU-A"),
                   .index = 3,
                   .since = {1000},
                   .last_seen = {2000},
                   .summary = Sentence("it fell off the bus"),
                   .advice = Sentence("reboot")};
  Alert idle = lost;
  idle.id = "idle_holder-1";
  idle.rule = AlertRule::idle_holder;
  idle.resolved = WallTime{3000};
  idle.ending = Ending::unwatched;
  idle.users = {{.uid = uid_t{1001}, .name = "alice"}, {.uid = std::nullopt, .name = "?"}};
  idle.index.reset();
  return {.active = {lost},
          .ended = {idle},
          .facts = {{"driver", "570.1"}},
          .changes = {{.what = "driver", .from = "560.1", .to = "570.1", .at = {500}},
                      {.what = "device GPU-B", .from = "GPU 1", .to = std::nullopt, .at = {600}}},
          .undelivered = {
              {.receiver = "team", .what = AlertChange::What::ended, .alert = "idle_holder-1"}}};
}

TEST(AlertState, IsReadAsItWasWritten) {
  const auto read = alert_state_from_json(to_json(example()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, example());
}

TEST(AlertState, StaysAsItWasWritten) {
  EXPECT_EQ(to_json({}),
            "{\n \"berth_alerts\": 1,\n \"active\": [],\n \"ended\": [],\n \"environment\": {\n"
            "  \"facts\": {},\n  \"changes\": []\n },\n \"undelivered\": []\n}\n");
  EXPECT_EQ(alert_state_from_json(to_json({})).value_or(example()), AlertState{});
  EXPECT_THAT(to_json(example()),
              testing::HasSubstr("\n   \"resolved_unix_ms\": 3000,\n   \"ending\": \"unwatched\","
                                 "\n   \"summary\": \"it fell off the bus\",\n   \"advice\": "
                                 "\"reboot\",\n   \"users\": [\n    {\n     \"uid\": 1001,\n"
                                 "     \"name\": \"alice\"\n    },\n    {\n     \"uid\": null,"));
}

TEST(AlertState, ReadsTheFirstVersion) {
  const auto read = alert_state_from_json(
      R"({"berth_alerts": 1, "active": [], "ended": [], "environment": {"facts": {"driver": "570.1"},
          "changes": []}, "undelivered": [], "further": 1})");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->facts.at("driver"), "570.1");
}

TEST(AlertState, ReadsAnEndOfWhenThereWasOneKindAlone) {
  std::string text = to_json(example());
  const std::string_view ending = "\"ending\": \"unwatched\",";
  const std::size_t at = text.find(ending);
  ASSERT_NE(at, std::string::npos) << text;
  text.erase(at, ending.size());
  const auto read = alert_state_from_json(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->ended[0].ending, Ending::resolved);
}

TEST(AlertState, ReadsNoEndingOfWhatGoesOn) {
  std::string text = to_json(example());
  const std::string_view none = "\"ending\": null";
  const std::size_t at = text.find(none);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, none.size(), "\"ending\": \"unknown\"");
  EXPECT_EQ(alert_state_from_json(text).value_or(AlertState{}), example());
}

TEST(AlertState, RefusesANewerVersionByName) {
  const auto read = alert_state_from_json(R"({"berth_alerts": 2})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::unsupported);
}

class DamagedAlertState : public testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(DamagedAlertState, IsRefused) {
  std::string text = to_json(example());
  const auto& [from, to] = GetParam();
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, std::string_view(from).size(), to);
  const auto read = alert_state_from_json(text);
  ASSERT_FALSE(read) << to;
  EXPECT_EQ(read.error().code(), ErrorCode::invalid);
}
INSTANTIATE_TEST_SUITE_P(
    Each, DamagedAlertState,
    testing::Values(std::pair{"gpu_lost\"", "cpu_lost\""}, std::pair{"\"critical\"", "\"very\""},
                    std::pair{"1000", "-1000"}, std::pair{"1001", "99999999999"},
                    std::pair{"\"index\": 3", "\"index\": \"3\""},
                    std::pair{"\"ended\": [", "\"ended\": {} , \"x\": ["},
                    std::pair{"3000", "null"}, std::pair{"\"unwatched\"", "\"mended\""},
                    std::pair{"\"ended\"", "\"end\""}, std::pair{"{", "[["}));

}  // namespace
}  // namespace berth
