#include "diagnose/postmortem/catalogue.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "diagnose/postmortem/catalogue_build.h"
#include "diagnose/postmortem/catalogue_container.h"
#include "diagnose/postmortem/catalogue_device.h"
#include "diagnose/postmortem/catalogue_distributed.h"
#include "diagnose/postmortem/catalogue_driver.h"
#include "diagnose/postmortem/catalogue_host.h"
#include "diagnose/postmortem/catalogue_kernel.h"
#include "diagnose/postmortem/catalogue_memory.h"
#include "diagnose/postmortem/log_text.h"

namespace berth {

namespace {

constexpr auto families = std::to_array<LogFamily>({{"Memory", memory_entries},
                                                    {"Kernels and devices", kernel_entries},
                                                    {"Drivers and libraries", driver_entries},
                                                    {"Containers", container_entries},
                                                    {"Builds", build_entries},
                                                    {"Mixed-up devices", device_entries},
                                                    {"Several processes", distributed_entries},
                                                    {"The machine around it", host_entries}});

constexpr bool is_decided(const LogEntry& entry) {
  const bool is_short = entry.title == "the GPU's memory was used up";
  return !is_short || entry.tells == Tells::gpu_memory_shortage;
}
static_assert(std::ranges::all_of(families,
                                  [](const LogFamily& family) {
                                    return std::ranges::all_of(family.entries, is_decided);
                                  }),
              "a text of too little GPU memory says so for --retry-oom, too: Tells");

/// A piece of a pattern: what stands between two "*".
struct PieceSpan {
  std::size_t begin;
  std::size_t end;
};

/// Where the piece ends if it fits right at `at`. In a group the first alternative that fits is
/// taken.
std::optional<std::size_t> end_of_piece(std::string_view piece, std::string_view line,
                                        std::size_t at) {
  while (!piece.empty()) {
    if (piece.front() != '{') {
      const std::size_t length = std::min(piece.find('{'), piece.size());
      if (line.substr(at, length) != piece.substr(0, length)) return std::nullopt;
      at += length;
      piece.remove_prefix(length);
      continue;
    }
    const std::size_t close = piece.find('}');
    std::string_view group = piece.substr(1, close - 1);
    piece.remove_prefix(close + 1);
    while (true) {
      const std::size_t bar = std::min(group.find('|'), group.size());
      if (line.substr(at, bar) == group.substr(0, bar)) {
        at += bar;
        break;
      }
      if (bar == group.size()) return std::nullopt;
      group.remove_prefix(bar + 1);
    }
  }
  return at;
}

std::optional<PieceSpan> find_piece(std::string_view piece, std::string_view line,
                                    std::size_t from) {
  const std::size_t plain = std::min(piece.find('{'), piece.size());
  if (plain == piece.size()) {
    const std::size_t at = line.find(piece, from);
    if (at == std::string_view::npos) return std::nullopt;
    return PieceSpan{at, at + piece.size()};
  }
  for (std::size_t at = from; at <= line.size(); ++at) {
    if (plain > 0) at = line.find(piece.substr(0, plain), at);
    if (at == std::string_view::npos) return std::nullopt;
    if (const auto end = end_of_piece(piece, line, at)) return PieceSpan{at, *end};
  }
  return std::nullopt;
}

/// Which patterns may fit a line, by four bytes of each: a line holds few of them.
class PatternIndex {
 public:
  struct Row {
    const LogEntry* entry;
    std::string_view pattern;
  };

  PatternIndex() {
    for (const LogFamily& family : families) {
      for (const LogEntry& entry : family.entries) {
        for (const std::string_view pattern : split(entry.patterns, '\n')) {
          if (!pattern.empty()) rows_.push_back({&entry, pattern});
        }
      }
    }
    std::map<std::uint32_t, std::size_t> counts;
    for (const Row& row : rows_) {
      for_each_gram(row.pattern, [&](std::uint32_t gram) { ++counts[gram]; });
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::optional<std::uint32_t> rarest;
      for_each_gram(rows_[i].pattern, [&](std::uint32_t gram) {
        if (!rarest || counts[gram] < counts[*rarest]) rarest = gram;
      });
      BERTH_CHECK(rarest, "each pattern has four letters in a row");
      const std::size_t slot = slot_of(*rarest);
      grams_.push_back({*rarest, std::exchange(first_[slot], static_cast<std::int16_t>(i))});
    }
  }

