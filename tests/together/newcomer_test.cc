// Where the ledger puts a newcomer's ticket is where placement takes a newcomer to stand.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/temporary_directory.h"
#include "lease/ledger.h"
#include "place/placement.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

Result<Ticket> queue(const Ledger& ledger, const Request& request) {
  return ledger.queue({.run = "r",
                       .command = "python a.py",
                       .wants = as_typed(request),
                       .request = to_json(request)},
                      {DeviceId("A"), DeviceId("B")});
}

std::size_t position_of(const std::string& id, const std::vector<Waiter>& waiters) {
  const auto found = std::ranges::find(waiters, id, &Waiter::id);
  return static_cast<std::size_t>(found - waiters.begin());
}

TEST(Newcomer, StandsInTheQueueWherePlacementTakesItToStand) {
  const TemporaryDirectory directory;
  FakeClock clock;
  const auto ledger = Ledger::open(
      {.directory = directory.path() + "/ledger", .kind = LedgerPlace::Kind::named}, clock);
  ASSERT_TRUE(ledger) << ledger.error().message();
  Snapshot host = SnapshotBuilder().gpu("A", 20_GiB).gpu("B", 20_GiB).build();
  std::vector<Ticket> tickets;
  for (int waiting = 0; waiting < 4; ++waiting) {
    const bool taken_to_start = place_newcomer(host, Request{}).satisfied();
    auto ticket = queue(*ledger, Request{});
    ASSERT_TRUE(ticket) << ticket.error().message();
    tickets.push_back(*std::move(ticket));
    host.waiters = ledger->read().value_or(LedgerView{}).waiters;
    const std::size_t position = position_of(tickets.back().id(), host.waiters);
    EXPECT_EQ(place_behind(host, position, Request{}).satisfied(), taken_to_start)
        << "behind " << waiting << " it stands at " << position
        << ", and place_newcomer() takes it to stand elsewhere";
  }
}

}  // namespace
}  // namespace berth
