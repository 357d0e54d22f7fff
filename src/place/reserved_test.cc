#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "place/placement.h"
#include "snapshot/builder.h"
#include "snapshot/questions.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Waiter waiter(const Request& request, std::vector<DeviceId> gathered = {}) {
  return {.user = "u", .request = to_json(request), .gathered = std::move(gathered)};
}

/// What the waiter at `position` leaves to those before it; past the end, somebody who comes now
/// and wants a device whole.
std::vector<Kept> kept_before(const Snapshot& host, std::size_t position) {
  const bool waits = position < host.waiters.size();
  const auto own = waits ? request_from_json(host.waiters[position].request) : Request{};
  return reserved_before(host, position, own.value());
}

std::vector<DeviceId> devices_in(const std::vector<Kept>& reserved) {
  std::vector<DeviceId> devices;
  for (const Kept& kept : reserved) {  // one that two share is kept for both
    const DeviceId& id = kept.part.device;
    if (std::ranges::find(devices, id) == devices.end()) devices.push_back(id);
  }
  return devices;
}
std::vector<DeviceId> reserved_before(const Snapshot& host, std::size_t position) {
  return devices_in(kept_before(host, position));
}
std::vector<DeviceId> devices_before(const Snapshot& host, std::size_t position, const Request& own,
                                     const PlaceLimits& limits = {}) {
  return devices_in(reserved_before(host, position, own, limits));
}

Request part(Bytes bytes) { return Request{.memory = MemoryShare(bytes)}; }

TEST(ReservedBefore, HeadThatCanStartReservesWhatItTakes) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).build();
  host.waiters = {waiter(Request{}), waiter(Request{})};
  EXPECT_THAT(reserved_before(host, 0), IsEmpty());
  EXPECT_THAT(reserved_before(host, 1), ElementsAre(DeviceId("A")));
  EXPECT_THAT(reserved_before(host, 2), ElementsAre(DeviceId("A"), DeviceId("B")));
  EXPECT_THAT(reserved_before(host, 99), ElementsAre(DeviceId("A"), DeviceId("B")));
}

TEST(ReservedBefore, OneThatCannotUseWhatIsFreeBlocksNobody) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).claim("x").build();
  host.waiters = {waiter(Request{.devices = 2}), waiter(Request{.only = {{"1"}}}),
                  waiter(Request{})};
  EXPECT_THAT(reserved_before(host, 2), IsEmpty());
}

TEST(ReservedBefore, GatheredDevicesAreKeptForTheirHead) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).claim("x").build();
  host.waiters = {waiter(Request{.devices = 2}, {DeviceId("A"), DeviceId("gone")}),
                  waiter(Request{})};
  EXPECT_THAT(reserved_before(host, 1), ElementsAre(DeviceId("A")));
}

TEST(ReservedBefore, NewerTicketKeepsOnlyWhatItGathered) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).build();
  host.waiters = {
      {.request = R"({"berth_request":9})", .since = host.taken, .gathered = {DeviceId("B")}},
      {.request = ""},
      waiter(Request{})};
  EXPECT_THAT(reserved_before(host, 2), ElementsAre(DeviceId("B")));
}

TEST(ReservedBefore, SharesThatBothFitDoNotBlockEachOther) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  host.waiters = {waiter(part(30_GiB)), waiter(part(30_GiB)), waiter(part(30_GiB)),
                  waiter(Request{})};
  EXPECT_THAT(reserved_before(host, 1), IsEmpty());
  EXPECT_THAT(reserved_before(host, 2), ElementsAre(DeviceId("A")));
  EXPECT_THAT(devices_before(host, 1, Request{}), ElementsAre(DeviceId("A")));
}

TEST(ReservedBefore, OthersAreNotBoundByOurVisibleDevices) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 24_GiB).build();
  host.waiters = {waiter(Request{})};
  PlaceLimits limits;
  limits.visible = {DeviceId("B")};
  EXPECT_THAT(devices_before(host, 1, Request{}, limits), ElementsAre(DeviceId("A")));
}

TEST(ReservedBefore, NobodyReservesAFailedDeviceButWhoAllowsIt) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 24_GiB).build();
  host.waiters = {waiter(Request{})};
  host.faults = {{DeviceId("A")}};
  EXPECT_THAT(devices_before(host, 1, Request{.allow_failed = true}), ElementsAre(DeviceId("B")));
  host.waiters = {waiter(Request{.allow_failed = true})};
  EXPECT_THAT(devices_before(host, 1, Request{.allow_failed = true}), ElementsAre(DeviceId("A")));
}

// --- what the queue keeps from a newcomer ------------------------------------------------------

