#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/sentence.h"
#include "serve/example_context.h"
#include "serve/fleet.h"

namespace berth::serve {
namespace {

using Json = nlohmann::json;
using ::testing::SizeIs;

/// gpu1 is well and has alice on it; gpu2 does not answer.
RequestContext context_with_fleet(Visibility::Others others = Visibility::Others::open) {
  RequestContext context = example_context(others);
  auto fleet = std::make_shared<FleetView>();
  HostReport well = unasked(parse_member("gpu1").value());
  well.state = HostState::ok;
  well.why = {};
  well.seen = parse_overview(
                  R"({"berth_overview":1,"taken_unix_ms":5,"counts":{"busy":1},"queue":[{}],
                      "devices":[{"id":"GPU-A","index":0,"state":"busy","users":["alice"]}]})")
                  .value();
  well.taken = well.seen->taken;
  HostReport silent = unasked(parse_member("gpu2").value());
  silent.state = HostState::refused;
  silent.why = Sentence("cannot open /home/alice/gpu2.token: Permission denied");
  for (const HostReport& report : {well, silent}) {
    fleet->hosts.push_back({.report = std::make_shared<const HostReport>(report)});
  }
  context.fleet = fleet;
  return context;
}

Json hosts_answered(const std::string& path, const Principal& principal,
                    const RequestContext& context) {
  const HttpResponse response = answer(get(path), principal, context);
  return response.body ? Json::parse(*response.body, nullptr, false) : Json();
}

TEST(Hosts, AreListedWithTheirDevices) {
  const Json root = hosts_answered("/api/v1/hosts", nobody(), context_with_fleet());
  ASSERT_THAT(root["hosts"], SizeIs(2));
  const Json& first = root["hosts"][0];
  EXPECT_EQ(first["name"], "gpu1");
  EXPECT_EQ(first["state"], "ok");
  EXPECT_TRUE(first["why"].is_null());
  EXPECT_EQ(first["counts"]["busy"], 1);
  EXPECT_EQ(first["queue"], 1);
  EXPECT_TRUE(first["alerts"].is_null());
  EXPECT_EQ(first["devices"][0]["users"], Json({"alice"}));
  EXPECT_EQ(root["hosts"][1]["state"], "refused");
  EXPECT_TRUE(root["next"].is_null());
}

TEST(Hosts, AreCountedInTheOverview) {
  EXPECT_EQ(hosts_answered("/api/v1/overview", nobody(), context_with_fleet())["joined"], 2);
  EXPECT_EQ(hosts_answered("/api/v1/overview", nobody(), example_context())["joined"], 0);
}

TEST(Hosts, AreNoneWhereNobodyIsJoined) {
  EXPECT_THAT(hosts_answered("/api/v1/hosts", nobody(), example_context())["hosts"], SizeIs(0));
}

TEST(Hosts, NameNobodyWhereOurPolicyHidesNames) {
  const RequestContext context = context_with_fleet(Visibility::Others::owner);
  EXPECT_THAT(hosts_answered("/api/v1/hosts", nobody(), context)["hosts"][0]["devices"][0]["users"],
              SizeIs(0));
  EXPECT_THAT(
      hosts_answered("/api/v1/hosts", known(alice), context)["hosts"][0]["devices"][0]["users"],
      SizeIs(0))
      << "who is called alice there may be another";
  EXPECT_EQ(
      hosts_answered("/api/v1/hosts", administrator(), context)["hosts"][0]["devices"][0]["users"],
      Json({"alice"}));
}

TEST(Hosts, TellOnlyTheAdministratorOfPrivatePaths) {
  const RequestContext context = context_with_fleet();
  EXPECT_EQ(hosts_answered("/api/v1/hosts", nobody(), context)["hosts"][1]["why"],
            "cannot open … Permission denied");
  EXPECT_EQ(hosts_answered("/api/v1/hosts", administrator(), context)["hosts"][1]["why"],
            "cannot open /home/alice/gpu2.token: Permission denied");
}

TEST(Hosts, ComeInPages) {
  const RequestContext context = context_with_fleet();
  const Json first = hosts_answered("/api/v1/hosts?limit=1", nobody(), context);
  ASSERT_THAT(first["hosts"], SizeIs(1));
  EXPECT_EQ(first["next"], "gpu1");
  const Json second = hosts_answered("/api/v1/hosts?limit=1&after=gpu1", nobody(), context);
  ASSERT_THAT(second["hosts"], SizeIs(1));
  EXPECT_EQ(second["hosts"][0]["name"], "gpu2");
  EXPECT_TRUE(second["next"].is_null());
}

TEST(Hosts, AreToldBeforeThisMachineWasLookedAt) {
  RequestContext context = context_with_fleet();
  context.snapshot = nullptr;
  EXPECT_EQ(answer(get("/api/v1/hosts"), nobody(), context).status, 200);
}

}  // namespace
}  // namespace berth::serve
