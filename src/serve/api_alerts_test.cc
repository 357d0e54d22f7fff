#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/sentence.h"
#include "serve/alert_message.h"
#include "serve/example_context.h"
#include "serve/request_handler.h"

namespace berth::serve {
namespace {

using Json = nlohmann::json;
using Others = Visibility::Others;
using ::testing::HasSubstr;
using ::testing::Not;

/// alice holds A without using it; C was lost and is back.
RequestContext alarmed_context(Others others = Others::open) {
  RequestContext context = example_context(others);
  Alert idle{.id = "idle_holder-1",
             .rule = AlertRule::idle_holder,
             .subject = "GPU-A",
             .severity = AlertSeverity::notice,
             .device = DeviceId("GPU-A"),
             .index = 0,
             .since = {1000},
             .last_seen = {2000},
             .summary = Sentence("it is leased and nothing is computed"),
             .advice = Sentence("ask whose it is"),
             .users = {{.uid = alice, .name = "alice"}}};
  Alert lost = idle;
  lost.id = "gpu_lost-1";
  lost.rule = AlertRule::gpu_lost;
  lost.severity = AlertSeverity::critical;
  lost.resolved = WallTime{3000};
  lost.ending = Ending::unknown;
  lost.users.clear();
  DeliveryFigures team{.receiver = "team", .failed = 3, .trouble = "gpu-hooks:443 is away"};
  context.alerts = std::make_shared<const AlertBoard>(
      AlertBoard{.active = {idle}, .ended = {lost}, .deliveries = {team}});
  return context;
}
Json alerts_for(const Principal& principal, const RequestContext& context,
                const std::string& query = "") {
  return Json::parse(*answer(get("/api/v1/alerts" + query), principal, context).body);
}

TEST(Alerts, AreListedWithThoseThatEnded) {
  const Json root = alerts_for(administrator(), alarmed_context());
  ASSERT_EQ(root["alerts"].size(), 2U);
  const Json& idle = root["alerts"][0];
  EXPECT_EQ(idle["id"], "idle_holder-1");
  EXPECT_EQ(idle["rule"], "idle_holder");
  EXPECT_EQ(idle["severity"], "notice");
  EXPECT_EQ(idle["device"], "GPU-A");
  EXPECT_EQ(idle["index"], 0);
  EXPECT_EQ(idle["since_unix_ms"], 1000);
  EXPECT_EQ(idle["last_seen_unix_ms"], 2000);
  EXPECT_TRUE(idle["resolved_unix_ms"].is_null());
  EXPECT_EQ(idle["summary"], "it is leased and nothing is computed: alice");
  EXPECT_EQ(idle["advice"], "ask whose it is");
  EXPECT_TRUE(idle["simulated"].is_null());
  EXPECT_TRUE(idle["ending"].is_null());
  EXPECT_EQ(root["alerts"][1]["resolved_unix_ms"], 3000);
  EXPECT_EQ(root["alerts"][1]["ending"], "unknown");
}

TEST(Alerts, NameNobodyToWhoMayNotSeeHim) {
  const RequestContext closed = alarmed_context(Others::owner);
  const auto shown = [](const Principal& principal, const RequestContext& context) {
    return alerts_for(principal, context)["alerts"][0]["summary"].get<std::string>() +
           overview_json(principal, context);
  };
  EXPECT_THAT(shown(nobody(), closed), Not(HasSubstr(": alice")));
  EXPECT_THAT(shown(known(bob), closed), Not(HasSubstr(": alice")));
  EXPECT_THAT(shown(known(alice), closed), HasSubstr(": alice"));
  EXPECT_THAT(shown(nobody(), alarmed_context()), HasSubstr(": alice"));
}

TEST(Alerts, StandInTheOverviewWhileTheyGoOn) {
  const Json overview = Json::parse(overview_json(nobody(), alarmed_context()));
  ASSERT_EQ(overview["alerts"].size(), 1U);
  EXPECT_EQ(overview["alerts"][0]["id"], "idle_holder-1");
  EXPECT_EQ(Json::parse(overview_json(nobody(), example_context()))["alerts"], Json::array());
}

TEST(Alerts, ComeInPages) {
  const Json first = alerts_for(nobody(), alarmed_context(), "?limit=1");
  EXPECT_EQ(first["alerts"].size(), 1U);
  EXPECT_EQ(first["next"], "idle_holder-1");
  const Json second = alerts_for(nobody(), alarmed_context(), "?after=idle_holder-1");
  EXPECT_EQ(second["alerts"][0]["id"], "gpu_lost-1");
}

TEST(Deliveries, SayWhyTheyFailOnlyToAdministrators) {
  const Json open = alerts_for(administrator(), alarmed_context())["deliveries"][0];
  EXPECT_EQ(open["receiver"], "team");
  EXPECT_EQ(open["is_failing"], true);
  EXPECT_EQ(open["trouble"], "gpu-hooks:443 is away");
  const Json closed = alerts_for(known(bob), alarmed_context())["deliveries"][0];
  EXPECT_EQ(closed["is_failing"], true);
  EXPECT_TRUE(closed["trouble"].is_null());
}

TEST(Deliveries, AndAlertsAreReadBackByTheVerb) {
  const HttpResponse response = answer(get("/api/v1/alerts"), administrator(), alarmed_context());
  const auto list = alert_list_from_json(*response.body);
  ASSERT_TRUE(list) << list.error().message();
  ASSERT_EQ(list->alerts.size(), 2U);
  EXPECT_EQ(list->alerts[0].rule, AlertRule::idle_holder);
  EXPECT_EQ(list->alerts[0].since, WallTime{1000});
  EXPECT_EQ(list->alerts[1].resolved, WallTime{3000});
  EXPECT_EQ(list->alerts[1].ending, Ending::unknown);
  ASSERT_EQ(list->failing.size(), 1U);
  EXPECT_EQ(list->failing[0].trouble, "gpu-hooks:443 is away");
  EXPECT_FALSE(alert_list_from_json("{}"));
}

TEST(Deliveries, AndAlertsOfAnotherVersionAreReadAsFarAsTheyAreUnderstood) {
  const auto list = alert_list_from_json(
      R"({"alerts":[7,{"rule":"of_tomorrow","severity":"notice"},{"rule":"xid","severity":"notice",)"
      R"("index":"third","since_unix_ms":5,"ending":"of_tomorrow"}],)"
      R"("deliveries":["x",{"is_failing":"yes"},{"is_failing":true,"trouble":null}]})");
  ASSERT_TRUE(list) << list.error().message();
  ASSERT_EQ(list->alerts.size(), 1U);
  EXPECT_EQ(list->alerts[0].rule, AlertRule::xid);
  EXPECT_EQ(list->alerts[0].index, std::nullopt);
  EXPECT_EQ(list->alerts[0].since, WallTime{5});
  EXPECT_EQ(list->alerts[0].ending, Ending::resolved);
  ASSERT_EQ(list->failing.size(), 1U);
  EXPECT_EQ(list->failing[0].receiver, "?");
  EXPECT_EQ(list->failing[0].trouble, "");
  EXPECT_FALSE(alert_list_from_json(R"({"alerts":{}})"));
}

TEST(AlertEvents, GoToEachWithTheNamesThatHeMaySee) {
  RequestHandler handler([](const std::string&) {});
  const RequestContext context = alarmed_context(Others::owner);
  handler.publish(context);
  Subscriber mine = handler.subscribe(known(alice), get("/api/v1/events"));
  Subscriber theirs = handler.subscribe(nobody(), get("/api/v1/events"));
  handler.announce(context.alerts->active[0]);
  const std::string to_alice = handler.news_for(mine).events;
  EXPECT_TRUE(to_alice.starts_with("event: alert\n")) << to_alice;
  EXPECT_THAT(to_alice, HasSubstr("computed: alice"));
  const std::string to_nobody = handler.news_for(theirs).events;
  EXPECT_THAT(to_nobody, HasSubstr("nothing is computed\""));
  EXPECT_THAT(to_nobody, Not(HasSubstr("alice")));
}

}  // namespace
}  // namespace berth::serve
