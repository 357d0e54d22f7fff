#include "run/driver_watch.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "base/sentence.h"
#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "snapshot/questions.h"

namespace berth {

std::vector<Note> DriverWatch::news(const Snapshot& look) {
  std::vector<Note> news;
  for (const Device& given : given_.devices) {
    const Runtime vendor = facts_of(given.kind).runtime;
    const auto& before = given_.host.software_of(vendor).driver.get();
    const auto& now = look.host.software_of(vendor).driver.get();
    if (!before || !now || *before == *now || !told_changes_.insert(vendor).second) continue;
    const bool is_alone = vendors_asked(given_.host).size() == 1;
    news.push_back(
        {"driver_changed",
         is_alone ? sentence("the driver was {} when the run began and is {} now", *before, *now)
                  : sentence("the {} driver was {} when the run began and is {} now",
                             facts_of(vendor).vendor, *before, *now)});
  }
  add_returns(look, news);
  return news;
}

void DriverWatch::add_returns(const Snapshot& look, std::vector<Note>& news) {
  for (const Device& given : given_.devices) {
    const Device* seen = find_device(given.id, look);
    // One that is not in the look at all may be hidden for other reasons: that proves nothing.
    if (seen == nullptr) continue;
    if (seen->lost) {
      lost_.insert(given.id);
    } else if (seen->memory_used.get() && lost_.contains(given.id) &&
               returned_.insert(given.id).second) {
      news.push_back(
          {"gpu_back", sentence("{}: it was lost and answers again", name_for_people(given))});
    }
  }
}

namespace {

/// If a driver comes and goes for days, nobody wants to hear of it more often.
constexpr int most_told = 10;

enum class LibraryAnswer { given, errors, silence, in_doubt };

/// What the library says where memory or the like is short: that is ours, not the devices'.
constexpr std::array<std::string_view, 2> of_our_own = {"Insufficient Memory (20)",
                                                        "Insufficient resources (23)"};

LibraryAnswer answer_in(const Problem& problem) {
  if (problem.code == "timeout") return LibraryAnswer::silence;
  const bool is_ours = std::ranges::any_of(of_our_own, [&](std::string_view words) {
    return problem.message.english().find(words) != std::string::npos;
  });
  // All other codes say nothing of the devices. The library or module is missing or wrong, or the
  // problem is ours.
  const bool is_error = problem.code == "driver_failed" || problem.code == "device_lost";
  return is_error && !is_ours ? LibraryAnswer::errors : LibraryAnswer::in_doubt;
}

/// Why the driver could not be asked; null: nobody says.
const Problem* reason_in(const Snapshot& look, const std::set<std::string_view>& drivers) {
  const auto first = [&](const auto& is_it) -> const Problem* {
    const auto found = std::ranges::find_if(look.problems, [&](const Problem& problem) {
      return is_it(problem.source) && !problem.device;
    });
    return found == look.problems.end() ? nullptr : &*found;
  };
  const Problem* reason = first([&](std::string_view it) { return drivers.contains(it); });
  return reason != nullptr ? reason : first([](std::string_view it) { return it == "probe"; });
}

/// Nothing: the look did not ask.
std::optional<LibraryAnswer> answer_in(const Snapshot& look,
                                       const std::set<std::string_view>& drivers) {
  const auto report = std::ranges::find_if(
      look.sources, [&](const SourceReport& one) { return drivers.contains(one.source); });
  if (report == look.sources.end()) return std::nullopt;
  if (report->succeeded) return LibraryAnswer::given;
  const Problem* reason = reason_in(look, drivers);
  return reason != nullptr ? answer_in(*reason) : LibraryAnswer::in_doubt;
}

std::int64_t seconds_of(Duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

DriverSilence::DriverSilence(const std::vector<Device>& given) {
  for (std::size_t place = 0; place < given.size(); ++place) {
    if (!is_supported(given[place])) continue;
    asked_.emplace_back(place, name_for_people(given[place]));
    drivers_.insert(facts_of(given[place].kind).source);
  }
}

SilenceNews DriverSilence::news(const Snapshot& look, Means means, Instant now) {
  SilenceNews news;
  const auto answer = answer_in(look, drivers_);
  if (asked_.empty() || !answer) return news;
  if (answer == LibraryAnswer::given) {
    row_.reset();
    if (unheard_since_ && told_ <= most_told) {
      news.events.push_back({"driver_answers", sentence("the driver answers again, after {} s",
                                                        seconds_of(now - *unheard_since_))});
    }
    unheard_since_.reset();
    return news;
  }
  if (!unheard_since_) {
    unheard_since_ = now;
    const std::string names = joined(asked_ | std::views::values, ", ");
    const Problem* reason = reason_in(look, drivers_);
    const Sentence why = reason != nullptr ? reason->message : sentence("no reason is known");
    if (++told_ <= most_told) {
      news.events.push_back(
          {"driver_silent", sentence("the driver no longer answers for {}: {}", names, why)});
    }
  }
  if (answer == LibraryAnswer::in_doubt || means == Means::lacking) {
    row_.reset();
    return news;
  }
  if (!row_) row_ = SilentDevice{.since = now};
  ++row_->looks;
  row_->errors_only &= answer == LibraryAnswer::errors;
  if (is_sure(now) && !std::exchange(told_fault_, true)) add_faults(now, news);
  return news;
}

bool DriverSilence::is_sure(Instant now) const {
  if (row_->looks < sure_after_looks) return false;
  return row_->errors_only || now - row_->since >= sure_after_silence;
}

void DriverSilence::add_faults(Instant now, SilenceNews& news) {
  const std::int64_t lasted = seconds_of(now - row_->since);
  for (const auto& [place, name] : asked_) {
    const Sentence text =
        row_->errors_only
            ? sentence("{}: the driver has told nothing but errors for {} s", name, lasted)
            : sentence("{}: the driver has not answered for {} s", name, lasted);
    news.faults.push_back({FaultKind::failed, place, "driver_silent", text});
  }
}

}  // namespace berth