/// "0 of A whole": which waiter keeps what.
std::vector<std::string> kept_in(Snapshot host) {
  keep_for_waiters(host, nullptr);
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < host.waiters.size(); ++i) {
    for (const ClaimedDevice& part : host.waiters[i].reserved) {
      const std::string amount =
          part.promised ? std::to_string(part.promised->count() >> 30) + " GiB" : "whole";
      kept.push_back(std::to_string(i) + " of " + part.device.text() + " " + amount);
    }
  }
  return kept;
}

TEST(KeepForWaiters, CardThatTheNextWaiterTakesIsReservedForIt) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).gpu("C", 8_GiB).build();
  host.waiters = {waiter(Request{}), waiter(Request{})};
  EXPECT_THAT(kept_in(host), ElementsAre("0 of A whole", "1 of B whole"));
  keep_for_waiters(host, nullptr);
  EXPECT_EQ(state_of(host.devices[0], host), DeviceState::reserved);
  EXPECT_EQ(state_of(host.devices[2], host), DeviceState::free);
  EXPECT_THAT(users_waiting_for(host.devices[0], host), ElementsAre("u"));
}

TEST(KeepForWaiters, GatheredCardIsReservedAndALeasedOneStaysLeased) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).claim("x").build();
  host.waiters = {waiter(Request{.devices = 2}, {DeviceId("A"), DeviceId("B")})};
  EXPECT_THAT(kept_in(host), ElementsAre("0 of A whole"));
  keep_for_waiters(host, nullptr);
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::leased);
}

TEST(KeepForWaiters, OfAShareOnlyTheRestIsLeftToPromise) {
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
  host.waiters = {waiter(part(30_GiB)), waiter(part(20_GiB))};
  EXPECT_THAT(kept_in(host), ElementsAre("0 of A 30 GiB", "1 of A 20 GiB"));
  keep_for_waiters(host, nullptr);
  EXPECT_EQ(promisable_memory(host.devices[0], host), Reading<Bytes>(30_GiB));
  EXPECT_TRUE(place_behind(host, 2, part(30_GiB)).satisfied());
  EXPECT_FALSE(place_behind(host, 2, part(31_GiB)).satisfied());
}

TEST(KeepForWaiters, OneThatDoesNotAnswerKeepsNothing) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).build();
  host.waiters = {waiter(Request{})};
  host.waiters[0].stuck = true;
  EXPECT_THAT(kept_in(host), IsEmpty());
  EXPECT_TRUE(place_behind(host, 1, Request{}).satisfied());
}

TEST(KeepForWaiters, RefusalSaysForWhom) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).build();
  host.waiters = {waiter(Request{})};
  const Placement got = place_behind(host, 1, Request{});
  ASSERT_EQ(got.refused.size(), 1U);
  EXPECT_EQ(got.refused[0].rule, Rule::reserved);
  ASSERT_EQ(got.refused[0].holders.size(), 1U);
  EXPECT_EQ(got.refused[0].holders[0].user, "u");
}

TEST(KeepForWaiters, LongQueueThatCanUseNothingKeepsNothing) {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).build();
  host.waiters.assign(500, waiter(Request{.devices = 2}));
  host.waiters.push_back(waiter(Request{}));
  EXPECT_THAT(kept_in(host), ElementsAre("500 of A whole")) << "the last of them can";
}

// --- properties over random machines and queues
// ------------------------------------------------------

using Random = std::mt19937;

int under(Random& random, int limit) {
  return static_cast<int>(random() % static_cast<unsigned>(limit));
}

Snapshot random_cards(Random& random) {
  SnapshotBuilder builder;
  const int cards = 1 + under(random, 6);
  for (int i = 0; i < cards; ++i) {
    builder.gpu("GPU-" + std::to_string(i), under(random, 2) == 0 ? 24_GiB : 80_GiB);
    if (under(random, 4) == 0) builder.claim("x");
    if (under(random, 4) == 0) builder.claim("y", Bytes{(1ULL + random() % 20) << 30});
    if (under(random, 6) == 0) builder.used(2_GiB).process(1000 + i, "eve", 2_GiB);
  }
  return builder.build();
}

Request random_request(Random& random) {
  Request request;
  request.devices = 1 + under(random, 3);
  if (under(random, 2) == 0) request.memory = MemoryShare(Bytes{(1ULL + random() % 30) << 30});
  if (under(random, 4) == 0) request.only = {{std::to_string(under(random, 6))}, {"0"}};
  request.prefer = static_cast<Preference>(under(random, 3));
  return request;
}

Snapshot random_queue(Random& random) {
  Snapshot host = random_cards(random);
  const int length = 1 + under(random, 6);
  for (int i = 0; i < length; ++i) {
    Waiter next = waiter(random_request(random));
    if (i == 0 && under(random, 3) == 0) next.gathered = {host.devices[0].id};
    host.waiters.push_back(std::move(next));
  }
  return host;
}

Placement turn_of(const Snapshot& host, std::size_t position) {
  const Request request = request_from_json(host.waiters[position].request).value();
  PlaceLimits limits;
  limits.reserved = kept_before(host, position);
  return place(host, request, limits);
}

