#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "serve/example_world.h"
#include "serve/room.h"

namespace berth::serve {
namespace {

using Json = nlohmann::json;
using ::testing::SizeIs;

/// gpu1 is well and has alice on it; gpu2 does not answer.
World world_with_room(Policy::Others others = Policy::Others::open) {
  World world = example_world(others);
  auto room = std::make_shared<RoomView>();
  HostReport well = unasked(parse_member("gpu1").value());
  well.state = HostState::ok;
  well.why.clear();
  well.seen = parse_overview(
                  R"({"berth_overview":1,"taken_unix_ms":5,"counts":{"busy":1},"queue":[{}],
                      "devices":[{"id":"GPU-A","index":0,"state":"busy","users":["alice"]}]})")
                  .value();
  well.taken = well.seen->taken;
  HostReport silent = unasked(parse_member("gpu2").value());
  silent.state = HostState::refused;
  silent.why = "cannot open /home/alice/gpu2.token: Permission denied";
  for (const HostReport& report : {well, silent}) {
    room->hosts.push_back({.report = std::make_shared<const HostReport>(report)});
  }
  world.room = room;
  return world;
}

Json hosts_answered(const std::string& path, const Asker& asker, const World& world) {
  const Response response = answer(get(path), asker, world);
  return response.body ? Json::parse(*response.body, nullptr, false) : Json();
}

TEST(Hosts, AreListedWithTheirDevices) {
  const Json root = hosts_answered("/api/v1/hosts", nobody(), world_with_room());
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
  EXPECT_EQ(hosts_answered("/api/v1/overview", nobody(), world_with_room())["joined"], 2);
  EXPECT_EQ(hosts_answered("/api/v1/overview", nobody(), example_world())["joined"], 0);
}

TEST(Hosts, AreNoneWhereNobodyIsJoined) {
  EXPECT_THAT(hosts_answered("/api/v1/hosts", nobody(), example_world())["hosts"], SizeIs(0));
}

TEST(Hosts, NameNobodyWhereOurPolicyHidesNames) {
  const World world = world_with_room(Policy::Others::owner);
  EXPECT_THAT(hosts_answered("/api/v1/hosts", nobody(), world)["hosts"][0]["devices"][0]["users"],
              SizeIs(0));
  EXPECT_THAT(
      hosts_answered("/api/v1/hosts", known(alice), world)["hosts"][0]["devices"][0]["users"],
      SizeIs(0))
      << "who is called alice there may be another";
  EXPECT_EQ(
      hosts_answered("/api/v1/hosts", administrator(), world)["hosts"][0]["devices"][0]["users"],
      Json({"alice"}));
}

TEST(Hosts, TellOnlyTheAdministratorOfPrivatePaths) {
  const World world = world_with_room();
  EXPECT_EQ(hosts_answered("/api/v1/hosts", nobody(), world)["hosts"][1]["why"],
            "cannot open … Permission denied");
  EXPECT_EQ(hosts_answered("/api/v1/hosts", administrator(), world)["hosts"][1]["why"],
            "cannot open /home/alice/gpu2.token: Permission denied");
}

TEST(Hosts, ComeInPages) {
  const World world = world_with_room();
  const Json first = hosts_answered("/api/v1/hosts?limit=1", nobody(), world);
  ASSERT_THAT(first["hosts"], SizeIs(1));
  EXPECT_EQ(first["next"], "gpu1");
  const Json second = hosts_answered("/api/v1/hosts?limit=1&after=gpu1", nobody(), world);
  ASSERT_THAT(second["hosts"], SizeIs(1));
  EXPECT_EQ(second["hosts"][0]["name"], "gpu2");
  EXPECT_TRUE(second["next"].is_null());
}

TEST(Hosts, AreToldBeforeThisMachineWasLookedAt) {
  World world = world_with_room();
  world.snapshot = nullptr;
  EXPECT_EQ(answer(get("/api/v1/hosts"), nobody(), world).status, 200);
}

}  // namespace
}  // namespace berth::serve
