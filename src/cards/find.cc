#include "cards/find.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "base/letters_apart.h"
#include "base/text.h"
#include "cards/card.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

using Words = std::vector<std::string>;

std::vector<std::string_view> names_of(const Card& card) {
  std::vector<std::string_view> names = {card.name};
  if (!card.also.empty()) {
    for (const std::string_view name : split(card.also, '|')) names.push_back(name);
  }
  return names;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// "rtx3090ti" into "rtx", "3090", "ti": the words that people write together.
void add_word(std::string word, Words& words) {
  for (const std::string_view start : {"geforce", "quadro", "tesla", "rtx", "gtx"}) {
    if (word.size() > start.size() && word.starts_with(start)) {
      words.emplace_back(start);
      add_word(word.substr(start.size()), words);
      return;
    }
  }
  for (const std::string_view end : {"super", "ti"}) {
    if (!word.ends_with(end)) continue;
    const std::string front = word.substr(0, word.size() - end.size());
    const bool is_both = front.ends_with("ti") && is_digits(front.substr(0, front.size() - 2));
    if (is_digits(front) || is_both) {
      add_word(front, words);
      word = end;
    }
  }
  const bool is_size = word.size() > 1 && word.back() == 'g' &&
                       is_digits(std::string_view(word).substr(0, word.size() - 1));
  if (is_size) word += "b";
  if (word == "gb" && !words.empty() && is_digits(words.back())) {
    words.back() += "gb";
    return;
  }
  words.push_back(std::move(word));
}

Words words_of(std::string_view name) {
  Words words;
  std::string word;
  for (const char c : small_letters(name) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (!word.empty()) {
      add_word(std::exchange(word, ""), words);
    }
  }
  return words;
}

/// What says nothing about which card it is, or about its size and form alone.
bool is_family(const std::string& word) {
  static constexpr auto families =
      std::to_array<std::string_view>({"nvidia", "geforce", "quadro", "tesla", "rtx", "gtx", "amd",
                                       "instinct", "radeon", "rx", "intel", "arc"});
  return std::ranges::find(families, word) != families.end();
}
bool is_form(const std::string& word) {
  const bool is_size =
      word.size() > 2 && word.ends_with("gb") && is_digits(word.substr(0, word.size() - 2));
  return is_size || word.starts_with("sxm") || word.starts_with("hbm") || word == "pcie" ||
         word == "nvl" || word == "ac";
}

/// How far a card is from what was asked for: words of one of its names that were not.
std::optional<int> distance(const Words& asked, const Card& card) {
  std::set<std::string> all = {std::to_string(card.memory_gib) + "gb"};
  std::optional<int> best;
  for (const std::string_view name : names_of(card)) {
    const Words words = words_of(name);
    all.insert(words.begin(), words.end());
    int extra = 0;
    for (const std::string& word : words) {
      if (is_family(word) || is_form(word)) continue;
      if (std::ranges::find(asked, word) == asked.end()) ++extra;
    }
    best = best ? std::min(*best, extra) : extra;
  }
  // "a100 80": a size without its unit, beside a word that names something.
  const std::string size = std::to_string(card.memory_gib);
  const bool names_one = std::ranges::any_of(asked, [&](const std::string& word) {
    return !is_family(word) && !is_form(word) && all.contains(word);
  });
  const bool has_all = std::ranges::all_of(asked, [&](const std::string& word) {
    return (word == "nvidia" && card.has_capability()) ||
           (word == "radeon" && card.maker() == "AMD") || (names_one && word == size) ||
           all.contains(word) ||
           (word == "sxm" && std::ranges::any_of(all, [](const std::string& own) {
              return own.starts_with("sxm");
            }));
  });
  return has_all ? best : std::nullopt;
}

/// The words that tell cards apart, run together.
std::string essence(std::string_view name) {
  std::string text;
  for (const std::string& word : words_of(name)) {
    if (!is_family(word)) text += word;
  }
  return text;
}

std::string_view without_maker(std::string_view name) {
  constexpr std::string_view maker = "NVIDIA ";
  if (name.size() > maker.size() && equals_ignoring_case(name.substr(0, maker.size()), maker)) {
    name.remove_prefix(maker.size());
  }
  return name;
}

bool has_pci_id(const Card& card, const Device& device) {
  const auto& id = device.pci_id.get();
  if (!id || !id->starts_with("10de:") || card.pci_devices.empty()) return false;
  const auto known = split(card.pci_devices, ' ');
  return std::ranges::find(known, std::string_view(*id).substr(5)) != known.end();
}

std::uint64_t memory_gap(const Card& card, const Device& device) {
  const auto& total = device.memory_total.get();
  if (!total) return 0;
  const std::uint64_t own = usable_memory(card).count();
  return own > total->count() ? own - total->count() : total->count() - own;
}

/// The one of several that fits the device best.
const Card* nearest(const std::vector<const Card*>& cards, const Device& device) {
  const auto found = std::ranges::min_element(cards, {}, [&](const Card* card) {
    return std::pair(has_pci_id(*card, device) ? 0 : 1, memory_gap(*card, device));
  });
  return found == cards.end() ? nullptr : *found;
}

}  // namespace

