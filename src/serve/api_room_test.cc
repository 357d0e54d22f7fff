// What the page asks for beside the overview. It asks for one device's readings, near devices and
// the last minutes of all. Also for the queue with its reasons, and for cards for frames.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "place/request.h"
#include "serve/api.h"
#include "serve/example_context.h"
#include "serve/outgoing.h"
#include "serve/request_handler.h"

namespace berth::serve {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace literals;

nlohmann::json told(const std::string& path, const RequestContext& context) {
  const HttpResponse response = answer(get(path), nobody(), context);
  return nlohmann::json::parse(*response.body, nullptr, false);
}
RequestContext context_of(Snapshot snapshot) {
  RequestContext context = example_context();
  context.snapshot = std::make_shared<const Snapshot>(std::move(snapshot));
  return context;
}

TEST(GpuStatus, OfOneDeviceIsAsIfTheMachineHadNoOther) {
  Snapshot snapshot = example_snapshot();
  snapshot.devices[1].index = 1;
  const RequestContext context = context_of(snapshot);
  for (const char* name : {"1", "GPU-B"}) {
    const auto status = told(std::string("/gpu-status?device=") + name, context);
    ASSERT_EQ(status["devices"].size(), 1U) << name;
    EXPECT_EQ(status["devices"][0]["id"], "GPU-B");
    EXPECT_EQ(status["devices"][0]["state"], "busy") << "who is on it still counts";
    EXPECT_EQ(status["gpu_processes"].size(), 1U);
  }
  EXPECT_EQ(answer(get("/gpu-status?device=9"), nobody(), context).status, 404);
}

TEST(GpuStatus, IsAlsoWhatScriptsReadOutOfNvidiaSmi) {
  Snapshot snapshot = example_snapshot();
  const auto real = told("/gpu-status?profile=nvidia_smi_log", context_of(snapshot));
  EXPECT_EQ(real["nvidia_smi_log"]["gpu"].size(), 3U);
  EXPECT_EQ(real["nvidia_smi_log"]["gpu"][0]["fb_memory_usage"]["total"], "81920 MiB");
  EXPECT_FALSE(real.contains("simulated"));
  snapshot.simulated = "server";
  const auto simulated = told("/gpu-status?profile=nvidia_smi_log", context_of(snapshot));
  EXPECT_EQ(simulated["simulated"], true);
  EXPECT_EQ(answer(get("/gpu-status?profile=odd"), nobody(), example_context()).status, 400);
}

NvLink link_to(std::uint32_t number, const std::string& address) {
  return {.number = number, .active = true, .speed = Absent::not_sampled, .remote = address};
}

TEST(Topology, JoinsInAGroupWhatLinksLeadToOverOthersToo) {
  Snapshot snapshot =
      SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).gpu("C", 8_GiB).gpu("D", 8_GiB).build();
  const auto address = [](int i) { return "00000000:0" + std::to_string(i) + ":00.0"; };
  for (int i = 0; i < 4; ++i)
    snapshot.devices[static_cast<std::size_t>(i)].pci_address = address(i);
  snapshot.devices[0].numa_node = std::uint64_t{1};
  // A and C meet in D; B has nobody.
  snapshot.devices[0].lists.nvlinks = std::vector{link_to(0, address(3))};
  snapshot.devices[2].lists.nvlinks = std::vector{link_to(0, address(3))};
  snapshot.devices[3].lists.nvlinks = std::vector{link_to(0, address(0)), link_to(1, address(2))};
  const auto devices = told("/api/v1/topology", context_of(snapshot))["devices"];
  ASSERT_EQ(devices.size(), 4U);
  EXPECT_EQ(devices[0]["nvlink_group"], devices[2]["nvlink_group"]);
  EXPECT_EQ(devices[0]["nvlink_group"], devices[3]["nvlink_group"]);
  EXPECT_TRUE(devices[1]["nvlink_group"].is_null());
  EXPECT_EQ(devices[0]["numa_node"], 1);
  EXPECT_EQ(devices[0]["links"][0], "X");
  EXPECT_EQ(devices[0]["links"][3], "NV1");
}

/// Knows one device, in steps of two seconds, and of one of them nothing.
class Remembered final : public History {
 public:
  Result<std::vector<HistorySeries>> series(const SeriesQuery& query) const override {
    ++questions;
    std::vector<HistorySeries> all;
    for (const DeviceId& device : query.devices) {
      all.push_back({.device = device, .metric = "m", .unit = "", .step_ms = 2000});
      if (device.text() != "GPU-A") continue;
      for (const std::int64_t at : {0, 2000, 6000}) {
        all.back().points.push_back({.at = WallTime{query.since.unix_ms + at},
                                     .mean = static_cast<double>(at),
                                     .samples = 2});
      }
    }
    return all;
  }
  Result<UsageReport> usage(UsageQuery) const override { return UsageReport(); }
  Result<Timeline> timeline(WallTime, WallTime, std::size_t) const override { return Timeline(); }
  Result<std::vector<HistoryEvent>> events(WallTime, WallTime) const override {
    return std::vector<HistoryEvent>();
  }
  mutable int questions = 0;
};

