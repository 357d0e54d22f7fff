#include "view/spec_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "base/tr.h"
#include "cards/card.h"
#include "cards/find.h"
#include "cards/rates.h"
#include "snapshot/device_kind.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

constexpr int least_column = 20;
constexpr int label_column = 18;

std::string title_of(const SpecSubject& subject, const Style& style) {
  if (subject.card != nullptr) {
    return std::string(subject.card->name);
  }
  return outside(subject.device->name.get().value_or("?"), style);
}

/// The driver's figure, the table's beside it where they differ by more than `tolerance`.
std::string either(std::optional<double> driver, std::optional<double> table, double tolerance,
                   const Style& style, const std::function<std::string(double)>& text) {
  if (!driver && !table) return std::string(absent_mark(style));
  if (!driver || !table) return text(driver ? *driver : *table);
  if (std::abs(*driver - *table) <= tolerance * *table) return text(*driver);
  return trf("{} (table: {})", text(*driver), text(*table));
}

std::string whole(double value) { return fmt::format("{:.0f}", value); }
std::string bits(double value) { return trf("{} bit", whole(value)); }
std::string memory_words(double value) {
  return bytes_text(Bytes(static_cast<std::uint64_t>(value)));
}
std::string bandwidth_words(double value) { return fmt::format("{:.0f} GB/s", value / 1e9); }
std::string watts_words(double milliwatts) { return fmt::format("{:.0f} W", milliwatts / 1000); }

std::string capability_of(const SpecSubject& subject, const Style& style) {
  std::optional<ComputeCapability> capability;
  if (subject.device != nullptr) capability = subject.device->compute_capability.get();
  if (!capability && subject.card != nullptr && subject.card->has_capability()) {
    capability = subject.card->capability;
  }
  if (!capability) return std::string(absent_mark(style));
  const auto facts = facts_of(*capability);
  return capability_text(*capability) + (facts ? fmt::format(" ({})", facts->architecture) : "");
}

std::string tensor_text(const SpecSubject& subject, const Style& style) {
  if (subject.card == nullptr || !subject.card->has_capability()) {
    return std::string(absent_mark(style));
  }
  const auto facts = facts_of(subject.card->capability);
  if (!facts || facts->tensor_generation == 0 || subject.card->has(no_tensor_cores)) {
    return std::string(tr("none"));
  }
  return trf("generation {}", facts->tensor_generation);
}

std::string rate_text(const SpecSubject& subject, std::optional<double> PeakRates::* type,
                      std::optional<Lack> lack, const Style& style) {
  if (subject.card == nullptr) return std::string(absent_mark(style));
  if (const auto rate = peak_rates(*subject.card).*type) {
    return *rate < 10 ? fmt::format("{:.2f}", *rate) : fmt::format("{:.4g}", *rate);
  }
  const auto lacks = lacks_of(*subject.card);
  const bool lacking = lack && std::ranges::find(lacks, *lack) != lacks.end();
  return lacking ? std::string(tr("none")) : std::string(absent_mark(style));
}

struct SpecRow {
  std::string_view label;  // goes through tr()
  std::function<std::string(const SpecSubject&, const Style&)> cell;
};

/// A row whose figure both the driver and the table have.
SpecRow both(std::string_view label, std::optional<double> (*driver)(const Device&),
             std::optional<double> (*table)(const Card&), std::string (*text)(double)) {
  return {label, [=](const SpecSubject& subject, const Style& style) {
            return either(subject.device != nullptr ? driver(*subject.device) : std::nullopt,
                          subject.card != nullptr ? table(*subject.card) : std::nullopt, 0.02,
                          style, text);
          }};
}

/// A row that only the table has.
SpecRow table_row(std::string_view label, std::optional<std::string> (*text)(const Card&)) {
  return {label, [=](const SpecSubject& subject, const Style& style) {
            const auto words = subject.card != nullptr ? text(*subject.card) : std::nullopt;
            return words ? *words : std::string(absent_mark(style));
          }};
}

