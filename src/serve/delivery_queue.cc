#include "serve/delivery_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace berth::serve {

std::vector<DeliveryQueue::Dropped> DeliveryQueue::set_receivers(
    std::vector<AlertReceiver> receivers, Instant now) {
  std::vector<Dropped> dropped;
  for (const Line& line : lines_) {
    const bool stays = std::ranges::any_of(receivers, [&](const AlertReceiver& one) {
      return one.name == line.receiver.name && one.kind == line.receiver.kind;
    });
    if (stays || line.messages.empty()) continue;
    dropped.push_back({.receiver = line.receiver.name, .messages = line.messages.size()});
  }
  std::vector<Line> lines;
  for (AlertReceiver& receiver : receivers) {
    Line* had = line_of(receiver.name);
    Line line;
    if (had != nullptr && had->receiver.kind == receiver.kind) line = std::move(*had);
    line.figures.receiver = receiver.name;
    line.figures.kind = receiver.kind;
    line.figures.least = receiver.least;
    line.receiver = std::move(receiver);
    line.not_before = now;
    line.pause = first_pause;
    lines.push_back(std::move(line));
  }
  lines_ = std::move(lines);
  ++change_;
  return dropped;
}

DeliveryQueue::Line* DeliveryQueue::line_of(const std::string& receiver) {
  const auto found = std::ranges::find_if(
      lines_, [&](const Line& line) { return line.receiver.name == receiver; });
  return found == lines_.end() ? nullptr : &*found;
}

const AlertReceiver* DeliveryQueue::find(const std::string& name) const {
  const auto found =
      std::ranges::find_if(lines_, [&](const Line& line) { return line.receiver.name == name; });
  return found == lines_.end() ? nullptr : &found->receiver;
}

void DeliveryQueue::put_in(Line& line, const AlertMessage& message) {
  ++change_;
  if (line.messages.size() >= most_waiting) {
    // The oldest goes, but never one that somebody is being told at this moment.
    line.messages.erase(line.messages.begin() + (line.under_way ? 1 : 0));
    ++line.figures.dropped;
  }
  line.messages.push_back(message);
}

void DeliveryQueue::put(const AlertMessage& message, Instant now) {
  for (Line& line : lines_) {
    const bool is_wanted =
        message.alert.severity >= line.receiver.least &&
        (message.event == AlertMessage::Event::began || line.receiver.is_told_of_ends);
    if (!is_wanted) continue;
    if (line.messages.empty() && line.figures.trouble.empty()) line.not_before = now;
    put_in(line, message);
  }
}

bool DeliveryQueue::put_for(const std::string& receiver, const AlertMessage& message, Instant now) {
  Line* line = line_of(receiver);
  if (line == nullptr) return false;
  line->not_before = now;
  put_in(*line, message);
  return true;
}

std::vector<DeliveryQueue::Delivery> DeliveryQueue::due(Instant now) {
  std::vector<Delivery> deliveries;
  for (Line& line : lines_) {
    if (line.under_way || line.messages.empty() || now < line.not_before) continue;
    line.under_way = ++deliveries_;
    deliveries.push_back({.receiver = line.receiver.name,
                          .message = line.messages.front(),
                          .number = *line.under_way});
  }
  return deliveries;
}

std::optional<std::string> DeliveryQueue::done(std::uint64_t delivery, const Result<void>& how,
                                               Moment now) {
  const auto line =
      std::ranges::find_if(lines_, [&](const Line& one) { return one.under_way == delivery; });
  if (line == lines_.end()) return std::nullopt;  // its receiver is, or was, no longer configured
  line->under_way.reset();
  const std::string& receiver = line->receiver.name;
  DeliveryFigures& figures = line->figures;
  if (how) {
    ++change_;
    line->messages.pop_front();
    line->not_before = now.steady;
    line->pause = first_pause;
    ++figures.delivered;
    figures.last_delivered = now.wall;
    if (std::exchange(figures.trouble, {}).empty()) return std::nullopt;
    return fmt::format("alerts reach {} again", receiver);
  }
  const bool is_new = figures.trouble.empty();
  ++figures.failed;
  figures.last_failed = now.wall;
  figures.trouble = how.error().message();
  line->not_before = now.steady + line->pause;
  line->pause = std::min(line->pause * 2, longest_pause);
  if (!is_new) return std::nullopt;
  return fmt::format("an alert could not be told to {}: {} (it is tried again until it arrives)",
                     receiver, figures.trouble);
}

std::vector<DeliveryFigures> DeliveryQueue::figures() const {
  std::vector<DeliveryFigures> all;
  for (const Line& line : lines_) {
    all.push_back(line.figures);
    all.back().waiting = line.messages.size();
  }
  return all;
}

std::vector<Undelivered> DeliveryQueue::undelivered() const {
  std::vector<Undelivered> all;
  for (const Line& line : lines_) {
    for (const AlertMessage& message : line.messages) {
      all.push_back({.receiver = line.receiver.name,
                     .what = message.event == AlertMessage::Event::began ? AlertChange::What::began
                                                                         : AlertChange::What::ended,
                     .alert = message.alert.id});
    }
  }
  return all;
}

}  // namespace berth::serve