void start(Snapshot& host, std::size_t position, const Placement& placement) {
  Claim claim;
  claim.id = "started";
  for (const Choice& choice : placement.chosen)
    claim.devices.push_back({choice.device, choice.promised});
  host.claims.push_back(claim);
  host.waiters.erase(host.waiters.begin() + static_cast<std::ptrdiff_t>(position));
}

bool overcommitted(const Snapshot& host, const Device& device) {
  Bytes promised;
  int whole = 0;
  int all = 0;
  for (const Claim& claim : host.claims) {
    for (const ClaimedDevice& claimed : claim.devices) {
      if (claimed.device != device.id) continue;
      ++all;
      if (!claimed.promised) ++whole;
      promised += claimed.promised.value_or(Bytes{0});
    }
  }
  return whole > 0 ? all > 1 : promised > *device.memory_total.get();
}

TEST(QueueProperty, NoDeviceIsGivenTwiceInWhateverOrderWaitersLook) {
  Random random(1);
  int starts = 0;
  for (int round = 0; round < 120; ++round) {
    Snapshot host = random_queue(random);
    for (Claim& claim : host.claims) {
      if (claim.devices[0].promised) claim.devices.clear();  // only whole ones to begin with
    }
    for (int looks = 0; looks < 12 && !host.waiters.empty(); ++looks) {
      const auto position =
          static_cast<std::size_t>(under(random, static_cast<int>(host.waiters.size())));
      const Placement got = turn_of(host, position);
      if (!got.satisfied()) continue;
      std::set<DeviceId> distinct;
      for (const Choice& choice : got.chosen) distinct.insert(choice.device);
      ASSERT_EQ(distinct.size(), got.chosen.size());
      start(host, position, got);
      ++starts;
      for (const Device& device : host.devices) {
        ASSERT_FALSE(overcommitted(host, device)) << "round " << round << ", " << device.id.text();
      }
    }
  }
  EXPECT_GT(starts, 60) << "the machines were too full to show anything";
}

TEST(QueueProperty, WhatIsCalledFreeIsWhatWhoComesNowIsGiven) {
  Random random(4);
  int free = 0;
  int reserved = 0;
  for (int round = 0; round < 300; ++round) {
    Snapshot host = random_queue(random);
    keep_for_waiters(host, nullptr);
    for (const Device& device : host.devices) {
      const DeviceState state = state_of(device, host);
      const Placement got =
          place_behind(host, host.waiters.size(), Request{}, {.visible = {{device.id}}});
      ASSERT_EQ(state == DeviceState::free, got.satisfied())
          << "round " << round << ", " << device.id.text() << " is " << name_of(state);
      free += state == DeviceState::free ? 1 : 0;
      reserved += state == DeviceState::reserved ? 1 : 0;
    }
  }
  EXPECT_GT(free, 30);
  EXPECT_GT(reserved, 30);
}

TEST(QueueProperty, NoLaterStartDelaysAnEarlierWaiterThatCouldStart) {
  Random random(2);
  int overtakes = 0;
  for (int round = 0; round < 120; ++round) {
    const Snapshot host = random_queue(random);
    for (std::size_t later = 1; later < host.waiters.size(); ++later) {
      const Placement got = turn_of(host, later);
      if (!got.satisfied()) continue;
      Snapshot after = host;
      start(after, later, got);
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (!turn_of(host, earlier).satisfied()) continue;
        ++overtakes;
        ASSERT_TRUE(turn_of(after, earlier).satisfied())
            << "round " << round << ": waiter " << later << " delays waiter " << earlier;
      }
      for (const DeviceId& kept : host.waiters[0].gathered) {
        if (turn_of(host, 0).satisfied()) break;
        const auto request = request_from_json(host.waiters[0].request).value();
        if (request.memory || !place(host, request).possible) break;
        for (const Choice& choice : got.chosen) ASSERT_NE(choice.device, kept);
      }
    }
  }
  EXPECT_GT(overtakes, 30) << "nobody overtook: nothing was shown";
}

TEST(QueueProperty, WaiterWhomNobodyBeforeAffectsIsNotBlocked) {
  Random random(3);
  int unblocked = 0;
  for (int round = 0; round < 120; ++round) {
    Snapshot host = random_queue(random);
    const std::size_t last = host.waiters.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      host.waiters[i].gathered.clear();
      if (place(host, request_from_json(host.waiters[i].request).value()).satisfied()) {
        host.waiters[i] = waiter(Request{.devices = 99});  // can use nothing that is free
      }
    }
    const Placement alone = place(host, request_from_json(host.waiters[last].request).value());
    ASSERT_EQ(turn_of(host, last).satisfied(), alone.satisfied()) << "round " << round;
    if (alone.satisfied()) ++unblocked;
  }
  EXPECT_GT(unblocked, 15);
}

}  // namespace
}  // namespace berth