SpecRow units_row(std::string_view label, CardUnits units) {
  return {label, [=](const SpecSubject& subject, const Style& style) {
            const bool is_their_word = subject.card != nullptr && units_of(*subject.card) == units;
            return is_their_word ? std::to_string(subject.card->multiprocessors)
                                 : std::string(absent_mark(style));
          }};
}

SpecRow rate_row(std::string_view label, std::optional<double> PeakRates::* type,
                 std::optional<Lack> lack = std::nullopt) {
  return {label, [=](const SpecSubject& subject, const Style& style) {
            return rate_text(subject, type, lack, style);
          }};
}

/// Of tensor cores, or of what other makers call matrix cores.
SpecRow fp64_row(std::string_view label, bool of_tensor_cores) {
  return {label, [=](const SpecSubject& subject, const Style& style) {
            if (subject.card == nullptr || subject.card->has_capability() != of_tensor_cores) {
              return std::string(absent_mark(style));
            }
            return rate_text(subject, &PeakRates::fp64_tensor, std::nullopt, style);
          }};
}

std::vector<SpecRow> fact_rows() {
  return {
      {as_key("capability"), capability_of},
      both(
          as_key("multiprocessors"), [](const Device& d) { return as_number(d.multiprocessors); },
          [](const Card& c) -> std::optional<double> {
            if (!c.has_capability()) return std::nullopt;
            return c.multiprocessors;
          },
          whole),
      table_row(as_key("architecture"),
                [](const Card& c) -> std::optional<std::string> {
                  if (c.has_capability()) return std::nullopt;
                  return std::string(c.architecture);
                }),
      units_row(as_key("compute units"), CardUnits::compute_units),
      units_row(as_key("Xe-cores"), CardUnits::xe_cores),
      units_row(as_key("AI cores"), CardUnits::ai_cores),
      both(
          as_key("CUDA cores"), [](const Device& d) { return as_number(d.cuda_cores); },
          [](const Card& c) -> std::optional<double> {
            const auto cores = cuda_cores(c);
            if (!cores) return std::nullopt;
            return static_cast<double>(*cores);
          },
          whole),
      {as_key("tensor cores"), tensor_text},
      both(
          as_key("memory"), [](const Device& d) { return as_number(d.memory_total); },
          [](const Card& c) -> std::optional<double> {
            return static_cast<double>(usable_memory(c).count());
          },
          memory_words),
      table_row(as_key("sold as"),
                [](const Card& c) -> std::optional<std::string> {
                  if (!c.memory) return fmt::format("{} GB", c.memory_gib);
                  return fmt::format("{} GB {}", c.memory_gib, name_of(*c.memory));
                }),
      both(
          as_key("memory bus"), [](const Device& d) { return as_number(d.memory_bus_width); },
          [](const Card& c) -> std::optional<double> { return c.bus_bits; }, bits),
      both(
          as_key("bandwidth"), [](const Device& d) { return as_number(d.memory_bandwidth); },
          [](const Card& c) -> std::optional<double> {
            if (!c.bandwidth) return std::nullopt;
            return *c.bandwidth * 1e9;
          },
          bandwidth_words),
      table_row(as_key("boost clock"),
                [](const Card& c) -> std::optional<std::string> {
                  if (!c.boost_mhz) return std::nullopt;
                  return fmt::format("{} MHz", *c.boost_mhz);
                }),
      {as_key("highest clock"),
       [](const SpecSubject& subject, const Style& style) {
         if (subject.device == nullptr) return std::string(absent_mark(style));
         return reading_text(subject.device->clock_sm_max, style, clock_text);
       }},
      both(
          as_key("power limit"), [](const Device& d) { return as_number(d.power_limit_default); },
          [](const Card& c) -> std::optional<double> {
            if (!c.watts) return std::nullopt;
            return *c.watts * 1000.0;
          },
          watts_words),
      table_row(as_key("form"), [](const Card& c) { return std::optional(std::string(c.form)); }),
      table_row(as_key("NVLink"),
                [](const Card& c) -> std::optional<std::string> {
                  if (!c.has_capability()) return std::nullopt;
                  if (!has_nvlink(c)) return std::string(tr("none"));
                  if (!c.nvlink) return std::string(tr("of unknown speed"));
                  return fmt::format("{:g} GB/s", *c.nvlink);
                }),
  };
}