  /// Ascending, each once: of those that fit the first counts.
  [[nodiscard]] std::vector<std::size_t> candidates(std::string_view line) const {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at + sizeof(std::uint32_t) <= line.size(); ++at) {
      const std::uint32_t gram = gram_at(line, at);
      for (std::int16_t i = first_[slot_of(gram)]; i >= 0;) {
        const auto entry = static_cast<std::size_t>(i);
        if (grams_[entry].gram == gram) found.push_back(entry);
        i = grams_[entry].next;
      }
    }
    std::ranges::sort(found);
    const auto rest = std::ranges::unique(found);
    found.erase(rest.begin(), rest.end());
    return found;
  }
  [[nodiscard]] const Row& row(std::size_t i) const { return rows_[i]; }

 private:
  static constexpr std::size_t slots = 1 << 14;
  struct Gram {
    std::uint32_t gram;
    std::int16_t next;
  };

  static std::uint32_t gram_at(std::string_view text, std::size_t at) {
    std::uint32_t gram = 0;
    std::memcpy(&gram, text.data() + at, sizeof gram);
    return gram;
  }
  static std::size_t slot_of(std::uint32_t gram) { return gram * 2654435761U >> 18; }

  /// Those of its plain text: what stands in a group may be another.
  template <class Each>
  static void for_each_gram(std::string_view pattern, Each each) {
    std::size_t plain = 0;
    bool is_group = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      const char c = pattern[i];
      if (c == '{' || c == '}') is_group = c == '{';
      const bool is_edge =
          (i < 2 && (c == '^' || c == '!')) || (c == '$' && i + 1 == pattern.size());
      const bool is_text = !is_group && !is_edge && c != '}' && c != '*';
      plain = is_text ? plain + 1 : 0;
      if (plain >= sizeof(std::uint32_t)) each(gram_at(pattern, i + 1 - sizeof(std::uint32_t)));
    }
  }

  std::vector<Row> rows_;
  std::vector<Gram> grams_;  // of each row
  std::array<std::int16_t, slots> first_ = filled();

  static std::array<std::int16_t, slots> filled() {
    std::array<std::int16_t, slots> none;
    none.fill(-1);
    return none;
  }
};

}  // namespace

bool fits(std::string_view pattern, std::string_view line) {
  const bool at_beginning = pattern.starts_with('^');
  if (at_beginning) pattern.remove_prefix(1);
  const bool to_end = pattern.ends_with('$');
  if (to_end) pattern.remove_suffix(1);
  std::size_t at = 0;
  for (bool first = true;; first = false) {
    const std::size_t hole = std::min(pattern.find('*'), pattern.size());
    const auto place = find_piece(pattern.substr(0, hole), line, at);
    if (!place || (first && at_beginning && place->begin != 0)) return false;
    at = place->end;
    if (hole == pattern.size()) return !to_end || at == line.size();
    pattern.remove_prefix(hole + 1);
  }
}

std::span<const LogFamily> log_catalogue() { return families; }

const LogEntry* log_entry(std::string_view code) {
  for (const LogFamily& family : families) {
    for (const LogEntry& entry : family.entries) {
      if (entry.code == code) return &entry;
    }
  }
  return nullptr;
}

const LogEntry* entry_of_line(std::string_view line, bool is_raised) {
  static const PatternIndex index;
  const std::string whole = small_letters(line);
  const auto candidates = index.candidates(whole);
  if (candidates.empty()) return nullptr;
  const std::string message = small_letters(without_prefix(line));
  for (const std::size_t candidate : candidates) {
    const auto& [entry, pattern] = index.row(candidate);
    const bool for_errors = pattern.starts_with('!');
    if (for_errors && !is_raised) continue;
    const std::string_view text = pattern.substr(for_errors ? 1 : 0);
    if (fits(text, text.starts_with('^') ? message : whole)) return entry;
  }
  return nullptr;
}

}  // namespace berth
