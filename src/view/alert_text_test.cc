#include "view/alert_text.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

AlertList alarming() {
  return {.is_of_server = true,
          .now = {1'760'000'060'000},
          .simulated = "lab-4",
          .alerts = {{.id = "gpu_lost-1",
                      .rule = AlertRule::gpu_lost,
                      .severity = AlertSeverity::critical,
                      .device = DeviceId("GPU-A"),
                      .index = 3,
                      .since = {1'760'000'000'000},
                      .summary = Sentence("it fell off the bus and answers nobody"),
                      .advice = Sentence("reboot")},
                     {.id = "disk_nearly_full-1",
                      .rule = AlertRule::disk_nearly_full,
                      .since = {1'760'000'000'000},
                      .resolved = WallTime{1'760'000'030'000},
                      .summary = Sentence("the file system of \x1b[2J is 97 % full")}},
          .failing = {{.receiver = "team", .trouble = "it answered 500"}}};
}

TEST(AlertText, SaysWhereSinceWhenAndWhatToDo) {
  EXPECT_EQ(render_alerts(alarming(), Style{}),
            "SIMULATED lab-4\n"
            "critical  GPU 3  gpu_lost  since 08:53\n"
            "    it fell off the bus and answers nobody\n"
            "    → reboot\n"
            "resolved  the machine  disk_nearly_full  from 08:53, resolved 08:53\n"
            "    the file system of \\x1B[2J is 97 % full\n"
            "! team is not reached: it answered 500\n");
}

TEST(AlertText, CallsNothingResolvedThatNobodySawMended) {
  AlertList list = alarming();
  for (const auto& [ending, word] : {std::pair{Ending::unwatched, "no longer watched"},
                                     std::pair{Ending::unknown, "no longer known"}}) {
    list.alerts[1].ending = ending;
    const std::string text = render_alerts(list, Style{.width = 100});
    EXPECT_THAT(text, HasSubstr(std::string(word) + "  the machine  disk_nearly_full  from 08:53, "
                                                    "watched until 08:53\n"));
    EXPECT_THAT(text, Not(HasSubstr("resolved")));
  }
  EXPECT_THAT(alerts_json(list), HasSubstr("\"ending\": \"unknown\""));
}

TEST(AlertText, IsAsciiWhereThatIsWanted) {
  for (const char c : render_alerts(alarming(), Style{.utf8 = false})) {
    EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  }
}

TEST(AlertText, OfOneLookClaimsNoTimes) {
  AlertList list = alarming();
  list.is_of_server = false;
  EXPECT_THAT(render_alerts(list, Style{}), Not(HasSubstr("since 08")));
  EXPECT_THAT(render_alerts(list, Style{}), HasSubstr("This is what one look shows"));
}

TEST(AlertText, SaysThatThereIsNone) {
  EXPECT_EQ(render_alerts({.is_of_server = true}, Style{}), "No alert.\n");
}

TEST(AlertRulesText, ShowsWhatIsSet) {
  AlertSettings settings;
  settings.of(AlertRule::xid).is_on = false;
  const std::string text = render_alert_rules(settings, Style{});
  EXPECT_THAT(text, HasSubstr("xid: switched off\n"));
  EXPECT_THAT(text, HasSubstr("disk_nearly_full: warning, threshold 95 %, after 1m00s, resolved "
                              "after 5m00s\n    without it\n"))
      << "a number is not cut";
}

}  // namespace
}  // namespace berth