TEST(Recent, IsInStepsThatAllDevicesShareWithNothingWhereNobodyLooked) {
  RequestContext context = example_context();
  const Remembered history;
  context.history = &history;
  const auto recent = told("/api/v1/recent?metric=m&since=10000&until=18000&points=8", context);
  EXPECT_EQ(recent["step_ms"], 1000);
  EXPECT_EQ(recent["since_unix_ms"], 10000);
  EXPECT_EQ(recent["devices"][0]["values"],
            nlohmann::json::parse("[0.0,0.0,2000.0,2000.0,null,null,6000.0,6000.0]"));
  EXPECT_EQ(recent["devices"][1]["values"],
            nlohmann::json::parse("[null,null,null,null,null,null,null,null]"));
  EXPECT_EQ(history.questions, 1) << "of each device alone, 64 cost seconds";
  EXPECT_EQ(answer(get("/api/v1/recent"), nobody(), context).status, 400);
}

TEST(Queue, SaysWhatIsInTheWayAndWhenItStarts) {
  Snapshot snapshot = example_snapshot();
  snapshot.claims[0].ends = WallTime{snapshot.taken.unix_ms + 60'000};
  Waiter waiter;
  waiter.id = "t";
  waiter.uid = bob;
  waiter.user = "bob";
  Request request;
  request.devices = 9;
  waiter.request = to_json(request);
  snapshot.waiters = {waiter};
  const auto queue = told("/api/v1/queue", context_of(snapshot))["queue"];
  ASSERT_EQ(queue.size(), 1U);
  EXPECT_NE(queue[0]["why_not_yet"], "");
  EXPECT_TRUE(queue[0]["expected_start_unix_ms"].is_null());
}

TEST(Queue, PromisesNobodyAStartWhoseRulesCannotBeRead) {
  Snapshot snapshot = example_snapshot();
  snapshot.claims.clear();
  snapshot.gpu_processes.clear();
  Waiter waiter;
  waiter.id = "t";
  waiter.uid = bob;
  waiter.user = "bob";
  waiter.request = to_json(Request{});
  snapshot.waiters = {waiter};
  RequestContext context = context_of(snapshot);
  EXPECT_EQ(told("/api/v1/queue", context)["queue"][0]["why_not_yet"], "");
  context.are_rules_unread = true;
  const auto place = told("/api/v1/queue", context)["queue"][0];
  EXPECT_EQ(place["why_not_yet"], "the policy of this machine cannot be read");
  EXPECT_TRUE(place["expected_start_unix_ms"].is_null());
}

class Cards : public testing::Test {
 protected:
  Cards() {
    handler_.set_rules({.hosts = {}, .sites = {.embed = true}, .tokens = {}, .own_uid = 500});
    handler_.publish(example_context());
  }
  HttpResponse received(const HttpRequest& request) {
    Reception got = handler_.receive(request, {}, WallTime{1'760'000'000'500}, Instant{});
    return std::get<HttpResponse>(got);
  }
  RequestHandler handler_{[](const std::string&) {}};
};

TEST_F(Cards, MayStandInAnyFrameAndNameNobody) {
  for (const char* path : {"/embed/server", "/embed/gpu/GPU-A"}) {
    HttpResponse card = received(get(path));
    EXPECT_EQ(card.status, 200) << path;
    EXPECT_THAT(*card.body, Not(HasSubstr("alice")));
    add_browser_rules(card, {}, "");
    int policies = 0;
    for (const auto& [name, value] : card.headers) {
      if (name != "content-security-policy") continue;
      ++policies;
      EXPECT_THAT(value, EndsWith("frame-ancestors *"));
    }
    EXPECT_EQ(policies, 1) << path;
  }
  EXPECT_EQ(received(get("/embed/gpu/9")).status, 404);
}

TEST_F(Cards, AreThereWhereTheSettingsSaySoAlone) {
  handler_.set_rules({.hosts = {}, .sites = {}, .tokens = {}, .own_uid = 500});
  const HttpResponse refused = received(get("/embed/server"));
  EXPECT_EQ(refused.status, 404);
  EXPECT_THAT(*refused.body, HasSubstr("embed = true"));
}

}  // namespace
}  // namespace berth::serve
