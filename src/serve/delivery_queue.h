#pragma once
// DeliveryQueue: what has to be sent to which receiver, and when it is tried again. Each receiver
// has a bounded queue of its own, and one message on its way. A receiver that hangs or refuses
// keeps nobody else waiting. Pure: it says what to send, and is told how that went.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "alert/state.h"
#include "base/clock.h"
#include "serve/alert_message.h"
#include "serve/alert_receiver.h"

namespace berth::serve {

/// How it goes with one receiver.
struct DeliveryFigures {
  std::string receiver;
  AlertReceiver::Kind kind = AlertReceiver::Kind::webhook;
  AlertSeverity least = AlertSeverity::notice;
  std::size_t waiting = 0;  // the one on its way included
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;   // tries
  std::uint64_t dropped = 0;  // for want of room
  std::optional<WallTime> last_delivered;
  std::optional<WallTime> last_failed;
  std::string trouble;  // why the last try failed; empty: it did not
  friend bool operator==(const DeliveryFigures&, const DeliveryFigures&) = default;
};

class DeliveryQueue {
 public:
  /// Messages that had not arrived when their receiver went.
  struct Dropped {
    std::string receiver;
    std::size_t messages = 0;
    friend bool operator==(const Dropped&, const Dropped&) = default;
  };
  /// Receivers that stay keep their queues, and their messages are tried again at once. Returns
  /// what is dropped with the receivers that go.
  std::vector<Dropped> set_receivers(std::vector<AlertReceiver> receivers, Instant now);
  [[nodiscard]] const AlertReceiver* find(const std::string& name) const;

  /// For everybody who wants to hear of it.
  void put(const AlertMessage& message, Instant now);
  /// For one receiver alone, whatever it wants to hear: what an earlier daemon could not deliver.
  /// False: no receiver has this name.
  bool put_for(const std::string& receiver, const AlertMessage& message, Instant now);

  struct Delivery {
    std::string receiver;
    AlertMessage message;
    std::uint64_t number = 0;  // no other has it
  };
  /// What is to be sent now; each counts as on its way until done() is told of it.
  [[nodiscard]] std::vector<Delivery> due(Instant now);
  /// How it went with the delivery of that number. Returns a sentence for the log if it newly
  /// fails, or works again. A delivery that nobody waits for any more is passed over.
  std::optional<std::string> done(std::uint64_t delivery, const Result<void>& how, Moment now);

  [[nodiscard]] std::vector<DeliveryFigures> figures() const;
  [[nodiscard]] std::vector<Undelivered> undelivered() const;
  /// Counts whatever changes undelivered().
  [[nodiscard]] std::uint64_t change() const { return change_; }

  static constexpr std::size_t most_waiting = 64;
  static constexpr Duration first_pause = std::chrono::seconds(2);
  static constexpr Duration longest_pause = std::chrono::minutes(5);

 private:
  struct Line {
    AlertReceiver receiver;
    std::deque<AlertMessage> messages;       // the first is the one on its way
    std::optional<std::uint64_t> under_way;  // the number of its delivery
    Instant not_before{};
    Duration pause = first_pause;
    DeliveryFigures figures;
  };
  Line* line_of(const std::string& receiver);
  void put_in(Line& line, const AlertMessage& message);

  std::vector<Line> lines_;
  std::uint64_t deliveries_ = 0;
  std::uint64_t change_ = 0;
};

}  // namespace berth::serve