std::vector<const Card*> cards_called(std::string_view name) {
  // Names are a few words; what is longer is none.
  if (name.size() > 100) return {};
  const Words asked = words_of(name);
  const bool says_something =
      std::ranges::any_of(asked, [](const std::string& word) { return !is_family(word); });
  if (!says_something) return {};
  std::vector<const Card*> found;
  std::optional<int> best;
  for (const Card& card : all_cards()) {
    const auto far = distance(asked, card);
    if (!far || (best && *far > *best)) continue;
    if (best && *far < *best) found.clear();
    best = far;
    found.push_back(&card);
  }
  return found;
}

std::vector<std::string_view> similar_names(std::string_view name, std::size_t most) {
  const std::string asked = essence(name.substr(0, 100));
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const Card& card : all_cards()) {
    std::size_t least = letters_apart(asked, essence(card.name));
    // Part of a name ("4060 mobile", "h10") is nearer than as many edits.
    if (!asked.empty() && essence(card.name).starts_with(asked)) least = 0;
    ranked.emplace_back(least, card.name);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string_view>::first);
  std::vector<std::string_view> names;
  for (const auto& [far, card] : ranked) {
    if (names.size() == most) break;
    if (std::ranges::find(names, card) == names.end()) names.push_back(card);
  }
  return names;
}

namespace {

bool is_word_end(char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '/'; }

/// Whether these words stand in the name as they are. "RX 7900 XT/7900 XTX" and "RX 7900 XT / 7900
/// XTX" name one of several cards: "RX 7900 XT" is in neither.
bool stands_in(std::string_view words, std::string_view name) {
  const std::string all = small_letters(name);
  const std::string wanted = small_letters(words);
  for (std::size_t at = all.find(wanted); at != all.npos; at = all.find(wanted, at + 1)) {
    const std::size_t end = at + wanted.size();
    const std::size_t next = all.find_first_not_of(' ', end);
    if (next != all.npos && all[next] == '/') continue;
    if ((at == 0 || is_word_end(all[at - 1])) && (end == all.size() || is_word_end(all[end]))) {
      return true;
    }
  }
  return false;
}

/// Another maker's, whose drivers and lists of PCI devices put words around it; the longest name
/// that stands there.
const Card* card_named_in(std::string_view name, std::string_view maker) {
  const Card* found = nullptr;
  for (const Card& card : all_cards()) {
    if (card.has_capability() || card.maker() != maker) continue;
    const std::string_view words = card.name.substr(maker.size() + 1);
    const bool is_longer = found == nullptr || card.name.size() > found->name.size();
    if (is_longer && stands_in(words, name)) found = &card;
  }
  return found;
}

}  // namespace

const Card* card_of(const Device& device) {
  if (device.kind != DeviceKind::nvidia_gpu) {
    const auto& name = device.name.get();
    const bool is_whole = !device.parent && !device.integrated;
    return name && is_whole ? card_named_in(*name, facts_of(device.kind).vendor) : nullptr;
  }
  std::vector<const Card*> found;
  if (const auto& name = device.name.get()) {
    for (const Card& card : all_cards()) {
      const auto names = names_of(card);
      const bool same = std::ranges::any_of(names, [&](std::string_view own) {
        return equals_ignoring_case(own, without_maker(*name));
      });
      if (same) found.push_back(&card);
    }
  }
  if (!found.empty()) return nearest(found, device);
  for (const Card& card : all_cards()) {
    if (has_pci_id(card, device)) found.push_back(&card);
  }
  return nearest(found, device);
}

const Card* card_of_product(std::string_view name) {
  name = without_maker(name);
  const Card* found = nullptr;
  std::size_t longest = 0;
  for (const Card& card : all_cards()) {
    for (const std::string_view own : names_of(card)) {
      if (own.size() <= longest || name.size() < own.size()) continue;
      if (!equals_ignoring_case(own, name.substr(0, own.size()))) continue;
      // "A10" is not the beginning of "A100".
      const std::string_view rest = name.substr(own.size());
      if (!rest.empty() && rest.front() != ' ' && rest.front() != '-') continue;
      // Nor is the "RTX 4000" of a laptop the card: nothing is said of what has a name of its own.
      if (rest.starts_with(" Laptop") || rest.starts_with(" with Max-Q") ||
          rest.starts_with(" Ti") || rest.starts_with(" SUPER") || rest.starts_with(" D")) {
        continue;
      }
      found = &card;
      longest = own.size();
    }
  }
  return found;
}

namespace {

struct ProductFamily {
  std::string_view name;  // how its products' names begin
  std::uint64_t cores;    // of each of them
};

// Boards of makers and clouds that the table of cards does not list one by one.
constexpr auto product_families = std::to_array<ProductFamily>({
    {"Tesla P100", 3584},  // NVIDIA Tesla P100 whitepaper WP-08019, table 1
    {"Tesla V100", 5120},  // NVIDIA Tesla V100 whitepaper WP-08608, table 1
    {"A100", 6912},        // NVIDIA A100 whitepaper, table 4
});

}  // namespace

std::optional<std::uint64_t> cores_of_product(std::string_view name) {
  if (const Card* card = card_of_product(name)) return cuda_cores(*card);
  name = without_maker(name);
  for (const ProductFamily& family : product_families) {
    if (!name.starts_with(family.name)) continue;
    // "A100" is not the beginning of "A1000".
    const std::string_view rest = name.substr(family.name.size());
    if (rest.empty() || rest.front() == ' ' || rest.front() == '-') return family.cores;
  }
  return std::nullopt;
}

}  // namespace berth