std::vector<SpecRow> rate_rows() {
  return {
      rate_row("FP64", &PeakRates::fp64),
      fp64_row("FP64 tensor", true),
      fp64_row("FP64 matrix", false),
      rate_row("FP32", &PeakRates::fp32),
      rate_row("TF32", &PeakRates::tf32, Lack::tf32),
      rate_row("FP16", &PeakRates::fp16, Lack::fast_fp16),
      rate_row("BF16", &PeakRates::bf16, Lack::bf16),
      rate_row("FP8", &PeakRates::fp8, Lack::fp8),
      rate_row("INT8", &PeakRates::int8),
      rate_row("FP4", &PeakRates::fp4, Lack::fp4),
  };
}

std::string_view lack_words(Lack lack) {
  switch (lack) {
    case Lack::tensor_cores:
      return tr("tensor cores");
    case Lack::fast_fp16:
      return tr("fast FP16");
    case Lack::bf16:
      return tr("BF16");
    case Lack::tf32:
      return tr("TF32");
    case Lack::fp8:
      return tr("FP8");
    case Lack::fp4:
      return tr("FP4");
    case Lack::fast_fp64:
      return tr("fast FP64 (an eighth of FP32 or less)");
    case Lack::ecc:
      return tr("ECC memory");
    case Lack::instances:
      return tr("MIG");
    case Lack::nvlink:
      return tr("NVLink");
    case Lack::cuda_13:
      return tr("builds with CUDA 13 (those are for 7.5 and newer)");
  }
  return "";
}

using Subjects = std::vector<SpecSubject>;

/// Of each row that says something of any of them.
std::vector<TableRow> rows_of(const std::vector<SpecRow>& rows, const Subjects& subjects,
                              const Style& style) {
  std::vector<TableRow> filled;
  for (const SpecRow& row : rows) {
    TableRow cells = {{"  " + own(tr(row.label), style), Paint::dim}};
    bool says_something = false;
    for (const SpecSubject& subject : subjects) {
      cells.emplace_back(own(row.cell(subject, style), style));
      says_something = says_something || cells.back().text != absent_mark(style);
    }
    if (says_something) filled.push_back(std::move(cells));
  }
  return filled;
}

std::string indices_text(const SpecSubject& subject) {
  if (subject.indices.empty()) return "";
  return trf("here: GPU {}", joined(subject.indices, ","));
}

/// As many side by side as the width has room for.
std::string block(const Subjects& subjects, int column, const Style& style) {
  std::vector<TableColumn> columns = {{.most = label_column, .least = label_column}};
  columns.resize(subjects.size() + 1, {.most = column - 1, .least = column - 1});
  const auto drawn = [&](std::vector<TableRow> rows) {
    return Table(columns, std::move(rows), 1, style).rows_text();
  };
  std::vector<TableRow> heads(2, TableRow(1));
  for (const SpecSubject& subject : subjects) {
    heads[0].emplace_back(title_of(subject, style), Paint::bold);
    heads[1].emplace_back(own(indices_text(subject), style), Paint::dim);
  }
  const bool any_here = std::ranges::any_of(
      subjects, [](const SpecSubject& subject) { return !subject.indices.empty(); });
  if (!any_here) heads.pop_back();
  std::string text = drawn(std::move(heads)) + drawn(rows_of(fact_rows(), subjects, style));
  const std::string rates = drawn(rows_of(rate_rows(), subjects, style));
  if (!rates.empty()) {
    text += own(tr("Peak, 10^12 operations a second, dense:"), style) + "\n" + rates;
  }
  return text;
}

