#include "place/order.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace berth {

std::vector<QueueTurn> order(std::span<const TicketFacts> tickets, const Policy& policy) {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const std::int64_t step = duration_cast<nanoseconds>(policy.priority_step).count();
  std::vector<QueueTurn> turns;
  turns.reserve(tickets.size());
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const TicketFacts& ticket = tickets[i];
    const Priority counted = policy.counted(ticket.asked, ticket.uid);
    const auto steps = static_cast<int>(counted) - static_cast<int>(Priority::normal);
    const auto later = duration_cast<nanoseconds>(policy.later_by_use(ticket.uid)).count();
    turns.push_back(
        {.ticket = i, .counted = counted, .stands_at = ticket.place - steps * step + later});
  }
  std::ranges::sort(turns, {}, [&](const QueueTurn& turn) {
    const TicketFacts& ticket = tickets[turn.ticket];
    return std::make_tuple(turn.stands_at, ticket.place, ticket.arrived,
                           std::string_view(ticket.name));
  });
  return turns;
}

}  // namespace berth
