#include "snapshot/host_report.h"
#include "base/sentence.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/json_archive.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* small_overview = R"({
  "berth_overview": 1, "taken_unix_ms": 1790000000000, "simulated": null, "stale": false,
  "version": "0.1.0", "counts": {"free": 1, "busy": 1, "free; drop table": 7},
  "devices": [
    {"id": "GPU-A", "index": 0, "kind": "nvidia_gpu", "parent": null, "name": "NVIDIA H100",
     "state": "busy", "health": "ok", "utilization_gpu_percent": 97, "memory_used_bytes": 5,
     "memory_total_bytes": 80, "users": ["alice", "bob"]},
    {"id": "GPU-B", "index": 1, "kind": "nvidia_gpu", "parent": null, "name": null,
     "state": "free", "health": null, "utilization_gpu_percent": null, "memory_used_bytes": null,
     "memory_total_bytes": 80, "users": [], "why": {"memory_used_bytes": "failed"}}],
  "queue": [{}, {}], "alerts": [{}]})";

TEST(ParseOverview, KeepsWhatIsShownAtAGlance) {
  const auto overview = parse_overview(small_overview);
  ASSERT_TRUE(overview) << overview.error().message();
  EXPECT_EQ(overview->version, "0.1.0");
  EXPECT_EQ(overview->taken.unix_ms, 1790000000000);
  EXPECT_EQ(overview->waiting, 2U);
  EXPECT_EQ(overview->alerts, 1U);
  ASSERT_THAT(overview->devices, SizeIs(2));
  EXPECT_EQ(overview->devices[0].utilization_percent, 97.0);
  EXPECT_THAT(overview->devices[0].users, ElementsAre("alice", "bob"));
}

TEST(ParseOverview, LeavesAbsentWhatIsAbsent) {
  const auto overview = parse_overview(small_overview);
  ASSERT_TRUE(overview) << overview.error().message();
  EXPECT_EQ(overview->devices[1].utilization_percent, std::nullopt);
  EXPECT_EQ(overview->devices[1].memory_used_bytes, std::nullopt);
  EXPECT_EQ(overview->devices[1].name, std::nullopt);
}

TEST(ParseOverview, CountsOnlyStatesThatThereAre) {
  const auto overview = parse_overview(small_overview);
  ASSERT_TRUE(overview) << overview.error().message();
  EXPECT_THAT(overview->counts, SizeIs(2));
}

TEST(ParseOverview, KnowsNoAlertsOfABerthWithoutThem) {
  const auto overview = parse_overview(R"({"berth_overview": 1, "taken_unix_ms": 5})");
  ASSERT_TRUE(overview) << overview.error().message();
  EXPECT_EQ(overview->alerts, std::nullopt);
}

TEST(ParseOverview, SaysThatABerthIsNewer) {
  const auto overview = parse_overview(R"({"berth_overview": 2, "version": "9.0"})");
  ASSERT_FALSE(overview);
  EXPECT_EQ(overview.error().code(), ErrorCode::unsupported);
  EXPECT_THAT(overview.error().message(), HasSubstr("9.0"));
}

TEST(ParseOverview, RefusesWhatIsNone) {
  for (const char* text : {"", "{}", "[]", "null", "<html>", R"({"berth_overview": "1"})",
                           R"({"berth_overview": 1})", R"({"berth_overview": -1})"}) {
    const auto overview = parse_overview(text);
    ASSERT_FALSE(overview) << text;
    EXPECT_EQ(overview.error().code(), ErrorCode::invalid) << text;
  }
}

TEST(ParseOverview, RefusesJsonThatIsAllBrackets) {
  EXPECT_FALSE(parse_overview(std::string(1'000'000, '[')));
}

TEST(ParseOverview, CutsWhatIsTooLongAndLeavesOutWhatHasTheWrongType) {
  const nlohmann::json device = {{"id", std::string(300, 'x')},
                                 {"index", -7},
                                 {"utilization_gpu_percent", 4711},
                                 {"memory_used_bytes", "much"},
                                 {"users", {1, "alice", nullptr}}};
  nlohmann::json root = {{"berth_overview", 1}, {"taken_unix_ms", 5}, {"stale", "yes"}};
  for (int i = 0; i < 1100; ++i) root["devices"].push_back(device);
  const auto overview = parse_overview(root.dump());
  ASSERT_TRUE(overview) << overview.error().message();
  ASSERT_THAT(overview->devices, SizeIs(1024));
  const HostDevice& first = overview->devices.front();
  EXPECT_THAT(first.id, SizeIs(256));
  EXPECT_EQ(first.index, std::nullopt);
  EXPECT_EQ(first.utilization_percent, std::nullopt);
  EXPECT_EQ(first.memory_used_bytes, std::nullopt);
  EXPECT_THAT(first.users, ElementsAre("alice"));
  EXPECT_EQ(first.state, "unknown");
  EXPECT_FALSE(overview->is_stale);
}

HostReport example_report() {
  HostReport report{.name = "gpu1", .address = "http://gpu1:9700", .page = "http://gpu1:9700/"};
  report.state = HostState::ok;
  report.asked = WallTime{1790000001000};
  report.seen = parse_overview(small_overview).value();
  report.taken = report.seen->taken;
  return report;
}

std::string json_of(HostReport report) {
  return write_json(JsonLayout::compact, [&](Archive& archive) { walk(archive, report); });
}

TEST(HostReport, ComesBackFromItsJson) {
  const HostReport report = example_report();
  const auto back = parse_hosts(R"({"hosts":[)" + json_of(report) + R"(],"next":null})");
  ASSERT_TRUE(back) << back.error().message();
  ASSERT_THAT(*back, SizeIs(1));
  EXPECT_EQ(json_of(back->front()), json_of(report));
}

TEST(HostReport, StaysAsItWasWritten) {
  EXPECT_EQ(
      json_of(example_report()),
      R"({"name":"gpu1","address":"http://gpu1:9700","state":"ok","why":null,"remedy":null,)"
      R"("asked_unix_ms":1790000001000,"taken_unix_ms":1790000000000,"simulated":null,)"
      R"("version":"0.1.0","counts":{"free":1,"busy":1},"devices":[{"id":"GPU-A","index":0,)"
      R"("kind":"nvidia_gpu","parent":null,"name":"NVIDIA H100","state":"busy","health":"ok",)"
      R"("utilization_gpu_percent":97.0,"memory_used_bytes":5,"memory_total_bytes":80,)"
      R"("users":["alice","bob"]},{"id":"GPU-B","index":1,"kind":"nvidia_gpu","parent":null,)"
      R"("name":null,"state":"free","health":null,"utilization_gpu_percent":null,)"
      R"("memory_used_bytes":null,"memory_total_bytes":80,"users":[]}],"queue":2,"alerts":1,)"
      R"("page":"http://gpu1:9700/"})");
}

TEST(HostReport, SaysNothingOfDevicesOfAHostThatDoesNotAnswer) {
  HostReport report = example_report();
  report.state = HostState::unreachable;
  report.why = Sentence("cannot connect");
  report.seen.reset();
  const std::string json = json_of(report);
  EXPECT_THAT(json, HasSubstr(R"("devices":[],"queue":null,)"));
  EXPECT_THAT(json, HasSubstr(R"("taken_unix_ms":1790000000000,)"));
  EXPECT_THAT(json, HasSubstr(R"("why":"cannot connect",)"));
}

TEST(ParseHosts, RefusesWhatIsNoList) {
  for (const char* text : {"", "{}", "[]", R"({"hosts": {}})"})
    EXPECT_FALSE(parse_hosts(text)) << text;
}

}  // namespace
}  // namespace berth
