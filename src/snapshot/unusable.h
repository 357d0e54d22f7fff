#pragma once
// WhyUnusable: why no job can be given a device although it is there. The code asks for the kind.
// JSON and the probe's wire have the sentence; their readers find the kind again.

#include <string>
#include <string_view>

#include "base/archive.h"
#include "base/sentence.h"

namespace berth {

enum class Unusable {
  none,
  other,  // in a source's own words
  // Not heard in time: nothing is known of it, for better or worse.
  silent,      // it had said who it is
  unanswered,  // it had not
  asleep,      // not woken up to be asked
  // NVIDIA's driver does not have it, or does not answer for it.
  no_driver,
  nouveau,
  library_silent,
  must_be_reset,  // the driver answers only so much until somebody does
  unlisted,       // the driver counted it earlier (or a run was given it)
  // Somebody took it away on purpose: nothing is wrong with it.
  left_out,
  kept_from_us,
  given_to_machine,
};

class WhyUnusable {
 public:
  WhyUnusable() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a kind says it all
  WhyUnusable(Unusable kind) : kind_(kind) {}
  /// A kind's own sentence, or `other`.
  explicit WhyUnusable(Sentence said);
  explicit WhyUnusable(std::string_view english) : WhyUnusable(Sentence(english)) {}

  [[nodiscard]] Unusable kind() const { return kind_; }
  /// The device is usable.
  [[nodiscard]] bool empty() const { return kind_ == Unusable::none; }
  [[nodiscard]] Sentence said() const;
  [[nodiscard]] std::string english() const { return said().english(); }
  /// In the chosen language.
  [[nodiscard]] std::string shown() const { return said().shown(); }
  friend bool operator==(const WhyUnusable&, const WhyUnusable&) = default;

 private:
  Unusable kind_ = Unusable::none;
  Sentence other_;
};

[[nodiscard]] inline bool operator==(const WhyUnusable& why, Unusable kind) {
  return why.kind() == kind;
}

/// As its English sentence.
void put(Archive& archive, WhyUnusable& why);

}  // namespace berth