std::string below(const SpecSubject& subject, const Style& style) {
  const std::string name = title_of(subject, style);
  if (subject.card == nullptr) {
    return wrapped(
        "", own(trf("{}: not in berth's table; these are the driver's figures.", name), style), 2,
        style);
  }
  const Card& card = *subject.card;
  const std::string lacks = joined(lacks_of(card), ", ", lack_words);
  const bool is_known = card.has_capability() || card.published != nullptr;
  const std::string said = !is_known
                               ? trf("{}: which types it computes in is not in the table.", name)
                           : lacks.empty() ? trf("{} has all that others have.", name)
                                           : trf("{} has no {}.", name, lacks);
  const std::string foreign =
      card.has_capability()
          ? ""
          : wrapped("  ",
                    own(trf("{}'s: compute capability, CUDA cores, tensor cores, NVLink and MIG "
                            "are NVIDIA's, and nothing is said of them here. CUDA programs do not "
                            "run on it.",
                            card.maker()),
                        style),
                    4, style);
  return wrapped("", own(said, style), 2, style) + foreign +
         wrapped("  ", own(trf("Source: {}.", card.source), style), 4, style, Paint::dim);
}

}  // namespace

std::vector<SpecSubject> cards_here(const Snapshot& snapshot) {
  std::vector<SpecSubject> subjects;
  for (const Device& device : snapshot.devices) {
    if (device.parent || !is_supported(device)) continue;
    const Card* card = card_of(device);
    const auto same = std::ranges::find_if(subjects, [&](const SpecSubject& subject) {
      return subject.card == card && subject.device->name == device.name &&
             subject.device->memory_total == device.memory_total;
    });
    SpecSubject& subject =
        same != subjects.end() ? *same : subjects.emplace_back(SpecSubject{card, &device, {}});
    if (device.index) subject.indices.push_back(*device.index);
  }
  return subjects;
}

std::string render_spec(const SpecAnswer& answer, const Style& style) {
  std::string text = simulated_line(answer.simulated, style);
  const int room = std::max(style.width - label_column, least_column);
  const std::size_t fit = static_cast<std::size_t>(std::max(room / least_column, 1));
  for (std::size_t from = 0; from < answer.subjects.size(); from += fit) {
    const std::size_t until = std::min(from + fit, answer.subjects.size());
    const Subjects part(answer.subjects.begin() + static_cast<std::ptrdiff_t>(from),
                        answer.subjects.begin() + static_cast<std::ptrdiff_t>(until));
    // No wider than a long figure needs: columns far apart are hard to compare.
    const int column = std::min(room / static_cast<int>(part.size()), part.size() == 1 ? room : 34);
    if (from > 0) text += "\n";
    text += block(part, column, style) + "\n";
    for (const SpecSubject& subject : part) text += below(subject, style);
  }
  text +=
      wrapped("",
              own(tr("8 and 16 bits: tensor cores (AMD: matrix cores) that add up in FP32, as "
                     "frameworks do. Sparsity is not counted. Clocks are the reference card's."),
                  style),
              0, style, Paint::dim);
  return text;
}

std::string render_card_list(const Style& style) {
  static constexpr TableColumn columns[] = {{.most = 32},
                                            {.align = Align::right, .least = 6},
                                            {.align = Align::right, .least = 5},
                                            {.least = 14},
                                            {.align = Align::right, .least = 9}};
  const std::string absent(absent_mark(style));
  std::vector<TableRow> rows;
  for (const Card& card : all_cards()) {
    const auto facts = facts_of(card.capability);
    rows.push_back(
        {std::string(card.name),
         fmt::format("{} GB", card.memory_gib),
         card.has_capability() ? capability_text(card.capability) : absent,
         {" " + std::string(facts ? facts->architecture : card.architecture), Paint::dim},
         card.bandwidth ? bandwidth_words(*card.bandwidth * 1e9) : absent});
  }
  return Table(columns, std::move(rows), 1, style).rows_text();
}

}  // namespace berth
